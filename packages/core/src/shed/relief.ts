/** Time in which relief makes up for most of what it is to make up for, in milliseconds. */
const TIME_MS = 10_000
/** How much faster relief goes than the reading rises. */
const RETREAT = 4
/** Longest time between two samples that counts: without traffic nothing is shown. */
const LONGEST_STEP_MS = 1_000

/**
 * What to take off a reading that is high although hardly any requests run that could hold it: memory which an
 * allocator keeps, garbage that nobody has collected, what the service keeps for itself. To refuse requests frees none
 * of it, and may well keep it there, since it is their allocations that have it collected or used again.
 *
 * Relief grows slowly while what running requests do not explain is in the range, and goes quickly when the reading
 * rises above what it was before. No clock; O(1).
 */
export class Relief {
  /** To be taken off the reading; at least 0, and never so much that what requests do not hold ends below `from`. */
  amount = 0

  #highest: number = Number.NEGATIVE_INFINITY

  /** Takes a good reading, `held` of which running requests explain, `elapsedMs` after the one before. */
  sample(reading: number, held: number, elapsedMs: number, { from }: { from: number }): void {
    const unheld = reading - held
    const excess = unheld - from
    if (excess <= 0) {
      this.amount = 0
      this.#highest = unheld
      return
    }
    if (unheld > this.#highest) this.amount -= RETREAT * (unheld - this.#highest)
    else this.amount += ((excess - this.amount) * Math.min(elapsedMs, LONGEST_STEP_MS)) / TIME_MS
    this.#highest = Math.max(unheld, this.#highest)
    this.amount = Math.max(0, Math.min(this.amount, excess))
  }
}
