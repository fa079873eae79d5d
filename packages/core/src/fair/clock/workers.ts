/** Failures over which the averages go, and how many it takes to speak of workers. */
const FAILURES = 20
const LEAST_FAILURES = 10
/** A failure that comes at once: fewer admissions than this between a request and its failure. */
const AT_ONCE = 0.5
/** Always the same number under way: a variance below this share of it. By chance alone it would be all of it. */
const STEADY = 0.1

/**
 * Finds out if the resource is a pool of workers, without a store of anything: then a request fails at once, and always
 * with the same number of others under way. That number is the workers, and what is to spare is how many of them are
 * free, which is known exactly.
 */
export class Workers {
  /** How many there seem to be. */
  count = 0
  /** True if the resource is such a pool, as far as can be seen. */
  found = false
  #variance = 0
  #lag = 0
  #failures = 0

  /** A request failed while `underWay` others were, `later` of them admitted after it. */
  fails(underWay: number, later: number): void {
    if (this.#failures < FAILURES) this.#failures++
    const part = 1 / this.#failures
    const error = underWay - this.count
    this.count += part * error
    this.#variance += part * (error * error * (1 - part) - this.#variance)
    this.#lag += part * (later - this.#lag)
    this.found =
      this.#failures >= LEAST_FAILURES && this.#lag < AT_ONCE && this.count >= 1 && this.#variance < STEADY * this.count
  }
}
