import { RATE_REQUESTS, RATE_SECONDS, SURE, TOLERATED } from './evidence.js'

/** Longest time over which rates are averaged, with any number of requests. */
const MOST_RATE_SECONDS = 30
const LATELY_SECONDS = 5
/** Outcomes over which shares and delays are averaged. */
const OUTCOMES = 50
/** Requests a second: keeps the arithmetic finite. */
export const LEAST_RATE = 1e-9

/** Recent admitted, served and refused cost per second, and the failed share. Times in seconds. */
export class Traffic {
  /** Share of the latest outcomes that were failures, except flows' own ones. */
  failureShare = 0
  /** Mean time until an outcome. */
  delay = 0
  /** Decaying sums of admitted and served cost, and of their time. */
  #admitted = 0
  #served = 0
  #ended = 0
  #seconds = 0
  /** The same over some seconds: progress of the clock, and refused cost. */
  #moved = 0
  #refused = 0
  #movedSeconds = 1e-9
  #outcomes = 0

  /** `elapsed` seconds pass. */
  advance(elapsed: number, meanCost: number): void {
    const requestsSeconds = meanCost / Math.max(this.servedPerSecond, LEAST_RATE * meanCost)
    const fade = Math.min(MOST_RATE_SECONDS, Math.max(RATE_SECONDS, RATE_REQUESTS * requestsSeconds))
    const kept = Math.exp(-elapsed / fade)
    this.#admitted *= kept
    this.#served *= kept
    this.#ended *= kept
    this.#seconds = this.#seconds * kept + fade * (1 - kept)
    const keptLately = Math.exp(-elapsed / LATELY_SECONDS)
    this.#moved *= keptLately
    this.#refused *= keptLately
    this.#movedSeconds = this.#movedSeconds * keptLately + LATELY_SECONDS * (1 - keptLately)
  }

  /** A request is admitted; below 0: one was, and did not run. */
  admits(cost: number): void {
    this.#admitted = Math.max(0, this.#admitted + cost)
  }

  refuses(cost: number): void {
    this.#refused += cost
  }

  serves(cost: number): void {
    this.#served += cost
  }

  /** The clock advances. */
  moves(by: number): void {
    this.#moved += by
  }

  /** A request ended, `seconds` after its admission. */
  ends(failed: boolean, seconds: number, cost: number): void {
    this.#outcomes++
    this.#ended += cost
    this.failureShare += ((failed ? 1 : 0) - this.failureShare) / OUTCOMES
    this.delay += (seconds - this.delay) / Math.min(OUTCOMES, this.#outcomes)
  }

  get servedPerSecond(): number {
    return this.#served / Math.max(0.1 * RATE_SECONDS, this.#seconds)
  }

  /** Served part of recent outcomes; 1 while there are none. */
  get servedShare(): number {
    return this.#ended > this.#served ? this.#served / this.#ended : 1
  }

  get admittedPerSecond(): number {
    return this.#admitted / Math.max(0.1 * RATE_SECONDS, this.#seconds)
  }

  get refusedPerSecond(): number {
    return this.#refused / LATELY_SECONDS
  }

  get movedPerSecond(): number {
    return this.#moved / this.#movedSeconds
  }

  /** The share of failures beyond `usual`, if it exceeds the tolerated share and random variation; otherwise 0. */
  beyond(usual: number): number {
    const beyond = this.failureShare - usual
    const error = Math.sqrt((usual * (1 - usual)) / (2 * OUTCOMES))
    return beyond > TOLERATED + SURE * error ? beyond : 0
  }
}
