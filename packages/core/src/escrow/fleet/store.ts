import { requireAbove, requireInteger, requireNumber, requireText } from '../../options.js'
import { onRejection } from '../../rejection.js'

/** Terms on which all members of a pool must agree. */
export interface PoolTerms {
  /** The pool's name in its store. */
  readonly name: string
  /** Budget of all members together in a window; above 0. */
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

/** Checks terms and completes them. Throws for a value out of its range, by name; `quantum` above `limit` is, too. */
export function poolTerms(
  { name, limit, windowMs, quantum: given }: PoolTermsOptions,
  nameOption: string = 'name',
): PoolTerms {
  requireText(nameOption, name)
  requireAbove('limit', limit, 0, Number.MAX_SAFE_INTEGER)
  requireInteger('windowMs', windowMs, 1)
  // A hundredth of the smallest numbers is 0.
  const quantum = given ?? (limit / 100 || limit)
  requireAbove('quantum', quantum, 0, limit)
  return { name, limit, windowMs, quantum }
}

/**
 * Interval of a member's calls, in milliseconds, from its first call in a window to the window's end: it witnesses
 * grants. An eighth later at most.
 */
export function pulseOf(windowMs: number): number {
  return Math.min(windowMs / 10, 30_000)
}

/** Shortest time in which a pool that has lost its state only listens: longer than a member's interval of calls. */
export function graceOf(windowMs: number): number {
  return 1.5 * pulseOf(windowMs)
}

/** Sums within this are equal: a billionth of the limit, a thousandth at most. */
export function fuzzOf(limit: number): number {
  return Math.min(1e-3, 1e-9 * limit)
}

/** Total weight of tenants, and their use in the window. */
export interface Stake {
  readonly weight: number
  readonly used: number
}

/** A member's report of a tenant. */
export interface TenantReport {
  readonly tenant: string
  /** The tenant's whole weight, for any number of members at which it is active; above 0. */
  readonly weight: number
  /** Its use at this member in window `win`; a total, not an increment. */
  readonly used: number
  /** Its demand at this member, per window; 0 if it is no longer there. Divides its weight. */
  readonly rate: number
  /** The cost recently refused at this member, without asking the pool; 0 if it was not refused. */
  readonly ask: number
}

/** A mark that a pool gives a member, and the member returns: it shows whether the store has lost its state. */
export interface PoolMark {
  /** Names the time since the store's last loss. */
  readonly epoch: number
  /** Counts the pool's answers in that time. */
  readonly rev: number
  /** Credit granted to all members in the window, and in the next one. */
  readonly total: number
  readonly ahead: number
  /** Number of active members, which report to a store that has lost its state. */
  readonly members: number
}

/**
 * A request of a member (one run of a process) to the pool, and its report. Every call states everything that the pool
 * needs to know of the member, so that a store which forgot learns it again.
 */
export interface LeaseCall {
  readonly pool: PoolTerms
  /** The member: an id drawn anew at each start of a process. */
  readonly member: string
  /** Counts the member's calls up from 1. The same number again is a retry, and gets the same grant. */
  readonly seq: number
  /** Window that `holds`, `spent`, `mark` and everything used is about; -1 before the first answer. */
  readonly win: number
  /** Credit of window `win` that the member holds, spent or not. Credit that it does not state here is returned. */
  readonly holds: number
  /** The spent part of that. */
  readonly spent: number
  /** Of the last answer; zeros before the first. */
  readonly mark: PoolMark
  /** Tenants that are active at the member, except those that it has named in this window. */
  readonly quiet: Stake
  /** Tenants that have asked since they were last named; first the one with the need. At most {@link MOST_REPORTED}. */
  readonly tenants: readonly TenantReport[]
  /** Missing credit, for the first of `tenants`; 0 to ask for nothing. */
  readonly need: number
  /**
   * The grantable amount, if it differs from the remainder of the limit: for the pool of a group, whose limit states
   * only the guarantees of its tenants, while grants come from the pool above.
   */
  readonly left?: number
  /** Credit of the window after `win` that the member holds. @default 0 */
  readonly ahead?: number
  /** The amount of that which it wants to hold, so that its first checks in that window do not wait. @default 0 */
  readonly wants?: number
}

/** The pool's answer. */
export interface LeaseAnswer {
  /** The window of these numbers: `floor(time of the store / windowMs)`. */
  readonly win: number
  /** The rest of the window, by the store's clock. */
  readonly leftMs: number
  /** For the next call. */
  readonly mark: PoolMark
  /** New credit: at least the need, or 0. */
  readonly grant: number
  /** Credit of the window after `win` that the member holds now. */
  readonly ahead: number
  /** The amount that the pool reserves for the member beyond its grants. Fades as the window passes. */
  readonly held: number
  /** The member's part of all weight at the pool, from 0 to 1. */
  readonly part: number
  /**
   * Use per weight, over all members, up to which credit may be spent without asking: beyond that it is owed to others.
   * The largest possible number while no tenant is in line.
   */
  readonly turn: number
  /**
   * The remainder after that, without reservations for tenants other than the first of the call; 0 if that named none.
   */
  readonly room: number
  /** Retry delay of a refused need; 0 if none was refused. */
  readonly waitMs: number
  /** For each tenant of the call, in order: the part of its weight that is this member's, from 0 to 1. */
  readonly shares: readonly number[]
  /** For each tenant of the call, in order: that part of its use at all members together. */
  readonly used: readonly number[]
}

/** A store of pools: any implementation that passes `poolStoreContract` of `@fairlead/testing`. */
export interface PoolStore {
  /**
   * Answers a lease in one atomic step. At once where the store is in this process, else by a promise, which rejects
   * with a {@link PoolStoreError} if the store cannot be reached or cannot answer. The answer is for the window of the
   * call, if by the store's time it is the one before.
   *
   * @throws TypeError, RangeError for a bad call, by name, and then nothing has changed; after a RangeError, the call
   *   is not sent again
   */
  lease(call: LeaseCall): LeaseAnswer | Promise<LeaseAnswer>
}

/**
 * Kinds of a store's failures:
 *
 * - `network`: it cannot be reached; `timeout`: it did not answer in time;
 * - `wrong-type`: a value of another type is stored under the pool's name; `no-permission`: access is denied;
 * - `out-of-memory`: it takes no more data; `not-a-client`: the given client does not work as one;
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

/** A store gave no answer. `cause` is the error of it, or of its client. */
export class PoolStoreError extends Error {
  readonly kind: StoreFailureKind

  constructor(kind: StoreFailureKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PoolStoreError'
    this.kind = kind
  }
}

/** A failure of a store. */
export interface StoreFailure {
  readonly kind: StoreFailureKind
  readonly message: string
  /** The error that the store, or its client, threw. */
  readonly cause: unknown
}

/** A thrown value, as a failure. */
export function failureOf(error: unknown): StoreFailure {
  const message = error instanceof Error ? error.message : String(error)
  return { kind: error instanceof PoolStoreError ? error.kind : 'other', message, cause: error }
}

/** Calls a listener whose errors, thrown or rejected, do not concern the callers. */
export function tellOf(failure: StoreFailure, listener: ((failure: StoreFailure) => unknown) | undefined): void {
  try {
    onRejection(listener?.(failure), () => {})
  } catch {
    // As documented at the option: its error is dropped.
  }
}

/** The name of the tenant that all tenants beyond the limit share. */
export const OTHERS = '(others)'

/** Most tenants that one lease may report, so that a call is bounded in size and time. */
export const MOST_REPORTED = 64
/**
 * The store inspects every member at which a named tenant may be: a lease names this number of such places at most, or
 * eight tenants.
 */
const MOST_PLACES = 1_000
const LEAST_REPORTED = 8

/** Number of tenants that a lease names in a pool of `members` members. */
export function mostReported(members: number): number {
  return Math.max(LEAST_REPORTED, Math.min(MOST_REPORTED, Math.floor(MOST_PLACES / Math.max(1, members))))
}

/** Checks a call, for authors of stores. Throws the errors of {@link PoolStore.lease}. */
export function requireLease(call: LeaseCall): void {
  const { member, seq, win, holds, spent, mark, quiet, tenants, need, left = 0, ahead = 0, wants = 0 } = call
  poolTerms(call.pool)
  requireNumber('quantum', call.pool.quantum, 0)
  requireText('member', member)
  requireInteger('seq', seq, 1)
  requireInteger('win', win, -1)
  requireInteger('mark.rev', mark.rev, 0)
  requireInteger('mark.members', mark.members, 0)
  const { epoch, total, ahead: markAhead } = mark
  const amounts = { holds, spent, need, left, ahead, wants, 'mark.epoch': epoch, 'mark.total': total }
  requireAmounts({ ...amounts, 'mark.ahead': markAhead, 'quiet.weight': quiet.weight, 'quiet.used': quiet.used })
  if (!Array.isArray(tenants)) throw new TypeError(`tenants must be an array, got ${typeof tenants}`)
  if (tenants.length > MOST_REPORTED)
    throw new RangeError(`tenants must be at most ${MOST_REPORTED}, got ${tenants.length}`)
  for (const { tenant, weight, used, rate, ask } of tenants) {
    requireText('tenant', tenant)
    requireAbove('weight', weight, 0)
    requireAmounts({ used, rate, ask })
  }
  if (need > 0) requireAbove('rate of the first tenant', tenants[0]?.rate, 0)
}

function requireAmounts(amounts: Readonly<Record<string, unknown>>): void {
  for (const [name, amount] of Object.entries(amounts)) requireNumber(name, amount, 0)
}

/**
 * Whether this is a possible answer to a call: every value is in its range. A store with any other answer has failed,
 * and nothing of it is used, because the next calls would state it again.
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
    // It is not an object, has no mark, or cannot be read.
    return false
  }
}

/**
 * A store that lost its state may count up to twice the limit: its grants since, and the earlier grants in a member's
 * report. A new member may know a lower limit than the others, which is no contradiction.
 */
function isMark({ epoch, total, ahead }: PoolMark, { pool, mark: last }: LeaseCall): boolean {
  const isTold = last.epoch === 0 || epoch === last.epoch
  return isTold || Math.max(total, ahead) <= MOST_COUNTED * pool.limit * (1 + ROUNDING)
}

const MOST_COUNTED = 2
/** The last representable date, in milliseconds since the Unix epoch. */
const LAST_MS = 8.64e15

/** Relative rounding error by which a computed value may exceed its range. */
const ROUNDING = 1e-6

function isWhole(value: number, least: number): boolean {
  return Number.isSafeInteger(value) && value >= least
}

function isAmount(value: number): boolean {
  return Number.isFinite(value) && value >= 0
}
