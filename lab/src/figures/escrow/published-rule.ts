import type { Answer, Rule } from './rule.js'

/** The part of a call beyond the guarantee that has to fit beside the reservation: its excess, or the whole call. */
type Borrowing = 'excess' | 'whole'

interface Account {
  readonly weight: number
  used: number
}

/**
 * The rule as published ("weighted fair escrow", ThrottleKit), for one window: a model, for comparison with ours.
 *
 * - A tenant that has asked is active, admitted or not. W is the sum of the weights of the active tenants.
 * - A guarantee is ⌊w·L/W⌋. A call that keeps its tenant within it is admitted if that much is left.
 * - A call that goes beyond it is compared with the rest of the limit less the unused guarantees of the other tenants.
 *   Its page can be read in two ways: the whole call is compared, or only the part of it beyond the guarantee.
 *
 * So unused guarantees stay reserved to the end, and probes take shares. Compared whole, a call may find no room
 * although its tenant has guarantee left; compared by its excess, it takes units that are reserved for others. The page
 * does not say when to come back: here, after a twentieth of a window.
 */
export class PublishedRule implements Rule {
  readonly #limit: number
  readonly #retryAfterMs: number
  readonly #borrowing: Borrowing
  readonly #weightOf: (tenant: string) => number
  readonly #active: Map<string, Account> = new Map()
  #weight = 0
  #used = 0

  constructor(limit: number, windowMs: number, weightOf: (tenant: string) => number, borrowing: Borrowing) {
    this.#borrowing = borrowing
    this.#limit = limit
    this.#retryAfterMs = windowMs / 20
    this.#weightOf = weightOf
  }

  check(tenant: string, cost: number): Answer {
    const account = this.#account(tenant)
    const left = this.#limit - this.#used
    const guarantee = this.#guarantee(account.weight)
    const beyond = Math.min(cost, account.used + cost - guarantee)
    const borrows = this.#borrowing === 'excess' ? beyond : cost
    const allowed = cost <= left && (beyond <= 0 || borrows <= left - this.#reservedBeside(account))
    if (allowed) {
      account.used += cost
      this.#used += cost
    }
    return { allowed, retryAfterMs: allowed ? 0 : this.#retryAfterMs }
  }

  #account(tenant: string): Account {
    let account = this.#active.get(tenant)
    if (account === undefined) {
      account = { weight: this.#weightOf(tenant), used: 0 }
      this.#active.set(tenant, account)
      this.#weight += account.weight
    }
    return account
  }

  #guarantee(weight: number): number {
    return Math.floor((weight * this.#limit) / this.#weight)
  }

  /** Unused guarantees of the other tenants. */
  #reservedBeside(own: Account): number {
    let sum = 0
    for (const account of this.#active.values())
      if (account !== own) sum += Math.max(0, this.#guarantee(account.weight) - account.used)
    return sum
  }
}
