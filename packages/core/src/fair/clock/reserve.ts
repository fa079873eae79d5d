import type { ClockBelief, ClockMark } from './belief.js'

/** What should be left: this many requests and this many seconds of capacity. */
const RESERVE_REQUESTS = 1
const RESERVE_SECONDS = 0.1
/** No debt is greater than one request, or what is served in this time: it would be paid by whoever comes next. */
const DEBT_SECONDS = 0.01
/** What is kept at most, or the credit of a flow: it may come with all of it at once. */
const MOST_SECONDS = 0.5
/** From this part of the most on it is full: known flows leave something even to a clock at its fastest. */
export const FULL = 0.8

/**
 * What a resource should have left in a shortage, as two accounts. Both are emptied by what is let in. `left` is filled by
 * what the resource can be expected to serve, and a failure says that it is empty. `owed` is filled by what has to be
 * served whatever fails, and a failure is given back. The clock may run while either has something.
 */
export class Reserve {
  /** Cost that the resource should have left; below 0: it is short. */
  left = 0
  /** What has yet to be served whatever fails. */
  owed = 0
  /** Cost per second by which `left` and `owed` fill up. */
  fill = 0
  floor = 0
  /** What should be left, and what is kept at most. */
  target = 2
  most: number
  readonly #credit: number

  /** `credit`: requests that a flow may save up. */
  constructor(credit: number) {
    this.#credit = credit
    this.most = credit
  }

  get spare(): number {
    return Math.max(this.left, this.owed)
  }

  /** What there is in an account that counts as full. */
  get full(): number {
    return FULL * this.most
  }

  /** For a resource that delivers `deliverable` and is tried with `perSecond`; `lag`: how late others hear of it. */
  size(meanCost: number, deliverable: number, perSecond: number, lag: number): void {
    this.target = RESERVE_REQUESTS * meanCost + (RESERVE_SECONDS + lag) * deliverable
    this.most = Math.max(this.#credit * meanCost, MOST_SECONDS * perSecond)
  }

  /** The greatest debt. Where many requests are heard of at once, it is no more than what others have yet to be told. */
  debt(meanCost: number, deliverable: number, isLate: boolean): number {
    return isLate ? this.target : Math.max(meanCost, DEBT_SECONDS * deliverable)
  }

  /** `part` of what comes in in these seconds is for requests here. */
  earn(seconds: number, part: number, debt: number): void {
    this.left = this.#within(this.left + part * this.fill * seconds, debt)
    this.owed = this.#within(this.owed + part * this.floor * seconds, debt)
  }

  take(cost: number, debt: number): void {
    this.left = this.#within(this.left - cost, debt)
    this.owed = this.#within(this.owed - cost, debt)
  }

  /** What was let in has to be served, or to be let in once more. */
  giveBack(cost: number): void {
    this.owed = Math.min(this.most, this.owed + cost)
  }

  /** At this moment nothing is left, and nothing is owed. Debts stay. */
  empty(): void {
    this.left = Math.min(this.left, 0)
    this.owed = Math.min(this.owed, 0)
  }

  /** Another, which measures for all, believed this when this was at `mark`; `undefined`: nothing was short here. */
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
