import { type After, type Clock, systemAfter, systemClock } from '../../clock.js'
import {
  by,
  fail,
  type OptionRules,
  requireAbove,
  requireFunction,
  requireInteger,
  requireOneOf,
  requireOptions,
  type Settings,
  settingsFrom,
} from '../../options.js'
import { type Random, randomId, systemRandom } from '../../random.js'
import { type EscrowDecision, type EscrowReason, EscrowTicket } from '../decision.js'
import { type Hierarchy, requirePlaces } from '../hierarchy.js'
import type { Judgement } from '../judgement.js'
import type { PoolMember } from './pool-member.js'
import { type PoolStore, type PoolTerms, poolTerms, type StoreFailure, type StoreFailureKind } from './store.js'

/** A leased escrow's state, as plain JSON. */
export interface LeasedSnapshot extends PoolTerms {
  /** The id in the pool of this run of the process, after the region's name if there is one. */
  readonly member: string
  /** The pool's window of these numbers; -1 before the first lease. */
  readonly win: number
  /** False while there is no window: before the first lease, and after the end of the last. */
  readonly open: boolean
  /**
   * Of this window: drawn credit, the spent part of it, and the amount that the pool reserves for this member beyond
   * it.
   */
  readonly granted: number
  readonly used: number
  readonly held: number
  /** The member's part of the limit if the store were away, from 0 to 1. */
  readonly share: number
  /** Active tenants of this member, and the sum of their weights here. */
  readonly tenants: number
  readonly weight: number
  /** Since the escrow was created. */
  readonly allowed: number
  readonly refused: number
  /** Number of answers by the declared rule for a failed store. */
  readonly storeErrors: number
  readonly storeCalls: number
  /** In a tree: for each group that this process serves, the state of the group's own pool. */
  readonly groups?: readonly LeasedSnapshot[]
  /** The store's last failure. */
  readonly lastStoreFailure: { readonly kind: StoreFailureKind; readonly message: string } | undefined
}

/** Reasons of a leased escrow's refusals; or `store-error`, if the declared rule for a failed store decided. */
export type LeasedReason = EscrowReason | 'store-error'

/**
 * A leased escrow's answer. `limit`, `remaining` and `guarantee` are those of the tenant at this member, from the
 * credit drawn from the pool and the amount that the pool reserves for it; the pool may have more.
 */
export interface LeasedDecision extends Omit<EscrowDecision, 'reason'> {
  /** Undefined if it was allowed by the rule; `store-error` also if it was allowed because the store is away. */
  readonly reason: LeasedReason | undefined
}

/** The rule if the store fails, or does not answer in time. */
export type OnStoreError = 'refuse' | 'admit' | 'last-share'

/** A request, as its member sees it. */
export interface MemberRequest {
  /** The tenant that pays, or a group of it. */
  readonly tenant: string
  /** The tenant in the answer. */
  readonly shown: string
  /** The requested cost; `cost` is the reservation for it. */
  readonly asked: number
  readonly cost: number
}

/** A decision of a fleet's escrow, with the member that has spent for it. */
export class LeasedTicket extends EscrowTicket<LeasedReason> {
  readonly #member: PoolMember | undefined
  readonly #payer: string

  /** `judged` is the ledger's judgement; undefined if it was not asked. */
  constructor(
    owner: object,
    member: PoolMember | undefined,
    { tenant, shown, asked, cost }: MemberRequest,
    reason: LeasedReason | undefined,
    retryAfterMs: number,
    judged: Judgement | undefined,
    resetAtMs: number,
    nowMs: number,
    remaining: number = judged?.remaining ?? 0,
  ) {
    const borrowed = retryAfterMs === 0 && judged?.verdict === 'borrows'
    const [used, guarantee] = [judged?.usedAfter ?? 0, judged?.guarantee ?? 0]
    const times = [retryAfterMs, resetAtMs, nowMs] as const
    super(owner, shown, asked, reason, borrowed, used, remaining, guarantee, ...times, cost)
    this.#member = member
    this.#payer = tenant
  }

  /** The member that has spent for it; undefined if none may. */
  get member(): PoolMember | undefined {
    return this.#member
  }

  get payer(): string {
    return this.#payer
  }

  /** A group of the tenant pays, because the group's own pool was away. Tenants' names are in two brackets. */
  get isOfGroup(): boolean {
    return this.#payer.startsWith('(') && !this.#payer.startsWith('((')
  }
}

/** Options of every escrow that draws from a pool. */
export interface DrawingOptions {
  /** A tenant's weight relative to others, from 1e-9 to 1e12. Called at every check. @default 1 for every tenant */
  weightOf?: (tenant: string) => number
  /**
   * Groups of tenants that share with each other first, as in one process: each has its own pool in the store, named by
   * this pool's name and its path, whose budget comes from the pool above. @default all are in one group
   */
  tree?: Hierarchy
  /**
   * The name of the group of a tenant that the tree does not name; undefined: it is refused, as `unknown`. Called at
   * every check. @default all of them are refused
   */
  groupOf?: (tenant: string) => string | undefined
  /**
   * The amount that a call spends until it is settled: `'learned'`, by settlements of the tenant in this process, as in
   * one process; or `'asked'`, the requested cost. @default 'learned'
   */
  estimates?: 'learned' | 'asked'
  /**
   * Active tenants known by name, and one more that all others share, with weight 1; in a tree, in each group. @default
   * 10000
   */
  maxTenants?: number
  /**
   * The answer of a check if the pool's store fails or does not answer in time, and this process lacks the credit:
   *
   * - `'refuse'`: costs that fit into credit drawn before are admitted, so the limit holds without the store;
   * - `'last-share'`: this process continues with its last known share: up to the amount that the store last reserved
   *   for it in that window, and in each later one its part of the limit, until the store is back. All processes
   *   together may exceed the limit by the amounts reserved in the window in which the store failed;
   * - `'admit'`: everything is admitted, and the limit is given up until the store answers.
   *
   * @default 'refuse'
   */
  onStoreError?: OnStoreError
  /**
   * Longest duration of a lease before the store counts as failed, in milliseconds; above 0. Time in which this process
   * stalled does not count. @default 100
   */
  storeTimeoutMs?: number
  /** Called with each failure of the store. Its own errors and rejections are dropped. */
  onStoreFailure?: (failure: StoreFailure) => void
  /** Must be monotonic. @default the platform's */
  clock?: Clock
  /**
   * Milliseconds since the Unix epoch. If it advances by a tenth of a second more than `clock`, the machine may have
   * slept: no credit is spent until the store has answered. @default Date.now beside the platform's clock, none beside
   * another
   */
  wallClock?: Clock
  /** @default the platform's timer */
  after?: After
}

export interface LeasedEscrowOptions extends DrawingOptions {
  /** The pool's name in its store; all processes with this name share one budget. */
  pool: string
  /** Budget of all of them together in a window; above 0. */
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

type NoDefault = 'weightOf' | 'tree' | 'groupOf' | 'onStoreFailure' | 'clock' | 'wallClock'

/** A function, so that a bundle without a fleet has no table. */
const rules = (): OptionRules<DrawingOptions, NoDefault> => ({
  weightOf: [requireFunction],
  tree: [(_, tree) => requirePlaces(tree, undefined)],
  groupOf: [requireFunction],
  maxTenants: [by(requireInteger, 1), 10_000],
  estimates: [by(requireOneOf, ['learned', 'asked']), 'learned'],
  onStoreError: [by(requireOneOf, ['refuse', 'admit', 'last-share']), 'refuse'],
  onStoreFailure: [requireFunction],
  storeTimeoutMs: [by(requireAbove, 0), 100],
  clock: [requireFunction],
  wallClock: [requireFunction],
  after: [requireFunction, systemAfter],
})

/** Checked options, with every default in its place. A missing `wallClock` means that nobody knows of sleep. */
export interface DrawingSettings extends Settings<DrawingOptions, NoDefault> {
  readonly terms: PoolTerms
  readonly member: string
  readonly store: PoolStore
  readonly clock: Clock
}

/** Checks the options of every drawing escrow; `own` are the names of the other options. */
export function drawingSettings(
  name: string,
  options: DrawingOptions,
  own: readonly string[],
  clockOfPool: Clock = systemClock,
): Omit<DrawingSettings, 'terms' | 'member' | 'store'> {
  const all = rules()
  requireOptions(name, options, [...Object.keys(all), ...own])
  const settings = settingsFrom(options, all)
  requirePlaces(settings.tree, settings.groupOf)
  const { clock = clockOfPool } = settings
  const { wallClock = clock === systemClock ? () => Date.now() : undefined } = settings
  return { ...settings, clock, wallClock }
}

/** Checks all options of a leased escrow. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function leasedSettings(options: LeasedEscrowOptions): DrawingSettings {
  const drawing = drawingSettings('escrow', options, ['pool', 'limit', 'windowMs', 'quantum', 'store', 'random'])
  const { pool, limit, windowMs, quantum, store, random = systemRandom } = options
  const terms = poolTerms({ name: pool, limit, windowMs, ...(quantum !== undefined && { quantum }) }, 'pool')
  requireStore(store)
  requireFunction('random', random)
  return { ...drawing, terms, store, member: randomId(random) }
}

/** Checks for something with a `lease` method. */
export function requireStore(store: unknown): void {
  if (typeof (store as Partial<PoolStore> | null | undefined)?.lease !== 'function')
    fail('store', 'a store of pools', store)
}
