/** How the probabilities of a flow's buckets, one per level, are combined. The array is reused between calls. */
export type Combine = 'min' | 'mean' | ((probabilities: Readonly<Float64Array>) => number)

/** A sketch's reaction to failures, successes and time. */
export interface BlueReaction {
  readonly failureIncrement: number
  readonly successDecrement: number
  readonly decayPerSecond: number
  readonly combine: Combine
}

/**
 * Stochastic fair BLUE: levels of buckets, each a refusal probability and the time it was last changed.
 *
 * A failure adds to a flow's bucket on every level, a success takes a little back, and all fade with time. A flow's
 * probability is the least of its buckets', so it is refused only if it shares a hot bucket on *every* level.
 * Pure: positions, times and outcomes come in as numbers. O(levels) per call, nothing allocated, memory constant.
 *
 * Reading does not write: decay is applied when a bucket is looked at, which composes to the same curve.
 *
 * @see W. Feng, D. Kandlur, D. Saha, K. Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing
 *   Fairness", IEEE INFOCOM 2001
 */
export class BlueSketch {
  readonly #probabilities: Float64Array
  readonly #changedMs: Float64Array
  readonly #buckets: number
  readonly #rule: BlueReaction
  readonly #decayPerMs: number
  readonly #scratch: Float64Array

  constructor(levels: number, bucketsPerLevel: number, rule: BlueReaction, nowMs: number) {
    this.#probabilities = new Float64Array(levels * bucketsPerLevel)
    this.#changedMs = new Float64Array(levels * bucketsPerLevel).fill(nowMs)
    this.#buckets = bucketsPerLevel
    this.#rule = rule
    this.#decayPerMs = rule.decayPerSecond / 1000
    this.#scratch = new Float64Array(levels)
  }

  /** Chance, 0 to 1, that a request of the flow at `places` (one bucket index per level) should be refused. */
  probability(places: Int32Array, nowMs: number): number {
    const { combine } = this.#rule
    const levels = places.length
    if (combine === 'min') {
      let least = 1
      for (let level = 0; level < levels; level++) {
        const p = this.#decayed(level * this.#buckets + places[level]!, nowMs)
        if (p === 0) return 0
        if (p < least) least = p
      }
      return least
    }
    const all = this.read(places, nowMs, this.#scratch)
    if (combine !== 'mean') return combine(all)
    let sum = 0
    for (let level = 0; level < levels; level++) sum += all[level]!
    return sum / levels
  }

  /** Writes the probability of each level's bucket to `into`, and returns it. */
  read(places: Int32Array, nowMs: number, into: Float64Array): Float64Array {
    for (let level = 0; level < places.length; level++)
      into[level] = this.#decayed(level * this.#buckets + places[level]!, nowMs)
    return into
  }

  /**
   * Learns the outcome of a request of the flow at `places`: shortage adds to its buckets, service subtracts a little.
   */
  learn(places: Int32Array, failed: boolean, nowMs: number): void {
    const change = failed ? this.#rule.failureIncrement : -this.#rule.successDecrement
    for (let level = 0; level < places.length; level++) {
      const cell = level * this.#buckets + places[level]!
      if (!failed && this.#probabilities[cell] === 0) continue
      this.#probabilities[cell] = Math.max(0, Math.min(1, this.#decayed(cell, nowMs) + change))
      this.#changedMs[cell] = nowMs
    }
  }

  /** Clears the flow's buckets. */
  forget(places: Int32Array): void {
    for (let level = 0; level < places.length; level++) this.#probabilities[level * this.#buckets + places[level]!] = 0
  }

  /** Clears everything. */
  clear(nowMs: number): void {
    this.#probabilities.fill(0)
    this.#changedMs.fill(nowMs)
  }

  /** Share of the buckets, over all levels, whose probability is at least `probability`. Reads every bucket. */
  shareAbove(probability: number, nowMs: number): number {
    const cells = this.#probabilities.length
    let above = 0
    for (let cell = 0; cell < cells; cell++) if (this.#decayed(cell, nowMs) >= probability) above++
    return above / cells
  }

  #decayed(cell: number, nowMs: number): number {
    const p = this.#probabilities[cell]!
    if (p === 0) return 0
    const elapsedMs = nowMs - this.#changedMs[cell]!
    return elapsedMs > 0 ? p * Math.exp(-this.#decayPerMs * elapsedMs) : p
  }
}
