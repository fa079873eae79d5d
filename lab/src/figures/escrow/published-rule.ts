import type { Answer, Rule } from './rule.js'

/** What of a call beyond the guarantee has to fit beside what is reserved: its part beyond it, or all of it. */
type Borrowing = 'excess' | 'whole'

interface Account {
  readonly weight: number
  used: number
}

/**
 * The rule as published ("weighted fair escrow", ThrottleKit), for one window: a model, to measure ours against.
 *
 * - Whoever has asked is active, admitted or not. W is the sum of the weights of the active.
 * - A guarantee is ⌊w·L/W⌋. A call that keeps its tenant within it is admitted, if that much is left.
 * - A call that goes beyond it is compared with what is left less what the others have not used of their guarantees.
 *   Its page can be read in two ways: the whole call is compared, or only the part of it that is beyond the guarantee.
 *
 * So guarantees that nobody uses stay reserved to the end, and probes take shares. Compared whole, a call may find no
 * room although its tenant has guarantee left; compared by its excess, it takes what is reserved for others. The page
 * says nothing of when to come back: here, in a twentieth of a window.
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

  /** What others have not used of their guarantees. */
  #reservedBeside(own: Account): number {
    let sum = 0
    for (const account of this.#active.values())
      if (account !== own) sum += Math.max(0, this.#guarantee(account.weight) - account.used)
    return sum
  }
}
