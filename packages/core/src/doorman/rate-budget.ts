/** What sums of fractions may be off by, in units; and what times may be, in milliseconds. */
const ROUNDING = 1e-9
const INSTANT_MS = 1e-6
const SECOND_MS = 1_000
/** What a window leaves to the next, in units: less than one, or a second that follows could spend one too many. */
const FRACTION = 1 - 1e-6
/** Shortest part of a second that `smooth` makes, in milliseconds. */
const SHORTEST_MS = 20

/**
 * A rate, spent second by second: each second brings `capacity` units, which are spent as they come; then callers wait
 * for the next. `smooth` does the same with the second's equal parts, each of at least 20 ms and a unit or more.
 *
 * No more than `capacity`, rounded up, is spent in a second by units of 1; if it is a whole number, no more than that,
 * and a fraction is kept for the next second, so that 2.5 a second are five in two. In all, since the first second,
 * never more than the seconds so far have brought. A cost beyond a whole second's budget saves up until it is there.
 *
 * A unit not spent in its second is lost, one that was forced is paid back by the next ones. Knows no clock: times are
 * milliseconds that do not run backwards. O(1), allocates nothing.
 *
 * @see the Doorman design document, "Client library"
 */
export class RateBudget {
  readonly #smooth: boolean
  /** Parts of a second, and the length of one. */
  #parts = 1
  #lengthMs: number = SECOND_MS
  #startMs: number = Number.NaN
  /** Left over from earlier windows, less than a unit; below 0: owed by this one. */
  #carry = 0
  /** Forced in this window. */
  #debt = 0
  /** Left over from earlier windows for a cost of more than a window. */
  #saved = 0
  #spent = 0
  /** Capacity at the last call: what the window that ends then has brought. Below 0: unlimited. */
  #capacity = 0
  /** A cost that was refused, and may be saved up for. */
  #wanted = 0

  constructor(smooth: boolean) {
    this.#smooth = smooth
  }

  /** Spends `cost`, or answers `false` and changes nothing. A `capacity` below 0 is unlimited; 0 lets nothing pass. */
  take(cost: number, capacity: number, nowMs: number): boolean {
    this.#roll(capacity, nowMs)
    if (capacity < 0) {
      this.#spent += cost
      return true
    }
    const share = capacity / this.#parts
    const whole = Math.ceil(share - ROUNDING)
    const own = this.#carry + share - this.#debt
    if (capacity > 0) {
      if (cost > whole) return this.#draw(cost, own)
      if (this.#spent + cost <= Math.min(own, whole) + ROUNDING) {
        this.#spent += cost
        return true
      }
    }
    if (cost > this.#wanted) this.#wanted = cost
    return false
  }

  /** Spends `cost` whatever is left; what is not there is a debt of the seconds that come. */
  force(cost: number, capacity: number, nowMs: number): void {
    this.#roll(capacity, nowMs)
    this.#debt += cost
  }

  /** Gives back what was spent at `spentMs` and not used, unless its second is over. */
  giveBack(cost: number, spentMs: number, capacity: number, nowMs: number): void {
    this.#roll(capacity, nowMs)
    if (spentMs >= this.#startMs - INSTANT_MS) this.#spent = Math.max(0, this.#spent - cost)
  }

  /** Units spent in the present window. */
  spent(capacity: number, nowMs: number): number {
    this.#roll(capacity, nowMs)
    return this.#spent
  }

  /** When `cost`, refused now, might pass; infinite while the capacity is 0. Always later than `nowMs`. */
  nextMs(cost: number, capacity: number, nowMs: number): number {
    this.#roll(capacity, nowMs)
    if (capacity === 0) return Number.POSITIVE_INFINITY
    if (capacity < 0) return this.#startMs + this.#lengthMs
    const share = capacity / this.#parts
    const saved = cost > Math.ceil(share - ROUNDING) ? this.#saved : 0
    const windows = Math.ceil((cost - saved - this.#carry - share + this.#debt + this.#spent) / share - ROUNDING)
    return this.#startMs + this.#lengthMs * Math.max(1, windows)
  }

  /** Takes a cost of more than a window, if so much has been saved up. */
  #draw(cost: number, own: number): boolean {
    const left = own - this.#spent
    if (left < -ROUNDING || left + this.#saved < cost - ROUNDING) {
      if (cost > this.#wanted) this.#wanted = cost
      return false
    }
    if (cost >= this.#wanted) this.#wanted = 0
    const saved = Math.min(this.#saved, cost)
    this.#saved -= saved
    this.#spent += cost - saved
    return true
  }

  /** Begins the window of `nowMs`, if it is another one. */
  #roll(capacity: number, nowMs: number): void {
    const passedMs = nowMs - this.#startMs + INSTANT_MS
    if (passedMs < this.#lengthMs) {
      if (capacity !== this.#capacity) this.#change(capacity, nowMs)
      return
    }
    const before = this.#capacity < 0 ? 0 : this.#carry + this.#capacity / this.#parts
    const first = Number.isNaN(this.#startMs)
    const windows = first ? 1 : Math.floor(passedMs / this.#lengthMs)
    this.#startMs = first ? nowMs : this.#startMs + windows * this.#lengthMs
    this.#capacity = capacity
    this.#divide(capacity)
    // Parts that are shorter from now on: the present one is that of `nowMs`.
    this.#startMs += Math.floor((nowMs - this.#startMs + INSTANT_MS) / this.#lengthMs) * this.#lengthMs
    const share = Math.max(0, capacity) / this.#parts
    // Below 0 only by what is owed, and not by a capacity that fell in the middle of a window.
    const rest = Math.min(before, Math.max(0, before - this.#spent))
    // What was saved up for and there, and not taken, is not wanted any more.
    if (rest + this.#saved >= this.#wanted) this.#wanted = 0
    const left = rest + (windows - 1) * share - this.#debt
    this.#carry = Math.min(left, FRACTION)
    const most = share === 0 ? 0 : this.#wanted
    this.#saved = Math.min(this.#saved + Math.max(0, left - this.#carry), most)
    this.#spent = 0
    this.#debt = 0
  }

  /** A new capacity in the middle of a window. */
  #change(capacity: number, nowMs: number): void {
    this.#capacity = capacity
    const parts = this.#parts
    this.#divide(capacity)
    // A long window must not be spent at once where shorter ones are due; a shorter one may be seen to its end.
    if (this.#parts > parts) this.#startMs = nowMs
    else this.#setParts(parts)
  }

  #divide(capacity: number): void {
    if (this.#smooth) this.#setParts(Math.max(1, Math.min(SECOND_MS / SHORTEST_MS, Math.floor(capacity))))
  }

  #setParts(parts: number): void {
    this.#parts = parts
    this.#lengthMs = SECOND_MS / parts
  }
}
