import { LEAST_RATE } from './state.js'

/** Requests that a flow may have at its first request, while nothing is short. */
export const FIRST_CREDIT = 2
/** Part of the capacity for all new flows together in a shortage. */
const NEW_SHARE = 0.25
/** The largest rate of the clock, as a multiple of the fair rate. */
const MOST_PRESSURE = 4
/** Gain of the fair rate, per request and per second. */
const GAIN_PER_REQUEST = 0.02
const GAIN_PER_SECOND = 0.2
/** Bound of its logarithm's growth without requests: that nobody asks is no sign of plenty. */
const MOST_IDLE_GROWTH = 0.7
/** While nothing is refused it follows the level at which a third would be: per second, and per request at most. */
const SHADOW_PER_SECOND = 0.3
const SHADOW_STEP = 0.03
const SHADOW_SHARE = 1 / 3

/**
 * The time that tags are compared with, and the fair rate, at which it should run. While less than the reserve is left
 * it runs slower, and the rate falls; while more is left it runs faster, and the rate rises.
 *
 * @see P. Goyal, H. Vin, H. Cheng, "Start-time Fair Queueing", SIGCOMM 1996: tags and virtual time
 */
export class VirtualClock {
  /** The clock, in units of cost by weight, and the rate of each flow: cost per second and unit of weight. */
  time: number = FIRST_CREDIT
  #rate = 1
  /** Logarithm of the rate's growth that is not included yet: the rate is read far less often than it grows. */
  #growth = 0
  #meanCost = 1
  /** The tag of all new flows. */
  newTag = 0
  /** Growth of the rate's logarithm since the last request. */
  #grown = 0

  get rate(): number {
    if (this.#growth !== 0) {
      const rate = this.#rate * Math.exp(this.#growth)
      this.rate = Math.max(LEAST_RATE * this.#meanCost, Math.min(this.#meanCost / LEAST_RATE ** 2, rate))
    }
    return this.#rate
  }

  set rate(rate: number) {
    this.#rate = rate
    this.#growth = 0
  }

  /** A request arrives, after this many. */
  arrives(cost: number, weight: number, requests: number): void {
    this.#grown = 0
    if (requests > 0) return
    this.rate = cost / weight
    this.time = FIRST_CREDIT * this.rate
  }

  /** `seconds` pass while `pressure` times the reserve is left. Returns the clock's progress. */
  run(seconds: number, pressure: number, fill: number, meanCost: number): number {
    const by = this.rate * Math.min(MOST_PRESSURE, pressure) * seconds
    this.time += by
    const error = Math.min(MOST_PRESSURE, pressure - 1)
    const gain = Math.min((GAIN_PER_REQUEST * fill) / meanCost, GAIN_PER_SECOND)
    const growth = Math.min(MOST_IDLE_GROWTH - this.#grown, gain * error * seconds)
    this.#grown += growth
    this.rate *= Math.exp(growth)
    return by
  }

  /** A flow at its limit is admitted although nothing is left, or `times` as many are: the fair rate is too high. */
  strain(deliverable: number, meanCost: number, times: number): void {
    const gain = (2 * GAIN_PER_SECOND * meanCost) / Math.max(deliverable, LEAST_RATE * meanCost)
    this.rate = Math.max(LEAST_RATE * meanCost, this.rate * Math.exp(-Math.min(SHADOW_STEP, gain) * times))
  }

  /**
   * Nothing is refused. A request of a flow that is ahead arrives, or `times` as many, or one of a flow that is not.
   */
  shadow(over: boolean, servedPerSecond: number, requests: number, meanCost: number, times: number): void {
    const perSecond = (SHADOW_PER_SECOND * meanCost) / Math.max(servedPerSecond, LEAST_RATE * meanCost)
    const first = over ? 1 / (SHADOW_SHARE * requests) : 0
    const step = Math.min(SHADOW_STEP, Math.max(perSecond, first))
    this.#growth += step * times * (over ? 1 - SHADOW_SHARE : -SHADOW_SHARE)
    this.#meanCost = meanCost
  }

  /** New flows together are one account, of `perSecond` in total while the clock advances by `pace` a second. */
  letInNew(cost: number, meanCost: number, perSecond: number, pace: number, credit: number): boolean {
    const weight = Math.max(1, (NEW_SHARE * perSecond) / Math.max(pace, LEAST_RATE * meanCost))
    const tag = Math.max(this.newTag, this.time - Math.max(pace, (credit * meanCost) / weight))
    if (tag > this.time) return false
    this.newTag = tag + cost / weight
    return true
  }
}

/** Target remainder: the requests of one time, and this many seconds of capacity. */
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
export class CapacityReserve {
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
   * For a resource that delivers `deliverable` and is tried with `perSecond`. `atOnce`: mean number of admissions at one
   * time, which nothing can hold back; `lag`: delay until others learn of them.
   */
  size(meanCost: number, atOnce: number, deliverable: number, perSecond: number, lag: number): void {
    this.target = atOnce * meanCost + (RESERVE_SECONDS + lag) * deliverable
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

  #within(cost: number, debt: number): number {
    return Math.min(this.most, Math.max(cost, -debt))
  }
}
