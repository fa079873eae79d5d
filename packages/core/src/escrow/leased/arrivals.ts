import type { Ledger } from '../ledger.js'

/**
 * The tenants whose weights the pool has to know: those that are active at this member, whom the ledger counts, and those
 * that wait for credit, whom it does not.
 */
export class Arrivals {
  readonly #ledger: Ledger
  readonly #maxTenants: number
  readonly #active: Set<string> = new Set()
  readonly #waiting: Map<string, { weight: number; checks: number }> = new Map()

  constructor(ledger: Ledger, maxTenants: number) {
    this.#ledger = ledger
    this.#maxTenants = maxTenants
  }

  /** A check of the tenant waits for credit. */
  arrive(tenant: string, weight: number): void {
    const { checks } = this.#waiting.get(tenant) ?? { checks: 0 }
    this.#waiting.set(tenant, { weight, checks: checks + 1 })
  }

  depart(tenant: string): void {
    const waiting = this.#waiting.get(tenant)!
    if (--waiting.checks === 0) this.#waiting.delete(tenant)
  }

  /** The tenant was admitted for the first time in this window. */
  activate(tenant: string): void {
    this.#active.add(tenant)
  }

  /** A window begins: nobody is active. */
  begin(): void {
    this.#active.clear()
  }

  /** The weights of all, and of `tenant`, which asks. Where no window is open, nobody is active. */
  weight(isOpen: boolean, tenant?: string, weight = 0): number {
    let sum = isOpen ? this.#ledger.weight : 0
    for (const [name, waiting] of this.#waiting) if (!this.#isCounted(name, isOpen)) sum += waiting.weight
    if (tenant === undefined || this.#waiting.has(tenant) || this.#isCounted(tenant, isOpen)) return sum
    return sum + weight
  }

  /** True if the ledger knows the tenant, or would count it to the one that late ones share. */
  #isCounted(tenant: string, isOpen: boolean): boolean {
    return isOpen && (this.#active.has(tenant) || this.#ledger.tenants >= this.#maxTenants)
  }
}
