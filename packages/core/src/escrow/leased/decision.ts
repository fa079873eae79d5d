import type { EscrowDecision, EscrowReason } from '../decision.js'

/** Why a leased escrow refuses; or `store-error`, where the store did not answer and what was declared for that counts. */
export type LeasedReason = EscrowReason | 'store-error'

/**
 * A leased escrow's answer. `limit`, `remaining` and `guarantee` are those of the tenant in this process, of what the
 * process holds of the pool and what the pool keeps for it; the pool may have more.
 */
export interface LeasedDecision extends Omit<EscrowDecision, 'reason'> {
  /** Undefined if it was allowed by the rule; `store-error` also where it was allowed because the store is away. */
  readonly reason: LeasedReason | undefined
}

/** What an escrow does when its store fails, or does not answer in time. */
export type OnStoreError = 'refuse' | 'admit' | 'local-share'

/** A decision, and what its settlement needs to know. */
export class LeasedTicket implements LeasedDecision {
  readonly allowed: boolean
  readonly tenant: string
  readonly cost: number
  readonly reason: LeasedReason | undefined
  readonly borrowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly guarantee: number
  readonly retryAfterMs: number
  readonly resetAtMs: number
  readonly resetAfterMs: number
  /** Who decided, and where the cost is booked: nothing of that where nothing was spent. */
  readonly #owner: object
  #slot: number
  #win: number

  constructor(owner: object, numbers: LeasedDecision, slot: number = -1, win: number = -1) {
    this.allowed = numbers.allowed
    this.tenant = numbers.tenant
    this.cost = numbers.cost
    this.reason = numbers.reason
    this.borrowed = numbers.borrowed
    this.limit = numbers.limit
    this.remaining = numbers.remaining
    this.guarantee = numbers.guarantee
    this.retryAfterMs = numbers.retryAfterMs
    this.resetAtMs = numbers.resetAtMs
    this.resetAfterMs = numbers.resetAfterMs
    this.#owner = owner
    this.#slot = slot
    this.#win = win
  }

  isOf(owner: object): boolean {
    return this.#owner === owner
  }

  get slot(): number {
    return this.#slot
  }

  /** True if it may be settled in the window `win`, which it then no longer may. */
  settleIn(win: number): boolean {
    const may = this.#win >= 0 && this.#win === win
    this.#win = -1
    return may
  }
}
