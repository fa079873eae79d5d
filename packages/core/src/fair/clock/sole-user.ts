import type { Admission } from './state.js'
import { GRAIN, MOST_OUTCOMES, RATE_REQUESTS, SURE } from './state.js'

/** Size of the bucket, in requests of mean cost: random variation empties it often, and seldom for long. */
const BUCKET_REQUESTS = 8
/**
 * Least correlation of a sole user. One process alone measures .4 to .6 for most stores from 2 to 100 requests and
 * loads from 1.05 to 2.5, and .6 to 1 for pools; one of two equal processes less than .35, or .42 for a pool, one of
 * four less than .25.
 */
const SOLE = 0.38

/** Correlation (phi) over recent outcomes: a condition was met at an admission, and the request failed. */
class Correlation {
  #isHigh = false
  #count = 0
  /** Successes and failures without the condition, and with it. */
  readonly #outcomes: [number, number, number, number] = [0, 0, 0, 0]

  report(isMet: boolean, failed: boolean): void {
    this.#outcomes[(isMet ? 2 : 0) + (failed ? 1 : 0)]!++
    if (++this.#count <= MOST_OUTCOMES) return
    this.#count /= 2
    for (let i = 0; i < 4; i++) this.#outcomes[i]! /= 2
  }

  /** True from the moment that this is certain until the opposite is. */
  get isHigh(): boolean {
    const [served, failed, servedMet, failedMet] = this.#outcomes
    const margins = (served + failed) * (servedMet + failedMet) * (served + servedMet) * (failed + failedMet)
    const beyond = (served * failedMet - failed * servedMet) / Math.sqrt(margins || 1) - SOLE
    if (Math.abs(beyond) > SURE / Math.sqrt(this.#count)) this.#isHigh = beyond > 0
    return this.#isHigh
  }
}

/**
 * Tells whether this process has the resource to itself. The failures of a sole user follow from its own requests: they
 * occur while a bucket is empty that is drained by these requests and filled at the rate of service, or while as many
 * of them run as there are places in a pool. If other processes use the resource, their requests matter as well. A small
 * store and neighbours look alike otherwise: in both cases more is served with more admissions.
 *
 * O(1) per request, allocates nothing. Times in seconds.
 */
export class SoleUser {
  readonly #dry = new Correlation()
  readonly #busy = new Correlation()
  #left = 0
  #at = 0
  /** Mean number of requests that ran when one was admitted that failed. */
  #places = 0

  /** Takes an admitted request from the bucket, which fills at `perSecond`. Returns true if the bucket was empty. */
  admit(now: number, cost: number, meanCost: number, perSecond: number): boolean {
    const most = BUCKET_REQUESTS * meanCost
    this.#left = Math.min(most, this.#left + Math.max(0, now - this.#at) * perSecond)
    this.#at = now
    const isEmpty = this.#left < Math.min(cost, most)
    if (!isEmpty) this.#left -= cost
    return isEmpty
  }

  report({ isDry, running }: Admission, failed: boolean): void {
    if (failed) this.#places += (running - this.#places) / RATE_REQUESTS
    this.#dry.report(isDry, failed)
    this.#busy.report(running >= this.#places - GRAIN, failed)
  }

  /** The resource behaves like a bucket that only this process drains. */
  get hasStore(): boolean {
    return this.#dry.isHigh
  }

  /** It behaves like a pool that only this process uses. */
  get hasPool(): boolean {
    return this.#busy.isHigh
  }

  get isSole(): boolean {
    return this.hasStore || this.hasPool
  }
}
