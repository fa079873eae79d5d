/**
 * Why an escrow refuses.
 *
 * - `over-share`: the tenant has used its share, and what others leave is kept for them or is another's turn;
 * - `exhausted`: less than the cost is left of the whole budget;
 * - `never`: the cost is above the whole budget;
 * - `unknown`: the tenant is not in the hierarchy that shares the budget.
 */
export type EscrowReason = 'over-share' | 'exhausted' | 'never' | 'unknown'

/** An escrow's answer to a cost, and the numbers behind it. Those after the answer: what was allowed is in `used`. */
export interface EscrowDecision {
  readonly allowed: boolean
  readonly tenant: string
  readonly cost: number
  /** Why not; undefined if allowed. */
  readonly reason: EscrowReason | undefined
  /** True if it was allowed out of what others leave, beyond the tenant's guarantee. */
  readonly borrowed: boolean
  /** The tenant's present ceiling: what it used, and what remains to it. */
  readonly limit: number
  /** A cost up to this is admitted if it is asked next. A little more may be; `peek` gives the exact answer. */
  readonly remaining: number
  /** What the tenant's weight guarantees it in a window, a real number. */
  readonly guarantee: number
  /** When it is worth asking again, in milliseconds: 0 if allowed, else at least 1; Infinity: never for this cost. */
  readonly retryAfterMs: number
  /** When the window ends, on the escrow's clock. */
  readonly resetAtMs: number
  /** The same, from now on, in milliseconds. */
  readonly resetAfterMs: number
}

/** What became of a settlement. */
export interface Settled {
  /**
   * False if it was settled before, or was refused, or gives something back of a window that is over: nothing changed.
   */
  readonly settled: boolean
  /**
   * The part of the charge that could not be made, because nothing was left of the budget, or its window is over. The
   * tenant owes it: it is paid out of its share of the next windows.
   */
  readonly unpaid: number
}
