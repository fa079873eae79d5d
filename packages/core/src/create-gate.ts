import { Gate } from './admission/gate.js'
import type { Overrides } from './admission/overrides.js'
import { type GateSeams, type Mechanism, type Passage, type Stage, stageOf } from './admission/stage.js'
import { type After, type Clock, steady, systemAfter, systemClock } from './clock.js'
import { type FairOptions, type FairSeams, requireFairOptions, requireLink } from './fair/options.js'
import type { ClockLink } from './fair/shared/report.js'
import { fairStage } from './fair/stage.js'
import { FairTracker } from './fair/tracker.js'
import {
  by,
  type Check,
  fail,
  requireAbove,
  requireFunction,
  requireGiven,
  requireOneOf,
  requireOptions,
  requireText,
} from './options.js'
import { flowName, nameKeyOf } from './path.js'
import type { QuotaMechanism } from './quota/stage.js'
import type { Random } from './random.js'
import { safeWeight, type WeightOf } from './weight.js'

/**
 * Options of {@link createGate}. Stages run in this order: `overrides`, `fair`, `shed`, `stages` as listed, `quota`,
 * `budget`, `doorman`, `queue`.
 */
export interface GateOptions<Target extends readonly unknown[] = [passage: Passage]> {
  /**
   * The resource that the gate guards, as named in pages, metrics and logs; not empty. Gates of this name share FAIR's
   * clock, in the processes that `fleet` reaches, or that have one primary. @default 'gate'; without `fleet`, the clock
   * is 'default'
   */
  name?: string
  /**
   * The link to the other processes in front of the same resource, such as `redisFleet()`: FAIR shares one clock with
   * them. @default found in `node:cluster` and worker threads
   */
  fleet?: ClockLink
  /**
   * FAIR: refuses the requests by which flows exceed their fair share of a resource that is short. `false` leaves it
   * out. @default {}
   */
  fair?: FairOptions | false
  /**
   * Load shedding, made by `loadShedder()`: refuses at random the load that exceeds the process's capacity.
   * @default false
   */
  shed?: Mechanism<'shed'> | false
  /** Stages of your own. For another order, set the built-in ones to `false` and list all here. */
  stages?: readonly Stage[]
  /**
   * A fixed amount per window for each key, made by `quota()`. Several, with distinct names, make several windows: a
   * request needs room in all of them. @default false
   */
  quota?: QuotaMechanism<(...target: Target) => void> | readonly QuotaMechanism<(...target: Target) => void>[] | false
  /**
   * Weighted fair escrow, made by `escrow()`: refuses the requests by which a tenant exceeds its part of a shared
   * budget. Or the stage of your own escrow, made by `budgetStage()`; the gate does not close that one. @default false
   */
  budget?: Mechanism<'budget'> | Stage | false
  /** A Doorman lease, made by `lease()`: keeps all requests inside it, first come, first served. @default false */
  doorman?: Mechanism<'doorman'> | false
  /** A queue, made by `requestQueue()`: requests wait until they may run, and in a fair order. @default false */
  queue?: Mechanism<'queue'> | false
  /**
   * A permit that is still unfinished after this time, in milliseconds, is finished as `ignored` at the next call of
   * the gate: a last resort for handlers that never settle, and for runtimes that do not report a disconnected client.
   * A request that runs longer is no longer counted as in flight. @default none
   */
  permitTimeoutMs?: number
  /**
   * Your decisions about single flows at run time: blocks, holds and boosts. Asked before all other stages.
   * @default none
   */
  overrides?: Overrides
  /**
   * A flow's share relative to others, from 1e-9 to 1e12, for `fair`, `budget` and `queue` alike, unless one of them
   * has its own. For a path, the queue asks for every name, with the names `above` it: none for the first. If it throws
   * or returns an invalid value, the weight is 1. @default 1 for every flow
   */
  weightOf?: WeightOf
  /**
   * Secret by which flow names of more than 256 UTF-16 units are shortened, not empty: the same in all processes of a
   * fleet that share a budget between such names. @default a random one for the process
   */
  nameSecret?: string
  /** @default the platform's monotonic clock */
  clock?: Clock
  /** Source of seeds and random draws: keep it secret. @default the platform's cryptographic generator */
  random?: Random
  /** Timer for stages that wait; must not keep the process alive. @default the platform's */
  after?: After
}

const DEFAULT_NAME = 'gate'

const byItsMaker: Check = () => {}

const CHECKS: Readonly<Record<keyof GateOptions, Check>> = {
  name: requireText,
  fleet: requireLink,
  fair: (_name, fair) => fair === false || requireFairOptions(fair),
  shed: byItsMaker,
  stages: (name, stages) => Array.isArray(stages) || fail(name, 'an array', stages),
  quota: byItsMaker,
  budget: byItsMaker,
  doorman: byItsMaker,
  queue: byItsMaker,
  permitTimeoutMs: by(requireAbove, 0),
  nameSecret: requireText,
  weightOf: requireFunction,
  overrides: requireOverrides,
  clock: requireFunction,
  random: requireFunction,
  after: requireFunction,
}

const STAGE_CHECKS: Readonly<Partial<Record<keyof Stage, Check>>> = {
  onError: by(requireOneOf, ['admit', 'refuse']),
  deadlineMs: by(requireAbove, 0),
}

/** Names of the options above, for code that passes them on. */
export const GATE_OPTIONS: readonly string[] = Object.keys(CHECKS)

/**
 * Makes a gate. Starts no timer and no background work. Throws a `TypeError` or `RangeError` that names the option
 * and its value; unknown options are errors too.
 */
export function createGate(options: GateOptions = {}): Gate {
  requireOptions('gate', options, GATE_OPTIONS)
  return gateFrom(options)
}

/** {@link createGate} for options among others: unknown ones are no error. */
export function gateFrom(options: GateOptions): Gate {
  const { stages = [], shed = false, quota = false, budget = false, doorman = false, queue = false } = options
  const { name = DEFAULT_NAME, after = systemAfter, overrides, permitTimeoutMs, nameSecret, random } = options
  requireGiven(CHECKS, options)
  const clock = steady(options.clock ?? systemClock)
  let gate: Gate | undefined
  const failed = (option: string, error: unknown): void => gate?.failed(option, error)
  const weights = overrides ? overrides.weighing(options.weightOf) : options.weightOf
  const weightOf = weights && safeWeight(weights, (error) => failed('weightOf', error))
  const nameKey = nameSecret ? nameKeyOf(nameSecret) : undefined
  const shortened = (name: string): string => flowName(name, nameKey)
  const seams: GateSeams = { clock, after, random, weightOf, shortened, failed }

  const fair = fairOptions(options, weightOf)

  const made = (place: Mechanism['place'], mechanism: Mechanism | false): Stage[] =>
    mechanism === false ? [] : [stageOf(place, mechanism, seams)]
  for (const stage of stages) requireStage(stage)
  const between = [
    ...made('shed', shed),
    ...stages,
    ...(quota === false ? [] : [quota].flat().map((each) => stageOf('quota', each, seams))),
    ...(isStage(budget) ? [budget] : made('budget', budget)),
    ...made('doorman', doorman),
  ]
  const names = new Set<unknown>(['gate', overrides && 'overrides', fair && 'fair', queue && 'queue'])
  for (const { name } of between) {
    if (names.has(name)) fail('stages', 'of distinct names', name)
    names.add(name)
  }
  // Last, each after the checks of all before it: the queue listens to a capacity that others may share, and FAIR joins
  // a fleet.
  const waiting = made('queue', queue)
  try {
    overrides?.shortenBy(nameKey)
    const chain = [
      overrides,
      fair && fairStage(new FairTracker({ ...fair, clock, random } as FairOptions & FairSeams)),
      ...between,
      ...waiting,
    ]
    const all = chain.filter((stage) => !!stage)
    gate = new Gate(name, all, overrides, clock, after, permitTimeoutMs, nameKey)
    return gate
  } catch (error) {
    waiting[0]?.close?.()
    throw error
  }
}

/** FAIR's options, with the gate's weights, name and fleet unless they have their own. The rule `blue` has none. */
function fairOptions(
  { fair = {}, name, fleet, clock }: GateOptions,
  weightOf: GateSeams['weightOf'],
): FairOptions | false {
  if (fair === false || fair.rule === 'blue') {
    if (fleet !== undefined) throw new TypeError("fleet: only fair's rule 'fair-clock' has a clock to share")
    return fair
  }
  // A gate with its own `clock` is shared with other processes only if it has a `fleet`.
  const isShared = fleet !== undefined || (name !== undefined && clock === undefined)
  const shared = isShared ? { name: name ?? DEFAULT_NAME, link: fleet } : undefined
  return { ...fair, weightOf: fair.weightOf ?? weightOf, shared: fair.shared ?? shared } as FairOptions
}

function isStage(budget: Mechanism<'budget'> | Stage | false): budget is Stage {
  return typeof (budget as Partial<Stage> | null)?.admit === 'function'
}

function requireOverrides(name: string, value: unknown): void {
  const overrides = value as Partial<Overrides> | null
  if (typeof overrides?.weighing !== 'function') fail(name, 'made by new Overrides()', value)
}

function requireStage(stage: unknown): void {
  if (typeof stage !== 'object' || stage === null) fail('stages', 'an array of stages', stage)
  const { name, admit } = stage as Partial<Stage>
  requireText('stage.name', name)
  requireFunction(`stage ${name}: admit`, admit)
  requireGiven(STAGE_CHECKS, stage, `stage ${name}: `)
}
