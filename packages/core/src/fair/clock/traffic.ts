import { FadingRate } from './fading-rate.js'
import type { Step } from './step.js'

/** The success rate is an average over about so many seconds; what is served just now, over so many. */
const LATELY_SECONDS = 2
const NOW_SECONDS = 0.1

/** The mean cost is over about this many requests, the share of failures over so many outcomes. */
const COSTS = 100
const OUTCOMES = 50

/**
 * What passes by: how much a request costs, how much is served per second, and which share of outcomes are failures.
 */
export class Traffic {
  /** Mean cost of a request. */
  meanCost = 1
  /** Share of the latest outcomes that were failures, 0 to 1, but for those that are put up with. */
  failureShare = 0
  #requests = 0
  readonly #lately = new FadingRate(LATELY_SECONDS)
  readonly #now = new FadingRate(NOW_SECONDS)
  #heard = false

  /** Time before the first outcome does not count: nothing could have been served, as far as is known. */
  advance(step: Step): void {
    if (!this.#heard) return
    this.#lately.advance(step)
    this.#now.advance(step)
  }

  /** A request comes in. True if it is the first. */
  arrives(cost: number): boolean {
    const first = this.#requests === 0
    if (this.#requests < COSTS) this.#requests++
    this.meanCost += (cost - this.meanCost) / this.#requests
    return first
  }

  /** A request that got the resource. */
  succeeds(cost: number): void {
    this.#heard = true
    this.#lately.add(cost)
    this.#now.add(cost)
    this.failureShare -= this.failureShare / OUTCOMES
  }

  /** A request that did not get it. */
  fails(): void {
    this.#heard = true
    this.failureShare += (1 - this.failureShare) / OUTCOMES
  }

  /** Cost served lately. */
  get served(): number {
    return this.#lately.sum
  }

  /** Cost served per second, lately. */
  get servedPerSecond(): number {
    return this.#lately.perSecond
  }

  /** The same, if nothing was served before the first outcome: less than a burst at the start makes of it. */
  get surelyServedPerSecond(): number {
    return this.#lately.leastPerSecond
  }

  /** The same just now, if that is more: when more has just come to be asked, it is what tells what can be served. */
  get peakPerSecond(): number {
    return Math.max(this.#lately.perSecond, this.#now.perSecond)
  }
}
