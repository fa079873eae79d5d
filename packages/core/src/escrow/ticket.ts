import type { EscrowDecision, EscrowReason, Settled } from './decision.js'
import type { Verdict } from './judgement.js'

export const NOTHING_SETTLED: Settled = Object.freeze({ settled: false, unpaid: 0 })
export const ALL_PAID: Settled = Object.freeze({ settled: true, unpaid: 0 })

/** A decision, and what its settlement needs to know. */
export class Ticket implements EscrowDecision {
  readonly allowed: boolean
  readonly tenant: string
  readonly cost: number
  readonly reason: EscrowReason | undefined
  readonly borrowed: boolean
  readonly limit: number
  readonly remaining: number
  readonly guarantee: number
  readonly retryAfterMs: number
  readonly resetAtMs: number
  readonly resetAfterMs: number
  readonly #owner: object
  #slot = -1
  /** The window in which it may be settled; 0: none any more. */
  #window = 0

  /** `used` is what the tenant has used, with what was allowed. */
  constructor(
    owner: object,
    tenant: string,
    cost: number,
    verdict: Verdict | 'unknown',
    used: number,
    remaining: number,
    guarantee: number,
    retryMs: number,
    resetAtMs: number,
    nowMs: number,
  ) {
    this.#owner = owner
    this.tenant = tenant
    this.cost = cost
    this.allowed = verdict === 'within' || verdict === 'borrows'
    this.reason = verdict === 'within' || verdict === 'borrows' ? undefined : verdict
    this.borrowed = verdict === 'borrows'
    this.limit = used + remaining
    this.remaining = remaining
    this.guarantee = guarantee
    this.retryAfterMs = retryMs
    this.resetAtMs = resetAtMs
    this.resetAfterMs = resetAtMs - nowMs
  }

  /** The escrow whose answer this is. */
  get owner(): object {
    return this.#owner
  }

  /** The tenant's place in that escrow, until the window ends. */
  get slot(): number {
    return this.#slot
  }

  /** What was allowed is spent, in `window`, from 1 on. */
  admit(slot: number, window: number): void {
    this.#slot = slot
    this.#window = window
  }

  /** True if it may be settled in `window`, which it then no longer may. */
  settleIn(window: number): boolean {
    const may = this.#window === window
    this.#window = 0
    return may
  }
}
