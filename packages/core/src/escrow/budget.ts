import type { Group } from './group.js'
import type { Node } from './tenants.js'

/** How a tenant's claim on its guarantee ages: not at all, or over the window, at an even pace. */
export type Reserve = 'strict' | 'paced'

/** A refused tenant is told to come back within this share of the window: before its wait ends, which is twice that. */
export const RETRY: number = 1 / 20

/** Amounts and tags this close are equal. */
export const TIE: number = 1 + 1e-9

/** Longest wait for the return of refused tenants, as a part of the window. */
const PATIENCE = 0.6

/**
 * The part of a claim that ages in a sliding window whose budget comes back. If that is even, the claim of a silent
 * tenant is τ·(1 − τ) of its guarantee: at most the rest of this. A window that lends more at its end than it keeps at
 * its start would get it back late, and lend it later still, until all use gathers at the end.
 */
const AGES = 3 / 4

/** The budget of one window: its limit, the remainder, and the remaining time. */
export class Budget {
  readonly windowMs: number
  readonly reserve: Reserve
  startMs = 0
  nowMs = 0
  /**
   * Start of the aging of claims: not before the tenants refused in the last window are back, or have had time to
   * return.
   */
  paceFromMs = 0
  /** The elapsed share of the time since then: 0 with a strict reserve, and `mostTau` at most. */
  tau = 0
  mostTau = 1
  limit = 0
  /** The largest limit in this window. */
  most = 0
  /** The limit less all use. */
  left = 0
  /** Counts as used by the active tenants, although it was not used here in this window. */
  offset = 0
  /** The limit is drawn from elsewhere, bit by bit. */
  isDrawn = false
  /** Costs above this stand in no line: they could not be served in the last window. */
  reach: number = Number.POSITIVE_INFINITY
  /** The least such cost for which all was kept, in vain. */
  failed: number = Number.POSITIVE_INFINITY
  /** Sums this close are equal: a billionth of the limit, or a thousandth, if that is less. Whole numbers are exact. */
  tolerance = 0

  constructor(windowMs: number, reserve: Reserve) {
    this.windowMs = windowMs
    this.reserve = reserve
  }

  /** Required precision of a level: well below the tolerance, but not beyond the precision of sums up to the limit. */
  get slack(): number {
    return Math.max(this.tolerance / 1e3, 4 * Number.EPSILON * this.limit)
  }

  /** Larger costs have no precedence now: there will not be as much in this window, or they could not be served. */
  get available(): number {
    return Math.min(this.left + Math.max(0, this.most - this.limit) + this.tolerance, this.reach)
  }

  /** All of the window's budget is there: in a sliding one, only if nothing was used in the last. */
  get isWhole(): boolean {
    return this.limit >= this.most - this.tolerance
  }

  /** The sum of all guarantees. */
  get guaranteed(): number {
    return Math.max(0, this.limit + this.offset)
  }

  /** Time until the window ends. */
  get restMs(): number {
    return Math.max(0, this.startMs + this.windowMs - this.nowMs)
  }

  /** Duration of the aging of claims. */
  get agingMs(): number {
    return this.startMs + this.windowMs - this.paceFromMs
  }

  /** Upper bound of the claims of a group's children: the group's own claim; for the root, the remaining budget. */
  roomOf(group: Group): number {
    return group.parent === undefined ? Math.max(0, this.left) : group.claim(this.tau)
  }

  begin(startMs: number, limit: number, most: number): void {
    this.startMs = startMs
    this.nowMs = startMs
    this.paceFromMs = startMs
    this.tau = 0
    this.isDrawn = most === 0
    this.limit = 0
    this.left = 0
    this.offset = 0
    this.limitTo(limit, most)
    this.mostTau = this.isWhole ? 1 : AGES
  }

  /** Claims do not age before this time, unless that is late in the window. */
  waitUntil(returnMs: number): void {
    this.paceFromMs = Math.min(returnMs, this.startMs + this.windowMs * PATIENCE)
  }

  /** Claims age from now on. */
  endWait(): void {
    this.paceFromMs = Math.min(this.paceFromMs, Math.max(this.nowMs, this.startMs))
  }

  /** Whether the limit stays the same. In a sliding window, nothing may be left of another `most`, as before. */
  keeps(limit: number, most: number): boolean {
    const isSame = Math.abs(limit - this.limit) <= this.tolerance
    if (isSame) this.most = most
    return isSame
  }

  /** Past use stays. */
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
    if (this.reserve === 'paced' && sinceMs > 0) this.tau = Math.min(this.mostTau, sinceMs / this.agingMs)
  }

  /** Whether the use of a node and `cost` are more than its part of the limit. */
  exceedsPart({ used, elsewhere, due }: Pick<Node, 'used' | 'elsewhere' | 'due'>, cost: number): boolean {
    return used + elsewhere + cost > due * this.most + this.tolerance
  }

  /** Counts an amount as used by a node, and by all above it; or less, if below 0. */
  charge(child: Node, amount: number): void {
    for (let node = child; node.parent !== undefined; node = node.parent) {
      node.passed = Math.max(0, (amount > 0 ? node.passedBy(this.tau) : node.passed) + amount)
      node.used += amount
    }
    this.left = Math.min(this.limit, this.left - amount)
  }

  /** Whether `room` is enough for `cost`. A room of zero does not cover a cost near zero. */
  covers(room: number, cost: number): boolean {
    return cost <= room + Math.min(this.tolerance, cost / 2)
  }
}

/**
 * Windows of one length, which begin at its multiples: the window of a time begins at ⌊time/length⌋·length. Times are
 * passed in, and never run backwards.
 */
export class Windows {
  readonly lengthMs: number
  startMs: number = Number.NEGATIVE_INFINITY
  endMs: number = Number.NEGATIVE_INFINITY
  /** Number of windows that have begun. */
  count = 0
  #index: number = Number.NEGATIVE_INFINITY

  constructor(lengthMs: number) {
    this.lengthMs = lengthMs
  }

  /** True if the window of `nowMs` has not been seen before. */
  begins(nowMs: number): boolean {
    if (nowMs < this.endMs) return false
    const index = Math.floor(nowMs / this.lengthMs)
    // For a length that is not a whole number the end is rounded: it may come slightly before the next window does.
    if (index === this.#index) return false
    this.#index = index
    this.startMs = index * this.lengthMs
    this.endMs = (index + 1) * this.lengthMs
    this.count++
    return true
  }
}

/** Parts of a window by which it slides: use in a part counts until the whole part is out of the span. */
const PARTS = 128

/**
 * A sliding window: use in the last window counts until it is one window's length ago, so that no span of that length
 * sees more than the limit. Time advances in parts, a 128th of a window: at full use, that much less is admitted.
 */
export class Sliding {
  readonly #windowMs: number
  #startMs = 0
  #used: Float64Array = new Float64Array(PARTS)
  /** For the last window: the use in each part and in all after it. */
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

  /** Records an amount as used at a time in this window; a negative amount is not used after all. */
  note(atMs: number, amount: number): void {
    this.#used[this.#partOf(atMs)]! += amount
  }

  /** Use in the last window that still counts. */
  counting(nowMs: number): number {
    return Math.max(0, this.#before[this.#partOf(nowMs)]!)
  }

  /** Time until `amount` of that no longer counts, in milliseconds; the window's end if there is less. */
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
