import { requireAbove, requireInteger, requireNumber, requireText } from '../../options.js'
import type { PoolTerms } from './terms.js'

/** What a tenant asked for at a member, as a region reports it. */
export interface TenantDemand {
  readonly tenant: string
  /** The tenant's whole weight, however many regions it is active in; above 0. */
  readonly weight: number
  /** Cost it asked for at this member in this window, refused or not; a total, not an increment. Above 0. */
  readonly demand: number
}

/** What a member (a process, or a region) asks of the pool. */
export interface LeaseCall {
  readonly pool: PoolTerms
  /** Who asks: an id drawn anew at each start of a process, or the name of a region. */
  readonly member: string
  /** Counts the member's calls up from 1. The same number again is a retry, and gets the same grant. */
  readonly seq: number
  /** Window of the last answer that the member got; -1 before the first. */
  readonly win: number
  /** Sum of the weights of the tenants that are active or waiting at the member. Above 0 where something is needed. */
  readonly weight: number
  /** Cost that lacks credit; 0 to ask for nothing. */
  readonly need: number
  /** Credit of window `win` that is handed back, and will not be spent. */
  readonly back: number
  /**
   * Tenants whose demand changed since the last call, where tenants are active at several members. Then `weight` is not
   * read: the pool splits each tenant's weight by demand, and a member weighs the sum of its parts.
   */
  readonly tenants?: readonly TenantDemand[]
}

/** The pool's answer. */
export interface LeaseAnswer {
  /** The window that all of this is for: `floor(time of the store / windowMs)`. */
  readonly win: number
  /** What is left of the window, by the store's clock. */
  readonly leftMs: number
  /** New credit: at least what was needed, or 0. */
  readonly grant: number
  /** What the pool keeps for the member beyond what it was granted. Fades as the window passes. */
  readonly held: number
  /** When to ask again for what was refused; 0 if nothing was. */
  readonly waitMs: number
  /** For each tenant of the call, in order: the part of its weight that is this member's, from 0 to 1. */
  readonly shares: readonly number[]
}

/** Where pools live. Whatever passes `poolStoreContract` of `@fairlead/core/testing` will do. */
export interface PoolStore {
  /**
   * Answers a lease in one atomic step. At once where the store is in this process, else by a promise, which rejects if
   * the store cannot be reached.
   *
   * @throws TypeError, RangeError for a bad call, by name, and then nothing has changed
   */
  lease(call: LeaseCall): LeaseAnswer | Promise<LeaseAnswer>
}

/** Checks a call, for authors of stores. Throws what {@link PoolStore.lease} says. */
export function requireLease({ member, seq, win, weight, need, back, tenants }: LeaseCall): void {
  requireText('member', member)
  requireInteger('seq', seq, 1)
  requireInteger('win', win, -1)
  requireNumber('need', need, 0)
  requireNumber('back', back, 0)
  if (tenants === undefined) {
    if (need > 0) requireAbove('weight', weight, 0)
    else requireNumber('weight', weight, 0)
  } else {
    if (!Array.isArray(tenants)) throw new TypeError(`tenants must be an array, got ${typeof tenants}`)
    for (const { tenant, weight, demand } of tenants) {
      requireText('tenant', tenant)
      requireAbove('weight', weight, 0)
      requireAbove('demand', demand, 0)
    }
  }
}
