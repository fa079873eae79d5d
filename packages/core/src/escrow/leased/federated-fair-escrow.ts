import { type Clock, systemClock } from '../../clock.js'
import { requireFunction, requireOptions, requireText, show } from '../../options.js'
import { systemRandom } from '../../random.js'
import { MemoryPoolStore } from '../pool/memory-store.js'
import type { PoolStore } from '../pool/store.js'
import { type PoolTerms, poolTerms } from '../pool/terms.js'
import { DrawingEscrow } from './drawing-escrow.js'
import { type DrawingOptions, drawingSettings, incarnation, requireStore } from './options.js'

/** Options of {@link RegionFairPool}. */
export interface RegionFairPoolOptions {
  /** What all regions together may spend in a window; above 0. */
  limit: number
  /** Length of a window in milliseconds; windows begin at multiples of it. Integer, at least 1. */
  windowMs: number
  /** Credit that a region draws at a time; above 0, at most `limit`. @default limit / 100 */
  quantum?: number
  /** The pool's name in its store. @default 'regions' */
  name?: string
  /** Where the pool lives. @default in this process */
  store?: PoolStore
  /** Tells windows, for a pool in this process, and time to its escrows. @default the platform's monotonic clock */
  clock?: Clock
}

/**
 * One budget that regions share: a pool with regions for processes. Each active region may claim what the tenants that
 * are active in it weigh, and what is idle is lent. It computes the split of tenants that are active in several.
 */
export class RegionFairPool {
  readonly terms: PoolTerms
  readonly store: PoolStore
  readonly clock: Clock

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: RegionFairPoolOptions) {
    requireOptions('RegionFairPool', options, ['limit', 'windowMs', 'quantum', 'name', 'store', 'clock'])
    const { limit, windowMs, quantum, name = 'regions', clock = systemClock } = options
    requireFunction('clock', clock)
    const { store = new MemoryPoolStore({ clock }) } = options
    requireStore(store)
    this.terms = poolTerms({ name, limit, windowMs, ...(quantum !== undefined && { quantum }) })
    this.store = store
    this.clock = clock
  }
}

export interface FederatedEscrowOptions extends DrawingOptions {
  /** This region's name in the pool; one escrow for each. */
  region: string
  pool: RegionFairPool
}

/**
 * Weighted fair escrow across regions: each tenant's global total, over all regions it is active in, comes to what one
 * flat escrow over the whole budget would have given it, up to a few quanta per region.
 *
 * `weightOf` gives a tenant's whole weight, the same in every region: the pool splits it by what the tenant asks for in
 * each. Draws from the pool in quanta, as {@link LeasedFairEscrow} does; with a pool in this process, `check` answers
 * at once.
 *
 * @see A. Parekh, R. Gallager, "A Generalized Processor Sharing Approach to Flow Control", IEEE/ACM ToN 1993, for why
 * the sum of active weights in each region makes a tree of shares flat
 */
export class FederatedFairEscrow extends DrawingEscrow {
  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: FederatedEscrowOptions) {
    const { region, pool } = options ?? {}
    if (!(pool instanceof RegionFairPool)) throw new TypeError(`pool must be a RegionFairPool, got ${show(pool)}`)
    const drawing = drawingSettings('escrow', options, ['region', 'pool'], pool.clock)
    requireText('region', region)
    const { terms, store } = pool
    super({ ...drawing, terms, store, member: `${region}/${incarnation(systemRandom)}` })
  }
}
