/** Who asks is admitted, or told when to come back. */
export interface Rule {
  check(tenant: string, cost: number): { readonly allowed: boolean; readonly retryAfterMs: number }
}

/**
 * The rule as published ("weighted fair escrow", ThrottleKit), for one window: a model, to measure ours against.
 *
 * - Whoever has asked is active, admitted or not. W is the sum of the weights of the active.
 * - A guarantee is ⌊w·L/W⌋. A call that keeps its tenant within it is admitted, if that much is left.
 * - Beyond it, the excess is compared with what is left less what the others have not used of their guarantees.
 *
 * So guarantees that nobody uses stay reserved to the end, probes take shares, and who asks for much at once is charged
 * to the reserve of others only with the excess. It says nothing of when to come back: here, in a twentieth of a window.
 */
export class PublishedRule implements Rule {
  readonly #limit: number
  readonly #retryAfterMs: number
  readonly #weightOf: (tenant: string) => number
  readonly #active: Map<string, { readonly weight: number; used: number }> = new Map()
  #weight = 0
  #used = 0

  constructor(limit: number, windowMs: number, weightOf: (tenant: string) => number) {
    this.#limit = limit
    this.#retryAfterMs = windowMs / 20
    this.#weightOf = weightOf
  }

  check(tenant: string, cost: number): { readonly allowed: boolean; readonly retryAfterMs: number } {
    const account = this.#account(tenant)
    const left = this.#limit - this.#used
    const guarantee = this.#guarantee(account.weight)
    const excess = Math.min(cost, account.used + cost - guarantee)
    const allowed = cost <= left && (excess <= 0 || excess <= left - this.#reservedBeside(account))
    if (allowed) {
      account.used += cost
      this.#used += cost
    }
    return { allowed, retryAfterMs: allowed ? 0 : this.#retryAfterMs }
  }

  #account(tenant: string): { readonly weight: number; used: number } {
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
  #reservedBeside(own: { readonly weight: number; readonly used: number }): number {
    let sum = 0
    for (const account of this.#active.values())
      if (account !== own) sum += Math.max(0, this.#guarantee(account.weight) - account.used)
    return sum
  }
}
