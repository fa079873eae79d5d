import {
  by,
  type OptionRules,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  type Settings,
  settingsFrom,
} from '../options.js'
import { type Random, secretRandom } from '../random.js'
import { type WeightOf, weightFrom } from '../weight.js'

/** Options of a {@link FairQueue}. */
export interface FairQueueOptions {
  /**
   * `'perFlow'`: every waiting flow has its own queue: exact, fastest, and nothing to tune. A number: SFQ with that
   * number of queues, which flows share; a flow joins the one of a hand of four with the least waiting cost of others,
   * and flows that share a queue take turns in it. `'auto'`: SFQ with 64 queues, doubled (to 4096 at most) when they
   * are crowded, halved again, at a perturbation, when nearly none has been occupied. @default 'perFlow'
   */
  queues?: 'perFlow' | 'auto' | number
  /** Whether a flow that starts to wait comes first, with one quantum. @default true */
  sparseFirst?: boolean
  /**
   * A flow's share relative to others, from 1e-9 to 1e12, counted in steps of 2^-30; for a path, at each level, that of
   * a name relative to its siblings. Called at each arrival, which fails if it throws; a change applies from the next
   * turn on. @default 1 for every flow
   */
  weightOf?: WeightOf
  /**
   * The cost by which turns are taken, and requests charged while they run. `'learned'`: by the settled costs of the
   * flow's requests in relation to the declared ones, once one of them was settled with another cost. `'asked'`: the
   * declared cost. In either case the actual cost is charged at the end. @default 'learned'
   */
  estimates?: 'learned' | 'asked'
  /** Requests of one flow that may wait. At least 1. @default 50 */
  perFlowLimit?: number
  /** Requests that may wait in all. At least 1. @default 3200 */
  maxWaiting?: number
  /**
   * At `maxWaiting`: `'refuse'` the new request, or `'evict'` the last arrival of the flow with the most cost waiting
   * per weight (within a factor of 2), unless the new request would make its own flow as long as that. @default 'evict'
   */
  overflow?: 'refuse' | 'evict'
  /**
   * Source of SFQ's keys. Keep it secret: a client that knows it can choose names that share a queue. @default the
   * platform's cryptographic generator
   */
  random?: Random
}

/** A request in a {@link FairQueue}: pass it to `remove` and `settle`. */
export interface Ticket<T> {
  /** Its flow or, for a path, the first name. */
  readonly flow: string
  readonly item: T
  /**
   * The cost that its flow is charged: the cost it was enqueued with; from its turn on the cautious estimate, if one
   * has been learnt; once it is settled, its actual cost.
   */
  readonly cost: number
  /**
   * The request that was evicted to make room for this one: the caller that enqueued this one must turn it away.
   * Forgotten when this one leaves.
   */
  readonly evicted: Ticket<T> | undefined
}

/** State of a flow: its waiting requests, and its part of the service. */
export interface Standing {
  /** Number of the flow's waiting requests. */
  readonly waiting: number
  /** Their expected cost. */
  readonly cost: number
  /** Its weight over the weights of all flows that wait or owe, itself included: above 0, at most 1. */
  readonly share: number
}

/** A refused request. Nothing of it is kept. */
export interface Refused extends Standing {
  /** `flow-full`: its flow is at its limit; `full`: the whole queue is. */
  readonly refused: 'flow-full' | 'full'
  /** The bound that it reached, in requests. */
  readonly limit: number
}

/** A queue's state, as plain JSON. Every enqueued request waits, or has left in exactly one of four ways. */
export interface FairQueueSnapshot {
  /** Number of waiting requests, and their cost. */
  readonly waiting: number
  readonly cost: number
  /** Flows with a record. */
  readonly records: number
  /** The value of a turn for weight 1, in cost. */
  readonly quantum: number
  readonly enqueued: number
  readonly refused: number
  readonly dequeued: number
  readonly removed: number
  readonly evicted: number
  /** Removed because `isDead` returned true. */
  readonly dead: number
  /** Only for SFQ. */
  readonly sfq: SfqSnapshot | undefined
}

/** The state of SFQ's queues. */
export interface SfqSnapshot {
  readonly queues: number
  readonly perturbations: number
  /** Number of waiting requests in each queue. */
  readonly lengths: readonly number[]
  /** Queues with at least four requests. */
  readonly occupied: number
  /** More than a third of the queues has been occupied at each of the last 256 arrivals: too few queues. */
  readonly crowded: boolean
}

/** {@link FairQueueOptions} that were checked, with every default in its place. */
export type FairQueueSettings = Settings<FairQueueOptions, 'weightOf'>

/** Queues that `'auto'` starts from, and never has fewer than. */
export const AUTO_QUEUES = 64
const MOST_QUEUES = 65_536
/** The range of costs in which sums of floats still distinguish requests. */
export const LEAST_COST = 1e-9
export const MOST_COST = 1e12
/** Steps of a weight: sums of such weights up to 8 million are exact, so that no residue remains when all have left. */
const WEIGHT_STEPS = 2 ** 30

const RULES: OptionRules<FairQueueOptions, 'weightOf'> = {
  queues: [requireQueues, 'perFlow'],
  sparseFirst: [requireBoolean, true],
  weightOf: [requireFunction],
  estimates: [by(requireOneOf, ['learned', 'asked']), 'learned'],
  perFlowLimit: [by(requireInteger, 1), 50],
  maxWaiting: [by(requireInteger, 1), 3200],
  overflow: [by(requireOneOf, ['refuse', 'evict']), 'evict'],
  random: [requireFunction, secretRandom],
}

/** Names of the options above, for callers that pass them on. */
export const FAIR_QUEUE_OPTIONS: readonly string[] = Object.keys(RULES)

/** Checks the options. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function fairQueueSettings(options: FairQueueOptions): FairQueueSettings {
  requireOptions('fairQueue', options, FAIR_QUEUE_OPTIONS)
  return settingsFrom(options, RULES)
}

function requireQueues(name: string, queues: unknown): void {
  if (typeof queues === 'number') requireInteger(name, queues, 1, MOST_QUEUES)
  else requireOneOf(name, queues, ['perFlow', 'auto'])
}

/** Checks for a cost. The unit is the caller's. */
export function requireCost(name: string, cost: unknown, least: number = LEAST_COST): void {
  if (typeof cost === 'number' && cost >= least && cost <= MOST_COST) return
  requireNumber(name, cost, least, MOST_COST)
}

/** The flow's weight, checked and in whole steps; 1 without `weightOf`. */
export function weightInSteps(weightOf: WeightOf | undefined, flow: string, above?: readonly string[]): number {
  if (weightOf === undefined) return 1
  return Math.round(weightFrom(weightOf, flow, above) * WEIGHT_STEPS) / WEIGHT_STEPS
}
