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
import { type Choose, type Inside, MOST_CARDS } from './hashed-queues.js'

/** How a {@link FairQueue} is made up. */
export interface FairQueueOptions {
  /**
   * `'perFlow'`: every flow that waits has a queue of its own: exact, fastest, and nothing to tune. A number: SFQ with
   * that number of queues, which flows share. `'auto'`: SFQ with 64 queues, doubled (to 4096 at most) when they are
   * crowded, halved again, at a perturbation, when nearly none has been occupied. @default 'perFlow'
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
   * A flow's share relative to others, from 1e-9 to 1e12, counted in steps of 2^-30; of a path, at each level, that of a
   * name relative to those that have the same names above them. Asked at each arrival; a change holds from the next turn
   * on. Not with `inside: 'arrival'`, which cannot keep it. @default 1 for everybody
   */
  weightOf?: WeightOf
  /**
   * By what cost turns are taken, and requests charged while they run. `'learned'`: what requests of the flow were settled
   * with, against what was asked, once one of them was settled with another cost. `'asked'`: the cost that each comes
   * with. Their real cost is charged at the end in either case. @default 'learned'
   */
  estimates?: 'learned' | 'asked'
  /** Requests of one flow that may wait; with `inside: 'arrival'`, of one queue. At least 1. @default 50 */
  perFlowLimit?: number
  /** Requests that may wait in all. At least 1. @default 3200 */
  maxWaiting?: number
  /**
   * At `maxWaiting`: `'refuse'` the new request, or `'evict'` the last arrival of the flow with the most cost waiting
   * per weight (within a factor of 2), unless the new request would make its own flow as long as that. Not with
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

/** {@link FairQueueOptions} that were checked, with every default in its place. */
export type FairQueueSettings = Settings<FairQueueOptions, 'weightOf' | 'seed'>

/** Queues that `'auto'` starts from, and never has fewer than. */
export const AUTO_QUEUES = 64
const MOST_QUEUES = 65_536
export const MOST_SEED: number = 2 ** 32 - 1
/** The range of costs in which sums of floats still tell requests apart. */
export const LEAST_COST = 1e-9
export const MOST_COST = 1e12
/** Steps of a weight: sums of such weights up to 8 million are exact, so that nothing remains when all have left. */
const WEIGHT_STEPS = 2 ** 30

const RULES: OptionRules<FairQueueOptions, 'weightOf' | 'seed' | 'hand' | 'overflow'> = {
  queues: [requireQueues, 'perFlow'],
  hand: [by(requireInteger, 1, MOST_CARDS)],
  choose: [by(requireOneOf, ['foreign', 'shortest', 'first']), 'foreign'],
  inside: [by(requireOneOf, ['turns', 'arrival']), 'turns'],
  sparseFirst: [requireBoolean, true],
  weightOf: [requireFunction],
  estimates: [by(requireOneOf, ['learned', 'asked']), 'learned'],
  perFlowLimit: [by(requireInteger, 1), 50],
  maxWaiting: [by(requireInteger, 1), 3200],
  overflow: [by(requireOneOf, ['refuse', 'evict'])],
  seed: [by(requireInteger, 0, MOST_SEED)],
  random: [requireFunction, secretRandom],
}

/** Names of the options above, for callers that pass them on. */
export const FAIR_QUEUE_OPTIONS: readonly string[] = Object.keys(RULES)

/** Checks the options. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function fairQueueSettings(options: FairQueueOptions): FairQueueSettings {
  requireOptions('fairQueue', options, FAIR_QUEUE_OPTIONS)
  const settings = settingsFrom(options, RULES)
  const { queues, inside, weightOf } = settings
  const most = typeof queues === 'number' ? queues : MOST_CARDS
  const { hand = Math.min(4, most) } = settings
  requireInteger('hand', hand, 1, Math.min(MOST_CARDS, most))
  const flowsMix = queues !== 'perFlow' && inside === 'arrival'
  const { overflow = flowsMix ? 'refuse' : 'evict' } = settings
  if (flowsMix && weightOf !== undefined)
    throw new RangeError("weightOf cannot be kept with inside: 'arrival'; use inside: 'turns'")
  if (flowsMix && overflow === 'evict')
    throw new RangeError("overflow: 'evict' needs inside: 'turns'; in arrival order a flow has no place of its own")
  return { ...settings, hand, overflow }
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

/** The flow's weight, checked and in whole steps. */
export function weightInSteps(weightOf: WeightOf, flow: string, above?: readonly string[]): number {
  return Math.round(weightFrom(weightOf, flow, above) * WEIGHT_STEPS) / WEIGHT_STEPS
}
