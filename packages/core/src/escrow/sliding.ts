/** Parts of a window by which it slides: what is used in one of them counts until the whole part is out of the span. */
const PARTS = 128

/**
 * A window that slides: what was used in the last one counts until it is a window's length ago, so that no span of that
 * length sees more than the limit. Time is told by parts, a 128th of a window: at full use, as much less is admitted.
 */
export class Sliding {
  readonly #windowMs: number
  #startMs = 0
  #used: Float64Array = new Float64Array(PARTS)
  /** Of the last window: what was used in each part and in all after it. */
  #before: Float64Array = new Float64Array(PARTS + 1)

  constructor(windowMs: number) {
    this.#windowMs = windowMs
  }

  begin(startMs: number): void {
    const isNext = startMs - this.#startMs < 1.5 * this.#windowMs
    this.#startMs = startMs
    for (let part = PARTS - 1; part >= 0; part--)
      this.#before[part] = isNext ? this.#before[part + 1]! + this.#used[part]! : 0
    this.#used.fill(0)
  }

  /** Counts an amount as used at a time in this window; below 0: as not used. */
  note(atMs: number, amount: number): void {
    this.#used[this.#partOf(atMs)]! += amount
  }

  /** What was used in the last window and still counts. */
  counting(nowMs: number): number {
    return Math.max(0, this.#before[this.#partOf(nowMs)]!)
  }

  /** Until as much as `amount` of that does not count any more, in milliseconds; the window's end if there is less. */
  releaseMs(amount: number, nowMs: number): number {
    const most = this.counting(nowMs) - amount
    let part = this.#partOf(nowMs)
    while (part < PARTS && this.#before[part]! > most) part++
    return this.#startMs + (part / PARTS) * this.#windowMs - nowMs
  }

  #partOf(atMs: number): number {
    return Math.min(PARTS - 1, Math.max(0, Math.floor(((atMs - this.#startMs) / this.#windowMs) * PARTS)))
  }
}
