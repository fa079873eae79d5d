import {
  requireAbove,
  requireBoolean,
  requireFunction,
  requireNumber,
  requireOneOf,
  requireText,
  show,
} from '../options.js'
import type { NowOrLater } from '../rejection.js'
import type { QuotaStore } from './store.js'

/**
 * Options of {@link quota}. Functions receive the arguments of a handler of the framework, like those of the middleware
 * (Express `(req, res)`, Koa `(ctx)`, Hono `(c)`, Nest `(context)`); without a framework, the request as stages see it.
 */
export interface QuotaOptions<Target extends readonly unknown[]> {
  /**
   * The limit of each key in a window, in units of cost: a number, or a function that looks up its plan; from 0, which
   * refuses all, to 1e12. A function may return a promise, for which the request waits.
   */
  limit: number | ((...target: Target) => NowOrLater<number>)
  /** Length of the window, in milliseconds, above 0. */
  windowMs: number
  /**
   * The largest cost that a key may use at once after a pause, in units of cost, above 0, at most 1e12. The limit is
   * earned evenly over the window: a small burst keeps a key close to that rate. @default the limit
   */
  burst?: number
  /** The policy's name, in decisions, refusals and response fields; unique within a gate. @default 'quota' */
  name?: string
  /**
   * The key whose quota is charged. If it returns nothing, or an empty name, the request is charged to its flow.
   * @default the flow
   */
  keyGenerator?: (...target: Target) => NowOrLater<string | null | undefined>
  /** True for requests that this quota neither counts nor refuses. */
  skip?: (...target: Target) => NowOrLater<boolean | undefined>
  /** Gives requests that did not succeed back when they end. @default false */
  skipFailedRequests?: boolean
  /** Gives requests that succeeded back when they end: only failed ones count. @default false */
  skipSuccessfulRequests?: boolean
  /** The store of each key's use: `redisQuotaStore()`, for a fleet. @default the memory of the process */
  store?: QuotaStore
  /** The answer to a request if a function or the store fails, or the store is late. @default 'admit' */
  onError?: 'admit' | 'refuse'
  /** Longest wait for the store and for functions, in milliseconds, above 0. @default 1000 */
  deadlineMs?: number
  /** Counts, but refuses nothing; the snapshot contains `wouldRefuse`, and responses report no quota. @default false */
  dryRun?: boolean
}

export const QUOTA_OPTIONS: readonly string[] = [
  'limit',
  'windowMs',
  'burst',
  'name',
  'keyGenerator',
  'skip',
  'skipFailedRequests',
  'skipSuccessfulRequests',
  'store',
  'onError',
  'deadlineMs',
  'dryRun',
]

/**
 * Largest cost of a window and of a burst, in units: in sums of this size, doubles still resolve a unit to one part in
 * a thousand.
 */
const MOST = 1e12

/** Checks the limit of a key in a window. Throws a `TypeError` or `RangeError` that names it. */
export function requireLimit(limit: unknown): void {
  requireNumber('limit', limit, 0, MOST)
}

/** Checks the value of each option. Throws a `TypeError` or `RangeError` that names it. */
export function requireQuotaOptions<Target extends readonly unknown[]>(options: QuotaOptions<Target>): void {
  const { limit, windowMs, burst, name, keyGenerator, skip, store, onError, deadlineMs } = options
  requireAbove('windowMs', windowMs, 0)
  if (typeof limit !== 'function') requireLimit(limit)
  if (burst !== undefined) requireAbove('burst', burst, 0, MOST)
  if (name !== undefined) requireText('name', name)
  if (keyGenerator !== undefined) requireFunction('keyGenerator', keyGenerator)
  if (skip !== undefined) requireFunction('skip', skip)
  for (const key of ['skipFailedRequests', 'skipSuccessfulRequests', 'dryRun'] as const)
    if (options[key] !== undefined) requireBoolean(key, options[key])
  if (store !== undefined && (typeof store !== 'object' || store === null || typeof store.take !== 'function'))
    throw new TypeError(`store must be a QuotaStore, got ${show(store)}`)
  if (onError !== undefined) requireOneOf('onError', onError, ['admit', 'refuse'])
  if (deadlineMs !== undefined) requireAbove('deadlineMs', deadlineMs, 0)
}
