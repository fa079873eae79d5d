const GAIN = 1 / 8
const DEVIATION_GAIN = 1 / 4
const DEVIATIONS = 4

/**
 * Usual time from the end of a period to the arrival of its reports: beyond the mean and four deviations, a report
 * counts as lost.
 *
 * @see V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988: the retransmission timeout
 */
export class Transit {
  #mean = 0
  #deviation = Number.POSITIVE_INFINITY

  /** A report has needed `ms`. */
  add(ms: number): void {
    if (this.#deviation === Number.POSITIVE_INFINITY) [this.#mean, this.#deviation] = [ms, ms / 2]
    const error = ms - this.#mean
    this.#mean += GAIN * error
    this.#deviation += DEVIATION_GAIN * (Math.abs(error) - this.#deviation)
  }

  /** Infinite before the first report. */
  get most(): number {
    return this.#mean + DEVIATIONS * this.#deviation
  }
}
