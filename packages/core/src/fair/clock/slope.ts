import { DELAYS, SURE, TOLERATED } from './evidence.js'

/** Requests that a window holds on average: enough for chance to vary them, few enough to fill many windows soon. */
const WINDOW_REQUESTS = 5
/** In a deep overload a window holds more, at most this many: counting in whole requests would hide the slope. */
const MOST_REQUESTS = 10_000
/** Windows are begun anew when they should be this many times as long. */
const TOO_SHORT = 3
/** Windows are as long as suits the rate when they were begun; this many times as many requests end that. */
const CROWDED = 6
/** Windows after which the slope is believed, and those that it is averaged over. */
const LEAST_WINDOWS = 10
const MEAN_WINDOWS = 40
/** A window is counted once this many windows, and its delays, have passed: until then outcomes are waited for. */
const WAIT_WINDOWS = 2
const MOST_WAITING = 100
/** Served per request let in beyond the mean, relative to the share that is served: less than this is nothing. */
const NOTHING = 0.35
/** Variance of what is served that counting in whole requests makes by itself. */
const GRAIN = 0.25

/**
 * Is more served when more is let in? Chance lets in more in one moment and less in the next, so the answer is there
 * for the asking: in many short windows, the slope of what was served over what was let in. Failures with a reason of
 * their own take their share of each window, and the slope is that of what succeeds. Where the resource is what is
 * short, what is served stays the same however much is let in, and the slope is 0.
 *
 * That is true of a process that has the resource to itself. Of several processes each sees the others' luck instead
 * of its own, and a slope of 1 - 1/n: no verdict, and then only looks can tell.
 *
 * O(1) per request, nothing allocated. Times in seconds.
 */
export class DeliverySlope {
  /** Cost heard of, and served, of the requests let in in each window that is waited for. */
  readonly #heard = new Float64Array(MOST_WAITING + 1)
  readonly #served = new Float64Array(MOST_WAITING + 1)
  /** Fading sums over windows: 1, let in, served, let in squared, their product, served squared. */
  readonly #sums = new Float64Array(6)
  readonly #grain: number
  #length = 0
  #end = 0
  #first = 0
  #last = -1
  #inWindow = 0
  #expected = 0

  /** `grain`: windows are whole multiples of so many seconds, because all that is let in in one is told at once. */
  constructor(grain = 0) {
    this.#grain = grain
  }

  /** Begins anew: what was let in until now tells nothing about what comes. */
  clear(): void {
    this.#sums.fill(0)
    this.#length = 0
    this.#first = this.#last + 1
  }

  /**
   * A request is let in at `now`: gives the number of its window. `perSecond` are let in of late, of `meanCost`, and
   * `servedShare` of them are served.
   */
  admit(now: number, perSecond: number, servedShare: number, meanCost: number, delay: number): number {
    const isOver = this.#length === 0 || now >= this.#end
    const length = isOver ? this.#lengthFor(perSecond, servedShare, meanCost, delay) : this.#length
    const isGap = now >= this.#end + 1000 * this.#length
    const isCrowded = this.#inWindow >= CROWDED * this.#expected
    if (this.#length === 0 || isGap || isCrowded || length > TOO_SHORT * this.#length) {
      this.clear()
      this.#length = isOver ? length : this.#lengthFor(perSecond, servedShare, meanCost, delay)
      this.#expected = (this.#length * perSecond) / meanCost
      this.#end = this.#grain > 0 ? this.#grain * Math.floor(now / this.#grain) : now
    }
    while (now >= this.#end) {
      this.#end += this.#length
      const waiting = WAIT_WINDOWS + Math.min(MOST_WAITING - WAIT_WINDOWS, Math.floor((DELAYS * delay) / this.#length))
      while (this.#last - this.#first >= waiting) this.#count(this.#first++)
      const slot = ++this.#last % this.#heard.length
      this.#heard[slot] = 0
      this.#served[slot] = 0
      this.#inWindow = 0
    }
    this.#inWindow++
    return this.#last
  }

  /** How a request ended that was let in in `window`; `served` is what of its cost was. */
  report(window: number, cost: number, served: number): void {
    if (window < this.#first || window > this.#last) return
    const slot = window % this.#heard.length
    this.#heard[slot]! += cost
    this.#served[slot]! += served
  }

  /**
   * Cost served per second, if the windows show that letting in less would not make it less; otherwise 0. `usual` is
   * the share of failures that have another reason: with no more of them nothing is short.
   */
  delivered(usual: number, meanCost: number): number {
    const sums = this.#sums
    const windows = sums[0]!
    if (windows < LEAST_WINDOWS) return 0
    const mean = sums[1]! / windows
    const meanServed = sums[2]! / windows
    const variance = sums[3]! / windows - mean * mean
    const share = 1 - meanServed / mean
    if (!(variance > 0) || share < usual + TOLERATED || !(meanServed > 0)) return 0
    const slope = (sums[4]! / windows - mean * meanServed) / variance
    const unexplained = sums[5]! / windows - meanServed * meanServed - slope * slope * variance
    const error = Math.sqrt(Math.max(GRAIN * meanCost * meanCost, unexplained) / (variance * windows))
    return slope + SURE * error < NOTHING * (1 - share) ? meanServed / this.#length : 0
  }

  /** How long a window should be, in seconds. */
  #lengthFor(perSecond: number, servedShare: number, meanCost: number, delay: number): number {
    const heardOf = (DELAYS * delay) / (MOST_WAITING - WAIT_WINDOWS)
    const requests = Math.max(WINDOW_REQUESTS, Math.min(MOST_REQUESTS, GRAIN / servedShare ** 2))
    const seconds = Math.max(heardOf, (requests * meanCost) / perSecond)
    return this.#grain > 0 ? this.#grain * Math.ceil(seconds / this.#grain) : seconds
  }

  #count(window: number): void {
    const kept = Math.exp(-1 / MEAN_WINDOWS)
    const heard = this.#heard[window % this.#heard.length]!
    const served = this.#served[window % this.#heard.length]!
    const sums = this.#sums
    sums[0] = sums[0]! * kept + 1
    sums[1] = sums[1]! * kept + heard
    sums[2] = sums[2]! * kept + served
    sums[3] = sums[3]! * kept + heard * heard
    sums[4] = sums[4]! * kept + heard * served
    sums[5] = sums[5]! * kept + served * served
  }
}
