/**
 * Windows of one length, which begin at its multiples: the one that a time is in begins at ⌊time/length⌋·length. Times
 * are handed in, and never run backwards.
 */
export class Windows {
  readonly lengthMs: number
  startMs: number = Number.NEGATIVE_INFINITY
  endMs: number = Number.NEGATIVE_INFINITY
  /** How many have begun. */
  count = 0
  #index: number = Number.NEGATIVE_INFINITY

  constructor(lengthMs: number) {
    this.lengthMs = lengthMs
  }

  /** True if the window that `nowMs` is in begins with it, as far as anybody has looked. */
  begins(nowMs: number): boolean {
    if (nowMs < this.endMs) return false
    const index = Math.floor(nowMs / this.lengthMs)
    // Of a length that is no whole number the end is rounded: it may come a hair before the next window does.
    if (index === this.#index) return false
    this.#index = index
    this.startMs = index * this.lengthMs
    this.endMs = (index + 1) * this.lengthMs
    this.count++
    return true
  }
}
