import type { Ledger } from '../ledger.js'
import { reweighed } from '../shares.js'

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
    this.#all = reweighed(this.#all, waiting.weight, 0, () => this.#sum(() => true))
    if (!waiting.active) this.#takeOff(waiting)
  }

  /** The tenant was admitted for the first time in this window. */
  activate(tenant: string): void {
    this.#active.add(tenant)
    const waiting = this.#waiting.get(tenant)
    if (waiting === undefined || waiting.active) return
    waiting.active = true
    this.#takeOff(waiting)
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

  /** One is not among those that wait and are not active any more. */
  #takeOff({ weight }: Waiting): void {
    this.#inactive = reweighed(this.#inactive, weight, 0, () => this.#sum(({ active }) => !active))
  }

  #sum(counts: (waiting: Waiting) => boolean): number {
    let sum = 0
    for (const waiting of this.#waiting.values()) if (counts(waiting)) sum += waiting.weight
    return sum
  }
}
