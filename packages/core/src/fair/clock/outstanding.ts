import type { Step } from './step.js'

/** An outcome that has not come after about this many seconds will not: it is given up little by little. */
const LOST_AFTER_SECONDS = 60

/**
 * Counts requests whose outcome is still to come, to know whether one that comes was admitted before or after the last
 * correction. By counts, in the order of admission, so that nothing need be remembered of any request: outcomes that
 * overtake each other are taken for one another, which is the same thing here; those that never come are forgotten.
 */
export class Outstanding {
  /** Requests admitted so far. */
  admitted = 0
  #reported = 0
  #corrected = 0

  advance({ seconds }: Step): void {
    this.#reported += (this.admitted - this.#reported) * Math.min(1, seconds / LOST_AFTER_SECONDS)
  }

  admit(): void {
    this.admitted++
  }

  report(): void {
    this.#reported = Math.min(this.admitted, this.#reported + 1)
  }

  /** Notes that what has been admitted so far was admitted before a correction. */
  correct(): void {
    this.#corrected = this.admitted
  }

  /** Admitted, and not reported. */
  get count(): number {
    return this.admitted - this.#reported
  }

  /** True if no outcome is still to come. */
  get none(): boolean {
    return this.#reported >= this.admitted
  }

  /** True if what has just been reported was admitted after the last correction. */
  get news(): boolean {
    return this.#reported >= this.#corrected
  }
}
