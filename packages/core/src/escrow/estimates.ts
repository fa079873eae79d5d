import { ownCopy } from '../path.js'

/** What settlements have said of a tenant's costs. */
interface Estimate {
  /** Of the costs that were asked for, what they really were: mean, and mean deviation from it. */
  mean: number
  deviation: number
  admitted: number
  settled: number
}

/** Settlements before anything is made of them; and the part of what was admitted that has to be settled. */
const ENOUGH = 8
const MOST_PARTS = 1 / 2
/** How much a settlement tells. */
const LEARNING = 1 / 8
/** Estimates that are right to within this part are left alone. */
const NEARLY = 1 / 10
/** What rounding may add to a product. */
const ROUNDING = 1e-12
const LEAST = 1 / 100
const MOST = 100
/** Counts are halved at this number, so that they are about lately. */
const MANY = 1_000

/**
 * Learns for each tenant how its costs differ from what it asks with, so that what is reserved is near what is used:
 * the mean, and the mean deviation more, which about nine costs out of ten stay within. What costs nothing did not run,
 * and tells nothing. Tenants that are not known cost what they ask for.
 *
 * @see V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988, for means and deviations that are cheap to keep
 */
export class Estimates {
  readonly #most: number
  readonly #tenants: Map<string, Estimate> = new Map()

  constructor(maxTenants: number) {
    this.#most = maxTenants
  }

  /**
   * What to reserve for a cost that a tenant asks with; whole for whole costs, and not above `limit` unless they are.
   */
  reserve(tenant: string, cost: number, limit: number): number {
    const factor = this.#factor(tenant, 0)
    if (factor === 1 || cost > limit) return cost
    const amount = Math.min(limit, cost * factor)
    return Number.isInteger(cost) && limit >= 1
      ? Math.min(Math.floor(limit), Math.ceil(amount * (1 - ROUNDING)))
      : amount
  }

  /**
   * The most that a tenant may ask with once more of its costs is admitted, so that no more than `room` is reserved.
   */
  askable(tenant: string, room: number, limit: number): number {
    const factor = Math.max(this.#factor(tenant, 0), this.#factor(tenant, 1))
    if (factor === 1) return room
    // Less than a unit is not enough for a whole cost, however small that is.
    return room < 1 ? room / Math.max(1, factor) : Math.min(limit, Math.floor(room) / factor)
  }

  /** What to reserve for a unit, when `more` costs are admitted; 1 as long as nothing is known. */
  #factor(tenant: string, more: number): number {
    const estimate = this.#tenants.size > 0 ? this.#tenants.get(tenant) : undefined
    if (estimate === undefined) return 1
    const { mean, deviation, admitted, settled } = estimate
    if (settled < ENOUGH || settled < (admitted + more) * MOST_PARTS) return 1
    const factor = mean + deviation
    return Math.abs(factor - 1) <= NEARLY ? 1 : Math.min(MOST, Math.max(LEAST, factor))
  }

  /** A cost of the tenant was admitted. */
  admit(tenant: string): void {
    const estimate = this.#tenants.size > 0 ? this.#tenants.get(tenant) : undefined
    if (estimate === undefined) return
    if (++estimate.admitted < MANY) return
    estimate.admitted /= 2
    estimate.settled /= 2
  }

  /** A cost that the tenant asked with was `actual`. */
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
