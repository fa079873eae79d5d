/** Requests that make a queue count as occupied. */
const OCCUPIED = 4
/** Arrivals in a row that must find the queues crowded. */
const ARRIVALS = 256

/**
 * Tells when flows that keep their queues busy have become too many for the number of queues.
 *
 * While at most a third of the queues is occupied, a hand of a few almost always has a free one; beyond that light
 * flows start to share with heavy ones, and shares depart from fair. Counted as requests come and go, O(1).
 */
export class Crowding {
  #queues: number
  #occupied = 0
  #most = 0
  #arrivals = 0

  constructor(queues: number) {
    this.#queues = queues
  }

  /** Queues that hold four requests or more. */
  get occupied(): number {
    return this.#occupied
  }

  /** Whether more than a third of the queues was occupied at each of the last 256 arrivals. */
  get crowded(): boolean {
    return this.#arrivals >= ARRIVALS
  }

  /** Whether less than a twelfth of the queues has been occupied, at any time since they were last dealt. */
  get sparse(): boolean {
    return this.#most < this.#queues / 12
  }

  /** A queue now holds `count`, one more than before. */
  came(count: number): void {
    if (count === OCCUPIED) this.#occupied++
    if (this.#occupied > this.#most) this.#most = this.#occupied
    this.#arrivals = this.#occupied > this.#queues / 3 ? this.#arrivals + 1 : 0
  }

  /** A queue now holds `count`, one less than before. */
  left(count: number): void {
    if (count === OCCUPIED - 1) this.#occupied--
  }

  /** Everything was dealt anew, and there are queues with these `counts`. */
  deal(counts: readonly number[]): void {
    if (counts.length !== this.#queues) this.#arrivals = 0
    this.#queues = counts.length
    this.#occupied = counts.filter((count) => count >= OCCUPIED).length
    this.#most = this.#occupied
  }
}
