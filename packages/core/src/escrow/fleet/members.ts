import { TIE } from '../budget.js'
import type { Stake, TenantReport } from './store.js'
import {
  budgetOf,
  claimOf,
  layer,
  levelBelow,
  newStandings,
  reachOf,
  type Standings,
  type Strata,
  type Stratum,
  stratumOf,
} from './strata.js'

/** Sums of one kind of a member's tenants: their weights at it, and their use, as far as that counts. */
interface Sum {
  weight: number
  used: number
}

/**
 * Sums of the tenants that a member reported by name: those below an even pace, those ahead of it within their
 * guarantees, and those beyond them.
 */
export interface Weighed {
  readonly behind: Sum
  readonly ahead: Sum
  readonly over: Sum
}

interface MemberPart {
  rate: number
  used: number
  /** The part of the tenant's weight that is at this member. */
  part: number
}

/** A tenant that some member reported in this window. */
export interface Tenant {
  weight: number
  /** At all members together, including members that have left; including the {@link carried} amount. */
  used: number
  /** Counts as used because it was ahead in the window before. */
  carried: number
  place: keyof Weighed
  /** It is active at some member, so that its weight counts. */
  isActive: boolean
  /** The cost of its last refusal, and the slot of that; 0 if it was not refused. */
  ask: number
  slot: number
  /** It was refused when it last asked. */
  wants: boolean
  /** It was refused more than its part of the limit, in this window. */
  lends: boolean
  readonly places: Map<Weighed, MemberPart>
}

/** Added to whether a saved tenant wants more, if it lends its claim. */
const LENDS = 2

/** A tenant in a window, and its places: the member, rate, used and part of each. */
export type SavedTenant = readonly [
  win: number,
  weight: number,
  used: number,
  carried: number,
  place: keyof Weighed,
  isActive: number,
  ask: number,
  slot: number,
  wants: number,
  ...places: (readonly [string, number, number, number])[],
]

/**
 * Tenants that were reported by name: each has its weight once, regardless of the number of members at which it is
 * active, and its use at all of them. So it gains nothing by asking in several places, or by a process that restarts.
 * For the amounts that a member reserves and judges itself, weight and use are divided between the members by the
 * tenant's demand at each.
 *
 * All of them together are known as {@link Strata}: no step iterates over tenants that its call does not name.
 *
 * A tenant's grants also count in the next window: if others wanted more, and got less per weight, it comes after them
 * until they have caught up, unless it left a part of its guarantee and did not want more. It carries that amount as if
 * it had used it. All that are ahead of another one are so by one
 * window's budget at most, together, and by the cost for which it waits. The part that all would carry, nobody does.
 *
 * O(members of the tenant) a report.
 */
export class Tenants {
  #tenants: Map<string, Tenant> = new Map()
  /** Those of the window before. */
  #before: Map<string, Tenant> = new Map()
  /** All of them as sums. */
  readonly standings: Standings

  constructor(standings: Standings = newStandings()) {
    this.standings = standings
  }

  /** Those in line: refused in this slot of time, or in the last. */
  *line(): Iterable<Stratum> {
    yield* this.standings.lineBefore
    yield* this.standings.line
  }

  /** Time advances: a tenant refused two slots ago is no longer in line. */
  moveTo(slot: number): void {
    const standings = this.standings
    if (slot === standings.slot) return
    standings.lineBefore = slot === standings.slot + 1 ? standings.line : []
    standings.line = []
    standings.slot = slot
  }

  /**
   * Applies a member's report of a tenant, and updates its sums. `level` is the guarantee of weight 1, of which the
   * part `elapsed` is due by now, and `due` its part of the limit; `isPresent` says whether a member still counts.
   */
  report(
    member: Weighed,
    report: TenantReport,
    level: number,
    elapsed: number,
    due: number,
    isPresent: (at: Weighed) => boolean,
  ): void {
    const { tenant: name, weight, used, rate, ask } = report
    let tenant = this.#tenants.get(name)
    if (tenant === undefined) {
      tenant = this.#newTenant(name, weight)
      this.#tenants.set(name, tenant)
    }
    this.#count(tenant, -1)
    weigh(tenant, -1)
    const place = tenant.places.get(member)
    if (ask > 0) tenant.wants = true
    else if (used > (place?.used ?? 0)) tenant.wants = false
    if (place === undefined) tenant.places.set(member, { rate, used, part: 0 })
    else {
      place.rate = rate
      place.used = used
    }
    if (weight !== tenant.weight) {
      tenant.carried = this.#reweighed(tenant.carried, tenant.weight, weight)
      tenant.weight = weight
    }
    tenant.used = tenant.carried
    let rates = 0
    for (const [at, { rate: asked, used: spent }] of tenant.places) {
      tenant.used += spent
      if (isPresent(at)) rates += asked
    }
    tenant.isActive = rates > 0
    if (ask > 0) {
      tenant.ask = ask
      tenant.slot = this.standings.slot
      if (ask > weight * due - tenant.carried) tenant.lends = true
    }
    const share = tenant.used / weight
    tenant.place = share < level * elapsed ? 'behind' : share < level ? 'ahead' : 'over'
    for (const [at, each] of tenant.places) each.part = rates > 0 && isPresent(at) ? each.rate / rates : 0
    weigh(tenant, 1)
    this.#count(tenant, 1)
  }

  /**
   * The grant of `decide` to a tenant at a member counts as used there, until the next report; if it is nothing, the
   * tenant waits in line with its `need`, which may exceed its part of the limit. During that decision it is not in
   * line.
   */
  grant(name: string, member: Weighed, need: number, exceeds: boolean, decide: () => number): number {
    const tenant = this.#tenants.get(name)!
    this.#count(tenant, -1)
    const grant = decide()
    tenant.wants = grant <= 0
    if (grant > 0) {
      if (need >= this.standings.failed) this.standings.failed = Number.MAX_VALUE
      weigh(tenant, -1)
      tenant.places.get(member)!.used += grant
      tenant.used += grant
      weigh(tenant, 1)
    } else {
      tenant.ask = need
      tenant.slot = this.standings.slot
      if (exceeds) tenant.lends = true
    }
    this.#count(tenant, 1)
    return grant
  }

  /** A reported tenant, and the member's part of it. */
  placeOf(name: string, member: Weighed): Tenant & { part: number } {
    const tenant = this.#tenants.get(name)!
    return { ...tenant, part: tenant.places.get(member)!.part }
  }

  /**
   * Restores a tenant from {@link save}, in the window `now` or the one before; members that are no longer known are
   * omitted.
   */
  load(
    name: string,
    [win, weight, used, carried, place, isActive, ask, slot, wants, ...rest]: SavedTenant,
    now: number,
    memberOf: (name: string) => Weighed | undefined,
  ): void {
    const places: Map<Weighed, MemberPart> = new Map()
    for (const [member, rate, spent, part] of rest) {
      const at = memberOf(member)
      if (at !== undefined) places.set(at, { rate, used: spent, part })
    }
    const flags = { isActive: isActive === 1, wants: wants % 2 === 1, lends: wants >= LENDS }
    const tenant = { weight, used, carried, place, ask, slot, places, ...flags }
    if (win === now) this.#tenants.set(name, tenant)
    else if (win === now - 1) this.#before.set(name, tenant)
  }

  /** State of a tenant, for a store that keeps it elsewhere; in the window `win`. */
  save(name: string, win: number, nameOf: (member: Weighed) => string): SavedTenant | undefined {
    const tenant = this.#tenants.get(name)
    if (tenant === undefined) return undefined
    const { weight, used, carried, place, isActive, ask, slot, wants, lends } = tenant
    const places = [...tenant.places].map(([at, { rate, used, part }]) => [nameOf(at), rate, used, part] as const)
    const flags = (wants ? 1 : 0) + (lends ? LENDS : 0)
    return [win, weight, used, carried, place, isActive ? 1 : 0, ask, slot, flags, ...places]
  }

  /**
   * A window begins: the next one, or a later one. `level` is the guarantee of weight 1 in the last, `left` its unused
   * rest, and `quiet` sums up the tenants that were not named.
   */
  begin(isNext: boolean, level: number, limit: number, left: number, quiet: Stake): void {
    this.#before = isNext ? this.#tenants : new Map()
    this.#tenants = new Map()
    const last = this.standings
    const { active, carried } = last
    const costs = reachOf(last, limit, left, quiet)
    const wanting = last.wanting.filter(({ ask, count }) => ask / count <= costs.reach)
    Object.assign(this.standings, newStandings())
    const [first] = wanting
    if (isNext) Object.assign(this.standings, costs)
    if (!isNext || first === undefined) return
    const least = first.used / first.weight
    const most = wanting.reduce((most, { ask, weight }) => Math.max(most, ask / weight), level)
    const aheadOf = ({ used, weight }: Stratum): number => Math.max(0, Math.min(most, used / weight - least))
    const entry = levelBelow(wanting, aheadOf, budgetOf(active, level) - carried)
    const all = wanting.reduce((all, one) => Math.min(all, Math.max(aheadOf(one), entry - one.ask / one.weight)), entry)
    Object.assign(this.standings, { least: least + all, most: most - all, entry: entry - all, level })
  }

  /** The least amount, per weight, of one that waits for `ask`. */
  #least(ask: number): number {
    return Math.max(0, this.standings.entry - ask)
  }

  /** What is carried with another weight: additional weight begins as a newcomer does. */
  #reweighed(carried: number, before: number, weight: number): number {
    return weight > before ? carried + (weight - before) * this.#least(0) : carried * (weight / before)
  }

  #newTenant(name: string, weight: number): Tenant {
    const { least, most, level } = this.standings
    const before = this.#before.get(name)
    let carried = weight * this.#least(0)
    if (before !== undefined) {
      const wants = before.wants && before.ask <= this.standings.reach
      const isContent = !wants && before.used * TIE < before.weight * level
      const own = isContent ? 0 : Math.min(most, before.used / before.weight - least)
      const ahead = Math.max(own, this.#least(wants ? before.ask / before.weight : 0))
      carried = this.#reweighed(before.weight * ahead, before.weight, weight)
    }
    const none = { isActive: false, ask: 0, slot: 0, wants: false, lends: false }
    return { weight, used: carried, carried, place: 'behind', ...none, places: new Map() }
  }

  #count({ weight, used, carried, isActive, ask, slot, wants, lends }: Tenant, sign: 1 | -1): void {
    const { active, line, lineBefore, wanting, large, slot: now } = this.standings
    const one = { at: stratumOf(used / weight), weight, used, ask }
    if (isActive) {
      layer(active, one, sign)
      this.standings.carried += sign * carried
      if (wants) layer(wanting, one, sign)
      if (lends) layer(large, one, sign)
    }
    if (ask > 0 && slot === now) layer(line, one, sign)
    else if (ask > 0 && slot === now - 1) layer(lineBefore, one, sign)
  }
}

/** Adds a tenant to the sums of its members, or removes it. */
function weigh({ place, weight, used, places }: Tenant, sign: 1 | -1): void {
  for (const [at, { part }] of places) {
    at[place].weight += sign * weight * part
    at[place].used += sign * used * part
  }
}

/** The pool's own state. */
export class Head {
  win = -2
  /** Start of the fading of claims. */
  fadesFromMs = 0
  /** Time at which all tenants refused in this window are back; 0 if none was. */
  backMs = 0
  /** The latest time seen. */
  nowMs: number = Number.NEGATIVE_INFINITY
  epoch = 0
  rev = 0
  /** Credit granted to all members together in this window, and the part of that since the epoch began. */
  granted = 0
  since = 0
  /** Credit granted to all of them together in the next window. */
  ahead = 0
  /** The guarantee of weight 1 at the last call. */
  level: number = Number.MAX_VALUE
  /** The part of the limit for weight 1, then, or the guarantee if that is more. */
  due: number = Number.MAX_VALUE
  /** The part of the claims of tenants that were refused more than their part of the limit that is lent. */
  lent = 0
  /** Time at which the pool noticed that it does not know of all grants; and in which epoch. */
  lostMs = 0
  lostEpoch = -1
  /** Members of an earlier epoch that have called since, and those that should. */
  heard = 0
  awaited = 0
  /** Window, epoch and answer of the best informed of them. */
  informedWin = -1
  informedEpoch = -1
  informedRev = -1

  /** No member is awaited. */
  forgetLoss(): void {
    this.lostEpoch = this.informedWin = this.informedEpoch = this.informedRev = -1
    this.heard = this.awaited = 0
  }
}

/** The pool's record of a member: its last report, and the answer. */
export class Member implements Weighed {
  /** Time of its last call, on the pool's time; the window's beginning for one that has not called in it. */
  seenMs: number
  hasCalled = false
  granted: number
  /** Credit of the next window. */
  next = 0
  /** Credit that it had not spent. */
  idle = 0
  /** Tenants that it did not report by name. */
  quiet: Stake
  readonly behind: Sum = { weight: 0, used: 0 }
  readonly ahead: Sum = { weight: 0, used: 0 }
  readonly over: Sum = { weight: 0, used: 0 }
  /** Its last call, and the rest of its answer. */
  seq: number
  grant = 0
  held = 0
  room = 0
  waitMs = 0

  constructor(seenMs: number, seq = 0, weight = 0, granted = 0) {
    this.seenMs = seenMs
    this.seq = seq
    this.quiet = { weight, used: 0 }
    this.granted = granted
  }
}

/**
 * The claims of a member's tenants at it, as two sums: those ahead of an even pace within their guarantees; and those
 * behind it, plus those that it has not named.
 */
export function claimOfMember({ quiet, behind, ahead }: Member, level: number, elapsed: number): number {
  const within = { weight: Math.max(0, ahead.weight), used: Math.max(0, ahead.used) }
  const rest = { weight: quiet.weight + Math.max(0, behind.weight), used: quiet.used + Math.max(0, behind.used) }
  return claimOf(within, level, elapsed) + claimOf(rest, level, elapsed)
}

export function weightOf({ quiet, behind, ahead, over }: Member): number {
  return quiet.weight + Math.max(0, behind.weight) + Math.max(0, ahead.weight) + Math.max(0, over.weight)
}
