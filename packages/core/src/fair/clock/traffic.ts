import type { Step } from './step.js'

/** The success rate is an average over about this many seconds, and counts as over no fewer than the second figure. */
const RATE_SECONDS = 2
const LEAST_RATE_SECONDS = 0.02

/** The mean cost is over about this many requests, the share of failures over so many outcomes. */
const COSTS = 100
const OUTCOMES = 50

/**
 * What passes by: how much a request costs, how much is served per second, and which share of outcomes are failures.
 */
export class Traffic {
  /** Mean cost of a request. */
  meanCost = 1
  /** Share of the latest outcomes that were failures, 0 to 1. */
  failureShare = 0
  #requests = 0
  /** Cost served lately. */
  served = 0
  #seconds = 0
  #heard = false

  /** Time before the first outcome does not count: nothing could have been served, as far as is known. */
  advance({ seconds }: Step): void {
    if (!this.#heard) return
    const kept = Math.exp(-seconds / RATE_SECONDS)
    this.served *= kept
    this.#seconds = this.#seconds * kept + RATE_SECONDS * (1 - kept)
  }

  /** A request comes in. */
  arrives(cost: number): void {
    if (this.#requests < COSTS) this.#requests++
    this.meanCost += (cost - this.meanCost) / this.#requests
  }

  /** A request that got the resource. */
  succeeds(cost: number): void {
    this.#heard = true
    this.served += cost
    this.failureShare -= this.failureShare / OUTCOMES
  }

  /** A request that did not get it. */
  fails(): void {
    this.#heard = true
    this.failureShare += (1 - this.failureShare) / OUTCOMES
  }

  /** Cost served per second, lately. */
  get servedPerSecond(): number {
    return this.served / Math.max(LEAST_RATE_SECONDS, this.#seconds)
  }
}
