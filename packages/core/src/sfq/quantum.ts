/** Number of requests over which costs are averaged. */
const COST_MEMORY = 300
/**
 * Lower bound of the quantum as a part of the mean cost: on average, a round serves one of every 16 lanes that it
 * visits.
 */
const LEAST_PART = 1 / 16
/** Largest excess of the quantum over the geometric mean. */
const MOST_ROOM = 0.125
/** Cap on a single cost, in geometric means: one declared cost must not make turns long for all. */
const MOST_MEANS = 1000
/** Cap on the lower bound by the arithmetic mean, in geometric means. */
const MOST_FLOOR = 8

/**
 * The quantum: the cost that a lane of weight 1 is credited in a round. It is the geometric mean of the recently served
 * costs, so that a turn is worth about one ordinary request, regardless of the few costly ones: with the arithmetic
 * mean, each costly request would give every flow long turns for a while. If costs vary, it is up to an eighth more, so
 * that a lane of ordinary requests seldom owes more than its next turn. It is at least a sixteenth of the arithmetic
 * mean, so that choosing stays O(1), but by that no more than eight geometric means; and at least the smallest cost
 * seen. One request with any declared cost changes it by a few parts in a hundred once 300 have been served.
 */
export class Quantum {
  #served = 0
  #mean = 0
  #meanLog = 0
  /** Mean deviation of the logarithms of costs. */
  #spread = 0
  #geometricMean = 0
  #least: number = Number.POSITIVE_INFINITY

  /** A request of this cost arrives. */
  see(cost: number): void {
    if (cost < this.#least) this.#least = cost
  }

  /** A request of this cost, which was seen before, is served. */
  learn(cost: number): void {
    if (this.#served > 0) cost = Math.min(cost, MOST_MEANS * this.#geometricMean)
    if (this.#served < COST_MEMORY) this.#served++
    this.#mean += (cost - this.#mean) / this.#served
    // The usual case, in which all costs are equal, needs no logarithm.
    if (cost === this.#geometricMean && this.#spread === 0) return
    const first = this.#served === 1
    const log = Math.log(cost)
    const off = first ? 0 : Math.abs(log - this.#meanLog)
    this.#spread += (off - this.#spread) / this.#served
    this.#meanLog += (log - this.#meanLog) / this.#served
    this.#geometricMean = first ? cost : Math.exp(this.#meanLog)
  }

  get value(): number {
    const room = 1 + Math.min(MOST_ROOM, 2 * this.#spread)
    const floor = Math.min(LEAST_PART * this.#mean, MOST_FLOOR * this.#geometricMean)
    return Math.max(room * this.#geometricMean, floor, this.#least)
  }
}
