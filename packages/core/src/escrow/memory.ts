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
  /** By how much it is ahead of those of its group that got least. */
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
    const keep = (
      name: string,
      of: Place & { weight: number },
      share: number,
      debt: number,
      returnMs: number,
    ): void => {
      const { weight, group, isNamed } = of
      if (!isNamed && this.kept.length >= room) return
      const ahead = this.#ahead(group, share) * weight
      this.kept.push({ name, weight, group, isNamed, debt, returnMs, ahead })
      for (let node = group; node.parent !== undefined && !this.#groups.has(node); node = node.parent) {
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
    if (turnedAway.size === 0 && lateDebts.size === 0) return
    const known = new Set(tenants.map(({ name }) => name))
    for (const [name, one] of turnedAway)
      if (!known.has(name)) keep(name, one, one.group.level, lateDebt(name), one.returnMs)
    for (const [name, one] of lateDebts)
      if (!known.has(name) && !turnedAway.has(name)) keep(name, one, one.group.level, one.amount, 0)
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
   * stay parts of those above, what the children of a group carry comes to what the group carries. So that nobody has
   * to carry less than nothing, the root's children carry more, all the same per weight, a window's guarantee at most.
   * Returns what those carry together.
   */
  carry(root: Group, tenants: readonly Tenant[], limit: number): number {
    const children = new Map<Group, Node[]>()
    const add = (child: Node): void => {
      const siblings = children.get(child.parent!)
      if (siblings === undefined) children.set(child.parent!, [child])
      else siblings.push(child)
    }
    for (const [at, tenant] of tenants.entries()) {
      tenant.ahead = this.kept[at]!.ahead
      add(tenant)
    }
    for (const [group, ahead] of this.#groups) {
      group.ahead = ahead
      add(group)
    }
    const evenly = (group: Group): number =>
      children.get(group)!.reduce((sum, { ahead }) => sum + ahead, 0) / group.activeWeight
    const isGroup = (child: Node): child is Group => children.has(child as Group)
    /** What the children of a group have to carry on average, per weight, so that nobody carries less than nothing. */
    const needed = (group: Group): number => {
      const even = evenly(group)
      let most = 0
      for (const child of children.get(group)!) {
        const own = isGroup(child) ? needed(child) * child.activeWeight : 0
        most = Math.max(most, even + (own - child.ahead) / child.weight)
      }
      return most
    }
    const give = (group: Group, perWeight: number): void => {
      const more = perWeight - evenly(group)
      for (const child of children.get(group)!) {
        child.carried = Math.max(0, child.ahead + child.weight * more)
        if (isGroup(child)) give(child, child.carried / child.activeWeight)
      }
    }
    if (tenants.length === 0) return 0
    const even = evenly(root)
    give(root, Math.min(Math.max(even, needed(root)), even + limit / root.activeWeight))
    return children.get(root)!.reduce((sum, { carried }) => sum + carried, 0)
  }
}

/** What a node got per weight, as far as it counts. */
function shareOf({ used, ahead, elsewhere, weight }: Node): number {
  return (used + ahead + elsewhere) / weight
}
