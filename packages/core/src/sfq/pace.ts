/** Weight of the newest cost in the average, once that many have been served. */
const GAIN = 1 / 100

/**
 * The quantum: what a flow of weight 1 is credited in a round. The moving average of the costs that were served, so
 * that a turn is worth about one request, and not below the smallest cost seen; with the *largest* cost instead, one
 * flow of costly requests would let everybody take long turns.
 */
export class Pace {
  #average = 0
  #served = 0
  #least: number = Number.POSITIVE_INFINITY

  /** A cost comes in. */
  see(cost: number): void {
    if (cost < this.#least) this.#least = cost
  }

  /** A cost is served; it must have been seen. */
  learn(cost: number): void {
    if (this.#served < 1 / GAIN) this.#served++
    this.#average += (cost - this.#average) / this.#served
  }

  get quantum(): number {
    return Math.max(this.#average, this.#least)
  }
}
