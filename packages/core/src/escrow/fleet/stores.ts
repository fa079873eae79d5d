import { type Clock, systemClock } from '../../clock.js'
import { requireFunction, requireOptions } from '../../options.js'
import { Head, type Member, type SavedTenant, Tenants } from './members.js'
import { Pool } from './pool.js'
import { type LeaseAnswer, type LeaseCall, type PoolStore, requireLease } from './store.js'
import { newStandings, type Standings } from './strata.js'

/** A pool as text, for stores that keep text. */
export interface PoolRecord {
  /** The window of this record. Tenants stored earlier than the window before it are outdated. */
  readonly win: number
  /** The pool, and its members. */
  readonly pool: string
  /** Tenants by name. To load: those that the call names; to store: the same, in their new state. */
  readonly tenants: ReadonlyMap<string, string>
}

interface Saved {
  readonly head: Head
  readonly members: [string, Member][]
  readonly standings: Standings
}

/**
 * One step of a pool that is kept as text: answers a call, and returns the record to store. `record` is the pool with
 * the tenants that the call names, as far as they were stored in its window or the one before; undefined for a new
 * pool. The caller must ensure that no other step happens in between.
 *
 * The call must be valid: see `requireLease`. `nowMs` is the store's time. O(members).
 */
export function leaseOn(
  record: PoolRecord | undefined,
  call: LeaseCall,
  nowMs: number,
): { readonly answer: LeaseAnswer; readonly record: PoolRecord } {
  const saved = record === undefined ? undefined : (JSON.parse(record.pool) as Saved)
  // A former version saved fewer numbers.
  const head = Object.assign(new Head(), saved?.head)
  const members = new Map(saved?.members)
  const standings = { ...newStandings(), ...saved?.standings }
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
  /** Determines windows; must not be negative. @default the platform's monotonic clock */
  clock?: Clock
}

/**
 * Pools in this process: for tests, for a single arbiter, and for several escrows that share one budget. Answers
 * synchronously.
 */
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
