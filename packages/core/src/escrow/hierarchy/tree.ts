import { requireOptions, requireText, show } from '../../options.js'
import { requireWeight } from '../shares.js'
import { Group } from './group.js'
import type { Tenant } from './tenant.js'

/** A place in a hierarchy of weights: an organisation, a team, a key. Without children it is a tenant. */
export interface HierarchyNode {
  /** A tenant's name is the one by which it asks, unlike any other tenant's. */
  name: string
  /**
   * Its share relative to its siblings, from 1e-9 to 1e12. A tenant without one weighs 1. A group without one weighs as
   * much as those of its children that are active, and is only a name: they share with its siblings as if it were not
   * there.
   */
  weight?: number
  children?: readonly HierarchyNode[]
}

/** A hierarchy that was checked; made by {@link hierarchy}. */
export class Hierarchy {
  readonly #root: HierarchyNode

  /** @internal */
  constructor(root: HierarchyNode) {
    this.#root = root
  }

  /** @internal The weighted nodes anew, nobody active: the root, and the tenants by name. */
  plant(): { root: Group; tenants: ReadonlyMap<string, Tenant> } {
    const tenants = new Map<string, Tenant>()
    const add = (node: HierarchyNode, group: Group): void => {
      const members = membersOf(node)
      for (const member of members) if (member.children !== undefined) add(member, group.addGroup(member.weight ?? 1))
      for (const { name, weight = 1, children } of members)
        if (children === undefined) tenants.set(name, group.addTenant(weight))
    }
    const root = new Group(1, undefined, 0)
    add(this.#root, root)
    return { root, tenants }
  }
}

/** The children of a group; of those that are only names, theirs. */
function membersOf({ children = [] }: HierarchyNode): HierarchyNode[] {
  return children.flatMap((child) =>
    child.children !== undefined && child.weight === undefined ? membersOf(child) : [child],
  )
}

/**
 * Checks a hierarchy of weights, of any depth, for a {@link HierarchicalFairEscrow}. The root stands for all there is:
 * its weight does not matter.
 *
 * Throws a `TypeError` or `RangeError` that names what is wrong: a group without children, a bad weight, a tenant that
 * occurs twice.
 */
export function hierarchy(root: HierarchyNode): Hierarchy {
  const tenants = new Set<string>()
  requireNode('hierarchy', root, tenants)
  if (root.children === undefined) throw new TypeError('hierarchy must have children')
  return new Hierarchy(copy(root))
}

function requireNode(where: string, node: HierarchyNode, tenants: Set<string>): void {
  requireOptions(where, node, ['name', 'weight', 'children'])
  const { name, weight, children } = node
  requireText(`${where}: name`, name)
  const path = where === 'hierarchy' ? name : `${where}/${name}`
  if (weight !== undefined) requireWeight(`${path}: weight`, weight)
  if (children === undefined) {
    if (tenants.has(name)) throw new TypeError(`hierarchy must have each tenant once, got ${show(name)} twice`)
    tenants.add(name)
    return
  }
  if (!Array.isArray(children) || children.length === 0)
    throw new TypeError(`${path}: children must be an array of at least one node, got ${show(children)}`)
  for (const child of children) requireNode(path, child, tenants)
}

/** So that nobody changes it afterwards. */
function copy({ name, weight, children }: HierarchyNode): HierarchyNode {
  const node: HierarchyNode = { name }
  if (weight !== undefined) node.weight = weight
  if (children !== undefined) node.children = children.map(copy)
  return node
}
