import { type After, type Clock, systemAfter, systemClock } from '../../clock.js'
import { requireAbove, requireFunction, requireInteger, requireOneOf, requireOptions, show } from '../../options.js'
import { type Random, randomUint32, systemRandom } from '../../random.js'
import { type Hierarchy, requirePlaces } from '../hierarchy.js'
import type { PoolStore } from '../pool/store.js'
import { type PoolTerms, poolTerms } from '../pool/terms.js'
import type { StoreFailure } from './account.js'
import type { OnStoreError } from './decision.js'

/** What every escrow that draws from a pool can be told. */
export interface DrawingOptions {
  /** A tenant's weight relative to others, from 1e-9 to 1e12. Asked at every check. @default 1 for everybody */
  weightOf?: (tenant: string) => number
  /**
   * Groups of tenants that share with each other first, as in one process: each has a pool of its own in the store, of
   * this pool's name and its path, whose budget comes out of that of the pool above. @default all are in one group
   */
  tree?: Hierarchy
  /**
   * The name of the group of a tenant that the tree does not name; undefined: it is refused, as `unknown`. Asked at
   * every check. @default all of them are refused
   */
  groupOf?: (tenant: string) => string | undefined
  /** Active tenants known by name, and one more that all others share, with weight 1; in a tree, in each group. @default 10000 */
  maxTenants?: number
  /**
   * What a check answers when the pool's store fails or does not answer in time, and this process lacks the credit:
   *
   * - `'refuse'`: what fits into credit that was drawn before is admitted, so the limit holds without the store;
   * - `'last-share'`: this process goes on with its last known share: up to what the store last kept for it in that
   *   window, and in each later one its part of the limit, until the store is back. All processes together may exceed
   *   the limit by what was kept in the window in which the store failed;
   * - `'local-share'`: the same by its former name;
   * - `'admit'`: everything is, and the limit is given up until the store answers.
   *
   * @default 'refuse'
   */
  onStoreError?: OnStoreError | 'local-share'
  /**
   * Longest that a lease takes before the store has failed, in milliseconds; above 0. Time for which this process stood
   * still does not count. @default 100
   */
  storeTimeoutMs?: number
  /** Told of each failure of the store, and why. */
  onStoreFailure?: (failure: StoreFailure) => void
  /** Must be monotonic. @default the platform's */
  clock?: Clock
  /** @default the platform's timer */
  after?: After
}

export interface LeasedEscrowOptions extends DrawingOptions {
  /** The pool's name in its store; all processes with this name share one budget. */
  pool: string
  /** What all of them together may spend in a window; above 0. */
  limit: number
  /**
   * Length of a window in milliseconds; windows begin at multiples of it, on the store's clock. Integer, at least 1.
   */
  windowMs: number
  /**
   * Credit drawn at a time; above 0, at most `limit`. Smaller: closer shares; larger: fewer calls. @default limit / 100
   */
  quantum?: number
  store: PoolStore
  /** Draws this process's id. @default the platform's */
  random?: Random
}

const DRAWING = [
  'weightOf',
  'tree',
  'groupOf',
  'maxTenants',
  'onStoreError',
  'storeTimeoutMs',
  'onStoreFailure',
  'clock',
  'after',
]

/** Options that were checked, with every default in its place. */
export interface DrawingSettings {
  readonly terms: PoolTerms
  readonly member: string
  readonly store: PoolStore
  readonly weightOf: ((tenant: string) => number) | undefined
  readonly tree: Hierarchy | undefined
  readonly groupOf: ((tenant: string) => string | undefined) | undefined
  readonly maxTenants: number
  readonly onStoreError: OnStoreError
  readonly storeTimeoutMs: number
  readonly onStoreFailure: ((failure: StoreFailure) => void) | undefined
  readonly clock: Clock
  readonly after: After
}

/** Checks what every drawing escrow has; `own` are the names of the other options. */
export function drawingSettings(
  name: string,
  options: DrawingOptions,
  own: readonly string[],
  clockOfPool: Clock = systemClock,
): Omit<DrawingSettings, 'terms' | 'member' | 'store'> {
  requireOptions(name, options, [...DRAWING, ...own])
  const { weightOf, maxTenants = 10_000, onStoreError = 'refuse', storeTimeoutMs = 100 } = options
  const { onStoreFailure, tree, groupOf } = options
  const { clock = clockOfPool, after = systemAfter } = options
  if (weightOf !== undefined) requireFunction('weightOf', weightOf)
  requirePlaces(tree, groupOf)
  requireInteger('maxTenants', maxTenants, 1)
  requireOneOf('onStoreError', onStoreError, ['refuse', 'admit', 'last-share', 'local-share'])
  if (onStoreFailure !== undefined) requireFunction('onStoreFailure', onStoreFailure)
  requireAbove('storeTimeoutMs', storeTimeoutMs, 0)
  requireFunction('clock', clock)
  requireFunction('after', after)
  return {
    ...{ weightOf, tree, groupOf, maxTenants, storeTimeoutMs, onStoreFailure, clock, after },
    onStoreError: onStoreError === 'local-share' ? 'last-share' : onStoreError,
  }
}

/** Checks all options of a leased escrow. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function leasedSettings(options: LeasedEscrowOptions): DrawingSettings {
  const drawing = drawingSettings('escrow', options, ['pool', 'limit', 'windowMs', 'quantum', 'store', 'random'])
  const { pool, limit, windowMs, quantum, store, random = systemRandom } = options
  const terms = poolTerms({ name: pool, limit, windowMs, ...(quantum !== undefined && { quantum }) }, 'pool')
  requireStore(store)
  requireFunction('random', random)
  return { ...drawing, terms, store, member: incarnation(random) }
}

/** Checks for something with a `lease` method. */
export function requireStore(store: unknown): void {
  if (typeof store === 'object' && store !== null && 'lease' in store && typeof store.lease === 'function') return
  throw new TypeError(`store must be a store of pools, got ${show(store)}`)
}

/** The id of one run of a process: 128 bits by chance, so that no two starts have the same. */
export function incarnation(random: Random): string {
  return Array.from({ length: 4 }, () => randomUint32(random).toString(16).padStart(8, '0')).join('')
}
