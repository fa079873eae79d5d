import { MOST_OUTCOMES } from './proof.js'
import { OUTCOMES, SURE } from './state.js'

/** Size of the bucket, in requests of mean cost: random variation empties it often, and seldom for long. */
const BUCKET_REQUESTS = 8
/**
 * Least correlation of a sole user. One process alone measures .4 to .6 for most stores from 2 to 100 requests and
 * loads from 1.05 to 2.5; one of two equal processes less than .35, one of four less than .25.
 */
const SOLE = 0.38

/**
 * Tells whether this process has the resource to itself. The failures of a sole user follow from its own requests: they
 * occur while many of these are running; or, where they do not overlap, while a bucket is empty that is drained by them
 * and filled at the rate of service. If other processes use the resource, their requests matter as well. A small store
 * and neighbours look alike otherwise: in both cases more is served with more admissions. The measure is the correlation
 * (phi) of two events: it was so when a request was admitted, and the request failed.
 *
 * O(1) per request, allocates nothing. Times in seconds.
 */
export class SoleUser {
  #left = 0
  #at = 0
  /** Running requests, and their usual number, which includes those whose outcomes were lost. */
  #running = 0
  #usual = 0
  #isSole = false
  #count = 0
  /** Successes and failures, while the resource should not be short and while it should. */
  readonly #outcomes: [number, number, number, number] = [0, 0, 0, 0]

  /** A request is admitted; the bucket fills at `perSecond`. Returns true if the resource should be short. */
  admit(now: number, cost: number, meanCost: number, perSecond: number): boolean {
    const most = BUCKET_REQUESTS * meanCost
    this.#left = Math.min(most, this.#left + Math.max(0, now - this.#at) * perSecond)
    this.#at = now
    const isEmpty = this.#left < Math.min(cost, most)
    if (!isEmpty) this.#left -= cost
    const isBusy = this.#running > this.#usual
    this.#usual += (this.#running++ - this.#usual) / OUTCOMES
    return this.#overlaps ? isBusy : isEmpty
  }

  /** An admitted request ended. */
  ends(): void {
    this.#running--
  }

  report(wasShort: boolean, failed: boolean): void {
    this.#outcomes[(wasShort ? 2 : 0) + (failed ? 1 : 0)]!++
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

  /** The same, and the resource is a pool of workers. */
  get hasPool(): boolean {
    return this.#overlaps && this.isSole
  }

  get #overlaps(): boolean {
    return this.#usual >= 1
  }

  get #phi(): number {
    const [served, failed, servedShort, failedShort] = this.#outcomes
    const margins = (served + failed) * (servedShort + failedShort) * (served + servedShort) * (failed + failedShort)
    return (served * failedShort - failed * servedShort) / Math.sqrt(margins || 1)
  }
}
