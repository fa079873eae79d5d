import { type Budget, RETRY, TIE } from './budget.js'
import type { Group } from './group.js'
import type { Absent, Node, Roster, Tenant } from './tenants.js'

/**
 * The parts of the places for strangers that those of the last window may take: those that were active, and those that
 * were refused before they were.
 */
const KEPT = 1 / 2
const KEPT_REFUSED = 1 / 4

/** Most that is carried for a call that comes first, in limits: sums of more are not as exact as the tolerance. */
const MOST_CARRIED = 1e6

/** A tenant of the last window that counts in this one. */
export interface Kept extends Omit<Absent, 'isHungry'> {
  readonly name: string
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
  /** Those that were refused, or owe something, and for which there is no place yet: first come, first kept. */
  readonly left: Map<string, Absent> = new Map()
  readonly #bounds: Map<Group, WantedBounds> = new Map()
  readonly #groups: Map<Group, Share> = new Map()
  /** The largest cost that may be served in the next window, by this one. Larger ones have no precedence. */
  readonly reach: number = Number.POSITIVE_INFINITY
  /** The least cost for which the budget was kept in vain. */
  readonly failed: number = Number.POSITIVE_INFINITY
  readonly #limit: number

  /** Reads the tenants of a window. */
  constructor(roster: Roster, budget: Budget) {
    const tenants = roster.active()
    this.#limit = budget.most
    const room = Math.floor(roster.most * KEPT)
    const roomRefused = Math.min(Math.ceil(roster.most * KEPT_REFUSED), roster.most - 1 - room)
    if (tenants.length > 0 && !budget.isDrawn) {
      const most = mostOf(tenants, budget)
      this.failed = failedOf(tenants, budget, most)
      this.reach = Math.min(most, this.failed - 2 * budget.tolerance)
    }
    const wants = (tenant: Tenant): boolean =>
      wantsMore(tenant) && (tenant.exceeds === Number.POSITIVE_INFINITY || tenant.exceeds <= this.reach)
    for (const tenant of tenants) if (wants(tenant)) this.#note(tenant)
    const keep = (one: Absent, name: string, standing: Share, exceeds = Number.POSITIVE_INFINITY): void => {
      const { weight, group, isNamed, returnMs, isHungry, debt } = one
      this.kept.push({ name, weight, group, isNamed, debt, returnMs, exceeds, standing })
      for (let node = group; node.parent !== undefined && !this.#groups.has(node); node = node.parent)
        this.#groups.set(
          node,
          node.active ? this.#standingOf(node, this.#bounds.has(node)) : this.#newcomer(node.parent, isHungry),
        )
    }
    // A member of a pool has nothing of which to pay for a tenant that does not ask there.
    const counts = (tenant: Tenant): boolean =>
      tenant !== tenant.parent.shared && (tenant.hasAsked || (tenant.debt > 0 && !budget.isDrawn))
    const known = tenants.filter(counts)
    const served = mostServed(known, room)
    for (const tenant of known)
      if (!served.has(tenant)) keep(tenant, tenant.name, this.#standingOf(tenant, wants(tenant)), tenant.exceeds)
    let strangers = 0
    for (const [name, one] of roster.absent) {
      if (one.returnMs <= budget.startMs && one.debt === 0) continue
      if (one.isNamed || strangers++ < roomRefused) keep(one, name, this.#newcomer(one.group, one.isHungry))
      else this.left.set(name, one)
    }
    for (const { name, weight, group, isNamed, returnMs, isHungry, debt } of served)
      if (debt > 0 && this.left.size < roster.most)
        this.left.set(name, { weight, group, isNamed, returnMs, isHungry, debt })
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
  carry(root: Group, tenants: readonly Tenant[], budget: Budget): number {
    if (tenants.length === 0) return 0
    const groups = new Map<Group, Siblings>()
    const join = (node: Node, share: Share): void => {
      const group = node.parent!
      if (!groups.has(group)) groups.set(group, new Siblings(group, budget))
      groups.get(group)!.add(node, share)
    }
    for (const [at, tenant] of tenants.entries()) join(tenant, this.kept[at]!.standing)
    for (const [group, standing] of this.#groups) join(group, standing)
    for (const members of groups.values()) members.limit(groups)
    const first = new Map<Sibling, number>()
    if (budget.isWhole) for (const members of groups.values()) members.raise(first)
    for (const [member, call] of first) {
      member.ahead = -member.weight * member.parent.entry - call
      member.parent.spare(Number.NEGATIVE_INFINITY)
    }
    const all = groups.get(root)!
    const most = all.entry * root.activeWeight + (first.size > 0 ? MOST_CARRIED : 1) * budget.most
    return all.give(Math.min(all.sum + most, all.needed))
  }
}

/** A tenant or a group in the window that begins. */
class Sibling {
  readonly node: Node
  readonly weight: number
  readonly parent: Siblings
  readonly share: Share
  /** A group's own members. */
  inside: Siblings | undefined
  /** Its advantage over a member that enters. */
  ahead: number

  constructor(node: Node, share: Share, parent: Siblings) {
    this.node = node
    this.weight = node.weight
    this.parent = parent
    this.share = share
    this.ahead = share.ahead * node.weight
    node.isHungry = share.isHungry
  }

  get level(): number {
    return this.ahead / this.weight
  }

  /** Its advantage over the hungry member that got least. */
  get lead(): number {
    return this.ahead - this.parent.least * this.weight
  }

  /** The call for which it waits, above its part of the limit; of a group, that of its first member. */
  get cost(): number {
    return this.inside === undefined ? this.share.large : (this.inside.first?.cost ?? 0)
  }

  /** The amount by which a group's call exceeds its part and its lead. */
  get exceeds(): number {
    return this.inside === undefined ? 0 : this.cost - this.inside.budget - this.lead
  }
}

/** The members of a group in the window that begins. */
class Siblings {
  readonly #group: Group
  readonly #tolerance: number
  /** The group's part of the limit. */
  readonly budget: number
  readonly #all: Sibling[] = []
  readonly #hungry: Sibling[] = []
  /** The advantage per weight, over the member that got least, of one that enters. */
  entry = 0
  /** The least advantage per weight of the hungry ones. */
  least: number = Number.POSITIVE_INFINITY
  /** Null: not known yet. It depends on those of all groups below. */
  #first: Sibling | undefined | null = null

  constructor(group: Group, { most, tolerance }: Budget) {
    this.#group = group
    this.#tolerance = tolerance
    this.budget = most * group.due
  }

  add(node: Node, share: Share): void {
    const member = new Sibling(node, share, this)
    this.#all.push(member)
    if (share.isHungry) this.#hungry.push(member)
  }

  /** All that are ahead of a member are so by the group's budget at most, together, and by the cost that it waits for. */
  limit(groups: ReadonlyMap<Node, Siblings>): void {
    this.entry = levelBelow(this.#all, this.budget)
    // From now on, an advantage is that over a member that enters.
    for (const member of this.#hungry)
      member.ahead = Math.max(member.ahead - member.weight * this.entry, -member.share.asks)
    this.spare(-this.entry)
    for (const member of this.#all) {
      member.node.ahead = member.ahead
      member.inside = groups.get(member.node)
    }
    for (const { level } of this.#hungry) this.least = Math.min(this.least, level)
  }

  /** Siblings that want no more than their part carry so much that it is left to them, and at least `least`. */
  spare(least: number): void {
    const part = this.budget / this.#group.activeWeight
    const most = Math.max(least, Math.min(0, levelAbove(this.#hungry, part) - part))
    for (const member of this.#all) if (!member.node.isHungry) member.ahead = member.weight * most
  }

  /** A group whose call exceeds its part by more than it is ahead; otherwise the member that got least. */
  get first(): Sibling | undefined {
    if (this.#first === null) {
      const large = largest(this.#hungry, 'exceeds')
      const isLarge = large !== undefined && large.exceeds > this.#tolerance
      const last = this.#hungry.filter(({ lead }) => lead <= this.#tolerance)
      this.#first = isLarge ? large : largest(last, 'cost')
    }
    return this.#first
  }

  /** If the first one is a group with such a call, it comes first in this window, and so do those below that wait. */
  raise(calls: Map<Sibling, number>): void {
    let { first } = this
    if (first === undefined || first.exceeds <= this.#tolerance) return
    for (const { cost } = first; first !== undefined; first = first.inside?.first) calls.set(first, cost)
  }

  /** The sum of their advantages. */
  get sum(): number {
    return this.#all.reduce((sum, { ahead }) => sum + ahead, 0)
  }

  /** The amount that they have to carry, so that none carries less than nothing. */
  get needed(): number {
    const { activeWeight } = this.#group
    const even = this.sum / activeWeight
    const most = this.#all.reduce(
      (most, { ahead, weight, inside }) => Math.max(most, even + ((inside?.needed ?? 0) - ahead) / weight),
      0,
    )
    return activeWeight * most
  }

  /** Lets them carry an amount, each no less than nothing. Returns the sum. */
  give(amount: number): number {
    const more = (amount - this.sum) / this.#group.activeWeight
    this.#group.entryCarried = Math.max(0, more)
    let sum = 0
    for (const { node, ahead, weight, inside } of this.#all) {
      node.carried = Math.max(0, ahead + weight * more)
      sum += node.carried
      inside?.give(node.carried)
    }
    return sum
  }
}

/** The level per weight, not below 0, above which these members are ahead by `amount` together. */
function levelBelow(members: readonly Sibling[], amount: number): number {
  let [weight, above] = [0, 0]
  for (const member of members.toSorted((a, b) => b.level - a.level)) {
    if (above - weight * member.level >= amount) break
    weight += member.weight
    above += member.ahead
  }
  return Math.max(0, (above - amount) / weight)
}

/** The level per weight to which these members are lifted from their advantages by `part` for each weight of theirs. */
function levelAbove(members: readonly Sibling[], part: number): number {
  const room = part * members.reduce((sum, member) => sum + member.weight, 0)
  let [weight, below] = [0, 0]
  for (const member of members.toSorted((a, b) => a.level - b.level)) {
    if (weight * member.level - below >= room) break
    weight += member.weight
    below += member.ahead
  }
  return weight > 0 ? (room + below) / weight : 0
}

/** The first one with the largest value. */
function largest(members: readonly Sibling[], of: 'cost' | 'exceeds'): Sibling | undefined {
  return members.reduce<Sibling | undefined>(
    (most, one) => (most === undefined || one[of] > most[of] ? one : most),
    undefined,
  )
}

/** The relevant amount of a node, per weight. */
function shareOf({ used, ahead, elsewhere, weight }: Node): number {
  return (used + ahead + elsewhere) / weight
}

/** The strangers for which there is no `room`: those that got the largest part of their own. */
function mostServed(tenants: readonly Tenant[], room: number): ReadonlySet<Tenant> {
  const strangers = tenants.filter(({ isNamed }) => !isNamed)
  if (strangers.length <= room) return new Set()
  const partOf = ({ used, ahead, elsewhere, due }: Tenant): number => (used + ahead + elsewhere) / due
  return new Set(strangers.sort((a, b) => partOf(a) - partOf(b)).slice(room))
}

function asksOf(cost: number): number {
  return cost < Number.POSITIVE_INFINITY ? cost : 0
}

/** It was refused when it last asked. */
function wantsMore({ hasAsked, returnMs }: Tenant): boolean {
  return hasAsked && returnMs > 0
}

/**
 * The largest cost that may be served beside the tenants that want no more than their parts: the budget less their use,
 * and their claims when it comes back for the last time.
 */
function mostOf(tenants: readonly Tenant[], { most, reserve, tolerance }: Budget): number {
  let reach = most + tolerance
  for (const tenant of tenants) {
    const { used, due, parent, weight } = tenant
    if (wantsMore(tenant) || used > due * most * TIE) continue
    tenant.guarantee = weight * parent.level
    reach -= Math.min(due * most, used + (reserve === 'strict' ? tenant.ownClaim(0) : due * most * RETRY))
  }
  return reach
}

/**
 * The cost for which the budget was kept in vain: of the first tenant, if more was left than the part of the reach that
 * others got. It stays as long as one asks for as much, and none is served.
 */
function failedOf(tenants: readonly Tenant[], budget: Budget, reach: number): number {
  const { failed, available, left, tolerance } = budget
  let [first, cost] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (const tenant of tenants) {
    const { exceeds } = tenant
    if (!wantsMore(tenant) || exceeds === Number.POSITIVE_INFINITY) continue
    if (exceeds >= failed - tolerance) return failed
    if (left <= reach - left + tolerance) continue
    if (exceeds > available) continue
    let node: Node = tenant
    while (node.parent!.parent !== undefined) node = node.parent!
    const tag = (node.passed + exceeds) / node.weight
    if (tag > first * TIE) continue
    cost = tag * TIE < first ? exceeds : Math.min(cost, exceeds)
    first = Math.min(first, tag)
  }
  return cost
}
