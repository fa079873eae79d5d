import { DELAYS, SURE, TOLERATED } from './evidence.js'

/** Mean number of requests in a window: small enough for random variation, and to fill many windows soon. */
const WINDOW_REQUESTS = 5
/** In a deep overload a window holds more, at most this many: counting in whole requests would hide the slope. */
const MOST_REQUESTS = 10_000
/** Windows are restarted when they should be this many times as long. */
const TOO_SHORT = 3
/** The length of windows suits the rate at their start; this many times as many requests end that. */
const CROWDED = 6
/** Windows after which the slope is trusted, and those over which it is averaged. */
const LEAST_WINDOWS = 10
const MEAN_WINDOWS = 40
/** A window is counted after this many windows, and its delays: until then outcomes are awaited. */
const WAIT_WINDOWS = 2
const MOST_WAITING = 100
/** A smaller slope, relative to the served share, counts as zero: served per additional admitted request. */
const NOTHING = 0.35
/** Variance of the served cost by counting in whole requests. */
const GRAIN = 0.25

/**
 * Is more served when more is admitted? Random variation admits more in one moment and less in the next, so the data
 * are available without an experiment: in many short windows, the slope of the served over the admitted cost. Failures
 * with a reason of their own take their share of each window, and the slope is that of the successes. If the resource
 * is the bottleneck, the served cost is independent of the admitted one, and the slope is 0.
 *
 * That holds for a process that uses the resource alone. Each of several processes sees the others' variation instead
 * of its own, and a slope of 1 - 1/n: no verdict, and then only looks can decide.
 *
 * O(1) per request, nothing allocated. Times in seconds.
 */
export class DeliverySlope {
  /** Reported cost, and served cost, of the admissions in each pending window. */
  readonly #heard = new Float64Array(MOST_WAITING + 1)
  readonly #served = new Float64Array(MOST_WAITING + 1)
  /** Decaying sums over windows: 1, admitted, served, admitted squared, their product, served squared. */
  readonly #sums = new Float64Array(6)
  readonly #grain: number
  #length = 0
  #end = 0
  #first = 0
  #last = -1
  #inWindow = 0
  #expected = 0

  /** `grain`: windows are whole multiples of this many seconds, because all admissions in one are reported at once. */
  constructor(grain = 0) {
    this.#grain = grain
  }

  /** Restarts: earlier admissions say nothing about the future. */
  clear(): void {
    this.#sums.fill(0)
    this.#length = 0
    this.#first = this.#last + 1
  }

  /**
   * A request is admitted at `now`: returns the number of its window. The recent rate is `perSecond`, of `meanCost`,
   * and `servedShare` of it is served.
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

  /** Outcome of a request admitted in `window`; `served` is the served part of its cost. */
  report(window: number, cost: number, served: number): void {
    if (window < this.#first || window > this.#last) return
    const slot = window % this.#heard.length
    this.#heard[slot]! += cost
    this.#served[slot]! += served
  }

  /**
   * Cost served per second, if the windows show that admitting less would not reduce it; otherwise 0. `usual` is the
   * share of failures with another reason: with no more of them nothing is short.
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

  /** Target length of a window, in seconds. */
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
