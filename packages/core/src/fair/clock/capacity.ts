import type { CleanRun } from './clean-run.js'
import type { Delay } from './delay.js'
import type { Step } from './step.js'
import type { Traffic } from './traffic.js'

/** Requests over which the measurements are averaged, and how many the first estimate counts for at most. */
const MEASURED_REQUESTS = 100
const FIRST_REQUESTS = 10
/** What is known from before counts for at most so many, and only if no more than this share of the rate by now. */
const KNOWN_REQUESTS = 30
const STILL_KNOWN = 0.6
const LEAST_REQUESTS_PER_SECOND = 1e-6

/**
 * The best seen fades over this many seconds, but not while hardly anything is served: then it says what may return.
 */
const BEST_SECONDS = 60
const OUTAGE_SHARE = 0.5
/** Of what was served before a shortage, which may have come from a buffer, this much is the best seen at least. */
const BEST_BEFORE = 0.8
const BEST_KEPT = 0.9
/** After an outage: below this share of the best seen, each success but the first few raises the estimate so much. */
const RECOVERED = 0.8
const RECOVERY_GROWTH = 1.5
const RECOVERY_RUN = 3
/** A long run is measured in pieces of so many requests, once it can be trusted so far. */
const PIECE_REQUESTS = 50
const PIECE_TRUST = 0.2
/** Of the requests admitted lately, some may have failed without anybody knowing yet: those of so many delays. */
const UNKNOWN_DELAYS = 1

/**
 * How much the resource can serve per second, measured by its failures.
 *
 * A failure says that at this instant the resource is empty. So all that was served between two failures, divided by
 * the time between them, is its capacity: exact to one request, at any rate, without windows. Kept as two fading sums,
 * so that many short runs weigh as much as one long run.
 */
export class Capacity {
  /** Cost per second; 0 until a shortage was seen. */
  perSecond = 0
  #served = 0
  #seconds = 0
  #best = 0

  advance({ seconds }: Step, { failureShare }: Traffic): void {
    if (this.#best > 0 && failureShare <= OUTAGE_SHARE) this.#best *= Math.exp(-seconds / BEST_SECONDS)
  }

  /** A shortage begins, while something is served. What is known from before is taken up, or not. */
  begin({ peakPerSecond, servedPerSecond, served, meanCost }: Traffic): void {
    if (this.perSecond > 0 && peakPerSecond > STILL_KNOWN * this.perSecond) {
      const scale = Math.min(1, (KNOWN_REQUESTS * meanCost) / this.#served)
      this.#served *= scale
      this.#seconds *= scale
      this.perSecond = this.#served / this.#seconds
    } else {
      // Rather too much than too little: failures correct that within moments, and successes the other only slowly.
      this.perSecond = peakPerSecond
      this.#served = Math.min(FIRST_REQUESTS * meanCost, served)
      this.#seconds = this.#served / peakPerSecond
    }
    this.#best = Math.max(BEST_BEFORE * servedPerSecond, this.#best)
  }

  /** A success, well into a run after an outage. */
  recover({ telling }: CleanRun): void {
    if (this.perSecond < RECOVERED * this.#best && telling > RECOVERY_RUN) this.perSecond *= RECOVERY_GROWTH
  }

  /** Well into a run without failure the capacity is no less than this. What was let in lately may have failed yet. */
  raise(run: CleanRun, { meanCost }: Traffic, { seconds }: Delay, { trust }: Step): void {
    const served = run.served - UNKNOWN_DELAYS * seconds * this.perSecond
    if (served <= FIRST_REQUESTS * meanCost) return
    this.perSecond = Math.max(this.perSecond, (this.#served + served - meanCost) / (this.#seconds + run.servedSeconds))
    if (served >= PIECE_REQUESTS * meanCost && trust >= PIECE_TRUST) this.#raiseByPiece(run, served, meanCost)
  }

  /** So much of what was counted as served was not. */
  lessen(cost: number, traffic: Traffic): void {
    if (this.#seconds === 0) return
    this.#served = Math.max(0, this.#served - cost)
    this.#average(traffic)
  }

  /** A failure ends a run. If the resource was `full` in it, only a run faster than the estimate tells anything. */
  measure({ served, servedSeconds }: CleanRun, traffic: Traffic, full: boolean): void {
    if (full && served <= this.perSecond * servedSeconds) return
    const kept = Math.exp(-(served / traffic.meanCost + 1) / MEASURED_REQUESTS)
    this.#served = this.#served * kept + served
    this.#seconds = this.#seconds * kept + servedSeconds
    this.#average(traffic)
    if (served > 0) this.#best = Math.max(this.perSecond, BEST_KEPT * this.#best)
  }

  #average({ meanCost }: Traffic): void {
    this.perSecond = Math.max(LEAST_REQUESTS_PER_SECOND * meanCost, this.#served / this.#seconds)
  }

  /** Takes a piece of a run that goes on for a measurement, if it shows more than is known: the capacity has grown. */
  #raiseByPiece(run: CleanRun, servedOfRun: number, meanCost: number): void {
    const kept = Math.exp(-servedOfRun / meanCost / MEASURED_REQUESTS)
    const served = this.#served * kept + servedOfRun
    const seconds = this.#seconds * kept + run.servedSeconds
    if (served <= this.perSecond * seconds) return
    this.#served = served
    this.#seconds = seconds
    this.perSecond = served / seconds
    run.measured()
  }
}
