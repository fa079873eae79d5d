import { ownCopy } from '../path.js'

/** Statistics of the settlements of a tenant. */
interface Estimate {
  /** Ratio of actual to requested costs: mean, and mean deviation from it. */
  mean: number
  deviation: number
  admitted: number
  settled: number
}

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
 * Learns for each tenant the ratio between its actual and its requested costs, so that reservations are near the use:
 * the mean plus the mean deviation, which covers about nine costs out of ten. A cost of 0 did not run, and is not
 * learnt from. Unknown tenants cost the requested amount.
 *
 * @see V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, for means and deviations that are cheap to
 *   maintain
 */
export class Estimates {
  readonly #most: number
  readonly #tenants: Map<string, Estimate> = new Map()

  constructor(maxTenants: number) {
    this.#most = maxTenants
  }

  /** The reservation for a requested cost; whole for whole costs, and not above `limit` unless they are. */
  reserve(tenant: string, cost: number, limit: number): number {
    const factor = this.#factor(tenant, 0)
    if (factor === 1 || cost > limit) return cost
    const amount = Math.min(limit, cost * factor)
    return Number.isInteger(cost) && limit >= 1
      ? Math.min(Math.floor(limit), Math.ceil(amount * (1 - ROUNDING)))
      : amount
  }

  /** The largest request of a tenant, after one more admission, whose reservation is at most `room`. */
  askable(tenant: string, room: number, limit: number): number {
    const factor = Math.max(this.#factor(tenant, 0), this.#factor(tenant, 1))
    if (factor === 1) return room
    // Less than a unit is not enough for any whole cost.
    return room < 1 ? room / Math.max(1, factor) : Math.min(limit, Math.floor(room) / factor)
  }

  /** The reservation per unit, after `more` admissions; 1 while nothing is known. */
  #factor(tenant: string, more: number): number {
    const estimate = this.#tenants.size > 0 ? this.#tenants.get(tenant) : undefined
    if (estimate === undefined) return 1
    const { mean, deviation, admitted, settled } = estimate
    if (settled < ENOUGH || settled < (admitted + more) * MOST_PARTS) return 1
    const factor = mean + deviation
    return Math.abs(factor - 1) <= NEARLY ? 1 : Math.min(MOST, Math.max(LEAST, factor))
  }

  /** A request of the tenant was admitted. */
  admit(tenant: string): void {
    const estimate = this.#tenants.size > 0 ? this.#tenants.get(tenant) : undefined
    if (estimate === undefined) return
    if (++estimate.admitted < MANY) return
    estimate.admitted /= 2
    estimate.settled /= 2
  }

  /** A request of the tenant for `cost` was `actual`. */
  settle(tenant: string, cost: number, actual: number): void {
    if (actual <= 0) return
    const part = actual / cost
    const estimate = this.#tenants.get(tenant)
    if (estimate === undefined) {
      if (this.#tenants.size >= this.#most) this.#tenants.delete(this.#tenants.keys().next().value!)
      this.#tenants.set(ownCopy(tenant), { mean: part, deviation: 0, admitted: 1, settled: 1 })
      return
    }
    const error = part - estimate.mean
    estimate.mean += error * LEARNING
    estimate.deviation += (Math.abs(error) - estimate.deviation) * LEARNING
    estimate.settled++
  }
}
