import { SURE } from './evidence.js'

/** Size of the bucket, in requests of mean cost: random variation empties it often, and seldom for long. */
const BUCKET_REQUESTS = 8
/**
 * Least correlation of a sole user. One process alone measures .4 to .6 for most stores from 2 to 100 requests and loads
 * from 1.05 to 2.5; one of two equal processes less than .35, one of four less than .25.
 */
const SOLE = 0.38
/** The counts are halved beyond this number of outcomes, at a standard error of .03. */
const MOST_OUTCOMES = 1_600

/**
 * Tells whether this process has the resource to itself. The failures of a sole user follow from its own requests: they
 * occur while a bucket is empty that is drained by these requests and filled at the rate of service. If other processes
 * use the resource, their requests matter as well. A small store and neighbours look alike otherwise: in both cases more
 * is served with more admissions. The measure is the correlation (phi) of two events: the bucket was empty, and the
 * request failed.
 *
 * O(1) per request, allocates nothing. Times in seconds.
 */
export class SoleUser {
  #left = 0
  #at = 0
  #isSole = false
  #count = 0
  /** Successes and failures, while the bucket was not empty and while it was. */
  readonly #outcomes: [number, number, number, number] = [0, 0, 0, 0]

  /** Takes an admitted request from the bucket, which fills at `perSecond`. Returns true if the bucket was empty. */
  admit(now: number, cost: number, meanCost: number, perSecond: number): boolean {
    const most = BUCKET_REQUESTS * meanCost
    this.#left = Math.min(most, this.#left + Math.max(0, now - this.#at) * perSecond)
    this.#at = now
    const isEmpty = this.#left < Math.min(cost, most)
    if (!isEmpty) this.#left -= cost
    return isEmpty
  }

  report(wasEmpty: boolean, failed: boolean): void {
    this.#outcomes[(wasEmpty ? 2 : 0) + (failed ? 1 : 0)]!++
    if (++this.#count <= MOST_OUTCOMES) return
    this.#count /= 2
    for (let i = 0; i < 4; i++) this.#outcomes[i]! /= 2
  }

  /** True from the moment that this is certain until the opposite is. */
  get isSole(): boolean {
    const beyond = this.#phi - SOLE
    if (Math.abs(beyond) > SURE / Math.sqrt(this.#count)) this.#isSole = beyond > 0
    return this.#isSole
  }

  get #phi(): number {
    const [served, failed, servedEmpty, failedEmpty] = this.#outcomes
    const margins = (served + failed) * (servedEmpty + failedEmpty) * (served + servedEmpty) * (failed + failedEmpty)
    return (served * failedEmpty - failed * servedEmpty) / Math.sqrt(margins || 1)
  }
}
