import { fail, requireFunction, requireOptions, requireText, show } from '../options.js'
import { requireWeight } from '../weight.js'
import { Group } from './group.js'
import type { Place } from './tenants.js'

/** A place in a hierarchy of weights: an organisation, a team, a key. Without children it is a tenant. */
export interface HierarchyNode {
  /** A tenant's name is the one by which it asks; it must be unique. */
  name: string
  /**
   * Its share relative to its siblings, from 1e-9 to 1e12. A tenant without one has weight 1. A group without one
   * weighs as much as its active children, and is only a name: they share with its siblings as if it did not exist.
   */
  weight?: number
  children?: readonly HierarchyNode[]
}

/** A checked hierarchy; created by {@link hierarchy}. */
export class Hierarchy {
  readonly #root: HierarchyNode

  /** @internal */
  constructor(root: HierarchyNode) {
    this.#root = root
  }

  /** @internal A new tree of its groups, without active tenants. */
  plant(groupOf: ((tenant: string) => string | undefined) | undefined): Places {
    return new Places(this.#root, groupOf)
  }
}

/** A tenant's place in a hierarchy, and its weight there. */
export interface WeightedPlace extends Place {
  readonly weight: number
}

/** The groups of a hierarchy, and their tenants. */
export class Places {
  readonly root: Group = new Group(1, undefined, 0)
  readonly #tenants: Map<string, WeightedPlace> = new Map()
  /** A stranger's place in each group; undefined if several groups have that name. */
  readonly #groups: Map<string, WeightedPlace | undefined> = new Map()
  readonly #weighted: Map<string, Group | undefined> = new Map()
  /** Groups with their own weight, and their paths: the names on the way to them. */
  readonly paths: Map<Group, readonly string[]> = new Map()
  readonly #groupOf: ((tenant: string) => string | undefined) | undefined

  constructor(root: HierarchyNode, groupOf: ((tenant: string) => string | undefined) | undefined) {
    this.#groupOf = groupOf
    this.#add(root, this.root)
  }

  /** A tenant's place; undefined if it has none. Throws the error of `groupOf`, and an error for an unknown group. */
  of(tenant: string): WeightedPlace | undefined {
    const named = this.#tenants.get(tenant)
    if (named !== undefined || this.#groupOf === undefined) return named
    const group = this.#groupOf(tenant)
    return group === undefined ? undefined : this.#inGroup(`groupOf(${show(tenant)})`, group)
  }

  /** The group of that name with its own weight. Throws if there is none. */
  weighted(name: string): Group {
    const group = this.#weighted.get(name)
    if (group !== undefined) return group
    throw new RangeError(`group must be one group of the tree that has a weight, got ${show(name)}`)
  }

  #inGroup(what: string, name: string): WeightedPlace {
    const place = this.#groups.get(name)
    if (place !== undefined) return place
    const such = this.#groups.has(name) ? ', of which there are several' : ''
    throw new RangeError(`${what} must be the name of one group of the tree, got ${show(name)}${such}`)
  }

  #add({ name, children = [] }: HierarchyNode, group: Group, path: readonly string[] = []): void {
    this.#groups.set(name, this.#groups.has(name) ? undefined : { group, isNamed: false, weight: 1 })
    for (const child of children) {
      const { weight } = child
      if (child.children === undefined) this.#tenants.set(child.name, { group, isNamed: true, weight: weight ?? 1 })
      else if (weight === undefined) this.#add(child, group, [...path, child.name])
      else {
        const own = group.addGroup(weight)
        this.paths.set(own, [...path, child.name])
        this.#weighted.set(child.name, this.#weighted.has(child.name) ? undefined : own)
        this.#add(child, own, [...path, child.name])
      }
    }
  }
}

/**
 * Checks a hierarchy of weights, of any depth, for the `tree` of a {@link WeightedFairEscrow}. The root represents the
 * whole budget: its weight does not matter. A group with no children (`[]`) is for tenants that `groupOf` assigns to
 * it.
 *
 * Throws a `TypeError` or `RangeError` that names the fault: a bad weight, a tenant that occurs twice.
 */
export function hierarchy(root: HierarchyNode): Hierarchy {
  const checked = checkedNode('hierarchy', root, new Set())
  if (checked.children === undefined) throw new TypeError('hierarchy must have children')
  return new Hierarchy(checked)
}

/** A checked copy, which the caller cannot change afterwards. */
function checkedNode(where: string, node: HierarchyNode, tenants: Set<string>): HierarchyNode {
  requireOptions(where, node, ['name', 'weight', 'children'])
  const { name, weight, children } = node
  requireText(`${where}: name`, name)
  const path = where === 'hierarchy' ? name : `${where}/${name}`
  if (weight !== undefined) requireWeight(`${path}: weight`, weight)
  const own = weight === undefined ? {} : { weight }
  if (children === undefined) {
    if (tenants.has(name)) throw new TypeError(`hierarchy must have each tenant once, got ${show(name)} twice`)
    tenants.add(name)
    return { name, ...own }
  }
  if (!Array.isArray(children)) fail(`${path}: children`, 'an array', children)
  return { name, ...own, children: children.map((child) => checkedNode(path, child, tenants)) }
}

/** Checks the options `tree` and `groupOf`. */
export function requirePlaces(tree: unknown, groupOf: unknown): void {
  if (tree !== undefined && !(tree instanceof Hierarchy)) fail('tree', 'made by hierarchy', tree)
  if (groupOf === undefined) return
  requireFunction('groupOf', groupOf)
  if (tree === undefined) throw new TypeError('groupOf needs a tree')
}
