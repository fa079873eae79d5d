import type { ClockBelief, ClockMark } from './belief.js'

/** Target remainder: this many requests and this many seconds of capacity. */
const RESERVE_REQUESTS = 1
const RESERVE_SECONDS = 0.1
/** Largest debt: one request, or the service of this time: flows that arrive next would pay it. */
const DEBT_SECONDS = 0.01
/** Bound of the reserve and of a flow's credit: a flow may use all of it at once. */
const MOST_SECONDS = 0.5
/** Part of the maximum from which on it counts as full: known flows leave some even at the clock's highest rate. */
export const FULL = 0.8

/**
 * The target remainder of a resource in a shortage, as two accounts. Admissions draw from both. `left` is filled at the
 * expected rate of the resource, and a failure shows that it is empty. `owed` is filled at the rate that has to be
 * served regardless of failures, and a failure is refunded. The clock may run while either has something.
 */
export class Reserve {
  /** Expected remaining cost of the resource; below 0: it is short. */
  left = 0
  /** Cost that has yet to be served regardless of failures. */
  owed = 0
  /** Cost per second by which `left` and `owed` fill. */
  fill = 0
  floor = 0
  /** The target remainder, and the maximum. */
  target = 2
  most: number
  readonly #credit: number

  /** `credit`: requests that a flow may save. */
  constructor(credit: number) {
    this.#credit = credit
    this.most = credit
  }

  get spare(): number {
    return Math.max(this.left, this.owed)
  }

  /** The amount of an account that counts as full. */
  get full(): number {
    return FULL * this.most
  }

  /**
   * For a resource that delivers `deliverable` and is tried with `perSecond`; `lag`: delay until others learn of it.
   */
  size(meanCost: number, deliverable: number, perSecond: number, lag: number): void {
    this.target = RESERVE_REQUESTS * meanCost + (RESERVE_SECONDS + lag) * deliverable
    this.most = Math.max(this.#credit * meanCost, MOST_SECONDS * perSecond)
  }

  /** The largest debt. If many requests are reported at once, it is bounded by the amount not yet told to others. */
  debt(meanCost: number, deliverable: number, isLate: boolean): number {
    return isLate ? this.target : Math.max(meanCost, DEBT_SECONDS * deliverable)
  }

  /** `part` of the income of these seconds is for requests here. */
  earn(seconds: number, part: number, debt: number): void {
    this.left = this.#within(this.left + part * this.fill * seconds, debt)
    this.owed = this.#within(this.owed + part * this.floor * seconds, debt)
  }

  take(cost: number, debt: number): void {
    this.left = this.#within(this.left - cost, debt)
    this.owed = this.#within(this.owed - cost, debt)
  }

  /** An admission has to be served, or repeated. */
  giveBack(cost: number): void {
    this.owed = Math.min(this.most, this.owed + cost)
  }

  /** At this moment nothing is left, and nothing is owed. Debts stay. */
  empty(): void {
    this.left = Math.min(this.left, 0)
    this.owed = Math.min(this.owed, 0)
  }

  /**
   * Another clock, which measures for all, had this state when this was at `mark`; `undefined`: nothing was short here.
   */
  follow(belief: ClockBelief, mark: ClockMark | undefined, isEmpty: boolean): void {
    const left = mark === undefined ? belief.left : this.left + belief.left - mark.left
    this.left = isEmpty ? Math.min(this.left, left) : left
    this.owed = mark === undefined ? belief.owed : this.owed + belief.owed - mark.owed
    this.fill = belief.fill
    this.floor = belief.floor
    this.target = belief.reserve
    this.most = belief.most
  }

  #within(cost: number, debt: number): number {
    return Math.min(this.most, Math.max(cost, -debt))
  }
}
