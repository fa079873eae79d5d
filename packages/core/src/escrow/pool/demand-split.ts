import type { TenantDemand } from './store.js'

/** A member whose weight is made of parts of tenants' weights. */
export interface Weighed {
  weight: number
}

interface Tenant {
  weight: number
  /** Sum of the demands. */
  total: number
  /** What it asked for at each member. */
  demands: Map<Weighed, number>
}

/**
 * Splits the weight of each tenant between the members it is active at, in proportion to what it asks for there, so
 * that it weighs as much as if it were active at one alone.
 *
 * O(members of the tenant) a report.
 */
export class DemandSplit {
  readonly #tenants: Map<string, Tenant> = new Map()

  /** Takes in what a member says of a tenant, changes the weights of all members that this concerns. */
  report(member: Weighed, { tenant: name, weight, demand }: TenantDemand): void {
    let tenant = this.#tenants.get(name)
    if (tenant === undefined) {
      tenant = { weight, total: 0, demands: new Map() }
      this.#tenants.set(name, tenant)
    }
    for (const [at, part] of tenant.demands) at.weight -= (tenant.weight * part) / tenant.total
    tenant.weight = weight
    tenant.demands.set(member, demand)
    let total = 0
    for (const part of tenant.demands.values()) total += part
    tenant.total = total
    for (const [at, part] of tenant.demands) at.weight += (weight * part) / total
  }

  /** The part of the tenant's weight that is this member's, from 0 to 1. Only of what was reported. */
  share(member: Weighed, name: string): number {
    const tenant = this.#tenants.get(name)!
    return tenant.demands.get(member)! / tenant.total
  }

  clear(): void {
    this.#tenants.clear()
  }
}
