import { type Clock, systemClock } from '../../clock.js'
import { requireFunction, requireOptions } from '../../options.js'
import { Pool } from './pool.js'
import { type LeaseAnswer, type LeaseCall, type PoolStore, requireLease } from './store.js'
import { poolTerms } from './terms.js'

/** Options of {@link MemoryPoolStore}. */
export interface MemoryPoolStoreOptions {
  /** Tells windows; must not be negative. @default the platform's monotonic clock */
  clock?: Clock
}

/** Pools in this process: for tests, for a single arbiter, and for several escrows that share one budget. Answers at
 * once. */
export class MemoryPoolStore implements PoolStore {
  readonly #clock: Clock
  /** By name and window length: the same name with other windows is another pool. */
  readonly #pools: Map<string, Pool> = new Map()

  constructor(options: MemoryPoolStoreOptions = {}) {
    requireOptions('MemoryPoolStore', options, ['clock'])
    const { clock = systemClock } = options
    requireFunction('clock', clock)
    this.#clock = clock
  }

  lease(call: LeaseCall): LeaseAnswer {
    poolTerms(call.pool)
    requireLease(call)
    const { name, windowMs } = call.pool
    const key = `${name}:${windowMs}`
    let pool = this.#pools.get(key)
    if (pool === undefined) {
      pool = new Pool()
      this.#pools.set(key, pool)
    }
    return pool.lease(call, this.#clock())
  }
}
