import { ownCopy } from '../path.js'
import { type Budget, TIE } from './budget.js'
import type { Group } from './group.js'
import { Reach, wantsMore } from './reach.js'

/**
 * A node with a weight in a hierarchy: a `Group`, or a {@link Tenant}. Everything except its place belongs to one
 * window.
 */
export class Node {
  weight: number
  /** Its group; undefined for the root, which represents the budget itself. */
  parent: Group | undefined
  /** Its place among its siblings, groups before tenants; below 0 for a tenant that is not active. */
  slot: number
  active = false
  used = 0
  /** Used, or let pass. */
  passed = 0
  /** Its advantage, in the last window, over siblings that wanted more. */
  ahead = 0
  /** Counts as used because of that; more if guarantees would not fit into each other otherwise. */
  carried = 0
  /** Counts as used because it was used elsewhere. */
  elsewhere = 0
  /** The tenants in here that have released their claims; a tenant: 0 or 1. The node's own claim is released, too. */
  released = 0
  /** The refused cost of a waiting tenant: of the first one, for a group; Infinity if none waits. */
  waitsFor: number = Number.POSITIVE_INFINITY
  /** The same of the tenants that were last refused for more than their part of the limit. */
  exceeds: number = Number.POSITIVE_INFINITY
  /** It was refused more than its part of the limit, all its use included, and has not been content since then. */
  isHungry = false
  /** The lowest finish tag of siblings with a tenant that waits for an available cost, as last computed. */
  rivalTag: number = Number.POSITIVE_INFINITY
  /** The guarantee of its weight, including the part that counts as used before; as last computed. */
  guarantee = 0

  constructor(weight: number, parent: Group | undefined, slot: number) {
    this.weight = weight
    this.parent = parent
    this.slot = slot
  }

  /**
   * Its used or passed amount, when the share `tau` of the window has passed. A tenant that waits for its claim lets
   * nothing pass.
   */
  passedBy(tau: number): number {
    return this.released > 0 ? this.passed : Math.max(this.passed, this.guarantee * tau)
  }

  /** The rest of its own guarantee. */
  ownClaim(tau: number): number {
    return this.released > 0 ? 0 : Math.max(0, this.guarantee - this.passedBy(tau))
  }

  /** The part of the root's budget for its weight; of a newcomer, as if it were active. */
  get due(): number {
    const { parent, weight, active } = this
    return parent === undefined ? 1 : (parent.due * weight) / (parent.activeWeight + (active ? 0 : weight))
  }

  /** Clears the state of the window. */
  clear(): void {
    this.active = false
    this.used = 0
    this.passed = 0
    this.ahead = 0
    this.carried = 0
    this.elsewhere = 0
    this.released = 0
    this.waitsFor = Number.POSITIVE_INFINITY
    this.exceeds = Number.POSITIVE_INFINITY
    this.isHungry = false
    this.guarantee = 0
  }
}

/** A tenant that asks for costs. The objects are reused in later windows, for other tenants. */
export class Tenant extends Node {
  declare parent: Group
  name = ''
  /** Named in the hierarchy. */
  isNamed = false
  /** It lends its claim. */
  lends = false
  /** Amounts that could not be charged. */
  debt = 0
  /** It has asked for something in this window. */
  hasAsked = false
  /** Time until which it may return if it was refused when it last asked; 0 if it was not. */
  returnMs = 0
  /** When it was last refused, if it waits. */
  waitsSinceMs = 0
  /** Its place among all tenants of the window. */
  readonly place: number
  before: Tenant | undefined
  after: Tenant | undefined

  constructor(group: Group, place: number) {
    super(1, group, -1)
    this.place = place
  }

  get waits(): boolean {
    return this.waitsFor < Number.POSITIVE_INFINITY
  }

  /** Its weight, if its claim shrinks with time by now, else 0. */
  fading(tau: number): number {
    return this.released === 0 && this.passed < this.guarantee * tau ? this.weight : 0
  }

  /** Becomes another tenant, which is not active. */
  become(name: string, weight: number, group: Group, isNamed: boolean): void {
    this.clear()
    this.name = ownCopy(name)
    this.weight = weight
    this.parent = group
    this.slot = -1
    this.lends = false
    this.isNamed = isNamed
    this.debt = 0
    this.hasAsked = false
    this.returnMs = 0
    this.before = undefined
    this.after = undefined
  }
}

/** The name of the tenant that strangers share once there are too many. No tenant's own name is empty. */
export const SHARED = ''

/**
 * The active tenants of a window, by name and by place. Those that the hierarchy does not name are strangers: there is
 * room for `most`, the last of which all further ones of a group share. The objects are reused in later windows.
 */
export class Roster {
  /** The active ones, and after them those of earlier windows. */
  readonly #tenants: Tenant[]
  readonly #byName: Map<string, Tenant> = new Map()
  readonly #most: number
  #count = 0
  #strangers = 0

  constructor(root: Group, most: number) {
    this.#tenants = [new Tenant(root, 0)]
    this.#most = most
  }

  get count(): number {
    return this.#count
  }

  /** True if strangers that are not active have to share. */
  get isFull(): boolean {
    return this.#strangers >= this.#most - 1
  }

  /** The active tenant of that name, unchanged. */
  get(name: string): Tenant | undefined {
    return this.#byName.get(name)
  }

  at(place: number): Tenant {
    return this.#tenants[place]!
  }

  active(): Tenant[] {
    return this.#tenants.slice(0, this.#count)
  }

  /** A tenant that is not active; the same one until it is added. */
  prepare(name: string, weight: number, { group, isNamed }: Place): Tenant {
    const tenant = this.#tenants[this.#count]!
    tenant.become(name, weight, group, isNamed)
    return tenant
  }

  /** Adds the tenant that was prepared last. */
  add(tenant: Tenant): void {
    if (++this.#count === this.#tenants.length) this.#tenants.push(new Tenant(tenant.parent, this.#count))
    if (tenant.name === SHARED) {
      tenant.parent.shared = tenant
      return
    }
    this.#byName.set(tenant.name, tenant)
    if (!tenant.isNamed) this.#strangers++
  }

  clear(): void {
    this.#byName.clear()
    this.#count = 0
    this.#strangers = 0
  }
}

/** A tenant's place: its group, and whether the hierarchy names it, so that there is always room for it. */
export interface Place {
  readonly group: Group
  readonly isNamed: boolean
}

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
  readonly #standings: Map<Group, WantedBounds> = new Map()
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
          node.active ? this.#standingOf(node, this.#standings.has(node)) : this.#newcomer(node.parent, isHungry),
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
    return { ahead: isHungry ? this.#ahead(group, group.level) : 0, asks: 0, isHungry }
  }

  #standingOf(node: Group | Tenant, wants: boolean): Share {
    const { used, elsewhere, carried, weight, due } = node
    const parent = node.parent!
    const all = used + elsewhere
    const isUp = (all + carried) * TIE >= weight * parent.level
    const isHungry = (node.isHungry || all > due * this.#limit * TIE) && (wants || isUp)
    return { ahead: isHungry ? this.#ahead(parent, shareOf(node)) : 0, asks: asksOf(node), isHungry }
  }

  /** A tenant wants more, and so do its groups. */
  #note(tenant: Tenant): void {
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
      const { parent, waitsFor, weight } = node
      const standing = this.#standings.get(parent) ?? { least: shareOf(node), most: parent.level }
      this.#standings.set(parent, standing)
      standing.least = Math.min(standing.least, shareOf(node))
      if (waitsFor < Number.POSITIVE_INFINITY) standing.most = Math.max(standing.most, waitsFor / weight)
    }
  }

  /** Advantage per weight. */
  #ahead(group: Group, share: number): number {
    const standing = this.#standings.get(group)
    return standing === undefined ? 0 : Math.max(0, Math.min(standing.most, share - standing.least))
  }

  /**
   * Lets the kept tenants, now `tenants` in the same order, carry their advantages. So that guarantees stay parts of
   * those above, the amounts carried by the children of a group sum to the group's. The root's children all carry more,
   * or less, by the same amount per weight: as little as leaves none with less than nothing, but at most a window's
   * guarantee more. Returns the sum that those carry.
   */
  carry(root: Group, tenants: readonly Tenant[], limit: number): number {
    const children = new Map<Group, Node[]>()
    const add = (child: Node): void => {
      const siblings = children.get(child.parent!)
      if (siblings === undefined) children.set(child.parent!, [child])
      else siblings.push(child)
    }
    const asks = new Map<Node, number>()
    const stand = (child: Node, standing: Share): void => {
      child.ahead = standing.ahead * child.weight
      child.isHungry = standing.isHungry
      if (standing.asks > 0) asks.set(child, standing.asks)
      add(child)
    }
    for (const [at, tenant] of tenants.entries()) stand(tenant, this.kept[at]!.standing)
    for (const [group, standing] of this.#groups) stand(group, standing)
    for (const [group, members] of children) {
      group.entryAhead = levelBelow(members, limit * group.due)
      const hungry = members.filter(({ isHungry }) => isHungry)
      for (const member of hungry)
        member.ahead = Math.max(member.ahead, member.weight * group.entryAhead - (asks.get(member) ?? 0))
      const part = (limit * group.due) / group.activeWeight
      const most = Math.max(0, Math.min(group.entryAhead, levelAbove(hungry, part) - part))
      for (const member of members) if (!member.isHungry) member.ahead = member.weight * most
    }
    const evenly = (group: Group): number =>
      children.get(group)!.reduce((sum, { ahead }) => sum + ahead, 0) / group.activeWeight
    const isGroup = (child: Node): child is Group => children.has(child as Group)
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
    if (tenants.length === 0) return 0
    const even = evenly(root)
    give(root, Math.min(needed(root), even + limit / root.activeWeight))
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
  let [weight, below, room] = [0, 0, 0]
  for (const member of members) room += part * member.weight
  for (const member of members.toSorted((a, b) => a.ahead / a.weight - b.ahead / b.weight)) {
    if ((weight * member.ahead) / member.weight - below >= room) break
    weight += member.weight
    below += member.ahead
  }
  return weight > 0 ? (room + below) / weight : 0
}

/** The relevant amount of a node, per weight. */
function shareOf({ used, ahead, elsewhere, weight }: Node): number {
  return (used + ahead + elsewhere) / weight
}

function asksOf({ waitsFor }: Node): number {
  return waitsFor < Number.POSITIVE_INFINITY ? waitsFor : 0
}
