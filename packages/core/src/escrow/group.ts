import { TIE } from './budget.js'
import { ChildClaims, type Claims, highestLevel, type LevelledClaims, Plane } from './claims.js'
import { Ranking } from './ordered-sums.js'
import { reweighed } from './shares.js'
import { Node, type Tenant } from './tenants.js'

/** Most steps of a search before it falls back to zero, and its precision. */
const MOST_STEPS = 8
const ROUNDING = 1e-12

/**
 * The waiting tenants, in line by finish tag: their use or passed amount, per weight, plus the cost for which they
 * wait.
 *
 * It is a node's turn if no other node that waits for an available cost has a lower tag. If others have one, and are
 * not asking now, the node may go first as long as enough is left for them: the amount that brings each of them as far,
 * per weight, as the node would come. The sum of these amounts is *owed* to them.
 */
export class Line {
  /** By tag: the cost of the wait, and the weight; so key·y − x is the used or passed amount. */
  readonly #byTag: Ranking = new Ranking('least')
  /** The total weight of the nodes with precedence, at the last call of {@link owed}. */
  weight = 0

  /** A node stands in line for `cost` (Infinity: it does not), with its present tag. */
  put({ slot, weight, passed }: Node, cost: number): void {
    if (cost < Number.POSITIVE_INFINITY) this.#byTag.set(slot, (passed + cost) / weight, cost, weight)
    else if (this.#byTag.has(slot)) this.#byTag.remove(slot)
  }

  /** The cost of the node with the lowest tag, the least of these if there are several; Infinity if nobody waits. */
  firstCost(): number {
    this.#byTag.sumBelow(this.leastTag(Number.MAX_VALUE, -1) * TIE)
    return this.#byTag.x
  }

  clear(): void {
    this.#byTag.clear()
  }

  /** The lowest tag of the nodes other than `slot` that wait for `most` or less; Infinity if there is none. */
  leastTag(most: number, slot: number): number {
    return this.#byTag.firstKey(most, slot)
  }

  /**
   * The amount to leave to others if a node gets as far as `tag`: nothing if it is its turn, `leastTag` being the
   * lowest of the others. It has the `weight`, has used or let pass `passed`, and stands in line with the cost
   * `waitsFor` (Infinity: it does not).
   */
  owed(tag: number, leastTag: number, weight: number, passed: number, waitsFor: number): number {
    this.weight = 0
    if (tag <= leastTag * TIE) return 0
    const below = tag / TIE
    this.#byTag.sumBelow(below)
    const isIn = (passed + waitsFor) / weight < below
    this.weight = this.#byTag.y - (isIn ? weight : 0)
    return this.weight * tag - (this.#byTag.z - (isIn ? passed : 0))
  }
}

function firstTag(line: Line | undefined): number {
  return line?.leastTag(Number.MAX_VALUE, -1) ?? Number.POSITIVE_INFINITY
}

/** A node that asks: the amount owed to others if it gets `cost`, and its growth with each further unit. */
export interface Debtor {
  owed(cost: number): number
  readonly slope: number
}

/**
 * A cost, as high as possible, for which `room` is enough together with the amount then owed; sometimes a little less.
 */
export function mostWithin(room: number, debtor: Debtor): number {
  let cost = room
  for (let step = 0; step < MOST_STEPS && cost > 0; step++) {
    const over = cost + debtor.owed(cost) - room
    if (over <= room * ROUNDING) return cost
    cost -= over / (1 + debtor.slope)
  }
  return 0
}

/** The last requested plane. */
const claim: Plane = new Plane()

/**
 * A group in a hierarchy, or its root: the claims of its children, and its waiting ones.
 *
 * Its level, the guarantee of weight 1 in it, is its own guarantee over the weights of its active children, or less. A
 * group claims the larger of the rest of its own guarantee and the sum of its children's claims: its own alone would
 * give away a silent child's remaining claim once a sibling has borrowed from outside; theirs alone would give away the
 * group's guarantee.
 *
 * Levels above may sink and rise, and time may pass, and nodes below are visited only if it makes a difference: O(log
 * n) for each such group. Time leaves the box of a plane when a tenant in it falls behind its pace, which it does once
 * for each time that it spends: per check that is O(depth·log n) on average, though one after a pause may have to visit
 * all groups.
 */
export class Group extends Node implements LevelledClaims {
  readonly #groups: Group[] = []
  #tenants: Tenant[] = []
  #claims: ChildClaims | undefined
  /** The claims of tenants that lend. */
  #lent: ChildClaims | undefined
  /** These tenants, and groups with such tenants: those refused longest ago come first. */
  readonly #lenders: Set<Group | Tenant> = new Set()
  /** Children with waiting tenants. */
  #line: Line | undefined
  /** Children with tenants that were last refused for more than their part of the limit. */
  #large: Line | undefined
  /** The sum of the weights of the active children. */
  activeWeight = 0
  /** The level, as a part of its maximum. */
  part = 1
  /** The guarantee of weight 1, as last computed. */
  level = 0
  /** Growth of the last {@link total} with the level. */
  slope = 0
  /** The amount per weight that a member carries if it was not active in the last window. */
  entryCarried = 0

  /** The tenant that all strangers beyond the limit share. */
  shared: Tenant | undefined

  /** All groups come before the first tenant. */
  addGroup(weight: number): Group {
    const group = new Group(weight, this, this.#groups.length)
    this.#groups.push(group)
    return group
  }

  /** A child becomes active: a group in here, or a tenant, which then gets a place in here. */
  open(child: Group | Tenant): void {
    child.active = true
    this.activeWeight += child.weight
    if (child instanceof Group) return
    child.slot = this.#groups.length + this.#tenants.length
    this.#tenants.push(child)
  }

  /**
   * Changes the weight of an active child. Lost weight takes along its part of what the child carries; additional
   * weight carries what a newcomer does. Returns the change of that amount.
   */
  reweigh(child: Group | Tenant, weight: number): number {
    const others = (): number => {
      let sum = 0
      for (const group of this.#groups) if (group.active && group !== child) sum += group.weight
      for (const tenant of this.#tenants) if (tenant !== child) sum += tenant.weight
      return sum
    }
    this.activeWeight = reweighed(this.activeWeight, child.weight, weight, others)
    const part = Math.min(1, weight / child.weight)
    const more = Math.max(0, weight - child.weight)
    const change = part * child.carried + more * this.entryCarried - child.carried
    child.ahead *= part
    child.carried += change
    child.passed = Math.max(0, child.passed + change)
    child.weight = weight
    return change
  }

  override clear(): void {
    super.clear()
    this.#tenants = []
    this.shared = undefined
    this.activeWeight = 0
    this.part = 1
    this.level = 0
    this.entryCarried = 0
    this.#claims?.clear()
    this.#lent?.clear()
    this.#lenders.clear()
    this.#line?.clear()
    this.#large?.clear()
  }

  /** Computes guarantees and levels, from the root down to here. The root's guarantee is the limit. */
  locate(): void {
    if (this.parent !== undefined) {
      this.parent.locate()
      this.guarantee = this.weight * this.parent.level
    }
    this.level = this.activeWeight > 0 ? (this.part * this.guarantee) / this.activeWeight : 0
  }

  total(level: number, tau: number): number {
    const sum = this.#claims?.total(level, tau) ?? 0
    this.slope = this.#claims?.slope ?? 0
    return sum
  }

  /** The highest possible level with `newcomer` more weight, which carries `carried`: in the root, beside the limit. */
  ceiling(newcomer: number, carried: number): number {
    return (this.guarantee + (this.parent === undefined ? carried : 0)) / (this.activeWeight + newcomer)
  }

  /** The claims of an undivided budget, for which the time of their fading is known. */
  get claims(): Claims | undefined {
    return this.#groups.length === 0 ? this.#claims?.tenants : undefined
  }

  /** The highest level up to `ceiling` at which the children's claims, and a newcomer's, fit into `room`. */
  highest(ceiling: number, tau: number, room: number, newcomer: number, carried: number, slack: number): number {
    return highestLevel(this, Math.min(ceiling, this.level), ceiling, tau, room, newcomer, carried, slack)
  }

  /** Its claim on its parent, with the last computed guarantee and level. */
  claim(tau: number): number {
    return Math.max(this.ownClaim(tau), this.total(this.level, tau))
  }

  /** The children's claims except one, an active one's, with the last computed levels. */
  othersClaim(child: Group | Tenant, tau: number): number {
    return this.total(this.level, tau) - (child instanceof Group ? child.claim(tau) : child.ownClaim(tau))
  }

  /** Present decrease of those claims, per share of the window. */
  othersFade(child: Group | Tenant, tau: number): number {
    const all = this.fade(this.level, tau)
    const own = child instanceof Group ? (this.#claims?.fading(child.slot) ?? 0) : child.fading(tau)
    return all - this.level * own
  }

  /** Decrease of all children's claims then at `level`. */
  fade(level: number, tau: number): number {
    return level > 0 ? level * (this.#claims?.near(level, level * tau).fading ?? 0) : 0
  }

  /** The lowest finish tag of another child with a tenant that waits for `most` or less; Infinity if there is none. */
  leastTag(child: Node, most: number): number {
    return this.#line?.leastTag(most, child.slot) ?? Number.POSITIVE_INFINITY
  }

  /**
   * The same of another child with a tenant that was last refused for more than its part, if `most` covers its cost.
   */
  leastLargeTag(child: Node, most: number): number {
    return this.#large?.leastTag(most, child.slot) ?? Number.POSITIVE_INFINITY
  }

  /** The claims of all that lend in here. */
  lendable(tau: number): number {
    this.locate()
    return this.#lent?.total(this.level, tau) ?? 0
  }

  /** A tenant lends its claim; it was refused last. */
  lend(child: Group | Tenant, tau: number): void {
    this.#lenders.delete(child)
    this.#lenders.add(child)
    this.#changeLent(child, tau)
    this.parent?.lend(this, tau)
  }

  /** It lends no more. */
  unlend(child: Group | Tenant, tau: number): void {
    if (!(child instanceof Group) || child.#lenders.size === 0) this.#lenders.delete(child)
    this.#changeLent(child, tau)
    this.parent?.unlend(this, tau)
  }

  /** All that lend in here, except in one child. */
  *lenders(except: Node): Iterable<Tenant> {
    for (const child of this.#lenders)
      if (child !== except) {
        if (child instanceof Group) yield* child.lenders(except)
        else yield child
      }
  }

  #changeLent(child: Group | Tenant, tau: number): void {
    if (child instanceof Group ? child.#lent === undefined : !child.lends && this.#lent === undefined) return
    this.#lent ??= new ChildClaims(this.#groups.length, this.#lentPlaneOf)
    if (child instanceof Group) this.#lent.changeGroup(child.slot, this.level, this.level * tau)
    else if (child.lends) this.#lent.setTenant(child.slot, child.weight, child.passed)
    else this.#lent.dropTenant(child.slot)
  }

  /** The amount to leave to other children if one that has used or let pass `passed` gets `cost`. */
  owed({ weight, rivalTag, waitsFor }: Node, passed: number, cost: number): number {
    return this.#line?.owed((passed + cost) / weight, rivalTag, weight, passed, waitsFor) ?? 0
  }

  /** Growth of that with each further unit. */
  slopeOwed({ weight }: Node): number {
    return (this.#line?.weight ?? 0) / weight
  }

  /** A child's claim has changed. Its own children come first. */
  change(child: Group | Tenant, tau: number): void {
    this.#claims ??= new ChildClaims(this.#groups.length, this.#planeOf)
    if (child instanceof Group) this.#claims.changeGroup(child.slot, this.level, this.level * tau)
    else if (child.released > 0) this.#claims.dropTenant(child.slot)
    else this.#claims.setTenant(child.slot, child.weight, child.passed)
    this.#changeLent(child, tau)
  }

  /**
   * A child stands in line with another cost than before, or with another tag; returns whether that changes this
   * group's cost. That is the cost of its first child; and if a child comes before that whose wait for more than its
   * part is over, the larger one of the two. With a smaller cost, the first children of two groups could each have to
   * wait for the other group.
   */
  rank(child: Node): boolean {
    const { waitsFor, exceeds } = this
    if (child.waitsFor < Number.POSITIVE_INFINITY) this.#line ??= new Line()
    if (child.exceeds < Number.POSITIVE_INFINITY) this.#large ??= new Line()
    this.#line?.put(child, child.waitsFor)
    this.#large?.put(child, child.exceeds)
    if (this.parent === undefined) return false
    this.waitsFor = this.#line?.firstCost() ?? Number.POSITIVE_INFINITY
    this.exceeds = this.#large?.firstCost() ?? Number.POSITIVE_INFINITY
    if (this.waitsFor < Number.POSITIVE_INFINITY && firstTag(this.#large) * TIE < firstTag(this.#line))
      this.waitsFor = Math.max(this.waitsFor, this.exceeds)
    return this.waitsFor !== waitsFor || this.exceeds !== exceeds
  }

  readonly #planeOf = (slot: number, level: number, faded: number): Plane => {
    const group = this.#groups[slot]!
    const factor = (group.part * group.weight) / group.activeWeight
    const sum = group.#claims?.near(factor * level, factor * faded)
    if (group.released > 0) claim.clear()
    else claim.claim(group.weight, group.passed, level, faded)
    if (sum !== undefined) claim.raise(sum, factor, level, faded)
    return claim
  }

  readonly #lentPlaneOf = (slot: number, level: number, faded: number): Plane => {
    const group = this.#groups[slot]!
    const factor = (group.part * group.weight) / group.activeWeight
    claim.scale(group.#lent!.near(factor * level, factor * faded), factor)
    return claim
  }
}

/**
 * The branch of a newcomer carries what its group demands of those that enter. The only member of each group in it
 * carries as much, and per weight so do those that enter that group later.
 */
export function enter(branch: Group | Tenant, tenant: Tenant): void {
  for (let node: Group | Tenant = tenant; node !== branch; node = node.parent!)
    node.parent!.entryCarried = branch.carried / node.weight
}
