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
  #reserved: number
  readonly #atMs: number
  #place = -1
  /** The window in which it may be settled; 0: none any more. */
  #window = 0

  /** `used` is what the tenant has used, with what was allowed, which is `reserved` where that differs from the cost. */
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
    reserved: number = cost,
  ) {
    this.#owner = owner
    this.#reserved = reserved
    this.#atMs = nowMs
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

  /** What was spent for it until it is settled. */
  get reserved(): number {
    return this.#reserved
  }

  /** Until it is settled, this much more is spent for it. Gives the window in which it was allowed; 0 if there is none. */
  charge(amount: number): number {
    this.#reserved += amount
    return this.#window
  }

  /** When it was decided. */
  get atMs(): number {
    return this.#atMs
  }

  /** The tenant's place in that escrow, until the window ends. */
  get place(): number {
    return this.#place
  }

  /** What was allowed is spent, in `window`, from 1 on. */
  admit(place: number, window: number): void {
    this.#place = place
    this.#window = window
  }

  /** Whether it is settled in `window` in time, late, or may not be settled (any more); it is settled then. */
  settleIn(window: number): 'now' | 'late' | 'never' {
    const own = this.#window
    this.#window = 0
    return own === 0 ? 'never' : own === window ? 'now' : 'late'
  }
}
