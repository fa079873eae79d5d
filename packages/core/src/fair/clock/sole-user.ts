import { SURE } from './evidence.js'

/**
 * Size of the bucket, in ordinary requests: it is briefly empty when random variation brings some more, and seldom for
 * long.
 */
const BUCKET_REQUESTS = 8
/**
 * A sole process measures .4 to .6, for stores from 2 to 100 requests and loads from 1.05 to 2.5. One of two equal
 * processes measures less than .35, one of four less than .25.
 */
const SOLE = 0.38
/** Outcomes are halved beyond this number: the standard error is .03 then. */
const MOST_OUTCOMES = 1_600

/**
 * Detects whether this process is the sole user of the resource. Then its failures follow from its own requests: a
 * bucket that is drained by them, and filled at the rate of service, is empty when they fail. If others use the
 * resource, their requests matter as well. Otherwise a store of few requests and neighbours look alike: in both cases
 * more is served if more is admitted. The measure is the correlation of two events, that the bucket was empty and that
 * the request failed (phi).
 *
 * O(1) per request, nothing allocated. Times in seconds.
 */
export class SoleUser {
  #left = 0
  #at = 0
  #isSole = false
  /** Successes and failures, while the bucket was not empty and while it was. */
  readonly #outcomes = new Float64Array(4)

  /** A request is admitted, and `perSecond` are served: true if the bucket is empty. */
  admit(now: number, cost: number, meanCost: number, perSecond: number): boolean {
    const most = BUCKET_REQUESTS * meanCost
    this.#left = Math.min(most, this.#left + Math.max(0, now - this.#at) * perSecond)
    this.#at = now
    const isEmpty = this.#left < Math.min(cost, most)
    if (!isEmpty) this.#left -= cost
    return isEmpty
  }

  report(wasEmpty: boolean, failed: boolean): void {
    const outcomes = this.#outcomes
    outcomes[(wasEmpty ? 2 : 0) + (failed ? 1 : 0)]!++
    if (this.#count > MOST_OUTCOMES) for (let i = 0; i < outcomes.length; i++) outcomes[i]! /= 2
  }

  /** True once that is certain, until the opposite is. */
  get isSole(): boolean {
    const error = SURE / Math.sqrt(this.#count)
    if (this.#phi - error > SOLE) this.#isSole = true
    else if (this.#phi + error < SOLE) this.#isSole = false
    return this.#isSole
  }

  get #phi(): number {
    const [served, failed, servedEmpty, failedEmpty] = this.#outcomes as unknown as [number, number, number, number]
    const margins = (served + failed) * (servedEmpty + failedEmpty) * (served + servedEmpty) * (failed + failedEmpty)
    return margins > 0 ? (served * failedEmpty - failed * servedEmpty) / Math.sqrt(margins) : 0
  }

  get #count(): number {
    return this.#outcomes[0]! + this.#outcomes[1]! + this.#outcomes[2]! + this.#outcomes[3]!
  }
}
