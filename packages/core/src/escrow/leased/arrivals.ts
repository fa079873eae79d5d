import type { Ledger } from '../ledger.js'

/** A tenant of which checks wait for credit. */
interface Waiting {
  readonly weight: number
  checks: number
  /** True if it is active, so that the ledger counts it. */
  active: boolean
}

/**
 * The tenants whose weights the pool has to know: those that are active at this member, whom the ledger counts, and
 * those that wait for credit, whom it does not. O(1), because all who wait look again whenever credit comes.
 */
export class Arrivals {
  readonly #ledger: Pick<Ledger, 'weight' | 'tenants'>
  readonly #maxTenants: number
  readonly #active: Set<string> = new Set()
  readonly #waiting: Map<string, Waiting> = new Map()
  /** Weights of all that wait, and of those that are not active. */
  #all = 0
  #inactive = 0

  constructor(ledger: Pick<Ledger, 'weight' | 'tenants'>, maxTenants: number) {
    this.#ledger = ledger
    this.#maxTenants = maxTenants
  }

  /** A check of the tenant waits for credit. */
  arrive(tenant: string, weight: number): void {
    const waiting = this.#waiting.get(tenant)
    if (waiting !== undefined) {
      waiting.checks++
      return
    }
    const active = this.#active.has(tenant)
    this.#waiting.set(tenant, { weight, checks: 1, active })
    this.#all += weight
    if (!active) this.#inactive += weight
  }

  depart(tenant: string): void {
    const waiting = this.#waiting.get(tenant)!
    if (--waiting.checks > 0) return
    this.#waiting.delete(tenant)
    this.#all -= waiting.weight
    if (!waiting.active) this.#inactive -= waiting.weight
    // Sums of fractions do not come back to 0 by themselves.
    if (this.#waiting.size === 0) this.#all = this.#inactive = 0
  }

  /** The tenant was admitted for the first time in this window. */
  activate(tenant: string): void {
    this.#active.add(tenant)
    const waiting = this.#waiting.get(tenant)
    if (waiting === undefined || waiting.active) return
    waiting.active = true
    this.#inactive -= waiting.weight
  }

  /** A window begins: nobody is active. */
  begin(): void {
    this.#active.clear()
    for (const waiting of this.#waiting.values()) waiting.active = false
    this.#inactive = this.#all
  }

  /** The weights of all, and of `tenant`, which asks. Where no window is open, nobody is active. */
  weight(isOpen: boolean, tenant?: string, weight = 0): number {
    // Whoever comes once there are too many is counted to the one tenant that they share.
    const isFull = isOpen && this.#ledger.tenants >= this.#maxTenants
    if (isFull) return this.#ledger.weight
    const sum = isOpen ? this.#ledger.weight + this.#inactive : this.#all
    const isCounted = tenant === undefined || this.#waiting.has(tenant) || (isOpen && this.#active.has(tenant))
    return isCounted ? sum : sum + weight
  }
}
