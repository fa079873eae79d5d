import { keyedHash, keyFrom, type Words } from '../hash.js'
import { ownCopy } from '../path.js'
import { type Random, systemRandom } from '../random.js'

/**
 * Fairness of one window: how the served cost was divided between flows. All ratios are 1, and `flows` is 0, without
 * requests.
 */
export interface Fairness {
  /** Flows that asked: counted below 64, estimated above. */
  readonly flows: number
  /** The lowest share served of a flow's fair share, 0 to 1, among flows with at least ten requests. */
  readonly worstShare: number
  /**
   * The share served of the fair shares of all flows that asked for no more than theirs, 0 to 1; 1 without such flows.
   */
  readonly quietShare: number
  /** Jain's index of served over fair share, of the same flows as `worstShare`; 1: all alike. */
  readonly jain: number
  /** The largest flows' shares of the total cost asked for, largest first: at most three. */
  readonly top: readonly number[]
}

/** Flows in the sample. */
const SAMPLED = 64
/** Number of heavy-hitter slots: flows with more than a sixteenth of the total are among them. */
const WATCHED = 16
/** From this share of the total on a flow is heavy, and represents only itself. */
const HEAVY = 1 / 32
/** With fewer requests, one refusal by chance would move a share by more than .1. */
const LEAST_REQUESTS = 10
const TOP = 3

const NOBODY: Fairness = { flows: 0, worstShare: 1, quietShare: 1, jain: 1, top: [] }

/** The cost that one flow asked for and was served, since it has been followed. */
class Tally {
  readonly flow: string
  readonly hash: number
  requests = 0
  asked = 0
  served = 0
  /** The part of `asked` that may belong to others: the amount of the flow whose slot it took. */
  missed = 0
  /** The number of flows that it represents. */
  stands = 1

  constructor(flow: string, hash: number) {
    this.flow = flow
    this.hash = hash
  }

  add(cost: number, served: number): void {
    this.requests++
    this.asked += cost
    this.served += served
  }

  /** The cost that a heavy flow has certainly asked for. */
  get seen(): number {
    return this.asked - this.missed
  }
}

/**
 * Judges, window by window, whether flows were served their fair shares, in constant memory for any number of flows:
 * from the flows that ask for most, and from 64 others drawn at random, anew in each window.
 *
 * A flow's fair share is the lesser of the cost it asked for and `level` x weight, with the level at which these sum to
 * the served cost: weighted max-min. The sample consists of the flows with the lowest keyed hashes. A flow that was
 * pushed out of it cannot return, so the tally of a flow in the sample is exact. O(1) per request, except for the few
 * that enter the sample.
 *
 * @see Z. Bar-Yossef et al., "Counting Distinct Elements in a Data Stream", RANDOM 2002: the lowest hashes
 * @see A. Metwally, D. Agrawal, A. El Abbadi, ICDT 2005: Space-Saving, for the flows that ask for most
 * @see R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness", DEC-TR-301, 1984
 */
export class FairnessWindow {
  readonly #windowMs: number
  readonly #weightOf: (flow: string) => number
  readonly #random: Random
  #endsMs: number
  #key: Words
  readonly #hash: Words = { a: 0, b: 0 }
  readonly #sample = new Map<string, Tally>()
  /** The greatest hash in the sample, once the sample is full. */
  #threshold = Number.POSITIVE_INFINITY
  /** The heavy-hitter slots, and their flows by name. */
  readonly #slots: Tally[] = []
  readonly #watched = new Map<string, Tally>()
  #asked = 0
  #served = 0
  #last: Fairness = NOBODY

  /** `weightOf` must not throw. */
  constructor(windowMs: number, weightOf: (flow: string) => number, nowMs: number, random: Random = systemRandom) {
    this.#windowMs = windowMs
    this.#weightOf = weightOf
    this.#random = random
    this.#endsMs = nowMs + windowMs
    this.#key = keyFrom(random)
  }

  /** A request has ended, refused or not; `isServed`: it got the resource. */
  ended(flow: string, cost: number, isServed: boolean, nowMs: number): void {
    this.#turn(nowMs)
    const served = isServed ? cost : 0
    this.#asked += cost
    this.#served += served
    this.#sampled(flow)?.add(cost, served)
    this.#watch(flow).add(cost, served)
  }

  /** The fairness of the last complete window. */
  read(nowMs: number): Fairness {
    this.#turn(nowMs)
    return this.#last
  }

  #turn(nowMs: number): void {
    if (nowMs < this.#endsMs) return
    // If a whole window has passed without requests, that one is the last.
    this.#last = nowMs - this.#endsMs < this.#windowMs ? this.#judge() : NOBODY
    this.#endsMs = nowMs + this.#windowMs
    this.#key = keyFrom(this.#random)
    this.#sample.clear()
    this.#threshold = Number.POSITIVE_INFINITY
    this.#watched.clear()
    this.#slots.length = 0
    this.#asked = 0
    this.#served = 0
  }

  /** The flow's tally, if it belongs to the sample. */
  #sampled(flow: string): Tally | undefined {
    const known = this.#sample.get(flow)
    if (known !== undefined) return known
    keyedHash(flow, this.#key, this.#hash)
    const hash = this.#hash.a >>> 0
    if (hash >= this.#threshold) return undefined
    const fresh = new Tally(ownCopy(flow), hash)
    this.#sample.set(fresh.flow, fresh)
    if (this.#sample.size > SAMPLED) this.#sample.delete(this.#greatest().flow)
    if (this.#sample.size === SAMPLED) this.#threshold = this.#greatest().hash
    return fresh
  }

  #greatest(): Tally {
    let greatest: Tally | undefined
    for (const each of this.#sample.values()) if (greatest === undefined || each.hash > greatest.hash) greatest = each
    return greatest!
  }

  #watch(flow: string): Tally {
    const known = this.#watched.get(flow)
    if (known !== undefined) return known
    const fresh = new Tally(flow, 0)
    let slot = this.#slots.length
    if (slot === WATCHED) {
      slot = 0
      for (let i = 1; i < WATCHED; i++) if (this.#slots[i]!.asked < this.#slots[slot]!.asked) slot = i
      const least = this.#slots[slot]!
      this.#watched.delete(least.flow)
      fresh.asked = least.asked
      fresh.missed = least.asked
    }
    this.#slots[slot] = fresh
    this.#watched.set(flow, fresh)
    return fresh
  }

  #judge(): Fairness {
    if (this.#asked === 0) return NOBODY
    const isAll = this.#sample.size < SAMPLED
    const flows = isAll ? this.#sample.size : Math.round(((SAMPLED - 1) / this.#threshold) * 0x1_0000_0000)
    const byAsked = this.#slots.toSorted((x, y) => y.seen - x.seen)
    const top = byAsked.slice(0, TOP).map(({ seen }) => seen / this.#asked)
    const tallies = this.#population(isAll, byAsked)
    const level = this.#level(tallies)
    let worstShare = 1
    let quietRequests = 0
    let quietDue = 0
    let quietServed = 0
    let count = 0
    let sum = 0
    let squares = 0
    for (const { flow, requests, seen, served, stands } of tallies) {
      const most = level * this.#weightOf(flow)
      const due = Math.min(seen, most)
      if (!(due > 0)) continue
      if (seen <= most) {
        quietRequests += requests
        quietDue += stands * due
        quietServed += stands * served
      }
      if (requests < LEAST_REQUESTS) continue
      const share = served / due
      worstShare = Math.min(worstShare, share)
      count += stands
      sum += stands * share
      squares += stands * share * share
    }
    return {
      flows,
      worstShare,
      quietShare: quietRequests >= LEAST_REQUESTS ? quietServed / quietDue : 1,
      jain: squares > 0 ? (sum * sum) / (count * squares) : 1,
      top,
    }
  }

  /** The heavy flows, each representing itself, and the sample, which represents all others. */
  #population(isAll: boolean, byAsked: readonly Tally[]): Tally[] {
    if (isAll) return [...this.#sample.values()]
    const heavy = byAsked.filter(({ seen }) => seen >= HEAVY * this.#asked)
    const names = new Set(heavy.map(({ flow }) => flow))
    const others = [...this.#sample.values()].filter(({ flow }) => !names.has(flow))
    const rest = this.#asked - heavy.reduce((sum, { seen }) => sum + seen, 0)
    const sampled = others.reduce((sum, { asked }) => sum + asked, 0)
    for (const each of others) each.stands = Math.max(0, rest) / sampled
    return [...heavy, ...others]
  }

  /**
   * The most that a flow of weight 1 could have been served under a fair division of the served cost: water-filling.
   */
  #level(tallies: readonly Tally[]): number {
    const byNeed = tallies.map((tally) => ({ ...tally, weight: this.#weightOf(tally.flow), seen: tally.seen }))
    byNeed.sort((x, y) => x.seen / x.weight - y.seen / y.weight)
    let left = this.#served
    let weights = byNeed.reduce((sum, { stands, weight }) => sum + stands * weight, 0)
    for (const { seen, stands, weight } of byNeed) {
      const level = left / weights
      // Rounding must not push a flow above its fair share.
      if (seen / weight > level * (1 + 1e-9)) return level
      left -= stands * seen
      weights -= stands * weight
    }
    return Number.POSITIVE_INFINITY
  }
}
