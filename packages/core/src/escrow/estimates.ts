import { ownCopy } from '../path.js'

/** Settlements before they are used; and the part of admitted costs that has to be settled. */
const ENOUGH = 8
const MOST_PARTS = 1 / 2
/** Weight of a settlement in the moving means. */
const LEARNING = 1 / 8
/** Estimates within this part of the request are ignored. */
const NEARLY = 1 / 10
/** Rounding error of a product. */
const ROUNDING = 1e-12
const LEAST = 1 / 100
const MOST = 100
/** Counts are halved at this number, so that they describe recent requests. */
const MANY = 1_000

/**
 * The ratio of a tenant's actual to its requested costs, so that reservations are near the use: the mean plus the mean
 * deviation, which covers about nine costs out of ten.
 *
 * @see V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, for means and deviations that are cheap to
 *   maintain
 */
export class Estimate {
  tenant = ''
  #mean = 0
  #deviation = 0
  #admitted = 0
  #settled = 0

  /** Begins with the ratio of the first settlement of `tenant`. */
  begin(tenant: string, part: number): void {
    this.tenant = tenant
    this.#mean = part
    this.#deviation = 0
    this.#admitted = this.#settled = 1
  }

  /** The reservation for a requested cost; whole for whole costs, and not above `limit` unless they are. */
  reserve(cost: number, limit: number): number {
    const factor = this.#factor(0)
    if (factor === 1 || cost > limit) return cost
    const amount = Math.min(limit, cost * factor)
    return Number.isInteger(cost) && limit >= 1
      ? Math.min(Math.floor(limit), Math.ceil(amount * (1 - ROUNDING)))
      : amount
  }

  /** The largest request, after one more admission, whose reservation is at most `room`. */
  askable(room: number, limit: number): number {
    const factor = Math.max(this.#factor(0), this.#factor(1))
    if (factor === 1) return room
    // Less than a unit is not enough for any whole cost.
    return room < 1 ? room / Math.max(1, factor) : Math.min(limit, Math.floor(room) / factor)
  }

  /** The reservation per unit, after `more` admissions; 1 while too little is known. */
  #factor(more: number): number {
    if (this.#settled < ENOUGH || this.#settled < (this.#admitted + more) * MOST_PARTS) return 1
    const factor = this.#mean + this.#deviation
    return Math.abs(factor - 1) <= NEARLY ? 1 : Math.min(MOST, Math.max(LEAST, factor))
  }

  /** A request was admitted. */
  admit(): void {
    if (++this.#admitted < MANY) return
    this.#admitted /= 2
    this.#settled /= 2
  }

  /** A request cost `part` of what was requested. */
  settle(part: number): void {
    const error = part - this.#mean
    this.#mean += error * LEARNING
    this.#deviation += (Math.abs(error) - this.#deviation) * LEARNING
    this.#settled++
  }
}

/** The estimates of the tenants that were first settled last. */
export class Estimates {
  readonly #most: number
  readonly #tenants: Map<string, Estimate> = new Map()
  /** In a ring: the oldest of a `Map` is behind all that were deleted. */
  readonly #ring: Estimate[] = []
  #begun = 0

  constructor(maxTenants: number) {
    this.#most = maxTenants
  }

  /** Undefined if nothing is known: then costs are reserved as requested. */
  of(tenant: string): Estimate | undefined {
    return this.#tenants.size > 0 ? this.#tenants.get(tenant) : undefined
  }

  /** A request of the tenant for `cost` was `actual`. A cost of 0 did not run, and is not learnt from. */
  settle(tenant: string, cost: number, actual: number): void {
    if (actual <= 0) return
    // A larger one would be reserved as this, and be remembered for long.
    const part = Math.min(MOST, actual / cost)
    const estimate = this.#tenants.get(tenant)
    if (estimate !== undefined) {
      estimate.settle(part)
      return
    }
    const at = this.#begun++ % this.#most
    this.#ring[at] ??= new Estimate()
    const oldest = this.#ring[at]
    this.#tenants.delete(oldest.tenant)
    oldest.begin(ownCopy(tenant), part)
    this.#tenants.set(oldest.tenant, oldest)
  }
}
