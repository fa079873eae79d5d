import type { TenantDemand } from './store.js'

/** A member whose weight is made of parts of tenants' weights. */
export interface Weighed {
  weight: number
  /** The part of the window that was over when it last called; above 0. */
  seen: number
}

interface Place {
  demand: number
  /** The part of the tenant's weight that is at this member. */
  part: number
}

interface Tenant {
  weight: number
  places: Map<Weighed, Place>
}

/**
 * Splits the weight of each tenant between the members it is active at, in proportion to what it asks for there, so
 * that it weighs as much as if it were active at one alone.
 *
 * What it asks for is taken per time, up to the member's last call: members call at different times, and one that has
 * been silent for a while has not seen the less for that.
 *
 * O(members of the tenant) a report.
 */
export class DemandSplit {
  readonly #tenants: Map<string, Tenant> = new Map()

  /** Takes in what a member says of a tenant, changes the weights of all members that this concerns. */
  report(member: Weighed, { tenant: name, weight, demand }: TenantDemand): void {
    let tenant = this.#tenants.get(name)
    if (tenant === undefined) {
      tenant = { weight, places: new Map() }
      this.#tenants.set(name, tenant)
    }
    for (const [at, { part }] of tenant.places) at.weight -= tenant.weight * part
    tenant.weight = weight
    const place = tenant.places.get(member)
    if (place === undefined) tenant.places.set(member, { demand, part: 1 })
    else place.demand = demand
    let total = 0
    for (const [at, { demand: asked }] of tenant.places) total += asked / at.seen
    for (const [at, each] of tenant.places) {
      each.part = each.demand / at.seen / total
      at.weight += weight * each.part
    }
  }

  /** The part of the tenant's weight that is this member's, from 0 to 1. Only of what it reported. */
  share(member: Weighed, name: string): number {
    return this.#tenants.get(name)!.places.get(member)!.part
  }

  clear(): void {
    this.#tenants.clear()
  }
}
