import type { Passage } from '../admission/stage.js'
import { type Capacity, fixed } from '../capacity/index.js'
import { type After, type Clock, systemAfter, systemClock } from '../clock.js'
import {
  by,
  type Check,
  fail,
  type OptionRules,
  requireAbove,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
  type Settings,
  settingsFrom,
  show,
} from '../options.js'
import { type Random, secretRandom } from '../random.js'
import { FAIR_QUEUE_OPTIONS, type FairQueueOptions, type FairQueueSnapshot } from '../sfq/options.js'
import { safeWeight } from '../weight.js'
import { ROUNDING } from './slots.js'

/** One of several bands. */
export interface BandOptions {
  /**
   * Part of the started cost that this band gets at least, while it waits: from 0 to below 1, and below 1 for all bands
   * together. With 0 the band starves for as long as the bands above it can use all slots. Not for the highest band,
   * which comes first anyway. @default 0
   */
  minShare?: number
  /**
   * Part of the slots that this band is entitled to: while it waits and has fewer, it comes before all bands that have
   * their shares, and among those that have not, the highest first. From 0 to 1, and at most 1 for all bands together.
   * A band with a share is entitled to at least one request. With a pool, the same part of its units. @default 0
   */
  share?: number
  /**
   * Part of its `share` that others may use while it does not: from 0 to 1. With 1 it may have to wait until one of
   * their requests ends; with 0 its slots are always free for it. @default 1
   */
  lendable?: number
  /** Largest part of the slots, including borrowed ones: above 0, at least `share`, up to 1. @default 1 */
  most?: number
}

/** A second resource beside slots: tokens of a KV cache, bytes of memory. */
export interface PoolOptions {
  /**
   * Number of units: a whole number of at least 1, or a capacity, `fixed(n)` to resize it. Not closed with the queue.
   */
  size: number | Capacity
  /** Units that a request takes while it runs: at least 0, up to the size. A larger need is refused as `too-wide`. */
  unitsOf: (passage: Passage) => number
  /** Most units of one flow, above 0; one request may take more. @default Infinity */
  perFlow?: number
}

/**
 * Options of a request queue. The options of its fair queue go here too; with several bands, each has its own fair
 * queue, so `maxWaiting` and `perFlowLimit` apply to each band.
 */
export interface QueueOptions extends Omit<FairQueueOptions, 'random'> {
  /** Capacity: a number of slots, or a capacity that learns or leases them. Not closed with the queue. */
  concurrency: number | Capacity
  /** Longest that a request may wait, in milliseconds, above 0. @default 2000 */
  maxWaitMs?: number
  /**
   * Milliseconds from now until the request's answer becomes worthless; `undefined` for never. The request then waits
   * only while the usual duration of its class still fits. @default never
   */
  deadlineMsOf?: (passage: Passage) => number | undefined
  /**
   * Name of a class of requests that take about equally long: a route, a plan. Up to 1000. @default one class for all
   */
  classOf?: (passage: Passage) => string
  /** Slots that a request takes while it runs: above 0, up to the capacity. @default 1 */
  width?: number | ((passage: Passage) => number)
  /**
   * A second resource beside slots. A request starts when it has its slots and its units. While several flows wait,
   * none gets more than its share of either. @default none
   */
  pool?: PoolOptions
  /**
   * Width that may pass a request which is too wide for the free slots at its turn, as a multiple of its own, at least
   * 0; the same for its units of the pool. More uses slots that would stand empty, and makes wide requests wait longer.
   * @default 2
   */
  bypass?: number
  /** Bands, from 1 to 16, the highest first. A band is served when nothing waits above it, or by its share. */
  bands?: readonly BandOptions[]
  /**
   * The band of a request, a whole number from 0. @default by priority: 2 is in the highest, -2 in the lowest band, the
   * rest evenly between (two bands: 0 and above, below 0; three: above 0, 0 and -1, -2)
   */
  bandOf?: (passage: Passage) => number
  /**
   * Whether an overloaded flow is served newest first: one that has had waiting requests for 100 ms or 5 mean
   * durations, whichever is longer, without a break, until none of its requests waits. A few are then served soon
   * instead of all too late. Flows take the same turns in either case. @default false
   */
  newestFirst?: boolean
  /** SFQ: milliseconds from one perturbation to the next, from 5000 to 600 000. @default 60 000 */
  perturbEveryMs?: number
  /**
   * Most slots of one flow, even if more are free: at least 1; for all flows, or a function of the flow that is called
   * at each of its arrivals. Without it a flow may have all slots while no other flow waits; while others wait, none
   * gets more than its share by weight. @default Infinity
   */
  perFlowConcurrency?: number | ((flow: string) => number)
  /**
   * What a gate does when the capacity throws. (If an option's function throws in a gate, the request gets weight 1,
   * one slot, as the only one of its flow, and no deadline.) @default 'refuse'
   */
  onError?: 'admit' | 'refuse'
}

/** {@link QueueOptions}, with clock, timer and random source. In a gate, those must be the gate's. */
export interface RequestQueueOptions extends QueueOptions {
  /** Milliseconds since some fixed point. @default performance.now */
  clock?: Clock
  /** Source of SFQ's keys: keep it secret. @default the platform's cryptographic generator */
  random?: Random
  /** The timer that ends waiting; must not keep the process alive. @default the platform's */
  after?: After
}

/**
 * Counts of a request queue since its creation, as plain JSON. Each request was exempted, started, refused, or waits.
 */
export interface RequestQueueSnapshot {
  readonly closed: boolean
  readonly came: number
  /** Admitted because they were exempt. */
  readonly exempted: number
  readonly startedAtOnce: number
  readonly startedLater: number
  readonly refused: number
  /** Refusals by reason. */
  readonly refusedBy: Readonly<Record<string, number>>
  readonly waiting: number
  /** Started, and neither finished nor undone; without the exempt ones. */
  readonly running: number
  /** Mean duration of the requests that succeeded, in milliseconds; 0 until known. */
  readonly durationMs: number
  /** The request that is being passed because too little is free for it. */
  readonly passing: Passing | undefined
  /** Errors of the capacity when slots were taken for waiting requests, or returned. */
  readonly capacityErrors: number
  readonly bands: readonly BandSnapshot[]
  /** The flows with most waiting requests: at most 20. */
  readonly flows: readonly WaitingFlow[]
  /** The capacity's snapshot; `undefined` if that throws. */
  readonly capacity: unknown
  /** The pool's snapshot; `undefined` without one, or if that throws. */
  readonly pool: unknown
}

/** The state of one band, as plain JSON. */
export interface BandSnapshot {
  readonly waiting: number
  /** Slots that its running requests take. */
  readonly running: number
  /** Cost that may start before the bands above it. */
  readonly credit: number
  /** Cost started per second while requests waited; `undefined` until known. */
  readonly drainPerSecond: number | undefined
  readonly queue: FairQueueSnapshot
}

/** State of one flow in the queue, as plain JSON. */
export interface WaitingFlow {
  readonly flow: string
  readonly weight: number
  /** Requests that wait. */
  readonly waiting: number
  /** Wait of the oldest of them, in milliseconds. */
  readonly oldestMs: number
  /** Slots that its running requests take. */
  readonly running: number
}

/** A request that is being passed because it does not fit, and the amounts that have passed it, as plain JSON. */
export interface Passing {
  readonly width: number
  /** Slots that passed it. */
  readonly passed: number
  /** Units of the pool that it takes. */
  readonly units: number
  readonly passedUnits: number
}

const MOST_BANDS = 16
const MOST_WAIT_MS = 86_400_000

/** The options of a request queue that are not its fair queue's. */
type OwnOptions = Omit<RequestQueueOptions, Exclude<keyof FairQueueOptions, 'random'>>
type WithoutDefault = 'deadlineMsOf' | 'classOf' | 'bandOf' | 'pool'

const RULES: OptionRules<OwnOptions, WithoutDefault | 'concurrency'> = {
  concurrency: [() => {}],
  maxWaitMs: [by(requireAbove, 0, MOST_WAIT_MS), 2_000],
  deadlineMsOf: [requireFunction],
  classOf: [requireFunction],
  width: [() => {}, 1],
  pool: [() => {}],
  bypass: [by(requireNumber, 0), 2],
  bands: [() => {}, [{}]],
  bandOf: [requireFunction],
  newestFirst: [requireBoolean, false],
  perturbEveryMs: [by(requireNumber, 5_000, 600_000), 60_000],
  perFlowConcurrency: [
    (name, value) => typeof value === 'function' || requireMost(name, value),
    Number.POSITIVE_INFINITY,
  ],
  onError: [by(requireOneOf, ['admit', 'refuse']), 'refuse'],
  clock: [requireFunction, systemClock],
  random: [requireFunction, secretRandom],
  after: [requireFunction, systemAfter],
}

const SEAMS: readonly string[] = ['clock', 'random', 'after']
const OWN_OPTIONS = Object.keys(RULES) as (keyof OwnOptions)[]

/** Names of the options in {@link QueueOptions}, for callers that pass them on. */
export const QUEUE_OPTIONS: readonly string[] = [...new Set([...OWN_OPTIONS, ...FAIR_QUEUE_OPTIONS])].filter(
  (name) => !SEAMS.includes(name),
)

/** Checked {@link BandOptions}. `kept` is the part of the slots that a band does not lend. */
export interface BandSettings extends Readonly<Required<Omit<BandOptions, 'lendable'>>> {
  readonly kept: number
}

/** Checked {@link PoolOptions}. */
interface PoolSettings extends Required<PoolOptions> {
  readonly size: Capacity
}

/** Checked options, with every default in its place. */
export interface QueueSettings
  extends Omit<Settings<OwnOptions, WithoutDefault>, 'concurrency' | 'pool' | 'bands' | 'random'> {
  readonly capacity: Capacity
  readonly pool: PoolSettings | undefined
  /** At least one. */
  readonly bands: readonly BandSettings[]
  /** False if there is nothing to perturb. */
  readonly perturbs: boolean
  /** For each band's fair queue, which checks them. */
  readonly fairQueue: FairQueueOptions
}

/** Checks the options. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function queueSettings(options: RequestQueueOptions): QueueSettings {
  requireOptions('queue', options, [...QUEUE_OPTIONS, ...SEAMS])
  const { concurrency, pool, random, bands, ...settings } = settingsFrom(options, RULES)
  const perturbs = (options.queues ?? 'perFlow') !== 'perFlow'
  if (!perturbs && options.perturbEveryMs !== undefined)
    throw new RangeError(
      `perturbEveryMs needs hashed queues, a number or 'auto', got ${show(options.perturbEveryMs)} without`,
    )
  const fairQueue: FairQueueOptions = Object.fromEntries(Object.entries(options).filter(([name]) => !(name in RULES)))
  const capacity = capacityFrom('concurrency', concurrency, 'slots')
  if (typeof settings.width !== 'function') requireAbove('width', settings.width, 0, capacity.maximum)
  const checked = bandsFrom(bands)
  return {
    ...answering(settings, checked.length),
    capacity,
    pool: pool === undefined ? undefined : poolFrom(pool),
    bands: checked,
    perturbs,
    fairQueue: { ...fairQueue, random },
  }
}

function bandsFrom(bands: readonly BandOptions[]): readonly BandSettings[] {
  if (!Array.isArray(bands)) fail('bands', 'an array', bands)
  requireInteger('bands.length', bands.length, 1, MOST_BANDS)
  const all = Array.from(bands as readonly unknown[], bandFrom)
  const { minShare } = all[0]!
  if (minShare > 0) throw new RangeError(`bands[0].minShare must be 0, got ${minShare}: the highest band comes first`)
  const sum = sumOf(all, 'minShare')
  if (sum >= 1) throw new RangeError(`bands: the sum of minShare must be below 1, got ${sum}`)
  const due = sumOf(all, 'share')
  if (due > 1 + ROUNDING) throw new RangeError(`bands: the sum of share must be at most 1, got ${due}`)
  return all
}

function bandFrom(band: unknown, index: number): BandSettings {
  const name = `bands[${index}]`
  requireOptions(name, band, ['minShare', 'share', 'lendable', 'most'])
  const { minShare = 0, share = 0, lendable: given, most = 1 } = band as BandOptions
  if (share === 0 && given !== undefined)
    throw new RangeError(`${name}.lendable needs a share of which it is a part, got ${show(given)} of ${show(share)}`)
  const lendable = given ?? 1
  requireNumber(`${name}.minShare`, minShare, 0)
  requireNumber(`${name}.share`, share, 0, 1)
  requireNumber(`${name}.lendable`, lendable, 0, 1)
  requireAbove(`${name}.most`, most, 0, 1)
  requireNumber(`${name}.most`, most, share, 1)
  return { minShare, share, kept: share * (1 - lendable), most }
}

function sumOf(bands: readonly BandSettings[], share: 'minShare' | 'share'): number {
  return bands.reduce((sum, band) => sum + band[share], 0)
}

const CAPACITY_METHODS = ['tryTake', 'release', 'undo', 'onAvailable', 'snapshot'] as const

/** A number of slots or units becomes a fixed capacity. */
function capacityFrom(name: string, capacity: unknown, of: string): Capacity {
  if (typeof capacity === 'number') {
    requireInteger(name, capacity, 1)
    return fixed(capacity)
  }
  if (typeof capacity !== 'object' || capacity === null) fail(name, `a number of ${of} or a capacity`, capacity)
  for (const method of CAPACITY_METHODS)
    requireFunction(`${name}.${method}`, (capacity as Record<string, unknown>)[method])
  const { limit, maximum, inFlight } = capacity as Capacity
  requireNumber(`${name}.limit`, limit, 0)
  requireNumber(`${name}.inFlight`, inFlight, 0)
  if (maximum !== Number.POSITIVE_INFINITY) requireNumber(`${name}.maximum`, maximum, 0)
  return capacity as Capacity
}

function poolFrom(pool: PoolOptions): PoolSettings {
  requireOptions('pool', pool, ['size', 'unitsOf', 'perFlow'])
  const { size, unitsOf, perFlow = Number.POSITIVE_INFINITY } = pool
  requireFunction('pool.unitsOf', unitsOf)
  if (perFlow !== Number.POSITIVE_INFINITY) requireAbove('pool.perFlow', perFlow, 0)
  return { size: capacityFrom('pool.size', size, 'units'), unitsOf: checkedUnits(unitsOf), perFlow }
}

/** Whether flows have a limit of slots, or units of the pool, even if none waits. */
export function isCapped({ perFlowConcurrency: most, pool }: QueueSettings): boolean {
  return most !== Number.POSITIVE_INFINITY || (pool !== undefined && pool.perFlow < Number.POSITIVE_INFINITY)
}

function requireMost(name: string, most: unknown): void {
  if (most !== Number.POSITIVE_INFINITY) requireNumber(name, most, 1)
}

/** Checks slots of a request. */
export const requireWidth: Check = by(requireAbove, 0)

/** Checks units of the pool of a request. */
export const requireUnits: Check = by(requireNumber, 0)

/** Checks milliseconds to a deadline: any number, even infinite, or below zero for a deadline that has passed. */
export function requireDeadline(name: string, value: unknown): void {
  if (typeof value === 'number' && !Number.isNaN(value)) return
  requireNumber(name, value, Number.NEGATIVE_INFINITY)
}

/** The band of a priority from -2 to 2, for this number of bands. */
export function bandOfPriority(priority: number, bands: number): number {
  return Math.floor(((2 - priority) * bands) / 5)
}

type AskedOption = 'width' | 'perFlowConcurrency' | 'bandOf' | 'deadlineMsOf' | 'classOf'
type OfRequest = (passage: Passage) => unknown

/**
 * Options that may be functions: the check of an answer, given the number of bands; and the answer that counts in a
 * gate if the function fails.
 */
const ANSWERS: Readonly<
  Record<
    AskedOption,
    readonly [(answer: unknown, bands: number) => unknown, (passage: Passage, bands: number) => unknown]
  >
> = {
  width: [(slots) => requireWidth('width()', slots), () => 1],
  perFlowConcurrency: [(most) => requireMost('perFlowConcurrency()', most), () => 1],
  bandOf: [
    (band, bands) => requireInteger('bandOf()', band, 0, bands - 1),
    ({ priority }, bands) => bandOfPriority(priority, bands),
  ],
  deadlineMsOf: [(ms) => ms === undefined || requireDeadline('deadlineMsOf()', ms), () => undefined],
  classOf: [(name) => requireText('classOf()', name), () => 'unknown'],
}

/** The options with checked answers. If `failed` is given, it receives all errors, and no function throws. */
function answering<O extends Partial<Record<AskedOption, unknown>>>(
  options: O,
  bands: number,
  failed?: (error: unknown) => void,
): O {
  const all: O = { ...options }
  for (const [name, [check, otherwise]] of Object.entries(ANSWERS)) {
    const of: unknown = options[name as AskedOption]
    if (typeof of !== 'function') continue
    const checked = checkedBy((answer) => check(answer, bands), of as OfRequest)
    const answer = failed === undefined ? checked : safe(checked, (passage) => otherwise(passage, bands), failed)
    Object.assign(all, { [name]: answer })
  }
  return all
}

function checkedBy<In, Out>(check: (answer: Out) => unknown, of: (input: In) => Out): (input: In) => Out {
  return (input) => {
    const answer = of(input)
    check(answer)
    return answer
  }
}

const checkedUnits = (of: PoolOptions['unitsOf']): PoolOptions['unitsOf'] =>
  checkedBy((units) => requireUnits('unitsOf()', units), of)

/** The same function, which returns `otherwise` if it throws. */
function safe<In, Out>(
  of: (input: In) => Out,
  otherwise: (input: In) => Out,
  failed: (error: unknown) => void,
): (input: In) => Out {
  return (input) => {
    try {
      return of(input)
    } catch (error) {
      failed(error)
      return otherwise(input)
    }
  }
}

/**
 * The options of a queue, with functions that never throw. Errors and invalid values are reported to `failed`, and the
 * request then has weight 1, one slot and no more for its flow, a slot's part of the pool, the band of its priority, no
 * deadline and no class: an option that fails for a request must not lift the limit.
 */
export function safely(options: QueueOptions, failed: (error: unknown) => void): QueueOptions {
  const { weightOf, pool, bands = [{}] } = options
  const all = answering(options, bands?.length, failed)
  if (typeof weightOf === 'function') all.weightOf = safeWeight(weightOf, failed)
  if (typeof pool?.unitsOf === 'function') {
    const slotsPart = (): number => limitOf(pool.size) / Math.max(1, limitOf(options.concurrency))
    all.pool = { ...pool, unitsOf: safe(checkedUnits(pool.unitsOf), slotsPart, failed) }
  }
  return all
}

function limitOf(capacity: number | Capacity): number {
  return typeof capacity === 'number' ? capacity : capacity.limit
}
