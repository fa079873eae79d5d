import type { Capacity } from './capacity.js'
import type { CleanRun } from './clean-run.js'
import { modestTarget, type Reservoir } from './reservoir.js'
import type { Traffic } from './traffic.js'

/** Overflow that is put up with: this share of what is served, and half a request. Both fade over so many requests. */
const TOLERATED_SHARE = 0.006
const TOLERATED_REQUESTS = 0.5
const FADE_REQUESTS = 200
/** What remains of the sum when it has led to a step down. */
const KEPT = 0.7

/** Steps of the cushion. */
const DOWN = 0.8
const UP = 1.05
const MOST = 20
/** A run must have served so many requests to speak for a larger cushion. */
const TELLING_REQUESTS = 5

/**
 * How large a buffer the resource has, learned by its failures.
 *
 * The clock aims at a level to spare, its cushion: the larger, the smoother; but if the resource cannot hold so much,
 * what comes in meanwhile runs over and is lost. A failure at a time when the model still had something to spare shows
 * just that. So the cushion shrinks when more than a little ran over, and otherwise grows slowly.
 */
export class Overflow {
  /** Factor on the reservoir's modest target. */
  cushion = 1
  #lost = 0
  #served = 0

  /** A failure ends a run. If the resource was `full` in it, it ran over by rights. */
  learn(reservoir: Reservoir, { served }: CleanRun, capacity: Capacity, traffic: Traffic, full: boolean): void {
    const { meanCost } = traffic
    const kept = Math.exp(-served / meanCost / FADE_REQUESTS)
    this.#lost *= kept
    this.#served = this.#served * kept + served
    if (full) return
    const lost = reservoir.level - reservoir.probed - meanCost
    if (lost > 0) this.#lost += lost
    if (this.#lost > TOLERATED_SHARE * this.#served + TOLERATED_REQUESTS * meanCost) {
      this.cushion = (DOWN * reservoir.target) / modestTarget(capacity, traffic)
      this.#lost *= KEPT
    } else if (served > TELLING_REQUESTS * meanCost && this.cushion < MOST && reservoir.peak >= reservoir.target)
      this.cushion *= UP
  }
}
