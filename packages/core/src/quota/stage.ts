import type { Quota } from '../admission/decision.js'
import type { Outcome } from '../admission/outcome.js'
import { refuse } from '../admission/refusal.js'
import type { GateSeams, Mechanism, Passage, Stage, Verdict } from '../admission/stage.js'
import {
  by,
  type Check,
  fail,
  requireAbove,
  requireBoolean,
  requireFunction,
  requireGiven,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
} from '../options.js'
import { firstOf, namedFlow } from '../path.js'
import { heard, isLater, type NowOrLater } from '../rejection.js'
import { MemoryQuotaStore, type QuotaLevel, type QuotaStore } from './store.js'

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

/**
 * Largest cost of a window and of a burst, in units: in sums of this size, doubles still resolve a unit to one part in
 * a thousand.
 */
const MOST = 1e12

/** Checks the limit of a key in a window. Throws a `TypeError` or `RangeError` that names it. */
function requireLimit(limit: unknown): void {
  requireNumber('limit', limit, 0, MOST)
}

const CHECKS: Readonly<Record<keyof QuotaOptions<[]>, Check>> = {
  limit: (_name, limit) => typeof limit === 'function' || requireLimit(limit),
  windowMs: by(requireAbove, 0),
  burst: by(requireAbove, 0, MOST),
  name: requireText,
  keyGenerator: requireFunction,
  skip: requireFunction,
  skipFailedRequests: requireBoolean,
  skipSuccessfulRequests: requireBoolean,
  store: (name, store) =>
    typeof (store as Partial<QuotaStore> | null)?.take === 'function' || fail(name, 'a QuotaStore', store),
  onError: by(requireOneOf, ['admit', 'refuse']),
  deadlineMs: by(requireAbove, 0),
  dryRun: requireBoolean,
}

/**
 * A quota as a value, for `createGate({ quota })` or the option of a middleware; see {@link quota}.
 *
 * @typeParam Asks a function with the arguments that the functions in its options take, which may be fewer than a
 * framework passes
 */
export interface QuotaMechanism<out Asks extends (...target: never) => void> extends Mechanism<'quota'> {
  /** For the type checker only. */
  readonly asks?: Asks
}

/**
 * A quota per key: each has a limit per window, independent of all other keys. For limits that are part of a contract;
 * an escrow shares one budget, and FAIR a scarce resource. By the generic cell rate algorithm (GCRA, ITU-T I.371): a
 * key may use its burst at once, and earns its limit evenly over the window. Each gate has its own quotas, unless they
 * share a store.
 *
 * The cost of a request that a later stage refuses is given back, and its actual cost replaces the expected one. A
 * refusal, with reason `over-quota`, is the key's own affair and never a shortage. `never`: the cost is above the
 * burst. Exempt requests pass, and use nothing. `gate.resetFlow()` restores the whole quota of a flow that is the key.
 *
 * Throws a `TypeError` or `RangeError` that names the option and its value.
 */
export function quota<Target extends readonly unknown[]>(
  options: QuotaOptions<Target>,
): QuotaMechanism<(...target: Target) => void> {
  requireOptions('quota', options, Object.keys(CHECKS))
  // These two have no default.
  for (const name of ['limit', 'windowMs'] as const) CHECKS[name](name, options[name])
  requireGiven(CHECKS, options)
  return { place: 'quota', stage: ({ shortened }) => quotaStage(options, shortened) }
}

/** A key's limits, with amounts expressed as the milliseconds in which they are earned. */
interface Terms {
  readonly limit: number
  readonly burst: number
  /** Time in which a unit of cost is earned. */
  readonly unitMs: number
}

/**
 * Tolerance for rounding of sums, as a share of the burst: with it, a burst of a million admits a million requests, not
 * one less.
 */
const ROUNDING = 1e-9

/** Longest time in which a unit is earned: amounts of the largest bursts stay finite. */
const LONGEST_UNIT_MS = 1e200

function quotaStage<Target extends readonly unknown[]>(
  options: QuotaOptions<Target>,
  shortened: GateSeams['shortened'],
): Stage {
  const { limit, windowMs, burst, keyGenerator, skip, store = new MemoryQuotaStore() } = options
  const { skipFailedRequests = false, skipSuccessfulRequests = false, name = 'quota', dryRun = false } = options
  const { onError = 'admit', deadlineMs = 1_000 } = options
  let wouldRefuse = 0

  // Several quotas may share a store.
  const keyOf = (key: string): string => (options.store === undefined ? key : `${encodeURIComponent(name)}:${key}`)

  const giveBack = (key: string, amountMs: number, nowMs: number, unitMs: number): void => {
    const given = amountMs === 0 ? undefined : store.take(key, -amountMs, Number.POSITIVE_INFINITY, nowMs, unitMs)
    // The caller cannot be told that the store is unavailable; the key earns the amount back.
    heard(given)
  }

  const verdict = (key: string, terms: Terms, { cost, nowMs: takenMs }: Passage, level: QuotaLevel): Verdict => {
    const { limit: guarantee, burst: limit, unitMs } = terms
    const quotaOf = (debtMs: number): Quota => {
      const remaining = Math.max(0, limit - debtMs / unitMs)
      return { policy: name, guarantee, windowMs, limit, remaining, resetAfterMs: debtMs }
    }
    // An amount that has been earned back since is not given back a second time.
    const unearned = (amountMs: number, nowMs: number): number =>
      Math.min(amountMs, Math.max(0, level.debtMs - (nowMs - takenMs)))
    if (level.taken)
      return {
        finish(outcome: Outcome, actualCost: number, nowMs: number) {
          const isSkipped = outcome === 'success' ? skipSuccessfulRequests : skipFailedRequests
          giveBack(key, unearned((cost - (isSkipped ? 0 : actualCost)) * unitMs, nowMs), nowMs, unitMs)
        },
        undo: (_refusal, nowMs) => giveBack(key, unearned(cost * unitMs, nowMs), nowMs, unitMs),
        ...(!dryRun && { quota: (elapsedMs: number) => quotaOf(Math.max(0, level.debtMs - elapsedMs)) }),
      }
    if (dryRun) {
      wouldRefuse++
      return undefined
    }
    const isNever = cost > limit
    const retryAfterMs = isNever ? Number.POSITIVE_INFINITY : level.debtMs - (limit - cost) * unitMs
    const own = quotaOf(level.debtMs)
    const detail = { limit: guarantee, burst: limit, remaining: own.remaining, windowMs }
    return refuse(name, isNever ? 'never' : 'over-quota', false, retryAfterMs, detail, own)
  }

  const judge = (named: string | undefined | null, most: number, passage: Passage): Verdict | Promise<Verdict> => {
    const { cost, flow, nowMs } = passage
    // A client that leaves out its key must not escape the limit.
    const isNamed = named != null && named !== ''
    if (isNamed) requireText('keyGenerator', named)
    // A client must not use up the quota of an address by sending that as its key.
    const key = isNamed ? shortened(firstOf(namedFlow(named))) : flow
    requireLimit(most)
    const stored = keyOf(key)
    const unitMs = Math.min(windowMs / most, LONGEST_UNIT_MS)
    const terms: Terms = { limit: most, burst: most === 0 ? 0 : (burst ?? most), unitMs }
    if (terms.limit === 0) return verdict(stored, terms, passage, { taken: false, debtMs: 0 })
    const level = store.take(stored, cost * unitMs, terms.burst * unitMs * (1 + ROUNDING), nowMs, unitMs)
    if (!isLater(level)) return verdict(stored, terms, passage, requireLevel(level))
    return Promise.resolve(level).then((known) => verdict(stored, terms, passage, requireLevel(known)))
  }

  return {
    name,
    onError: dryRun ? 'admit' : onError,
    deadlineMs,
    admit(passage: Passage): Verdict | Promise<Verdict> {
      if (passage.exempt) return undefined
      // The types ensure that a middleware gets quotas of its own framework.
      const target = (passage.target ?? [passage]) as Target
      let skipped: NowOrLater<boolean | undefined>
      let key: NowOrLater<string | undefined | null>
      let most: NowOrLater<number>
      try {
        skipped = skip?.(...target)
        key = keyGenerator?.(...target)
        most = typeof limit === 'function' ? limit(...target) : limit
      } catch (error) {
        // The promises of the functions called before are not awaited.
        for (const asked of [skipped, key]) heard(asked)
        throw error
      }
      if (!isLater(skipped) && !isLater(key) && !isLater(most))
        return isSkip(skipped) ? undefined : judge(key, most, passage)
      return Promise.all([skipped, key, most]).then(([skipped, key, most]) =>
        isSkip(skipped) ? undefined : judge(key, most, passage),
      )
    },
    forget(flow: string): void {
      heard(store.forget(keyOf(flow)))
    },
    snapshot: () => ({
      ...(store instanceof MemoryQuotaStore && { keys: store.size }),
      ...(dryRun && { wouldRefuse }),
    }),
  }
}

function isSkip(answer: boolean | undefined): boolean {
  if (answer !== undefined) requireBoolean('skip', answer)
  return answer === true
}

/** Checks the answer of a user's store. */
function requireLevel(level: QuotaLevel): QuotaLevel {
  const { taken, debtMs } = (level ?? {}) as Partial<QuotaLevel>
  requireBoolean('store.take().taken', taken)
  requireNumber('store.take().debtMs', debtMs, 0)
  return level
}
