/** Time in which an observation loses half its weight, while something waits. */
const HALF_LIFE_MS = 5_000
const MEAN_LIFE_MS = HALF_LIFE_MS / Math.LN2
/** What is left of the weight of old observations, as time observed, after a time in which nothing waited. */
const OLD_NEWS_MS = 500
/** Starts from which on the rate is worth something. */
const KNOWN_FROM = 10

/**
 * The rate at which a line gets served: cost that started per millisecond *while something waited*.
 *
 * Time in which nothing waits does not count: then the rate of starts is that of arrivals, and a quiet hour would make
 * the first burst look hopeless. So the rate is the capacity's, and of a lower band what the higher ones leave it. If
 * nothing starts any more it falls by half every 5 s. While nothing waits it stays, but counts for less and less beside
 * what will be seen next: an outage must not make the next burst look hopeless either. O(1) per call; times are handed
 * in.
 */
export class DrainRate {
  #cost = 0
  #waitedMs = 0
  #starts = 0
  #waiting = false
  #nowMs = 0

  /** From now on something waits, or nothing does. */
  set(waiting: boolean, nowMs: number): void {
    this.#pass(nowMs)
    this.#waiting = waiting
  }

  /** Something that waited starts. */
  started(cost: number, nowMs: number): void {
    this.#pass(nowMs)
    this.#cost += cost
    this.#starts++
  }

  /** Cost per millisecond; `undefined` until ten requests have started. */
  perMs(nowMs: number): number | undefined {
    this.#pass(nowMs)
    if (this.#starts < KNOWN_FROM || this.#waitedMs === 0) return undefined
    return this.#cost / this.#waitedMs
  }

  #pass(nowMs: number): void {
    const passedMs = nowMs - this.#nowMs
    this.#nowMs = nowMs
    if (!(passedMs > 0)) return
    let kept = Math.exp(-passedMs / MEAN_LIFE_MS)
    const seenMs = this.#waiting ? (1 - kept) * MEAN_LIFE_MS : 0
    if (!this.#waiting) kept = Math.min(1, Math.max(kept, OLD_NEWS_MS / this.#waitedMs))
    this.#cost *= kept
    this.#waitedMs = this.#waitedMs * kept + seenMs
  }
}
