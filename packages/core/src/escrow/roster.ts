import type { Group } from './group.js'
import type { Place } from './memory.js'
import { Tenant } from './node.js'

/** The name of the tenant that strangers share once there are too many. No tenant's own name is empty. */
export const SHARED = ''

/**
 * The active tenants of a window, by name and by place. Those that the hierarchy does not name are strangers: there is
 * room for `most`, the last of which all further ones of a group share. Tenants are used again in later windows.
 */
export class Roster {
  /** The active ones, and after them those of earlier windows. */
  readonly #tenants: Tenant[]
  readonly #byName: Map<string, Tenant> = new Map()
  readonly #most: number
  #count = 0
  #strangers = 0

  constructor(root: Group, most: number) {
    this.#tenants = [new Tenant(root, 0)]
    this.#most = most
  }

  get count(): number {
    return this.#count
  }

  /** True if strangers that are not active have to share. */
  get isFull(): boolean {
    return this.#strangers >= this.#most - 1
  }

  /** An active tenant of that name, as it is. */
  get(name: string): Tenant | undefined {
    return this.#byName.get(name)
  }

  at(place: number): Tenant {
    return this.#tenants[place]!
  }

  active(): Tenant[] {
    return this.#tenants.slice(0, this.#count)
  }

  /** A tenant that is not active; the same one until it is added. */
  prepare(name: string, weight: number, { group, isNamed }: Place): Tenant {
    const tenant = this.#tenants[this.#count]!
    tenant.become(name, weight, group, isNamed)
    return tenant
  }

  /** Adds the tenant that was prepared last. */
  add(tenant: Tenant): void {
    if (++this.#count === this.#tenants.length) this.#tenants.push(new Tenant(tenant.parent, this.#count))
    if (tenant.name === SHARED) {
      tenant.parent.shared = tenant
      return
    }
    this.#byName.set(tenant.name, tenant)
    if (!tenant.isNamed) this.#strangers++
  }

  clear(): void {
    this.#byName.clear()
    this.#count = 0
    this.#strangers = 0
  }
}
