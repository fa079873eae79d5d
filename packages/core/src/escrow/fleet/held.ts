/**
 * The amount that the pool reserved for a member at its last answer: the part that the member lets pass, at an even
 * pace until the window ends, may have been lent to others by now.
 */
export class Held {
  #amount = 0
  #sinceMs = 0
  #passed = 0

  /** The reserved amount at the last answer. */
  get amount(): number {
    return this.#amount
  }

  /** The pool has answered. */
  keep(amount: number, nowMs: number): void {
    this.#amount = amount
    this.#sinceMs = nowMs
    this.#passed = 0
  }

  /** The amount that must still be available, in a window that ends at `endsMs`. */
  at(nowMs: number, endsMs: number): number {
    return Math.max(0, this.#amount - Math.max(this.#passed, this.#amount * this.#faded(nowMs, endsMs)))
  }

  /** A part of it was spent. */
  spend(amount: number, nowMs: number, endsMs: number): void {
    this.#passed = Math.max(this.#passed, this.#amount * this.#faded(nowMs, endsMs)) + amount
  }

  #faded(nowMs: number, endsMs: number): number {
    const restMs = endsMs - this.#sinceMs
    return restMs > 0 ? Math.min(1, (nowMs - this.#sinceMs) / restMs) : 1
  }
}
