import { LEAST_RATE } from './traffic.js'

/** Requests that a flow may have at its first request, while nothing is short. */
export const FIRST_CREDIT = 2
/** Part of the capacity for all new flows together in a shortage. */
const NEW_SHARE = 0.25
/** The largest rate of the clock, as a multiple of the fair rate. */
const MOST_PRESSURE = 4
/** Gain of the fair rate, per request and per second. */
const GAIN_PER_REQUEST = 0.02
const GAIN_PER_SECOND = 0.2
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
  rate = 1
  #newTag = 0

  /** The first request of all. */
  begin(cost: number, weight: number): void {
    this.time = (FIRST_CREDIT * cost) / weight
    this.rate = cost / weight
  }

  /** `seconds` pass while `pressure` times the reserve is left. Returns the clock's progress. */
  run(seconds: number, pressure: number, fill: number, meanCost: number): number {
    const by = this.rate * Math.min(MOST_PRESSURE, pressure) * seconds
    this.time += by
    const error = Math.min(MOST_PRESSURE, pressure - 1)
    const gain = Math.min((GAIN_PER_REQUEST * fill) / meanCost, GAIN_PER_SECOND)
    this.rate *= Math.exp(Math.max(-0.7, Math.min(0.7, gain * error * seconds)))
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
    this.rate *= Math.exp(step * times * (over ? 1 - SHADOW_SHARE : -SHADOW_SHARE))
    this.rate = Math.max(LEAST_RATE * meanCost, Math.min(meanCost / LEAST_RATE ** 2, this.rate))
  }

  /** New flows together are one account, of `perSecond` in total while the clock advances by `pace` a second. */
  letInNew(cost: number, meanCost: number, perSecond: number, pace: number, credit: number): boolean {
    const weight = Math.max(1, (NEW_SHARE * perSecond) / Math.max(pace, LEAST_RATE * meanCost))
    const tag = Math.max(this.#newTag, this.time - Math.max(pace, (credit * meanCost) / weight))
    if (tag > this.time) return false
    this.#newTag = tag + cost / weight
    return true
  }

  /** Moves the origin of tags, `by` later, including the one that new flows share. */
  shift(by: number): void {
    this.#newTag += by
  }
}
