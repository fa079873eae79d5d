import { type After, type Clock, systemAfter, systemClock } from '../../clock.js'
import { requireAbove, requireFunction, requireInteger, requireOneOf, requireOptions, show } from '../../options.js'
import { type Random, randomUint32, systemRandom } from '../../random.js'
import type { PoolStore } from '../pool/store.js'
import { type PoolTerms, poolTerms } from '../pool/terms.js'
import type { OnStoreError } from './decision.js'

/** What every escrow that draws from a pool can be told. */
export interface DrawingOptions {
  /** A tenant's weight relative to others, from 1e-9 to 1e12. Asked at every check. @default 1 for everybody */
  weightOf?: (tenant: string) => number
  /** Active tenants known by name, and one more that all others share, with weight 1. @default 10000 */
  maxTenants?: number
  /**
   * What a check answers when the pool's store fails or does not answer in time, and this process lacks the credit:
   *
   * - `'refuse'`: never more than the limit is admitted;
   * - `'local-share'`: up to what the store last kept for this process is admitted, in that window; then refused.
   *   The limit may be exceeded by as much as was kept for the processes that are cut off;
   * - `'admit'`: everything is, and the limit is given up until the store answers.
   *
   * @default 'refuse'
   */
  onStoreError?: OnStoreError
  /** Longest that a check waits for the store, in milliseconds; above 0. @default 100 */
  storeTimeoutMs?: number
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

const DRAWING = ['weightOf', 'maxTenants', 'onStoreError', 'storeTimeoutMs', 'clock', 'after']

/** Options that were checked, with every default in its place. */
export interface DrawingSettings {
  readonly terms: PoolTerms
  readonly member: string
  readonly store: PoolStore
  readonly weightOf: ((tenant: string) => number) | undefined
  readonly maxTenants: number
  readonly onStoreError: OnStoreError
  readonly storeTimeoutMs: number
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
  const { clock = clockOfPool, after = systemAfter } = options
  if (weightOf !== undefined) requireFunction('weightOf', weightOf)
  requireInteger('maxTenants', maxTenants, 1)
  requireOneOf('onStoreError', onStoreError, ['refuse', 'admit', 'local-share'])
  requireAbove('storeTimeoutMs', storeTimeoutMs, 0)
  requireFunction('clock', clock)
  requireFunction('after', after)
  return { weightOf, maxTenants, onStoreError, storeTimeoutMs, clock, after }
}

/** Checks all options of a leased escrow. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function leasedSettings(options: LeasedEscrowOptions): DrawingSettings {
  const drawing = drawingSettings('escrow', options, ['pool', 'limit', 'windowMs', 'quantum', 'store', 'random'])
  const { pool, limit, windowMs, quantum, store, random = systemRandom } = options
  const terms = poolTerms({ name: pool, limit, windowMs, ...(quantum !== undefined && { quantum }) }, 'pool')
  requireStore(store)
  requireFunction('random', random)
  return { ...drawing, terms, store, member: processId(random) }
}

/** Checks for something with a `lease` method. */
export function requireStore(store: unknown): void {
  if (typeof store === 'object' && store !== null && 'lease' in store && typeof store.lease === 'function') return
  throw new TypeError(`store must be a store of pools, got ${show(store)}`)
}

/** 128 bits by chance, so that no two starts of any process have the same. */
function processId(random: Random): string {
  return Array.from({ length: 4 }, () => randomUint32(random).toString(16).padStart(8, '0')).join('')
}
