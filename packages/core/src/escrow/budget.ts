import type { Group } from './group.js'

/** How a tenant's claim on its guarantee ages: not at all, or with the window, as an even pace would use it up. */
export type Reserve = 'strict' | 'paced'

/** The budget of one window: what there is, what is left, and for how long. */
export class Budget {
  readonly windowMs: number
  readonly reserve: Reserve
  startMs = 0
  nowMs = 0
  /** From when on claims age: not before those are back, or had time to be, who were refused in the last window. */
  paceFromMs = 0
  /** The share of the time since then that is over, as far as claims age by it: 0 where the reserve is strict. */
  tau = 0
  limit = 0
  /** What the limit may become in this window. */
  most = 0
  /** The limit less all that was used. */
  left = 0
  /** What counts as used by the active, though it was not used here in this window. */
  offset = 0
  /** Sums this close are equal: a billionth of the limit, or a thousandth, if that is less. Whole numbers are exact. */
  tolerance = 0

  constructor(windowMs: number, reserve: Reserve) {
    this.windowMs = windowMs
    this.reserve = reserve
  }

  /** How exact a level needs to be: well below the tolerance, and no more exact than sums up to the limit can be. */
  get slack(): number {
    return Math.max(this.tolerance / 1e3, 4 * Number.EPSILON * this.limit)
  }

  /** What all guarantees together come to. */
  get guaranteed(): number {
    return Math.max(0, this.limit + this.offset)
  }

  /** Until the window ends, from now on. */
  get restMs(): number {
    return Math.max(0, this.startMs + this.windowMs - this.nowMs)
  }

  /** How long claims age. */
  get agingMs(): number {
    return this.startMs + this.windowMs - this.paceFromMs
  }

  /** What the children of a group may claim together: what it claims itself; of the root's, what is left. */
  roomOf(group: Group): number {
    return group.parent === undefined ? Math.max(0, this.left) : group.claim(this.tau)
  }

  begin(startMs: number, limit: number, most: number): void {
    this.startMs = startMs
    this.nowMs = startMs
    this.paceFromMs = startMs
    this.tau = 0
    this.limit = 0
    this.left = 0
    this.offset = 0
    this.limitTo(limit, most)
  }

  /** What was used stays used. */
  limitTo(limit: number, most: number): void {
    this.left += limit - this.limit
    this.limit = limit
    this.most = most
    this.tolerance = Math.min(1e-3, 1e-9 * most)
  }

  moveTo(nowMs: number): void {
    if (nowMs <= this.nowMs) return
    this.nowMs = nowMs
    const sinceMs = nowMs - this.paceFromMs
    if (this.reserve === 'paced' && sinceMs > 0) this.tau = Math.min(1, sinceMs / this.agingMs)
  }

  /** Whether `room` is enough for `cost`. What is next to nothing is not covered by nothing. */
  covers(room: number, cost: number): boolean {
    return cost <= room + Math.min(this.tolerance, cost / 2)
  }
}

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
