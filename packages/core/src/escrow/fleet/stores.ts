import { type Clock, systemClock } from '../../clock.js'
import { requireFunction, requireOptions } from '../../options.js'
import { type Head, type Member, newHead, newStandings, type SavedTenant, type Standings, Tenants } from './members.js'
import { Pool } from './pool.js'
import { type LeaseAnswer, type LeaseCall, type PoolStore, poolTerms, requireLease } from './store.js'

/** A pool as text, for stores that keep such. */
export interface PoolRecord {
  /** The window that all of this is about. Tenants that were kept before the one before it are of no use any more. */
  readonly win: number
  /** The pool, and its members. */
  readonly pool: string
  /** Tenants by name. To be loaded: those that the call names; kept: the same, as they are now. */
  readonly tenants: ReadonlyMap<string, string>
}

interface Saved {
  readonly head: Head
  readonly members: [string, Member][]
  readonly standings: Standings
}

/**
 * One step of a pool that is kept as text: answers a call, and gives what is to be kept. `record` is the pool with the
 * tenants that the call names, as far as they were kept in its window or the one before; nothing for a pool that is new. Whoever keeps it
 * sees to it that nobody else does a step in between.
 *
 * The call must be good: see `requireLease`. `nowMs` is the store's time. O(members).
 */
export function leaseOn(
  record: PoolRecord | undefined,
  call: LeaseCall,
  nowMs: number,
): { readonly answer: LeaseAnswer; readonly record: PoolRecord } {
  const saved = record === undefined ? undefined : (JSON.parse(record.pool) as Saved)
  const head = saved?.head ?? newHead()
  const members = new Map(saved?.members)
  const standings = saved?.standings ?? newStandings()
  const tenants = new Tenants(standings)
  for (const [name, text] of record?.tenants ?? [])
    tenants.load(name, JSON.parse(text) as SavedTenant, head.win, (member) => members.get(member))
  const answer = new Pool(head, members, tenants).lease(call, nowMs)
  const names = new Map([...members].map(([name, member]) => [member as object, name]))
  const kept: Map<string, string> = new Map()
  for (const { tenant } of call.tenants) {
    const text = tenants.save(tenant, head.win, (member) => names.get(member)!)
    if (text !== undefined) kept.set(tenant, JSON.stringify(text))
  }
  return {
    answer,
    record: {
      win: head.win,
      pool: JSON.stringify({ head, members: [...members], standings } satisfies Saved),
      tenants: kept,
    },
  }
}

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
