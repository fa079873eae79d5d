/** Samples without a rise, and admissions among them, that show memory is being used again. */
const STEADY_SAMPLES = 10
const STEADY_ADMISSIONS = 10
/** Time in which relief would cross the whole range. */
const CROSSING_MS = 30_000
/** Most that relief may take off, as a share of the range. */
const MOST = 0.75
/** How much faster relief goes than the reading rises. */
const RETREAT = 4
/** Longest time between two samples that counts: without traffic nothing is shown. */
const LONGEST_STEP_MS = 1_000

/**
 * What to take off a reading that stays high although requests come and go: memory which an allocator keeps after it
 * was freed. New requests use it again, so it is no shortage, and without relief it would have them refused for ever.
 *
 * Relief grows slowly while the reading does not rise under traffic, and goes quickly when it does. No clock; O(1).
 */
export class Relief {
  /** To be taken off the reading; from 0 to three quarters of the range, never so much that it ends below `from`. */
  amount = 0

  #last: number = Number.NaN
  #steadySamples = 0
  #steadyAdmissions = 0

  /** Takes a good reading, `elapsedMs` after the one before, between which `admitted` requests were let in. */
  sample(reading: number, admitted: number, elapsedMs: number, from: number, to: number): void {
    const rise = reading - this.#last
    this.#last = reading
    if (rise > 0) {
      this.amount -= RETREAT * rise
      this.#steadySamples = 0
      this.#steadyAdmissions = 0
    } else if (rise <= 0) {
      this.#steadySamples++
      this.#steadyAdmissions += admitted
      if (this.#steadySamples >= STEADY_SAMPLES && this.#steadyAdmissions >= STEADY_ADMISSIONS)
        this.amount += (Math.min(elapsedMs, LONGEST_STEP_MS) * (to - from)) / CROSSING_MS
    }
    this.amount = Math.max(0, Math.min(this.amount, MOST * (to - from), reading - from))
  }
}
