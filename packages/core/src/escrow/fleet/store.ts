import { requireAbove, requireInteger, requireNumber, requireText } from '../../options.js'

/** What all members of a pool must agree on. */
export interface PoolTerms {
  /** The pool's name in its store. */
  readonly name: string
  /** What all members together may spend in a window; above 0. */
  readonly limit: number
  /** Length of a window in milliseconds; windows begin at whole multiples of it. Integer, at least 1. */
  readonly windowMs: number
  /**
   * Credit that a member draws at a time; above 0, at most `limit`. Small: shares follow demand closely; large: fewer
   * calls to the store. At the end of a window, up to one quantum per member may be left unused.
   */
  readonly quantum: number
}

/** Terms as users give them. */
export type PoolTermsOptions = Omit<PoolTerms, 'quantum'> & {
  /** @default a hundredth of `limit` */
  quantum?: number
}

/** Checks terms and completes them. Throws for what is out of its range, by name; `quantum` above `limit` is, too. */
export function poolTerms(
  { name, limit, windowMs, quantum = limit / 100 }: PoolTermsOptions,
  nameOption: string = 'name',
): PoolTerms {
  requireText(nameOption, name)
  requireAbove('limit', limit, 0, Number.MAX_SAFE_INTEGER)
  requireInteger('windowMs', windowMs, 1)
  requireAbove('quantum', quantum, 0, limit)
  return { name, limit, windowMs, quantum }
}

/**
 * How often a member calls, in milliseconds, from its first call in a window to the window's end: it is a witness of
 * what was granted. An eighth of that later at most.
 */
export function pulseOf(windowMs: number): number {
  return Math.min(windowMs / 10, 30_000)
}

/** How long a pool that has lost its memory listens at least: longer than a member lets pass without a call. */
export function graceOf(windowMs: number): number {
  return 1.5 * pulseOf(windowMs)
}

/** Up to this, sums are the same: a billionth of the limit, a thousandth at most. */
export function fuzzOf(limit: number): number {
  return Math.min(1e-3, 1e-9 * limit)
}

/** What tenants weigh together, and what they have used in the window. */
export interface Stake {
  readonly weight: number
  readonly used: number
}

/** A tenant, as a member reports it. */
export interface TenantReport {
  readonly tenant: string
  /** The tenant's whole weight, however many members it is active at; above 0. */
  readonly weight: number
  /** What it has used at this member in window `win`; a total, not an increment. */
  readonly used: number
  /** How much it asks for at this member, per window; 0 if it is not there any more. Splits its weight. */
  readonly rate: number
  /** The cost it was refused lately at this member, without asking the pool; 0 if it was not. */
  readonly ask: number
}

/** What a pool has told a member, which the member tells it again: it shows whether the store has lost its memory. */
export interface PoolMark {
  /** Names the time since which the store has not lost anything. */
  readonly epoch: number
  /** Counts the pool's answers in that time. */
  readonly rev: number
  /** Credit granted to all members in the window, and in the next one. */
  readonly total: number
  readonly ahead: number
  /** Members at work, which will tell a store that has lost its memory what they know. */
  readonly members: number
}

/**
 * What a member (one run of a process) asks of the pool, and what it says of itself. Every call tells all that the pool
 * needs to know of the member, so that a store which forgot is told again.
 */
export interface LeaseCall {
  readonly pool: PoolTerms
  /** The member that asks: an id drawn anew at each start of a process. */
  readonly member: string
  /** Counts the member's calls up from 1. The same number again is a retry, and gets the same grant. */
  readonly seq: number
  /** Window that `holds`, `spent`, `mark` and everything used is about; -1 before the first answer. */
  readonly win: number
  /** Credit of window `win` that the member holds, spent or not. What it does not claim here is handed back. */
  readonly holds: number
  /** How much of that is spent. */
  readonly spent: number
  /** Of the last answer; zeros before the first. */
  readonly mark: PoolMark
  /** Tenants that are active at the member, but for those that it has named in this window. */
  readonly quiet: Stake
  /**
   * Tenants that have asked since they were named last; first the one that the need is for. At most {@link
   * MOST_REPORTED}.
   */
  readonly tenants: readonly TenantReport[]
  /** Cost that lacks credit, for the first of `tenants`; 0 to ask for nothing. */
  readonly need: number
  /**
   * What may be granted, where that is not what is left of the limit: for the pool of a group, whose limit says only
   * what its tenants are guaranteed, while the pool above has to give what is granted.
   */
  readonly left?: number
  /** Credit of the window after `win` that the member holds. @default 0 */
  readonly ahead?: number
  /** How much of that it wants to hold, so that its first checks in that window wait for nothing. @default 0 */
  readonly wants?: number
}

/** The pool's answer. */
export interface LeaseAnswer {
  /** The window that all of this is for: `floor(time of the store / windowMs)`. */
  readonly win: number
  /** What is left of the window, by the store's clock. */
  readonly leftMs: number
  /** For the next call. */
  readonly mark: PoolMark
  /** New credit: at least what was needed, or 0. */
  readonly grant: number
  /** Credit of the window after `win` that the member holds now. */
  readonly ahead: number
  /** What the pool keeps for the member beyond what it was granted. Fades as the window passes. */
  readonly held: number
  /** The member's part of all weight at the pool, from 0 to 1. */
  readonly part: number
  /**
   * Up to what was used per weight, everywhere together, credit may be spent without asking: beyond that it is owed to
   * others. The largest number there is while nobody is in line.
   */
  readonly turn: number
  /** What is left after that, and not kept for other tenants than the first of the call; 0 if that named none. */
  readonly room: number
  /** When to ask again for what was refused; 0 if nothing was. */
  readonly waitMs: number
  /** For each tenant of the call, in order: the part of its weight that is this member's, from 0 to 1. */
  readonly shares: readonly number[]
  /** For each tenant of the call, in order: that part of what it has used at all members together. */
  readonly used: readonly number[]
}

/** Where pools live. Whatever passes `poolStoreContract` of `@fairlead/testing` will do. */
export interface PoolStore {
  /**
   * Answers a lease in one atomic step. At once where the store is in this process, else by a promise, which rejects
   * with a {@link PoolStoreError} if the store cannot be reached or cannot answer. In the window of the call, if by the
   * store's time it is the one before.
   *
   * @throws TypeError, RangeError for a bad call, by name, and then nothing has changed; after a RangeError, the call is
   * not sent again
   */
  lease(call: LeaseCall): LeaseAnswer | Promise<LeaseAnswer>
}

/**
 * Why a store gave no answer:
 *
 * - `network`: it cannot be reached; `timeout`: it did not answer in time;
 * - `wrong-type`: something else lives where the pool should; `no-permission`: it may not be used so;
 * - `out-of-memory`: it takes no more data; `not-a-client`: what was given as its client does not work as one;
 * - `other`: see the cause.
 */
export type StoreFailureKind =
  | 'network'
  | 'timeout'
  | 'wrong-type'
  | 'no-permission'
  | 'out-of-memory'
  | 'not-a-client'
  | 'other'

/** A store gave no answer. `cause` is what it, or its client, said. */
export class PoolStoreError extends Error {
  readonly kind: StoreFailureKind

  constructor(kind: StoreFailureKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PoolStoreError'
    this.kind = kind
  }
}

/** Why the store gave no answer. */
export interface StoreFailure {
  readonly kind: StoreFailureKind
  readonly message: string
  /** What the store, or its client, threw. */
  readonly cause: unknown
}

/** What was thrown, as a failure. */
export function failureOf(error: unknown): StoreFailure {
  const message = error instanceof Error ? error.message : String(error)
  return { kind: error instanceof PoolStoreError ? error.kind : 'other', message, cause: error }
}

/** A listener that fails, at once or by a promise, is none of the callers' business. */
export function tellOf(failure: StoreFailure, listener: ((failure: StoreFailure) => unknown) | undefined): void {
  try {
    const told = listener?.(failure)
    if (told instanceof Promise) told.catch(() => {})
  } catch {
    // As said at the option: its error is dropped.
  }
}

/** The name of the tenant that all share for whom there is no room. */
export const OTHERS = '(others)'

/** Tenants that one lease may report, so that a call is bounded in size and time. */
export const MOST_REPORTED = 64
/**
 * The store looks at every member at which a named tenant may be: a lease names this number of such places at most, or
 * eight tenants.
 */
const MOST_PLACES = 1_200
const LEAST_REPORTED = 8

/** How many tenants a lease names in a pool of `members` members. */
export function mostReported(members: number): number {
  return Math.max(LEAST_REPORTED, Math.min(MOST_REPORTED, Math.floor(MOST_PLACES / Math.max(1, members))))
}

/** Checks a call, for authors of stores. Throws what {@link PoolStore.lease} says. */
export function requireLease(call: LeaseCall): void {
  const { member, seq, win, holds, spent, mark, quiet, tenants, need, left = 0, ahead = 0, wants = 0 } = call
  requireText('member', member)
  requireInteger('seq', seq, 1)
  requireInteger('win', win, -1)
  requireNumber('holds', holds, 0)
  requireNumber('spent', spent, 0)
  requireNumber('mark.epoch', mark.epoch, 0)
  requireInteger('mark.rev', mark.rev, 0)
  requireNumber('mark.total', mark.total, 0)
  requireNumber('mark.ahead', mark.ahead, 0)
  requireInteger('mark.members', mark.members, 0)
  requireNumber('quiet.weight', quiet.weight, 0)
  requireNumber('quiet.used', quiet.used, 0)
  requireNumber('need', need, 0)
  requireNumber('left', left, 0)
  requireNumber('ahead', ahead, 0)
  requireNumber('wants', wants, 0)
  if (!Array.isArray(tenants)) throw new TypeError(`tenants must be an array, got ${typeof tenants}`)
  if (tenants.length > MOST_REPORTED)
    throw new RangeError(`tenants must be at most ${MOST_REPORTED}, got ${tenants.length}`)
  for (const { tenant, weight, used, rate, ask } of tenants) {
    requireText('tenant', tenant)
    requireAbove('weight', weight, 0)
    requireNumber('used', used, 0)
    requireNumber('rate', rate, 0)
    requireNumber('ask', ask, 0)
  }
  if (need > 0) requireAbove('rate of the first tenant', tenants[0]?.rate, 0)
}

/**
 * Whether this can be the answer to a call: all of it is in its range. A store that answers anything else has failed, and
 * nothing of it is used, since the next calls would state it again.
 */
export function isAnswer(answer: LeaseAnswer, call: LeaseCall): boolean {
  const { pool, tenants } = call
  const most = pool.limit * (1 + ROUNDING)
  try {
    const { win, leftMs, mark, grant, ahead, held, part, turn, room, waitMs, shares, used } = answer
    const areAmounts = [leftMs, mark.epoch, mark.total, mark.ahead, grant, ahead, held, turn, room].every(isAmount)
    const areWhole = isWhole(win, 0) && isWhole(mark.rev, 0) && isWhole(mark.members, 0)
    const areForAll = [shares, used].every((list) => Array.isArray(list) && list.length === tenants.length)
    const areParts = [part, ...shares].every((share) => isAmount(share) && share <= 1 + ROUNDING)
    const isSoon = [leftMs, waitMs].every((ms) => isAmount(ms) && ms <= pool.windowMs * (1 + ROUNDING))
    // A window that a member has begun is not followed by the one before it: see {@link PoolStore.lease}.
    const isInTime = win !== call.win - 1 && win * pool.windowMs <= LAST_MS && mark.epoch <= LAST_MS
    // Credit from before may exceed a limit that was lowered since, but then nothing is added to it.
    const isWithin = grant === 0 || grant + (win === call.win ? call.holds : 0) <= most
    const isWithinNext = ahead <= Math.max(most, call.ahead ?? 0)
    const isHeld = held <= MOST_COUNTED * most
    const areRight = areAmounts && areWhole && areForAll && areParts && isSoon && isInTime && used.every(isAmount)
    return areRight && isWithin && isWithinNext && isHeld && isMark(mark, call)
  } catch {
    // It is no object, has no mark, or cannot be read.
    return false
  }
}

/**
 * A store that lost its memory may count up to twice the limit: what it granted since, and what a member tells it was
 * granted before. A member that comes anew may know a lower limit than the others, which says nothing.
 */
function isMark({ epoch, total, ahead }: PoolMark, { pool, mark: last }: LeaseCall): boolean {
  const isTold = last.epoch === 0 || epoch === last.epoch
  return isTold || Math.max(total, ahead) <= MOST_COUNTED * pool.limit * (1 + ROUNDING)
}

const MOST_COUNTED = 2
/** The last time that there is a date of, in milliseconds since the Unix epoch. */
const LAST_MS = 8.64e15

/** By how much, relatively, rounding may lift what was worked out above its range. */
const ROUNDING = 1e-6

function isWhole(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least
}

function isAmount(value: number): boolean {
  return Number.isFinite(value) && value >= 0
}
