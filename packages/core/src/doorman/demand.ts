/** How far back the demand for a rate is looked at, in seconds. */
const SECONDS = 10
const SECOND_MS = 1_000
/** How far back that for slots is, in milliseconds: what is not used any more is not asked for much longer. */
export const PEAK_MS = 1_000

/**
 * The last ten pieces of time, one number for each: the present one first. Time is given in milliseconds that do not
 * run backwards. O(1) within a piece.
 */
class LastPieces {
  /** By piece, modulo ten. */
  readonly values: Float64Array = new Float64Array(SECONDS)
  readonly #startMs: number
  readonly #pieceMs: number
  #piece = 0

  constructor(pieceMs: number, nowMs: number) {
    this.#pieceMs = pieceMs
    this.#startMs = nowMs
  }

  /** Index of the present piece; those that passed since the last call begin with `initial`. */
  at(nowMs: number, initial: number): number {
    const piece = Math.floor((nowMs - this.#startMs) / this.#pieceMs)
    if (piece > this.#piece) {
      const passed = Math.min(SECONDS, piece - this.#piece)
      for (let i = 0; i < passed; i++) this.values[(piece - i) % SECONDS] = initial
      this.#piece = piece
    }
    return this.#piece % SECONDS
  }

  /** Pieces of the last ten that there have been, the present one included; the part of that which has passed. */
  covered(nowMs: number): { seconds: number; part: number } {
    const passed = (nowMs - this.#startMs) / this.#pieceMs
    return { seconds: Math.min(SECONDS, this.#piece + 1), part: Math.min(1, Math.max(0, passed - this.#piece)) }
  }
}

/**
 * Units attempted per second over the last ten, served or not; the present second weighs ten times as much as the
 * one nine before it.
 *
 * The published client divides by k(k + 1)/2 where k is the number of attempts, and so asks for less the more it is
 * used; here it is the weight of the time that was looked at, which gives a constant rate back as it is.
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
    // Less than a second is too little to tell a rate from.
    return units / Math.max(time, SECONDS)
  }
}

/** The most that was in use, or waited for, at one time in the last second. */
export class Peak {
  readonly #last: LastPieces
  #level = 0

  constructor(nowMs: number) {
    this.#last = new LastPieces(PEAK_MS / SECONDS, nowMs)
  }

  /** From now on it is `level`. */
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
