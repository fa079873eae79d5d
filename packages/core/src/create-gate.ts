import { keyOf } from './admission/flow.js'
import { Gate } from './admission/gate.js'
import { Overrides } from './admission/overrides.js'
import type { Stage } from './admission/stage.js'
import { type After, type Clock, steady, systemAfter, systemClock } from './clock.js'
import { WeightedFairEscrow } from './escrow/escrow.js'
import { BUDGET_OPTIONS, type BudgetOptions } from './escrow/options.js'
import { budgetStage, type Escrow } from './escrow/stage.js'
import { type FairOptions, FairTracker, fairStage } from './fair/index.js'
import { requireFairOptions } from './fair/options.js'
import { LEASE_OPTIONS, LeaseStage, type LeaseStageOptions } from './lease/stage.js'
import { requireAbove, requireFunction, requireOneOf, requireOptions, requireText, show } from './options.js'
import { type QueueOptions, WaitingRoom } from './queue/index.js'
import { QUEUE_OPTIONS, safely, safeWeight } from './queue/options.js'
import type { Random } from './random.js'
import { LoadShedder, type ShedOptions } from './shed/index.js'
import { SHED_OPTIONS } from './shed/options.js'

/**
 * What a gate is made of. Stages run in this order: `overrides`, `fair`, `shed`, `stages` as listed, `budget`, `lease`,
 * `queue`.
 */
export interface GateOptions {
  /** FAIR: refuses what flows ask beyond their fair share of what is short. `false` leaves it out. @default {} */
  fair?: FairOptions | false
  /** Load shedding: refuses at random what the process cannot take. Needs a signal. @default false */
  shed?: ShedOptions | false
  /** Stages of your own. For another order, set the built-in ones to `false` and list all here. */
  stages?: readonly Stage[]
  /**
   * Weighted fair escrow: refuses what a tenant may not spend of a budget that all share. Its options, or an escrow of
   * your own, which the gate does not close. `false` leaves it out. @default false
   */
  budget?: BudgetOptions | Escrow | false
  /** Keeps all requests inside a Doorman lease, first come, first served. `false` leaves it out. @default false */
  lease?: LeaseStageOptions | false
  /** Lets requests wait for capacity, and in a fair order. `false` leaves it out. @default false */
  queue?: QueueOptions | false
  /**
   * A permit that nobody has finished after this many milliseconds is finished as `ignored`, at the next call of the
   * gate: the last resort where a handler may never settle, or a runtime never tell that a client has left. What runs
   * longer than that is no longer counted. @default none
   */
  leaseMs?: number
  /** What you decide about single flows at run time: blocks and boosts. Asked before all other stages. @default none */
  overrides?: Overrides
  /**
   * A flow's share relative to others, from 1e-9 to 1e12, for `fair`, `budget` and `queue` alike, unless one of them has
   * its own. If it throws, or gives what it may not, that is 1. @default 1 for everybody
   */
  weightOf?: (flow: string) => number
  /**
   * Secret by which flow names of 256 UTF-16 units or more are shortened, not empty: the same in all processes of a
   * fleet that share a budget between such names. @default a random one for the process
   */
  nameSecret?: string
  /** @default the platform's monotonic clock */
  clock?: Clock
  /** Where seeds and coins come from: keep it secret. @default the platform's cryptographic generator */
  random?: Random
  /** Timer for stages that wait; must not keep the process alive. @default the platform's */
  after?: After
}

/** Names of the options above, for whoever passes them on. */
export const GATE_OPTIONS: readonly string[] = [
  'fair',
  'shed',
  'stages',
  'budget',
  'lease',
  'queue',
  'leaseMs',
  'nameSecret',
  'weightOf',
  'overrides',
  'clock',
  'random',
  'after',
]

/**
 * Makes a gate. Starts no timer and no background work. Throws a `TypeError` or `RangeError` that names the option
 * and its value; unknown options are errors too.
 */
export function createGate(options: GateOptions = {}): Gate {
  requireOptions('gate', options, GATE_OPTIONS)
  const { stages = [], shed = false, lease = false } = options
  const { after = systemAfter } = options
  const random = options.random === undefined ? {} : { random: options.random }
  requireFunction('clock', options.clock ?? systemClock)
  if (options.random !== undefined) requireFunction('random', options.random)
  requireFunction('after', after)
  if (options.leaseMs !== undefined) requireAbove('leaseMs', options.leaseMs, 0)
  if (options.nameSecret !== undefined) requireText('nameSecret', options.nameSecret)
  if (!Array.isArray(stages)) throw new TypeError(`stages must be an array, got ${show(stages)}`)
  const clock = steady(options.clock ?? systemClock)
  const chain: Stage[] = []
  let gate: Gate | undefined
  const failed = (stage: string) => (error: unknown) => gate?.failed(stage, error)
  if (options.weightOf !== undefined) requireFunction('weightOf', options.weightOf)
  const { overrides } = options
  if (overrides !== undefined) {
    if (!(overrides instanceof Overrides))
      throw new TypeError(`overrides must be made by new Overrides(), got ${show(overrides)}`)
    chain.push(overrides)
  }
  const given = options.weightOf
  const boosted = overrides && ((flow: string) => (given?.(flow) ?? 1) * overrides.factor(flow))
  const weights = boosted ?? given
  const weightOf = weights && safeWeight(weights, failed('weightOf'))
  const fair = withWeight<FairOptions>(options.fair === undefined ? {} : options.fair, weightOf)
  const budget = withWeight(options.budget === undefined ? false : options.budget, weightOf)
  const queue = withWeight(options.queue === undefined ? false : options.queue, weightOf)
  if (fair !== false) {
    requireFairOptions(fair)
    chain.push(fairStage(new FairTracker({ ...fair, clock, ...random })))
  }
  if (shed !== false) {
    requireOptions('shed', shed, SHED_OPTIONS)
    chain.push(new LoadShedder({ ...shed, clock, ...random }))
  }
  for (const stage of stages) {
    requireStage(stage)
    chain.push(stage)
  }
  if (budget !== false) chain.push(budgetOf(budget, clock))
  if (lease !== false) {
    requireOptions('lease', lease, LEASE_OPTIONS)
    chain.push(new LeaseStage({ ...lease, after }))
  }
  if (queue !== false) requireOptions('queue', queue, QUEUE_OPTIONS)
  const names = new Set<string>(queue === false ? ['gate'] : ['gate', 'queue'])
  for (const { name } of chain) {
    if (names.has(name)) throw new TypeError(`stages must have distinct names, got ${show(name)} twice`)
    names.add(name)
  }
  // Last, when nothing can be wrong any more: it listens to a capacity that others may share.
  if (queue !== false) chain.push(new WaitingRoom({ ...safely(queue, failed('queue')), clock, ...random, after }))
  const { leaseMs, nameSecret } = options
  gate = new Gate(chain, clock, after, leaseMs, nameSecret === undefined ? undefined : keyOf(nameSecret))
  return gate
}

/** The options of a mechanism, with the gate's weights where it has none of its own. */
function withWeight<T extends object>(options: T | false, weightOf: ((flow: string) => number) | undefined): T | false {
  const isOptions = typeof options === 'object' && options !== null && !Array.isArray(options)
  if (weightOf === undefined || !isOptions) return options
  // An escrow of somebody's own, and the rule that knows no weights.
  const isWithout = 'check' in options || ('rule' in options && options.rule === 'blue')
  if (isWithout || 'weightOf' in options) return options
  return { ...options, weightOf }
}

/** The budget's stage: around an escrow that somebody made, or that is made here. */
function budgetOf(budget: BudgetOptions | Escrow, clock: Clock): Stage {
  if (typeof budget === 'object' && budget !== null && 'check' in budget) return budgetStage(budget)
  requireOptions('budget', budget, BUDGET_OPTIONS)
  const { onError = 'admit', dryRun = false, ...options } = budget
  return budgetStage(new WeightedFairEscrow({ ...options, clock }), { onError, dryRun })
}

function requireStage(stage: unknown): void {
  if (typeof stage !== 'object' || stage === null) throw new TypeError(`stages must hold stages, got ${show(stage)}`)
  const { name, admit, onError, deadlineMs } = stage as Partial<Stage>
  requireText('stage.name', name)
  requireFunction(`stage ${name}: admit`, admit)
  if (onError !== undefined) requireOneOf(`stage ${name}: onError`, onError, ['admit', 'refuse'])
  if (deadlineMs !== undefined) requireAbove(`stage ${name}: deadlineMs`, deadlineMs, 0)
}
