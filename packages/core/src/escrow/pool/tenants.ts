import type { TenantReport } from './store.js'
import { layer, type Strata, type Stratum, stratumOf } from './strata.js'

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
export interface Tenant {
  weight: number
  /** At all members together, gone ones, too. */
  used: number
  place: keyof Weighed
  /** It is active at some member, so that its weight counts. */
  isActive: boolean
  /** The cost it was refused last, and in which slot of time; 0 if it was not. */
  ask: number
  slot: number
  readonly places: Map<Weighed, Place>
}

/** A tenant, and its places: the member, rate, used and part of each. */
export type SavedTenant = readonly [
  weight: number,
  used: number,
  place: keyof Weighed,
  isActive: number,
  ask: number,
  slot: number,
  ...places: (readonly [string, number, number, number])[],
]

/** All tenants as sums: of those that are active, and of those that were refused in this slot of time and in the last. */
export interface Standings {
  readonly active: Strata
  slot: number
  line: Strata
  lineBefore: Strata
}

export function newStandings(): Standings {
  return { active: [], slot: 0, line: [], lineBefore: [] }
}

/**
 * Tenants that were reported by name: each weighs once, however many members it is active at, and has used what it has
 * used at all of them. So it gains nothing by asking in several places, or by a process that starts anew. For what a
 * member keeps and judges itself, weight and use are split between the members by what the tenant asks for at each.
 *
 * All of them together are known as {@link Strata}: no step looks at tenants that its call does not name.
 *
 * O(members of the tenant) a report.
 */
export class Tenants {
  readonly #tenants: Map<string, Tenant> = new Map()
  readonly #standings: Standings

  constructor(standings: Standings = newStandings()) {
    this.#standings = standings
  }

  /** Those that are active. */
  get active(): readonly Stratum[] {
    return this.#standings.active
  }

  /** Those in line: refused in this slot of time, or in the last. */
  *line(): Iterable<Stratum> {
    yield* this.#standings.lineBefore
    yield* this.#standings.line
  }

  /** Time goes on: who was refused two slots ago is not in line any more. */
  moveTo(slot: number): void {
    const standings = this.#standings
    if (slot === standings.slot) return
    standings.lineBefore = slot === standings.slot + 1 ? standings.line : []
    standings.line = []
    standings.slot = slot
  }

  /**
   * Takes in what a member says of a tenant, and changes the sums that this concerns. `level` is what a weight of 1 is
   * guaranteed, of which the part `elapsed` is due by now; `isPresent` says whether a member still counts.
   */
  report(
    member: Weighed,
    report: TenantReport,
    level: number,
    elapsed: number,
    isPresent: (at: Weighed) => boolean,
  ): void {
    const { tenant: name, weight, used, rate, ask } = report
    let tenant = this.#tenants.get(name)
    if (tenant === undefined) {
      tenant = { weight, used: 0, place: 'behind', isActive: false, ask: 0, slot: 0, places: new Map() }
      this.#tenants.set(name, tenant)
    }
    this.#count(tenant, -1)
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
    tenant.isActive = rates > 0
    if (ask > 0) {
      tenant.ask = ask
      tenant.slot = this.#standings.slot
    }
    const share = tenant.used / weight
    tenant.place = share < level * elapsed ? 'behind' : share < level ? 'ahead' : 'over'
    for (const [at, each] of tenant.places) {
      each.part = rates > 0 && isPresent(at) ? each.rate / rates : 0
      count(tenant, at, each, 1)
    }
    this.#count(tenant, 1)
  }

  /**
   * What `decide` grants a tenant at a member counts as used there, until it is reported again; if that is nothing, the
   * tenant waits in line with its `need`. While that is decided on, it is not in line.
   */
  grant(name: string, member: Weighed, need: number, decide: () => number): number {
    const tenant = this.#tenants.get(name)!
    this.#count(tenant, -1)
    const grant = decide()
    if (grant > 0) {
      for (const [at, place] of tenant.places) count(tenant, at, place, -1)
      tenant.places.get(member)!.used += grant
      tenant.used += grant
      for (const [at, place] of tenant.places) count(tenant, at, place, 1)
    } else {
      tenant.ask = need
      tenant.slot = this.#standings.slot
    }
    this.#count(tenant, 1)
    return grant
  }

  /** What is known of a tenant that a member reported: what it weighs and has used in all, and the member's part. */
  placeOf(name: string, member: Weighed): { weight: number; used: number; part: number } {
    const { weight, used, places } = this.#tenants.get(name)!
    return { weight, used, part: places.get(member)!.part }
  }

  /** Knows a tenant again as {@link save} gave it; members that are not known any more are left out. */
  load(
    name: string,
    [weight, used, place, isActive, ask, slot, ...rest]: SavedTenant,
    memberOf: (name: string) => Weighed | undefined,
  ): void {
    const places: Map<Weighed, Place> = new Map()
    for (const [member, rate, spent, part] of rest) {
      const at = memberOf(member)
      if (at !== undefined) places.set(at, { rate, used: spent, part })
    }
    this.#tenants.set(name, { weight, used, place, isActive: isActive === 1, ask, slot, places })
  }

  /** What is known of a tenant, for who keeps it elsewhere. */
  save(name: string, nameOf: (member: Weighed) => string): SavedTenant | undefined {
    const tenant = this.#tenants.get(name)
    if (tenant === undefined) return undefined
    const { weight, used, place, isActive, ask, slot } = tenant
    const places = [...tenant.places].map(([at, { rate, used, part }]) => [nameOf(at), rate, used, part] as const)
    return [weight, used, place, isActive ? 1 : 0, ask, slot, ...places]
  }

  clear(): void {
    this.#tenants.clear()
    Object.assign(this.#standings, newStandings())
  }

  #count({ weight, used, isActive, ask, slot }: Tenant, sign: 1 | -1): void {
    const { active, line, lineBefore, slot: now } = this.#standings
    const one = { at: stratumOf(used / weight), weight, used, ask }
    if (isActive) layer(active, one, sign)
    if (ask > 0 && slot === now) layer(line, one, sign)
    else if (ask > 0 && slot === now - 1) layer(lineBefore, one, sign)
  }
}

function count({ place, weight, used }: Tenant, at: Weighed, { part }: Place, sign: 1 | -1): void {
  const sum = at[place]
  sum.weight += sign * weight * part
  sum.used += sign * used * part
}
