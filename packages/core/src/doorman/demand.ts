/** Length of the measurement of a rate, in seconds. */
const SECONDS = 10
const SECOND_MS = 1_000
/** Length of the measurement of a concurrency, in milliseconds: unused slots are soon no longer asked for. */
export const PEAK_MS = 1_000

/**
 * The last ten intervals, one number for each: the present one first. Time is given in milliseconds that do not
 * run backwards. O(1) within a piece.
 */
class LastPieces {
  /** By interval, modulo ten. */
  readonly values: Float64Array = new Float64Array(SECONDS)
  readonly #startMs: number
  readonly #pieceMs: number
  #piece = 0

  constructor(pieceMs: number, nowMs: number) {
    this.#pieceMs = pieceMs
    this.#startMs = nowMs
  }

  /** Index of the present interval; intervals that passed since the last call get `initial`. */
  at(nowMs: number, initial: number): number {
    const piece = Math.floor((nowMs - this.#startMs) / this.#pieceMs)
    if (piece > this.#piece) {
      const passed = Math.min(SECONDS, piece - this.#piece)
      for (let i = 0; i < passed; i++) this.values[(piece - i) % SECONDS] = initial
      this.#piece = piece
    }
    return this.#piece % SECONDS
  }

  /**
   * The number of the last ten pieces that have begun, the present one included, and the elapsed part of the present
   * one.
   */
  covered(nowMs: number): { seconds: number; part: number } {
    const passed = (nowMs - this.#startMs) / this.#pieceMs
    return { seconds: Math.min(SECONDS, this.#piece + 1), part: Math.min(1, Math.max(0, passed - this.#piece)) }
  }
}

/**
 * Units attempted per second over the last ten, served or not; the present second weighs ten times as much as the
 * one nine before it.
 *
 * The published client divides by k(k + 1)/2, where k is the number of attempts, and so asks for less the more it is
 * used. Here the divisor is the weight of the measured time, so a constant rate is measured as it is.
 */
export class Attempts {
  readonly #last: LastPieces

  constructor(nowMs: number) {
    this.#last = new LastPieces(SECOND_MS, nowMs)
  }

  add(cost: number, nowMs: number): void {
    const index = this.#last.at(nowMs, 0)
    this.#last.values[index]! += cost
  }

  perSecond(nowMs: number): number {
    const present = this.#last.at(nowMs, 0)
    const { seconds, part } = this.#last.covered(nowMs)
    let units = 0
    let time = 0
    for (let age = 0; age < seconds; age++) {
      const weight = SECONDS - age
      units += weight * this.#last.values[(present - age + SECONDS) % SECONDS]!
      time += weight * (age === 0 ? part : 1)
    }
    // Less than a second is too short to measure a rate.
    return units / Math.max(time, SECONDS)
  }
}

/** The largest amount in use and waiting at one time in the last second. */
export class Peak {
  readonly #last: LastPieces
  #level = 0

  constructor(nowMs: number) {
    this.#last = new LastPieces(PEAK_MS / SECONDS, nowMs)
  }

  /** Sets the present amount to `level`. */
  set(level: number, nowMs: number): void {
    const { values } = this.#last
    const index = this.#last.at(nowMs, this.#level)
    this.#level = level
    if (level > values[index]!) values[index] = level
  }

  most(nowMs: number): number {
    this.#last.at(nowMs, this.#level)
    let most = 0
    for (const level of this.#last.values) if (level > most) most = level
    return most
  }
}
