import type { Passage } from '../admission/stage.js'
import type { Capacity } from '../capacity/index.js'
import { type After, type Clock, systemAfter, systemClock } from '../clock.js'
import {
  requireAbove,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  show,
} from '../options.js'
import { type Random, secretRandom } from '../random.js'
import type { FairQueueOptions } from '../sfq/index.js'
import { FAIR_QUEUE_OPTIONS } from '../sfq/options.js'
import { capacityFrom } from './supply.js'

/** What one of several bands is promised. */
export interface BandOptions {
  /**
   * Part of the cost started that this band gets at least, while it waits: from 0 to below 1, and below 1 for all bands
   * together. With 0 the band starves for as long as the bands above it can use all there is. Not for the highest
   * band, which comes first anyway. @default 0
   */
  minShare?: number
}

/**
 * What a waiting room is made of. The options of its fair queue go here too; with several bands, each has a queue of
 * its own, so `maxWaiting` and `perFlowLimit` hold for each band.
 */
export interface QueueOptions extends Omit<FairQueueOptions, 'random'> {
  /** What may run at once: a number of slots, or a capacity that learns or leases them. Not closed with the room. */
  concurrency: number | Capacity
  /** Longest that a request may wait, in milliseconds, above 0. @default 2000 */
  maxWaitMs?: number
  /**
   * In how many milliseconds from now the request's answer will be worth nothing any more; `undefined` for never. It
   * then waits no longer than leaves it the time that requests of its class take. @default never
   */
  deadlineMsOf?: (passage: Passage) => number | undefined
  /** What requests of like duration have in common: a route, a plan. Up to 1000. @default one class for all */
  classOf?: (passage: Passage) => string
  /** Slots that a request takes while it runs: above 0, up to the capacity. @default 1 */
  width?: number | ((passage: Passage) => number)
  /**
   * Width that may pass a request which is too wide for the slots free at its turn, as a multiple of its own, at least
   * 0. More uses slots that would stand empty, and makes wide requests wait longer. @default 2
   */
  bypass?: number
  /** Bands, from 1 to 16, the highest first. A band is served when those above it want nothing, or by its share. */
  bands?: readonly BandOptions[]
  /**
   * The band of a request, a whole number from 0. @default by priority: 2 is in the highest, -2 in the lowest band, the
   * rest evenly between (two bands: 0 and above, below 0; three: above 0, 0 and -1, -2)
   */
  bandOf?: (passage: Passage) => number
  /**
   * Within a flow, whom to serve first. `'overloaded'`: once something of the flow has been waiting for 100 ms or 5
   * mean durations, whichever is longer, without a break, its newest, until nothing of it waits: a few are served soon
   * instead of all too late. `false`: the oldest. Flows take the same turns in either case. @default false
   */
  newestFirst?: 'overloaded' | false
  /** SFQ: milliseconds from one perturbation to the next, from 5000 to 600 000. @default 60 000 */
  perturbEveryMs?: number
  /**
   * Slots that one flow may have at most, however many are free: at least 1. Without it a flow may have all, while no
   * other waits; while others do, none gets more than its share by weight. Not with `inside: 'arrival'`.
   * @default Infinity
   */
  perFlowConcurrency?: number
  /**
   * What a gate does when the capacity throws. (What an option's function throws, in a gate, makes the request one of
   * weight 1, one slot and no deadline.) @default 'refuse'
   */
  onError?: 'admit' | 'refuse'
}

/** {@link QueueOptions}, and the world. In a gate, they must be the gate's. */
export interface WaitingRoomOptions extends QueueOptions {
  /** Milliseconds since some fixed point. @default performance.now */
  clock?: Clock
  /** Where keys of SFQ come from: keep it secret. @default the platform's cryptographic generator */
  random?: Random
  /** The timer that ends waiting; must not keep the process alive. @default the platform's */
  after?: After
}

const OWN_OPTIONS = [
  'concurrency',
  'maxWaitMs',
  'deadlineMsOf',
  'classOf',
  'width',
  'bypass',
  'bands',
  'bandOf',
  'newestFirst',
  'perturbEveryMs',
  'perFlowConcurrency',
  'onError',
] as const
const OF_THE_FAIR_QUEUE = FAIR_QUEUE_OPTIONS.filter((name) => name !== 'random')

/** Names of the options above, for whoever passes them on. */
export const QUEUE_OPTIONS: readonly string[] = [...OWN_OPTIONS, ...OF_THE_FAIR_QUEUE]

const MOST_BANDS = 16
const MOST_WAIT_MS = 86_400_000

/** Options that were checked, with every default in its place. */
export interface QueueSettings {
  readonly capacity: Capacity
  readonly maxWaitMs: number
  readonly deadlineMsOf: ((passage: Passage) => number | undefined) | undefined
  readonly classOf: ((passage: Passage) => string) | undefined
  readonly width: number | ((passage: Passage) => number)
  readonly bypass: number
  /** Minimum share of each band; at least one band. */
  readonly minShares: readonly number[]
  readonly bandOf: ((passage: Passage) => number) | undefined
  readonly newestFirst: boolean
  /** `undefined` where there is nothing to perturb. */
  readonly perturbEveryMs: number | undefined
  readonly perFlowConcurrency: number
  readonly onError: 'admit' | 'refuse'
  readonly clock: Clock
  readonly after: After
  /** For each band's fair queue, which checks them. */
  readonly fairQueue: FairQueueOptions
}

/** Checks the options. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function settingsOf(options: WaitingRoomOptions): QueueSettings {
  requireOptions('queue', options, [...QUEUE_OPTIONS, 'clock', 'random', 'after'])
  const {
    concurrency,
    maxWaitMs = 2_000,
    deadlineMsOf,
    classOf,
    width = 1,
    bypass = 2,
    bands = [{}],
    bandOf,
    newestFirst = false,
    perturbEveryMs = 60_000,
    onError = 'refuse',
    perFlowConcurrency = Number.POSITIVE_INFINITY,
    clock = systemClock,
    random = secretRandom,
    after = systemAfter,
    ...fairQueue
  } = options
  const slots = capacityFrom(concurrency)
  requireAbove('maxWaitMs', maxWaitMs, 0, MOST_WAIT_MS)
  if (deadlineMsOf !== undefined) requireFunction('deadlineMsOf', deadlineMsOf)
  if (classOf !== undefined) requireFunction('classOf', classOf)
  if (typeof width !== 'function') requireAbove('width', width, 0, slots.maximum)
  requireNumber('bypass', bypass, 0)
  const minShares = minSharesFrom(bands)
  if (bandOf !== undefined) requireFunction('bandOf', bandOf)
  if (newestFirst !== false) requireOneOf('newestFirst', newestFirst, ['overloaded'])
  requireNumber('perturbEveryMs', perturbEveryMs, 5_000, 600_000)
  requireOneOf('onError', onError, ['admit', 'refuse'])
  requireFunction('clock', clock)
  requireFunction('random', random)
  requireFunction('after', after)
  const stochastic = fairQueue.queues !== undefined && fairQueue.queues !== 'perFlow'
  if (newestFirst !== false && stochastic && fairQueue.inside === 'arrival')
    throw new RangeError("newestFirst: 'overloaded' needs inside: 'turns'; in arrival order flows share their lines")
  if (perFlowConcurrency !== Number.POSITIVE_INFINITY) {
    requireNumber('perFlowConcurrency', perFlowConcurrency, 1)
    if (stochastic && fairQueue.inside === 'arrival')
      throw new RangeError("perFlowConcurrency needs inside: 'turns'; in arrival order a flow cannot be passed over")
  }
  return {
    capacity: slots,
    maxWaitMs,
    deadlineMsOf,
    classOf,
    width,
    bypass,
    minShares,
    bandOf,
    newestFirst: newestFirst !== false,
    perturbEveryMs: stochastic ? perturbEveryMs : undefined,
    perFlowConcurrency,
    onError,
    clock,
    after,
    fairQueue: { ...fairQueue, random },
  }
}

function minSharesFrom(bands: readonly BandOptions[]): readonly number[] {
  if (!Array.isArray(bands)) throw new TypeError(`bands must be an array, got ${show(bands)}`)
  requireInteger('bands.length', bands.length, 1, MOST_BANDS)
  let sum = 0
  const shares: number[] = []
  for (const [index, band] of bands.entries()) {
    requireOptions(`bands[${index}]`, band, ['minShare'])
    const { minShare = 0 } = band as BandOptions
    requireNumber(`bands[${index}].minShare`, minShare, 0)
    if (index === 0 && minShare > 0) throw new RangeError('bands[0].minShare must be 0: the highest band comes first')
    shares.push(minShare)
    sum += minShare
  }
  if (sum >= 1) throw new RangeError(`bands: the sum of minShare must be below 1, got ${sum}`)
  return shares
}
