import { show } from '../../options.js'
import type { EscrowDecision, EscrowReason } from '../decision.js'
import type { Judgement } from '../judgement.js'
import type { PoolMember } from './pool-member.js'

/** Why a leased escrow refuses; or `store-error`, where what is declared for a store that fails decided. */
export type LeasedReason = EscrowReason | 'store-error'

/**
 * A leased escrow's answer. `limit`, `remaining` and `guarantee` are those of the tenant at this member, of what it has
 * drawn from the pool and what the pool keeps for it; the pool may have more.
 */
export interface LeasedDecision extends Omit<EscrowDecision, 'reason'> {
  /** Undefined if it was allowed by the rule; `store-error` also where it was allowed because the store is away. */
  readonly reason: LeasedReason | undefined
}

/** What an escrow does when its store fails, or does not answer in time. */
export type OnStoreError = 'refuse' | 'admit' | 'last-share'

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
  readonly #owner: object
  readonly #member: PoolMember | undefined
  readonly #payer: string
  #charged: number
  #slot = -1
  #win = -1

  /**
   * `judged` is what the ledger made of this; none if it was not asked. It is allowed if there is nothing to wait for.
   * `payer` spent for it: the tenant, or a group of it.
   */
  constructor(
    owner: object,
    member: PoolMember | undefined,
    tenant: string,
    cost: number,
    reason: LeasedReason | undefined,
    retryAfterMs: number,
    judged: Judgement | undefined,
    resetAtMs: number,
    nowMs: number,
    payer: string = tenant,
  ) {
    const remaining = judged?.remaining ?? 0
    this.#owner = owner
    this.#member = member
    this.#payer = payer
    this.tenant = tenant
    this.cost = cost
    this.#charged = cost
    this.allowed = retryAfterMs === 0
    this.reason = reason
    this.borrowed = this.allowed && judged?.verdict === 'borrows'
    this.limit = (judged?.usedAfter ?? 0) + remaining
    this.remaining = remaining
    this.guarantee = judged?.guarantee ?? 0
    this.retryAfterMs = retryAfterMs
    this.resetAtMs = resetAtMs
    this.resetAfterMs = resetAtMs - nowMs
  }

  /** What has spent for it; undefined if nothing may. */
  get member(): PoolMember | undefined {
    return this.#member
  }

  /** The escrow whose answer this is. */
  get owner(): object {
    return this.#owner
  }

  get payer(): string {
    return this.#payer
  }

  /** What was spent for it so far. */
  get charged(): number {
    return this.#charged
  }

  /** This much more was spent for it. */
  charge(amount: number): void {
    this.#charged += amount
  }

  /** Whether it may still be settled in the window `win`. */
  isOpenIn(win: number): boolean {
    return this.#win >= 0 && this.#win === win
  }

  get slot(): number {
    return this.#slot
  }

  /** What was spent is booked at `slot`, in the window `win`. */
  book(slot: number, win: number): void {
    this.#slot = slot
    this.#win = win
  }

  /** True if it may be settled in the window `win`, which it then no longer may. */
  settleIn(win: number): boolean {
    const may = this.isOpenIn(win)
    this.#win = -1
    return may
  }
}

/** The decision as its escrow sees it. Throws a `TypeError` if it is another's. */
export function ticketOf(owner: object, decision: LeasedDecision): LeasedTicket {
  if (decision instanceof LeasedTicket && decision.owner === owner) return decision
  throw new TypeError(`decision must come from check of this escrow, got ${show(decision)}`)
}
