import type { LeaseCall, TenantDemand } from '../pool/store.js'

interface Demand {
  weight: number
  demand: number
  /** Part of the tenant's weight that is this region's, by the pool's last word. */
  share: number
}

/** The name under which all further tenants are reported once there are too many. */
const OTHERS = '(others)'

/** What the tenants of a region have asked for in this window, and what parts of their weights that made them. */
export class Demands {
  readonly #maxTenants: number
  readonly #tenants: Map<string, Demand> = new Map()
  readonly #changed: Set<string> = new Set()

  constructor(maxTenants: number) {
    this.#maxTenants = maxTenants
  }

  /** Notes that the tenant of this whole weight asks for a cost. */
  count(tenant: string, weight: number, cost: number): void {
    let record = this.#tenants.get(tenant)
    if (record === undefined && this.#tenants.size >= this.#maxTenants) {
      tenant = OTHERS
      weight = 1
      record = this.#tenants.get(tenant)
    }
    if (record === undefined) {
      record = { weight, demand: 0, share: 1 }
      this.#tenants.set(tenant, record)
    }
    record.weight = weight
    record.demand += cost
    this.#changed.add(tenant)
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
