import {
  requireAbove,
  requireBoolean,
  requireFunction,
  requireNumber,
  requireOneOf,
  requireText,
  show,
} from '../options.js'
import type { QuotaStore } from './store.js'

export type NowOrLater<T> = T | Promise<T>

/**
 * What {@link quota} takes. Functions get what a handler of the framework gets, as those of the middleware do (Express
 * `(req, res)`, Koa `(ctx)`, Hono `(c)`, Nest `(context)`); without a framework, the request as stages see it.
 */
export interface QuotaOptions<Target extends readonly unknown[]> {
  /**
   * How much each key may use in a window, in units of cost: a number, or what its plan says; from 0, which refuses all,
   * to 1e12. A function may give a promise, which the request waits for.
   */
  limit: number | ((...target: Target) => NowOrLater<number>)
  /** Length of the window, in milliseconds, above 0. */
  windowMs: number
  /**
   * How much a key may use at once after a pause, in units of cost, above 0, at most 1e12. The limit is earned evenly
   * over the window: with a small burst a key can hardly be ahead of that. @default the limit
   */
  burst?: number
  /** The policy's name, in decisions, refusals and what clients are told; unique within a gate. @default 'quota' */
  name?: string
  /** Whose quota it is. A request for which it gives nothing, or an empty name, is its flow's. @default the flow */
  keyGenerator?: (...target: Target) => NowOrLater<string | null | undefined>
  /** True for requests that this quota neither counts nor refuses. */
  skip?: (...target: Target) => NowOrLater<boolean | undefined>
  /** Requests that did not succeed are given back when they end. @default false */
  skipFailedRequests?: boolean
  /** Requests that succeeded are given back when they end: those that fail are counted. @default false */
  skipSuccessfulRequests?: boolean
  /** Where it is kept what keys have used: `redisQuotaStore()`, for a fleet. @default the memory of the process */
  store?: QuotaStore
  /** What becomes of a request if a function or the store fails, or the store is late. @default 'admit' */
  onError?: 'admit' | 'refuse'
  /** Longest to wait for the store and for functions, in milliseconds, above 0. @default 1000 */
  deadlineMs?: number
  /** Counts, and refuses nobody; the snapshot says `wouldRefuse`, and clients are told nothing. @default false */
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

/** Most units of cost of a window and of a burst: in sums as large, doubles still count one unit to a part in a thousand. */
const MOST = 1e12

/** Checks what a key may use in a window. Throws a `TypeError` or `RangeError` that names it. */
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
