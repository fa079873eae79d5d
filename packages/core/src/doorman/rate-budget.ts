/** Tolerance for sums of fractions, in units, and for times, in milliseconds. */
const ROUNDING = 1e-9
const INSTANT_MS = 1e-6
const SECOND_MS = 1_000
/** Units that a window may leave to the next: less than one, or the next second could spend one too many. */
const FRACTION = 1 - 1e-6
/** Shortest part of a second that `smooth` makes, in milliseconds. */
const SHORTEST_MS = 20

/**
 * A rate, spent second by second: each second has `capacity` units; when they are spent, callers wait for the next
 * second. `smooth` does the same with equal parts of a second, each of at least 20 ms and one unit or more.
 *
 * Callers that spend units of 1 spend at most `capacity`, rounded up, in a second. A fraction is kept for the next
 * second: 2.5 a second are five in two seconds. The sum since the first second never exceeds the sum of the budgets so
 * far. A cost above a second's budget saves up until enough is available.
 *
 * A unit that is not spent in its second is lost; the next seconds pay for a forced unit. No clock: times are
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
  /** Units forced in this window. */
  #debt = 0
  /** Left over from earlier windows for a cost of more than a window. */
  #saved = 0
  #spent = 0
  /** Capacity at the last call: the budget of the window that ends. Below 0: unlimited. */
  #capacity = 0
  /** A refused cost, for which units may be saved up. */
  #wanted = 0

  constructor(smooth: boolean) {
    this.#smooth = smooth
  }

  /** Spends `cost`, or returns `false` and changes nothing. A `capacity` below 0 is unlimited; 0 admits nothing. */
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

  /** Spends `cost` even if less is left; the missing part becomes a debt of the following seconds. */
  force(cost: number, capacity: number, nowMs: number): void {
    this.#roll(capacity, nowMs)
    this.#debt += cost
  }

  /** Returns unused units that were spent at `spentMs`, unless that second is over. */
  giveBack(cost: number, spentMs: number, capacity: number, nowMs: number): void {
    this.#roll(capacity, nowMs)
    if (spentMs >= this.#startMs - INSTANT_MS) this.#spent = Math.max(0, this.#spent - cost)
  }

  /** Units spent in the present window. */
  spent(capacity: number, nowMs: number): number {
    this.#roll(capacity, nowMs)
    return this.#spent
  }

  /**
   * The time at which `cost`, refused now, may be admitted; infinite while the capacity is 0. Always later than
   * `nowMs`.
   */
  nextMs(cost: number, capacity: number, nowMs: number): number {
    this.#roll(capacity, nowMs)
    if (capacity === 0) return Number.POSITIVE_INFINITY
    if (capacity < 0) return this.#startMs + this.#lengthMs
    const share = capacity / this.#parts
    const saved = cost > Math.ceil(share - ROUNDING) ? this.#saved : 0
    const windows = Math.ceil((cost - saved - this.#carry - share + this.#debt + this.#spent) / share - ROUNDING)
    return this.#startMs + this.#lengthMs * Math.max(1, windows)
  }

  /** Takes a cost of more than a window, if enough has been saved up. */
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
    // If parts become shorter, the present one is that of `nowMs`.
    this.#startMs += Math.floor((nowMs - this.#startMs + INSTANT_MS) / this.#lengthMs) * this.#lengthMs
    const share = Math.max(0, capacity) / this.#parts
    // Below 0 only because of a debt, never because the capacity fell in the middle of a window.
    const rest = Math.min(before, Math.max(0, before - this.#spent))
    // Units that were saved up and not taken are no longer wanted.
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
    // If windows become shorter, the rest of a long one must not be spent at once; a shorter one may run to its end.
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
