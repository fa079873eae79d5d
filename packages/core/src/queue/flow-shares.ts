import { LinkedList } from '../linked-list.js'
import type { TurnoverMap } from '../turnover-map.js'
import type { QueuedRequest } from './queued-request.js'

/** Number of requests, of equal durations, over which the mean cost of a flow is taken. */
export const MEMORY: number = 32

/** State of one flow: the list of its running requests, oldest first, and numbers of those and the waiting ones. */
export class FlowRecord extends LinkedList<QueuedRequest> {
  /** From its last arrival. */
  weight: number
  most: number
  waiting = 0
  /** Slots and units that the running requests take. */
  width = 0
  units = 0
  /** The same including the waiting ones. */
  wantedWidth = 0
  wantedUnits = 0
  /** Number of all of these. */
  requests = 0
  /** The largest expected cost of one. */
  costliest = 0
  /** Of ended requests: their durations, the squares of those, and the products of duration and cost; decaying. */
  ranMs = 0
  ranSquared = 0
  ranCost = 0
  /** The larger of its two shares of the slots at the last update, and the smaller. */
  share: number = Number.POSITIVE_INFINITY
  sure = 0
  /** Slots times milliseconds that it lacks from its share, within bounds; up to this time. */
  balance = 0
  balancedMs = 0
  /** Number of times that all debts had been forgiven. */
  era: number
  /** It waits, and would be within the smaller share with one more request. */
  isShort = false

  constructor(weight: number, most: number, era: number) {
    super()
    this.weight = weight
    this.most = most
    this.era = era
  }

  /** The same numbers, without the list. */
  copy(): FlowRecord {
    return Object.assign(new FlowRecord(1, 1, 0), this, { first: undefined, last: undefined })
  }

  /** Among many requests of equal duration it remembers about 32, and others in proportion to their duration. */
  learn(ranMs: number, cost: number): void {
    this.ranMs += ranMs
    this.ranSquared += ranMs * ranMs
    this.ranCost += ranMs * cost
    const fade = (MEMORY * this.ranSquared) / this.ranMs ** 2
    if (!(fade < 1)) return
    this.ranMs *= fade
    this.ranSquared *= fade
    this.ranCost *= fade
  }
}

export const weightOf = ({ weight }: FlowRecord): number => weight
/**
 * Requests that a flow is entitled to, as a rate: its weight over their mean cost. Each is weighted by its duration, so
 * that cheap ones that wait, or end at once, gain nothing; until one has ended, the costliest counts.
 */
export const dueOf = ({ weight, costliest, ranMs, ranCost }: FlowRecord): number =>
  weight / (ranMs > 0 ? ranCost / ranMs : costliest)
export const slotsOf = ({ wantedWidth, most }: FlowRecord): number => Math.min(wantedWidth, most)

/** Part of the members that may have changed before the level is recomputed. */
const STALE = 1 / 8
/** Most passes over the members at a time. */
const PASSES = 8

/**
 * Max-min shares of an amount, by water-filling: each member is entitled to its part, none gets more than it wants, and
 * unused amounts are divided among the others by their entitlements.
 *
 * It keeps the level, the amount that a member gets per unit of entitlement. Members that want less than the level
 * gives them are full; the level that divides the rest among the others is never too high, for any set that was taken
 * for full, and so it rises from pass to pass until it is right. For up to eight members it is right at each change.
 * For more it may be outdated by changes to an eighth of them, so that a change costs O(1) on average.
 */
export class MaxMin<M> {
  readonly #members: TurnoverMap<M>
  readonly #wants: (member: M) => number
  readonly #due: (member: M) => number
  #level = 0
  #amount = 0
  /** Number of changes at the last computation of the level. */
  #changes = Number.NEGATIVE_INFINITY

  constructor(members: TurnoverMap<M>, wants: (member: M) => number, due: (member: M) => number) {
    this.#members = members
    this.#wants = wants
    this.#due = due
  }

  /**
   * The share of a member of this amount, after this number of arrivals, departures and changes of members. More than
   * it wants if all wants can be met.
   */
  shareOf(member: M, amount: number, changes: number): number {
    const stale = STALE * this.#members.entries.size
    if (changes - this.#changes >= stale || Math.abs(amount - this.#amount) > (stale > 1 ? STALE * this.#amount : 0)) {
      this.#changes = changes
      this.#refresh(amount)
    }
    return this.#level === Number.POSITIVE_INFINITY ? this.#level : this.#level * this.#due(member)
  }

  #refresh(amount: number): void {
    this.#amount = amount
    for (let pass = 0; pass < PASSES; pass++) {
      let [rest, due] = [amount, 0]
      // The levels at which the last of the full members became full, and the next will.
      let [last, next] = [0, Number.POSITIVE_INFINITY]
      for (const member of this.#members.entries.values()) {
        const wants = this.#wants(member)
        const part = this.#due(member)
        const full = wants / part
        if (full <= this.#level) {
          rest -= wants
          last = Math.max(last, full)
        } else {
          due += part
          next = Math.min(next, full)
        }
      }
      const level = due > 0 ? rest / due : rest < 0 ? 0 : Number.POSITIVE_INFINITY
      this.#level = level
      // The same members would be full in another pass.
      if (last <= level && (level < next || due === 0)) return
    }
  }
}
