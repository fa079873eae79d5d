import type { Admission } from './admission.js'

/**
 * Requests are followed in batches: of so many at least, and of several times as many as come until an outcome does.
 */
const LEAST_BATCH = 64
const LATENESSES_PER_BATCH = 4
/** The average of how many come until then is over about so many outcomes. */
const OUTCOMES = 50
/** How many batches are followed. An outcome of a request after them gives up the first. */
const BATCHES = 3

/**
 * Counts requests whose outcome is still to come.
 *
 * Some outcomes never come. Requests are followed in batches, by their number; what is missing of a batch when outcomes
 * come of the third after it was overtaken by many times as many requests as outcomes usually are, and is given up. So
 * counts are exact where nothing is lost, and soon right again where something is; and nothing need be remembered of
 * any request but its number.
 */
export class Outstanding {
  /** Requests admitted so far. */
  #admitted = 0
  /** Of these, reported or given up. */
  #ended = 0
  #corrected = 0
  /** How many requests are admitted between one and its outcome. */
  #lateness = 0
  /** The last number before each batch, and of the last one: how many of each were reported. */
  readonly #bounds = [0, LEAST_BATCH, 2 * LEAST_BATCH, 3 * LEAST_BATCH]
  readonly #reported = [0, 0, 0]

  admit(): void {
    this.#admitted++
  }

  report({ serial }: Admission): void {
    const bounds = this.#bounds
    // One that was given up counts as the first that was not: else one that hung for hours were an average of minutes.
    const late = this.#admitted - Math.max(serial, bounds[0]!)
    this.#lateness += (late - this.#lateness) / OUTCOMES
    while (serial > bounds[BATCHES]!) this.#giveUp()
    if (serial <= bounds[0]!) return
    const batch = serial <= bounds[1]! ? 0 : serial <= bounds[2]! ? 1 : 2
    this.#reported[batch]!++
    this.#ended++
  }

  /** Notes that what has been admitted so far was admitted before a correction. */
  correct(): void {
    this.#corrected = this.#admitted
  }

  /** Admitted, and neither reported nor given up. */
  get count(): number {
    return this.#admitted - this.#ended
  }

  /** True if the request was admitted after the last correction. */
  isNews({ serial }: Admission): boolean {
    return serial > this.#corrected
  }

  /** Gives up what is missing of the first batch, and follows another. */
  #giveUp(): void {
    const bounds = this.#bounds
    const reported = this.#reported
    this.#ended += bounds[1]! - bounds[0]! - reported[0]!
    bounds.shift()
    bounds.push(bounds.at(-1)! + Math.max(LEAST_BATCH, Math.ceil(LATENESSES_PER_BATCH * this.#lateness)))
    reported.shift()
    reported.push(0)
  }
}
