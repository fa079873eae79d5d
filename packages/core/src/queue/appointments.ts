const SOONEST_MS = 1_000
const LONGEST_MS = 60_000
/** Lines that are remembered at most: the oldest is forgotten first. */
const MOST_LINES = 10_000

/** How long to stay away where nothing is known, in milliseconds. */
export const UNKNOWN_MS: number = SOONEST_MS

/**
 * Tells refused clients when to come back: one after the other, at the rate at which their line is served.
 *
 * The time until what waits has been served is right for the first that is refused; told to all, it has them return
 * together, and all but a few be refused again. So each takes its place behind those who were refused before it, as if
 * it had queued: the line's end moves on by the time that its service takes. From 1 s to 60 s, which the end of a line
 * never exceeds either. Not jittered.
 *
 * A record per line to which somebody is still to come back, forgotten after a minute at most. O(1) amortised.
 */
export class Appointments {
  /** When the last client of each line is to come back; those last spoken to at the end. */
  readonly #ends = new Map<string, number>()

  /** Lines that are remembered. */
  get size(): number {
    return this.#ends.size
  }

  /**
   * How long, in milliseconds, the next refused client of `line` should stay away: until at least `waitMs` from now,
   * and until those told before it have been served. Its own service takes `serviceMs`.
   */
  give(line: string, waitMs: number, serviceMs: number, nowMs: number): number {
    this.#forget(nowMs)
    const latestMs = nowMs + LONGEST_MS
    const comesMs = Math.min(latestMs, Math.max(this.#ends.get(line) ?? 0, nowMs + waitMs))
    this.#ends.delete(line)
    this.#ends.set(line, Math.min(latestMs, comesMs + serviceMs))
    return Math.max(SOONEST_MS, comesMs - nowMs)
  }

  clear(): void {
    this.#ends.clear()
  }

  /** From the front, where those are that were spoken to longest ago. */
  #forget(nowMs: number): void {
    for (const [line, endMs] of this.#ends) {
      if (endMs > nowMs && this.#ends.size < MOST_LINES) return
      this.#ends.delete(line)
    }
  }
}
