import type { Capacity } from './capacity.js'
import type { Step } from './step.js'
import type { Traffic } from './traffic.js'

/** What newcomers may have together: this share of the capacity, and as much at once as either of these. */
const SHARE = 0.25
const STORE_REQUESTS = 12
const STORE_SECONDS = 0.5

/**
 * What is set aside, in a shortage, for flows that have not been seen lately.
 *
 * Credit for each of them would be a gift to whoever invents names. So newcomers have little of their own, and draw
 * from one bucket together; beyond that they are let in only when there is something to spare.
 */
export class Newcomers {
  /** Full at first, whatever that comes to. */
  #store = Number.POSITIVE_INFINITY
  #seconds = 0

  advance({ seconds }: Step): void {
    this.#seconds += seconds
  }

  /** Takes `cost` from what is set aside, if there is as much. */
  take(cost: number, { perSecond }: Capacity, { meanCost }: Traffic): boolean {
    const most = Math.max(STORE_REQUESTS * meanCost, STORE_SECONDS * perSecond)
    this.#store = Math.min(most, this.#store + SHARE * perSecond * this.#seconds)
    this.#seconds = 0
    if (this.#store < cost) return false
    this.#store -= cost
    return true
  }
}
