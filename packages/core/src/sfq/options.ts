import type { Words } from '../hash.js'
import {
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
} from '../options.js'
import { type Random, secretRandom } from '../random.js'
import type { Choose, Inside } from './buckets.js'
import { MOST_CARDS } from './hand.js'

/** How a {@link FairQueue} is made up. */
export interface FairQueueOptions {
  /**
   * `'perFlow'`: every flow that waits has a queue of its own: exact, fastest, and nothing to tune. A number: SFQ with
   * so many queues, which flows share. `'auto'`: SFQ with 64 queues, doubled (to 4096 at most) when they are crowded,
   * halved again, at a perturbation, when nearly none has been occupied. @default 'perFlow'
   */
  queues?: 'perFlow' | 'auto' | number
  /** SFQ: queues in a flow's hand, from 1 to 8, and not more than there are queues. @default 4, or all if fewer */
  hand?: number
  /**
   * SFQ: the queue of its hand that a flow joins when it starts to wait. `'foreign'`: the one where others have the
   * least cost waiting. `'shortest'`: the one with the fewest requests. `'first'`: the first, whatever waits there.
   * @default 'foreign'
   */
  choose?: Choose
  /**
   * SFQ: how flows share a queue. `'turns'`: by turns of their own, so that each gets its weight whoever it shares
   * with. `'arrival'`: in order of arrival; with `'first'` or `'shortest'` that needs no memory per flow.
   * @default 'turns'
   */
  inside?: Inside
  /** Whether a flow that starts to wait comes first, with one quantum. @default true */
  sparseFirst?: boolean
  /**
   * A flow's share relative to others, from 1e-9 to 1e12, counted in steps of 2^-30. Asked at each arrival; a change
   * holds from the flow's next turn on. Not with `inside: 'arrival'`, which cannot keep it. @default 1 for everybody
   */
  weightOf?: (flow: string) => number
  /** Requests of one flow that may wait; with `inside: 'arrival'`, of one queue. At least 1. @default 50 */
  perFlowLimit?: number
  /** Requests that may wait in all. At least 1. @default 3200 */
  maxWaiting?: number
  /**
   * When as many wait as may: `'refuse'` the newcomer, or `'evict'` the last arrival of the flow with the most cost
   * waiting per weight (within a factor of 2), unless the newcomer's own flow would be as fat as that. Not with
   * `inside: 'arrival'`, where flows have no place of their own. @default 'evict', in arrival order 'refuse'
   */
  overflow?: 'refuse' | 'evict'
  /**
   * SFQ: a whole number from which hands are dealt until the first perturbation, for tests: whoever knows it can choose
   * names that share a queue. @default a key of 64 random bits
   */
  seed?: number
  /** Where keys come from: keep it secret. @default the platform's cryptographic generator */
  random?: Random
}

/** Names of the options above, for whoever passes them on. */
export const FAIR_QUEUE_OPTIONS: readonly string[] = [
  'queues',
  'hand',
  'choose',
  'inside',
  'sparseFirst',
  'weightOf',
  'perFlowLimit',
  'maxWaiting',
  'overflow',
  'seed',
  'random',
]

/** Options that were checked, with every default in its place. */
export interface FairQueueSettings extends Required<Omit<FairQueueOptions, 'weightOf' | 'seed'>> {
  /** From the option `seed`; undefined: one is to be drawn. */
  readonly key: Words | undefined
  readonly weightOf: ((flow: string) => number) | undefined
}

/** Queues that `'auto'` starts from, and never has fewer than. */
export const AUTO_QUEUES = 64
const MOST_QUEUES = 65_536
const MOST_SEED = 2 ** 32 - 1
/** Costs that sums of floats tell apart. */
export const LEAST_COST = 1e-9
export const MOST_COST = 1e12
const LEAST_WEIGHT = 1e-9
const MOST_WEIGHT = 1e12
/** Steps of a weight: sums of such weights up to 8 million are exact, so that when all have left, nothing is left. */
const WEIGHT_STEPS = 2 ** 30

/** Checks the options. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function settingsOf(options: FairQueueOptions): FairQueueSettings {
  requireOptions('fairQueue', options, FAIR_QUEUE_OPTIONS)
  const { queues = 'perFlow', random = secretRandom } = options
  if (typeof queues === 'number') requireInteger('queues', queues, 1, MOST_QUEUES)
  else requireOneOf('queues', queues, ['perFlow', 'auto'])
  requireFunction('random', random)
  const {
    hand = typeof queues === 'number' ? Math.min(4, queues) : 4,
    choose = 'foreign',
    inside = 'turns',
    sparseFirst = true,
    weightOf,
    perFlowLimit = 50,
    maxWaiting = 3200,
    seed,
  } = options
  requireInteger('hand', hand, 1, typeof queues === 'number' ? Math.min(MOST_CARDS, queues) : MOST_CARDS)
  requireOneOf('choose', choose, ['foreign', 'shortest', 'first'])
  requireOneOf('inside', inside, ['turns', 'arrival'])
  requireBoolean('sparseFirst', sparseFirst)
  requireInteger('perFlowLimit', perFlowLimit, 1)
  requireInteger('maxWaiting', maxWaiting, 1)
  const key = seed === undefined ? undefined : keyOf(seed)
  const shared = queues !== 'perFlow' && inside === 'arrival'
  const { overflow = shared ? 'refuse' : 'evict' } = options
  requireOneOf('overflow', overflow, ['refuse', 'evict'])
  if (weightOf !== undefined) requireFunction('weightOf', weightOf)
  if (shared && weightOf !== undefined)
    throw new RangeError("weightOf cannot be kept with inside: 'arrival'; use inside: 'turns'")
  if (shared && overflow === 'evict')
    throw new RangeError("overflow: 'evict' needs inside: 'turns'; in arrival order a flow has no place of its own")
  return { queues, hand, choose, inside, sparseFirst, weightOf, perFlowLimit, maxWaiting, overflow, key, random }
}

/** The key that a seed stands for, a whole number of 32 bits. */
export function keyOf(seed: number): Words {
  requireInteger('seed', seed, 0, MOST_SEED)
  return { a: seed | 0, b: 0 }
}

/** Checks for a cost. The unit is the caller's; the range is what sums of floats can tell apart. */
export function requireCost(name: string, cost: unknown, least: number = LEAST_COST): void {
  if (typeof cost === 'number' && cost >= least && cost <= MOST_COST) return
  requireNumber(name, cost, least, MOST_COST)
}

/** Checks for a weight, of the range that all mechanisms have. */
function requireWeight(name: string, weight: unknown): void {
  requireNumber(name, weight, LEAST_WEIGHT, MOST_WEIGHT)
}

/** The flow's weight, checked and in whole steps. */
export function weightFrom(weightOf: (flow: string) => number, flow: string): number {
  const weight = weightOf(flow)
  requireWeight(`weightOf(${JSON.stringify(flow)})`, weight)
  return Math.round(weight * WEIGHT_STEPS) / WEIGHT_STEPS
}
