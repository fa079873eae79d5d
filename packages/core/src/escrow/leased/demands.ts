import type { LeaseCall, TenantDemand } from '../pool/store.js'

interface Demand {
  weight: number
  demand: number
  /** What it asked for per window, up to its first refusal; 0 before that. */
  rate: number
  /** Part of the tenant's weight that is this region's, by the pool's last word. */
  share: number
}

/** The name under which all further tenants are reported once there are too many. */
const OTHERS = '(others)'

/** What is asked for in the first part of a window counts as if it took that long. */
const FIRST_LOOK = 1 / 100

/**
 * What the tenants of a region have asked for in this window, and what parts of their weights that made them.
 *
 * Whoever is refused asks again, nobody knows how often. So from its first refusal on a tenant counts as if it went on
 * asking at the pace it had before: otherwise the region that refuses it more would seem to be where it needs more.
 */
export class Demands {
  readonly #maxTenants: number
  readonly #tenants: Map<string, Demand> = new Map()
  readonly #changed: Set<string> = new Set()

  constructor(maxTenants: number) {
    this.#maxTenants = maxTenants
  }

  /** Notes that the tenant of this whole weight asks for a cost, when the part `elapsed` of the window is over. */
  count(tenant: string, weight: number, cost: number, elapsed: number): void {
    let record = this.#tenants.get(tenant)
    if (record === undefined && this.#tenants.size >= this.#maxTenants) {
      tenant = OTHERS
      weight = 1
      record = this.#tenants.get(tenant)
    }
    if (record === undefined) {
      record = { weight, demand: 0, rate: 0, share: 1 }
      this.#tenants.set(tenant, record)
    }
    record.weight = weight
    if (record.rate === 0) record.demand += cost
    else record.demand = Math.max(record.demand, record.rate * elapsed)
    this.#changed.add(tenant)
  }

  /** Notes that it was refused. */
  refused(tenant: string, elapsed: number): void {
    const record = this.#tenants.get(tenant)
    if (record !== undefined && record.rate === 0) record.rate = record.demand / Math.max(elapsed, FIRST_LOOK)
  }

  /** The part of its weight that the tenant has here. */
  weightOf(tenant: string, weight: number): number {
    const record = this.#tenants.get(tenant)
    return record === undefined ? weight : weight * record.share
  }

  /** What has changed since it was last reported. A report that is lost is made good by the tenant's next one. */
  report(): TenantDemand[] {
    const reports: TenantDemand[] = []
    for (const tenant of this.#changed) {
      const { weight, demand } = this.#tenants.get(tenant)!
      reports.push({ tenant, weight, demand })
    }
    this.#changed.clear()
    return reports
  }

  /** Takes in what the pool answered to a report. */
  learn({ tenants }: LeaseCall, shares: readonly number[]): void {
    for (const [at, { tenant }] of (tenants ?? []).entries()) {
      const record = this.#tenants.get(tenant)
      const share = shares[at]
      if (record !== undefined && share !== undefined && share > 0) record.share = share
    }
  }

  clear(): void {
    this.#tenants.clear()
    this.#changed.clear()
  }
}
