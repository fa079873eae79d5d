import type { Group } from './group.js'
import type { Node, Tenant } from './node.js'

/** Where a tenant belongs: its group, and whether the hierarchy names it, so that there is always room for it. */
export interface Place {
  readonly group: Group
  readonly isNamed: boolean
}

/** A tenant that was refused, and not admitted before. */
export interface TurnedAway extends Place {
  readonly weight: number
  readonly returnMs: number
}

/** What a tenant owes from a window that is over. */
export interface LateDebt extends Place {
  readonly weight: number
  amount: number
}

/** A tenant of the last window that counts in this one. */
export interface Kept extends Place {
  readonly name: string
  readonly weight: number
  readonly debt: number
  readonly returnMs: number
  /** By how much it comes after those of its group that got least. */
  readonly ahead: number
}

/** What those got in a group, per weight, that wanted more: the least of it, and the most that may be made up for. */
interface Standing {
  least: number
  most: number
}

/**
 * Who asked in a window, and what of it counts in the next one. Of two siblings that want more, the one that got more
 * per weight comes after the other until that has caught up: by a window's guarantee at most, or by what it takes to
 * admit the largest cost that was refused. A group wants more if somebody in it does.
 */
export class Memory {
  readonly kept: Kept[] = []
  readonly #standings: Map<Group, Standing> = new Map()
  readonly #groups: Map<Group, number> = new Map()

  /**
   * Looks at the active tenants of a window, and at those that asked in vain. `room` is how many tenants may be kept
   * that the hierarchy does not name.
   */
  constructor(
    tenants: readonly Tenant[],
    turnedAway: ReadonlyMap<string, TurnedAway>,
    lateDebts: ReadonlyMap<string, LateDebt>,
    room: number,
  ) {
    for (const tenant of tenants) if (tenant.hasAsked && tenant.returnMs > 0) this.#note(tenant)
    const names = new Set<string>()
    const keep = (name: string, of: Place & { weight: number }, share: number, debt: number, returnMs: number): void => {
      const { weight, group, isNamed } = of
      if (names.has(name) || (!isNamed && names.size >= room)) return
      names.add(name)
      const ahead = this.#ahead(group, share) * weight
      this.kept.push({ name, weight, group, isNamed, debt, returnMs, ahead })
      for (let node = group; node.parent !== undefined; node = node.parent) {
        if (this.#groups.has(node)) break
        const shareOfGroup = node.active ? shareOf(node) : node.parent.level
        this.#groups.set(node, this.#ahead(node.parent, shareOfGroup) * node.weight)
      }
    }
    const lateDebt = (name: string): number => lateDebts.get(name)?.amount ?? 0
    for (const tenant of tenants) {
      const { name, weight, parent: group, isNamed, hasAsked, returnMs } = tenant
      const debt = tenant.debt + lateDebt(name)
      if (tenant !== group.shared && (hasAsked || debt > 0))
        keep(name, { weight, group, isNamed }, shareOf(tenant), debt, returnMs)
    }
    const active = new Set(tenants.map(({ name }) => name))
    for (const [name, one] of turnedAway)
      if (!active.has(name)) keep(name, one, one.group.level, lateDebt(name), one.returnMs)
    for (const [name, one] of lateDebts) keep(name, one, one.group.level, one.amount, 0)
  }

  /** A tenant wants more, and so do the groups that it is in. */
  #note(tenant: Tenant): void {
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
      const { parent, waitsFor, weight } = node
      const standing = this.#standings.get(parent) ?? { least: Number.POSITIVE_INFINITY, most: parent.level }
      this.#standings.set(parent, standing)
      standing.least = Math.min(standing.least, shareOf(node))
      if (waitsFor < Number.POSITIVE_INFINITY) standing.most = Math.max(standing.most, waitsFor / weight)
    }
  }

  /** By how much one with this share is ahead in a group, per weight. */
  #ahead(group: Group, share: number): number {
    const standing = this.#standings.get(group)
    return standing === undefined ? 0 : Math.max(0, Math.min(standing.most, share - standing.least))
  }

  /**
   * Lets those that are kept, `tenants` by now and in the same order, carry what they are ahead by. So that guarantees
   * stay parts of those above, what the children of a group carry comes to what the group carries: the root gives all
   * as much, per weight, as lets nobody carry less than nothing. Returns what the root's children carry.
   */
  carry(root: Group, tenants: readonly Tenant[]): number {
    const children = new Map<Group, Node[]>()
    const add = (child: Node): void => {
      const siblings = children.get(child.parent!)
      if (siblings === undefined) children.set(child.parent!, [child])
      else siblings.push(child)
    }
    for (const [at, tenant] of tenants.entries()) {
      tenant.carried = this.kept[at]!.ahead
      add(tenant)
    }
    for (const [group, ahead] of this.#groups) {
      group.carried = ahead
      add(group)
    }
    const isGroup = (child: Node): child is Group => children.has(child as Group)
    /** What the children of a group have to carry on average, per weight, so that nobody carries less than nothing. */
    const needed = (group: Group): number => {
      const members = children.get(group)!
      const even = sum(members) / group.activeWeight
      let most = group === root ? even : 0
      for (const child of members) {
        const own = isGroup(child) ? needed(child) * child.activeWeight : 0
        most = Math.max(most, even + (own - child.carried) / child.weight)
      }
      return most
    }
    const give = (group: Group, perWeight: number): void => {
      const members = children.get(group)!
      const more = perWeight - sum(members) / group.activeWeight
      for (const child of members) {
        child.carried = Math.max(0, child.carried + child.weight * more)
        if (isGroup(child)) give(child, child.carried / child.activeWeight)
      }
    }
    if (tenants.length === 0) return 0
    give(root, needed(root))
    return sum(children.get(root)!)
  }
}

function sum(nodes: readonly Node[]): number {
  return nodes.reduce((total, { carried }) => total + carried, 0)
}

/** What a node got per weight, as far as it counts. */
function shareOf({ used, carried, elsewhere, weight }: Node): number {
  return (used + carried + elsewhere) / weight
}
