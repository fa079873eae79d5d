import { type Budget, TIE } from './budget.js'
import type { Group } from './group.js'
import { Reach, wantsMore } from './reach.js'
import type { Node, Place, Tenant } from './tenants.js'

/** A tenant that was refused, and not admitted before. */
export interface TurnedAway extends Place {
  readonly weight: number
  readonly returnMs: number
  /** It was refused more than its part of the limit. */
  readonly isHungry: boolean
}

/** A tenant's debt from a past window. */
export interface LateDebt extends Place {
  readonly weight: number
  amount: number
}

/** The part of the places for strangers that those of the last window may take. */
const KEPT = 1 / 2

/** A tenant of the last window that counts in this one. */
export interface Kept extends Place {
  readonly name: string
  readonly weight: number
  readonly debt: number
  readonly returnMs: number
  /** The cost above its part of the limit for which it was last refused, or Infinity. */
  readonly exceeds: number
  readonly standing: Share
}

/** A member's share of its group's use. */
interface Share {
  /** Its advantage, per weight, over the member that got least. */
  readonly ahead: number
  /** The cost for which it waits; 0 if it does not. */
  readonly asks: number
  /** The cost above its part of the limit for which it was last refused, if that may be served; otherwise 0. */
  readonly large: number
  readonly isHungry: boolean
}

/** Of the members of a group that wanted more: the least amount per weight, and the largest that may be compensated. */
interface WantedBounds {
  least: number
  most: number
}

/**
 * The tenants that asked in a window, and the amounts that count in the next one. Of two siblings that want more, the
 * one that got more per weight comes after the other until that has caught up: by a window's guarantee at most, or by
 * the amount that is needed to admit the largest refused cost. A group wants more if a tenant in it does. One that left
 * a part of its guarantee, and does not want more, comes after nobody: the claim of a tenant that is ahead of others
 * ages later, and it would keep that part for nothing from those that wait.
 *
 * All that are ahead of a member are so by one window's budget of the group at most, together, and by the cost that it
 * waits for itself; so does a member enter that has not asked before. Otherwise it would get the many guarantees that
 * wait for the large cost of another one. The sum is of real amounts: one call of a tenant of tiny weight is many
 * guarantees, but changes little for others.
 */
export class Memory {
  readonly kept: Kept[] = []
  readonly #bounds: Map<Group, WantedBounds> = new Map()
  readonly #groups: Map<Group, Share> = new Map()
  readonly reach: Reach
  readonly #limit: number
  /**
   * Reads the active tenants of a window, and those that asked in vain. `maxStrangers` is the number of unnamed ones
   * for which there is room.
   */
  constructor(
    tenants: readonly Tenant[],
    turnedAway: ReadonlyMap<string, TurnedAway>,
    lateDebts: ReadonlyMap<string, LateDebt>,
    maxStrangers: number,
    budget: Budget,
  ) {
    this.#limit = budget.most
    const room = Math.floor(maxStrangers * KEPT)
    this.reach = new Reach(tenants, budget)
    const wants = (tenant: Tenant): boolean => wantsMore(tenant) && !this.reach.excludes(tenant)
    for (const tenant of tenants) if (wants(tenant)) this.#note(tenant)
    const keep = (
      name: string,
      { weight, group, isNamed, returnMs, isHungry }: TurnedAway,
      debt: number,
      standing = this.#newcomer(group, isHungry),
      exceeds = Number.POSITIVE_INFINITY,
    ): void => {
      if (!isNamed && this.kept.length >= room) return
      this.kept.push({ name, weight, group, isNamed, debt, returnMs, exceeds, standing })
      for (let node = group; node.parent !== undefined && !this.#groups.has(node); node = node.parent)
        this.#groups.set(
          node,
          node.active ? this.#standingOf(node, this.#bounds.has(node)) : this.#newcomer(node.parent, isHungry),
        )
    }
    const lateDebt = (name: string): number => lateDebts.get(name)?.amount ?? 0
    for (const tenant of tenants) {
      const { name, weight, parent: group, isNamed, hasAsked, isHungry, returnMs, exceeds } = tenant
      const debt = tenant.debt + lateDebt(name)
      if (tenant === group.shared || !(hasAsked || debt > 0)) continue
      const standing = this.#standingOf(tenant, wants(tenant))
      keep(name, { weight, group, isNamed, returnMs, isHungry }, debt, standing, exceeds)
    }
    if (turnedAway.size === 0 && lateDebts.size === 0) return
    const known = new Set(tenants.map(({ name }) => name))
    for (const [name, one] of turnedAway) if (!known.has(name)) keep(name, one, lateDebt(name))
    for (const [name, one] of lateDebts)
      if (!known.has(name) && !turnedAway.has(name)) keep(name, { ...one, returnMs: 0, isHungry: false }, one.amount)
  }

  /** One that wanted more than its part, in vain, stands as if it had used its guarantee. */
  #newcomer(group: Group, isHungry: boolean): Share {
    return { ahead: isHungry ? this.#ahead(group, group.level) : 0, asks: 0, large: 0, isHungry }
  }

  #standingOf(node: Group | Tenant, wants: boolean): Share {
    const { used, elsewhere, carried, weight, due } = node
    const parent = node.parent!
    const all = used + elsewhere
    const isUp = (all + carried) * TIE >= weight * parent.level
    const isHungry = (node.isHungry || all > due * this.#limit * TIE) && (wants || isUp)
    return {
      ahead: isHungry ? this.#ahead(parent, shareOf(node)) : 0,
      asks: asksOf(node.waitsFor),
      large: wants ? asksOf(node.exceeds) : 0,
      isHungry,
    }
  }

  /** A tenant wants more, and so do its groups. */
  #note(tenant: Tenant): void {
    const cost = Math.max(asksOf(tenant.waitsFor), asksOf(tenant.exceeds))
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
      const { parent, weight } = node
      const bounds = this.#bounds.get(parent) ?? { least: Number.POSITIVE_INFINITY, most: parent.level }
      this.#bounds.set(parent, bounds)
      bounds.least = Math.min(bounds.least, shareOf(node))
      bounds.most = Math.max(bounds.most, cost / weight)
    }
  }

  /** Advantage per weight. */
  #ahead(group: Group, share: number): number {
    const standing = this.#bounds.get(group)
    return standing === undefined ? 0 : Math.max(0, Math.min(standing.most, share - standing.least))
  }

  /**
   * Lets the kept tenants, now `tenants` in the same order, carry their advantages. So that guarantees stay parts of
   * those above, the amounts carried by the children of a group sum to the group's. The root's children all carry more,
   * or less, by the same amount per weight: as little as leaves none with less than nothing. Returns the sum that those
   * carry.
   *
   * Smaller calls of a sibling use up a group's part before a call above it fits. So if the first member of a group
   * waits for such a call, all members come after it by that call.
   */
  carry(root: Group, tenants: readonly Tenant[], { most: limit, tolerance, isWhole }: Budget): number {
    if (tenants.length === 0) return 0
    const children = new Map<Group, Node[]>()
    const standings = new Map<Node, Share>(
      [...tenants.entries()].map(([at, tenant]) => [tenant, this.kept[at]!.standing]),
    )
    for (const [group, standing] of this.#groups) standings.set(group, standing)
    for (const [child, { ahead, isHungry }] of standings) {
      child.ahead = ahead * child.weight
      child.isHungry = isHungry
      const siblings = children.get(child.parent!)
      if (siblings === undefined) children.set(child.parent!, [child])
      else siblings.push(child)
    }
    const hungryIn = (group: Group): Node[] => children.get(group)!.filter(({ isHungry }) => isHungry)
    /** Members that want no more than their part carry so much that it is left to them, and at least `least`. */
    const spare = (group: Group, least: number): void => {
      const members = children.get(group)!
      const part = (limit * group.due) / group.activeWeight
      const level = levelAbove(hungryIn(group), part)
      const most = Math.max(least, Math.min(group.entryAhead, level - part))
      for (const member of members) if (!member.isHungry) member.ahead = member.weight * most
    }
    for (const [group, members] of children) {
      group.entryAhead = levelBelow(members, limit * group.due)
      for (const member of members)
        if (member.isHungry)
          member.ahead = Math.max(member.ahead, member.weight * group.entryAhead - standings.get(member)!.asks)
      spare(group, 0)
    }
    const isGroup = (child: Node): child is Group => children.has(child as Group)
    const leastIn = (group: Group): number =>
      hungryIn(group).reduce((least, member) => Math.min(least, shareAhead(member)), Number.POSITIVE_INFINITY)
    const least = new Map([...children.keys()].map((group) => [group, leastIn(group)]))
    const aheadBy = ({ ahead, weight, parent }: Node): number => ahead - least.get(parent!)! * weight
    /** The call for which it waits, above its part of the limit; of a group, that of its first member. */
    const callOf = (node: Node): number => {
      if (!isGroup(node)) return standings.get(node)!.large
      const first = firstOf(node)
      return first === undefined ? 0 : callOf(first)
    }
    const excess = (node: Node): number => (isGroup(node) ? callOf(node) - limit * node.due - aheadBy(node) : 0)
    const firsts = new Map<Group, Node | undefined>()
    /** A group whose call exceeds its part by more than it is ahead; otherwise the member that got least. */
    const firstOf = (group: Group): Node | undefined => {
      // Each is found once: a group's depends on those of all groups below.
      if (!firsts.has(group)) {
        const hungry = hungryIn(group)
        const large = largest(hungry, excess)
        const least = hungry.filter((member) => aheadBy(member) <= tolerance)
        firsts.set(group, large !== undefined && excess(large) > tolerance ? large : largest(least, callOf))
      }
      return firsts.get(group)
    }
    const before = new Map<Node, number>()
    for (const group of isWhole ? children.keys() : []) {
      let first = firstOf(group)
      if (first === undefined || excess(first) <= tolerance) continue
      for (const call = callOf(first); first !== undefined; first = isGroup(first) ? firstOf(first) : undefined)
        before.set(first, call)
    }
    // They come first in this window only: their advantages stay.
    const moved = before.size > 0 ? [...standings.keys()] : []
    const advantages = new Map(moved.map((node) => [node, node.ahead]))
    for (const [node, call] of before) {
      node.ahead = -call
      spare(node.parent!, Number.NEGATIVE_INFINITY)
    }
    const evenly = (group: Group): number =>
      children.get(group)!.reduce((sum, { ahead }) => sum + ahead, 0) / group.activeWeight
    /**
     * The average amount per weight that the children of a group have to carry, so that none carries less than nothing.
     */
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
      group.entryCarried = Math.max(0, group.entryAhead + more)
      for (const child of children.get(group)!) {
        child.carried = Math.max(0, child.ahead + child.weight * more)
        if (isGroup(child)) give(child, child.carried / child.activeWeight)
      }
    }
    const most = before.size > 0 ? Number.POSITIVE_INFINITY : evenly(root) + limit / root.activeWeight
    give(root, Math.min(most, needed(root)))
    for (const [member, ahead] of advantages) member.ahead = ahead
    return children.get(root)!.reduce((sum, { carried }) => sum + carried, 0)
  }
}

/** The level per weight, not below 0, above which these members are ahead by `amount` together. */
function levelBelow(members: readonly Node[], amount: number): number {
  let [weight, above] = [0, 0]
  for (const member of members.toSorted((a, b) => b.ahead / b.weight - a.ahead / a.weight)) {
    if (above - (weight * member.ahead) / member.weight >= amount) break
    weight += member.weight
    above += member.ahead
  }
  return Math.max(0, (above - amount) / weight)
}

/** The level per weight to which these members are lifted from their advantages by `part` for each weight of theirs. */
function levelAbove(members: readonly Node[], part: number): number {
  const room = part * weightOf(members)
  let [weight, below] = [0, 0]
  for (const member of members.toSorted((a, b) => shareAhead(a) - shareAhead(b))) {
    if (weight * shareAhead(member) - below >= room) break
    weight += member.weight
    below += member.ahead
  }
  return weight > 0 ? (room + below) / weight : 0
}

/** The first one with the largest value. */
function largest(nodes: readonly Node[], of: (node: Node) => number): Node | undefined {
  let [most, first]: [number, Node | undefined] = [Number.NEGATIVE_INFINITY, undefined]
  for (const node of nodes) {
    const value = of(node)
    if (value > most) [most, first] = [value, node]
  }
  return first
}

function weightOf(members: readonly Node[]): number {
  return members.reduce((sum, { weight }) => sum + weight, 0)
}

function shareAhead({ ahead, weight }: Node): number {
  return ahead / weight
}

/** The relevant amount of a node, per weight. */
function shareOf({ used, ahead, elsewhere, weight }: Node): number {
  return (used + ahead + elsewhere) / weight
}

function asksOf(cost: number): number {
  return cost < Number.POSITIVE_INFINITY ? cost : 0
}
