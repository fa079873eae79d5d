import type { Tenant } from './tenant.js'

/** Who waits, in order of refusal. */
export class WaitingList {
  #first: Tenant | undefined
  #last: Tenant | undefined
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Who was refused longest ago. */
  get first(): Tenant | undefined {
    return this.#first
  }

  /** Puts a tenant at the end, from wherever it is. */
  add(tenant: Tenant): void {
    this.remove(tenant)
    tenant.isListed = true
    tenant.before = this.#last
    if (this.#last === undefined) this.#first = tenant
    else this.#last.after = tenant
    this.#last = tenant
    this.#count++
  }

  /** Takes a tenant out, if it is in. */
  remove(tenant: Tenant): void {
    if (!tenant.isListed) return
    const { before, after } = tenant
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    tenant.isListed = false
    tenant.before = undefined
    tenant.after = undefined
    this.#count--
  }

  /** Forgets all; the tenants themselves are to be told. */
  clear(): void {
    this.#first = undefined
    this.#last = undefined
    this.#count = 0
  }
}
