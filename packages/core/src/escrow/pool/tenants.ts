import type { TenantReport } from './store.js'

/** Sums of one kind of a member's tenants: what they weigh at it, and what they have used, as far as that counts. */
export interface Sum {
  weight: number
  used: number
}

/**
 * What the tenants that a member reported by name come to: those that have used less than an even pace allows, those
 * that are ahead of it within their guarantees, and those that have used more than that.
 */
export interface Weighed {
  readonly behind: Sum
  readonly ahead: Sum
  readonly over: Sum
}

interface Place {
  rate: number
  used: number
  /** The part of the tenant's weight that is at this member. */
  part: number
}

/** A tenant that some member reported in this window. */
interface Tenant {
  weight: number
  /** At all members together, gone ones, too. */
  used: number
  place: keyof Weighed
  readonly places: Map<Weighed, Place>
}

/** A tenant, and its places: the member, rate, used and part of each. */
export type SavedTenant = readonly [
  weight: number,
  used: number,
  place: keyof Weighed,
  ...places: (readonly [string, number, number, number])[],
]

/**
 * Tenants that were reported by name: each weighs once, however many members it is active at. Its weight, and what it
 * has used in all, are split between them by what it asks for at each. So it gains nothing by asking in several places,
 * or by a process that starts anew.
 *
 * O(members of the tenant) a report.
 */
export class Tenants {
  readonly #tenants: Map<string, Tenant> = new Map()

  /**
   * Takes in what a member says of a tenant, and changes the sums of all members that this concerns. `level` is what a
   * weight of 1 is guaranteed, of which the part `elapsed` is due by now; `isPresent` says whether a member still
   * counts.
   */
  report(
    member: Weighed,
    report: TenantReport,
    level: number,
    elapsed: number,
    isPresent: (at: Weighed) => boolean,
  ): void {
    const { tenant: name, weight, used, rate } = report
    let tenant = this.#tenants.get(name)
    if (tenant === undefined) {
      tenant = { weight, used: 0, place: 'behind', places: new Map() }
      this.#tenants.set(name, tenant)
    }
    for (const [at, place] of tenant.places) count(tenant, at, place, -1)
    const place = tenant.places.get(member)
    if (place === undefined) tenant.places.set(member, { rate, used, part: 0 })
    else {
      place.rate = rate
      place.used = used
    }
    tenant.weight = weight
    tenant.used = 0
    let rates = 0
    for (const [at, { rate: asked, used: spent }] of tenant.places) {
      tenant.used += spent
      if (isPresent(at)) rates += asked
    }
    const share = tenant.used / weight
    tenant.place = share < level * elapsed ? 'behind' : share < level ? 'ahead' : 'over'
    for (const [at, each] of tenant.places) {
      each.part = rates > 0 && isPresent(at) ? each.rate / rates : 0
      count(tenant, at, each, 1)
    }
  }

  /** What is known of a tenant that a member reported: what it weighs and has used in all, and the member's part. */
  placeOf(name: string, member: Weighed): { weight: number; used: number; part: number } {
    const { weight, used, places } = this.#tenants.get(name)!
    return { weight, used, part: places.get(member)!.part }
  }

  /** Knows a tenant again as {@link save} gave it; members that are not known any more are left out. */
  load(
    name: string,
    [weight, used, place, ...rest]: SavedTenant,
    memberOf: (name: string) => Weighed | undefined,
  ): void {
    const places: Map<Weighed, Place> = new Map()
    for (const [member, rate, spent, part] of rest) {
      const at = memberOf(member)
      if (at !== undefined) places.set(at, { rate, used: spent, part })
    }
    this.#tenants.set(name, { weight, used, place, places })
  }

  /** What is known of a tenant, for who keeps it elsewhere. */
  save(name: string, nameOf: (member: Weighed) => string): SavedTenant | undefined {
    const tenant = this.#tenants.get(name)
    if (tenant === undefined) return undefined
    const places = [...tenant.places].map(([at, { rate, used, part }]) => [nameOf(at), rate, used, part] as const)
    return [tenant.weight, tenant.used, tenant.place, ...places]
  }

  clear(): void {
    this.#tenants.clear()
  }
}

function count({ place, weight, used }: Tenant, at: Weighed, { part }: Place, sign: 1 | -1): void {
  const sum = at[place]
  sum.weight += sign * weight * part
  sum.used += sign * used * part
}
