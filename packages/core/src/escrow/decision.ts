import { fail, show } from '../options.js'
import type { Reserve } from './budget.js'

/**
 * Reasons of an escrow's refusals.
 *
 * - `over-share`: the tenant has used its share, and the unused shares of others are reserved or another's turn;
 * - `exhausted`: less than the cost is left of the whole budget;
 * - `never`: the cost is above the whole budget;
 * - `unknown`: the tenant is not in the hierarchy that shares the budget.
 */
export type EscrowReason = 'over-share' | 'exhausted' | 'never' | 'unknown'

/** An escrow's answer to a cost, and the numbers behind it, after the answer: an allowed cost is included in `used`. */
export interface EscrowDecision {
  readonly allowed: boolean
  readonly tenant: string
  readonly cost: number
  /** Reason of a refusal; undefined if allowed. */
  readonly reason: EscrowReason | undefined
  /** True if it was allowed from the unused shares of others, beyond the tenant's guarantee. */
  readonly borrowed: boolean
  /** The tenant's present ceiling: its use plus its remainder. */
  readonly limit: number
  /** At least this is admitted if it is asked next. More may be, by borrowing; `peek` tells for a cost. */
  readonly remaining: number
  /** The guarantee of the tenant's weight in a window, a real number. */
  readonly guarantee: number
  /** When it is worth asking again, in milliseconds: 0 if allowed, else at least 1; Infinity: never for this cost. */
  readonly retryAfterMs: number
  /** When the window ends, on the escrow's clock. */
  readonly resetAtMs: number
  /** The same, from now on, in milliseconds. */
  readonly resetAfterMs: number
}

/** Result of a settlement. */
export interface Settled {
  /** False if it was settled before, or was refused, or is a refund for a past window: nothing changed. */
  readonly settled: boolean
  /**
   * The part of the charge that could not be made: a call for it would not be admitted, or its window is over. The
   * tenant owes it: it pays before its next call, or from its share of the next windows.
   */
  readonly unpaid: number
}

export const NOTHING_SETTLED: Settled = Object.freeze({ settled: false, unpaid: 0 })
export const ALL_PAID: Settled = Object.freeze({ settled: true, unpaid: 0 })

/** A decision, with the data for its settlement. */
export class EscrowTicket<Reason extends string = EscrowReason> implements Omit<EscrowDecision, 'reason'> {
  readonly allowed: boolean
  readonly tenant: string
  readonly cost: number
  readonly reason: Reason | undefined
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
  /** The window in which it may be settled; below 0: no longer. */
  #window = -1

  /**
   * It is allowed if there is no wait. `used` is the tenant's use including this decision, which counts with `reserved`
   * if that differs from the cost.
   */
  constructor(
    owner: object,
    tenant: string,
    cost: number,
    reason: Reason | undefined,
    borrowed: boolean,
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
    this.allowed = retryMs === 0
    this.reason = reason
    this.borrowed = borrowed
    this.limit = used + remaining
    this.remaining = remaining
    this.guarantee = guarantee
    this.retryAfterMs = retryMs
    this.resetAtMs = resetAtMs
    this.resetAfterMs = Math.max(0, resetAtMs - nowMs)
  }

  /** The escrow that made this decision. */
  get owner(): object {
    return this.#owner
  }

  /** The amount that is spent for it until it is settled. */
  get reserved(): number {
    return this.#reserved
  }

  /** Spends this much more for it until it is settled. */
  charge(amount: number): void {
    this.#reserved += amount
  }

  /** Time of the decision. */
  get atMs(): number {
    return this.#atMs
  }

  /** The tenant's place in that escrow, until the window ends. */
  get place(): number {
    return this.#place
  }

  /** The reserved amount is spent, in `window`, not below 0. */
  admit(place: number, window: number): void {
    this.#place = place
    this.#window = window
  }

  /** Whether it can be settled in `window` in time, late, or not (any more). */
  timeIn(window: number): 'now' | 'late' | 'never' {
    return this.#window < 0 ? 'never' : this.#window === window ? 'now' : 'late'
  }

  /** The same; afterwards it counts as settled. */
  settleIn(window: number): 'now' | 'late' | 'never' {
    const time = this.timeIn(window)
    this.#window = -1
    return time
  }
}

/** A decision as its escrow sees it. Throws a `TypeError` if it is another one's. */
export function ticketOf<Ticket extends EscrowTicket<string>>(
  kind: abstract new (...all: never[]) => Ticket,
  owner: object,
  decision: object,
): Ticket {
  if (decision instanceof kind && decision.owner === owner) return decision
  throw new TypeError(`decision must come from check of this escrow, got ${show(decision)}`)
}

/** An escrow's state, as plain JSON. */
export interface EscrowSnapshot {
  readonly limit: number
  readonly windowMs: number
  readonly reserve: Reserve
  /** In this window. */
  readonly used: number
  /** Never below 0, although more may be used than a limit that was lowered. */
  readonly remaining: number
  /** The part of the remainder that is reserved for the guarantees of active tenants. */
  readonly reserved: number
  /** The guarantee of weight 1; 0 while no tenant is active. */
  readonly level: number
  /** Active tenants: those that were admitted in this window. */
  readonly tenants: number
  /** The sum of their weights. */
  readonly weight: number
  /** Tenants that were refused within the last tenth of a window. */
  readonly waiting: number
  readonly resetAtMs: number
  /** Since the escrow was created. */
  readonly allowed: number
  readonly borrowed: number
  readonly refused: number
  /** The active tenants that used most in this window, at most 20. */
  readonly heaviest: readonly EscrowTenant[]
}

/** An active tenant, as plain JSON. */
export interface EscrowTenant {
  /** `''` is shared by all tenants beyond the limit of known names. */
  readonly tenant: string
  readonly weight: number
  readonly used: number
  readonly guarantee: number
  /** Refused within the last tenth of a window. */
  readonly waiting: boolean
}

/** Input of {@link combine}: an escrow's decision, a rate limiter's, or any other that allows or refuses. */
export interface Answer {
  readonly allowed: boolean
  /** A short reason of the refusal. */
  readonly reason?: string | undefined
  /** The limit, in units of cost. @default Infinity: no limit */
  readonly limit?: number
  /** A cost up to this would be allowed next. @default Infinity if it is allowed, else 0 */
  readonly remaining?: number
  /** When it is worth asking again, in milliseconds. @default 0 */
  readonly retryAfterMs?: number
  /** Time until these numbers become void, in milliseconds. @default 0 */
  readonly resetAfterMs?: number
}

/** Several answers combined. */
export interface Combined<A extends Answer = Answer> {
  /** True if all of them are allowed. */
  readonly allowed: boolean
  /** Of the deciding answer. */
  readonly reason: string | undefined
  /** The least of all. */
  readonly limit: number
  /** The least of all. */
  readonly remaining: number
  /** The longest of the refusing answers; 0 if none refuses. */
  readonly retryAfterMs: number
  /** The longest of all. */
  readonly resetAfterMs: number
  /**
   * The deciding answer: of those that refuse, the one with the longest wait; if none refuses, the one with the least
   * remainder. If two are equal in everything, either.
   */
  readonly by: A
}

/**
 * Combines several answers to one request: allowed only if all are, and in each number as strict as the strictest of
 * them. The order does not matter, and an answer may occur more than once.
 *
 * It only reads answers. If the combination is refused, refund the answers that allowed, which have spent their costs.
 * A gate with several budgets does so itself.
 */
export function combine<A extends Answer>(first: A, ...others: readonly A[]): Combined<A> {
  let by = first
  let { limit, remaining, resetAfterMs } = numbersOf(first)
  for (const answer of others) {
    const numbers = numbersOf(answer)
    limit = Math.min(limit, numbers.limit)
    remaining = Math.min(remaining, numbers.remaining)
    resetAfterMs = Math.max(resetAfterMs, numbers.resetAfterMs)
    if (isStricter(answer, by)) by = answer
  }
  const { allowed, reason } = by
  const retryAfterMs = allowed ? 0 : numbersOf(by).retryAfterMs
  return { allowed, reason: allowed ? undefined : reason, limit, remaining, retryAfterMs, resetAfterMs, by }
}

function numbersOf(answer: Answer): Required<Omit<Answer, 'allowed' | 'reason'>> {
  if (answer == null) fail('an answer', 'an object', answer)
  const { allowed, limit = Number.POSITIVE_INFINITY, retryAfterMs = 0, resetAfterMs = 0 } = answer
  return { limit, remaining: answer.remaining ?? (allowed ? Number.POSITIVE_INFINITY : 0), retryAfterMs, resetAfterMs }
}

/**
 * Whether `answer` decides rather than `other`; an answer does not precede itself, so the order of the arguments does
 * not matter.
 */
function isStricter(answer: Answer, other: Answer): boolean {
  if (answer.allowed !== other.allowed) return other.allowed
  const [a, b] = [numbersOf(answer), numbersOf(other)]
  if (!answer.allowed) {
    if (a.retryAfterMs !== b.retryAfterMs) return a.retryAfterMs > b.retryAfterMs
    if (answer.reason !== other.reason) return (answer.reason ?? '') < (other.reason ?? '')
  }
  if (a.remaining !== b.remaining) return a.remaining < b.remaining
  if (a.limit !== b.limit) return a.limit < b.limit
  return a.resetAfterMs > b.resetAfterMs
}
