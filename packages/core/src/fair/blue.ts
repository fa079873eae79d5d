import type { Outcome } from '../admission/outcome.js'
import { requireAbove, requireFunction, requireGiven, requireNumber, requireOneOf, requireOptions } from '../options.js'
import { coinRandom, type Random, secretRandom } from '../random.js'
import { type BlueRule, requireBuckets, SKETCH_CHECKS } from './options.js'
import { type FlowKey, IndependentPlacement, type MakePlacement, type Placement } from './placement.js'
import type { FairRefusal, FairRule } from './rule.js'
import { BlueSketch, type Combine } from './sketch.js'
import { type FairTuning, tuneFair } from './tuning.js'

/** Options of {@link blue}. The defaults are those of `tuneFair()`: the published library's. */
export interface BlueOptions {
  /** Levels of the sketch. Integer, at least 1. @default 3 */
  levels?: number
  /** Buckets in each level; more of them, fewer innocent flows caught. Integer, at least 1. @default 1000 */
  bucketsPerLevel?: number
  /** Increase of the flow's refusal probability by a failure; above 0 and below 1. @default 0.04 */
  failureIncrement?: number
  /** Decrease by a success; above 0 and below `failureIncrement`. @default 0.00004 */
  successDecrement?: number
  /** Exponential decay of a probability, per second; 0 means never. @default 0.01 */
  decayPerSecond?: number
  /** Time between two changes of the hash seeds, in milliseconds; `Infinity` means never. @default 300000 */
  rotateEveryMs?: number
  /** How the levels' probabilities are combined. @default 'min' */
  combine?: Combine
  /**
   * Creates another hash: for traces that must agree with another program, bit for bit. @default independent bits for
   * every level, from a keyed hash
   */
  placement?: MakePlacement
}

/** The checked options, with every default in its place. */
interface BlueSettings extends Required<Omit<BlueOptions, 'placement'>> {
  readonly placement: MakePlacement | undefined
}

/** A flow's place in one structure. */
export interface BluePlace {
  /** Bucket index on each level. */
  readonly buckets: readonly number[]
  /** Probability of each of those buckets, decayed to now. */
  readonly probabilities: readonly number[]
  /** Their combination. */
  readonly probability: number
}

/** State of a flow: in the structure that decides, and in the one that will. */
export interface BlueExplanation {
  readonly live: BluePlace
  readonly shadow: BluePlace
}

/** Settings and state of rule `blue`. */
export interface BlueState extends Omit<FairTuning, 'rotateEveryMs'> {
  readonly rule: 'blue'
  /** Share of the live buckets with a probability of at least one half. */
  readonly hotBuckets: number
}

/**
 * Stochastic fair BLUE in two structures with different seeds, which both learn from every outcome; the live one
 * decides. At each rotation the shadow, which has learnt enough, becomes live and a fresh one its shadow, so that no
 * two flows share all their buckets for long.
 *
 * Every request counts the same, regardless of its cost.
 *
 * @see W. Feng et al., "Stochastic Fair Blue", IEEE INFOCOM 2001; the Go library satmihir/fair, whose structure,
 *   rotation and constants these are. Departure: refused if draw < probability, so that 0 refuses nothing.
 */
class BlueStructures implements FairRule<BlueExplanation, BlueState> {
  readonly placement: Placement
  readonly #settings: BlueSettings
  readonly #coins: Random
  readonly #places: Int32Array
  #live: BlueSketch
  #shadow: BlueSketch
  /** Whether the latest request with a known outcome failed. */
  #failed = false

  constructor(settings: BlueSettings, seeds: Random, coins: Random, nowMs: number) {
    const { levels, bucketsPerLevel, placement } = settings
    this.#settings = settings
    this.#coins = coins
    this.placement = placement?.(bucketsPerLevel, seeds) ?? new IndependentPlacement(levels, bucketsPerLevel, seeds)
    this.#places = new Int32Array(levels)
    this.#live = new BlueSketch(levels, bucketsPerLevel, settings, nowMs)
    this.#shadow = new BlueSketch(levels, bucketsPerLevel, settings, nowMs)
  }

  /** Draws once, unless the probability is 0. */
  register(key: FlowKey, _cost: number, nowMs: number): boolean {
    const probability = this.probability(key, nowMs)
    key.probability = probability
    return probability === 0 || this.#coins() >= probability
  }

  /** A refused flow that tries once a second is admitted after 1/(1 − p) seconds on average. */
  refusal({ probability }: FlowKey): FairRefusal {
    return { retryAfterMs: 1000 / (1 - probability), detail: { probability } }
  }

  report(key: FlowKey, outcome: Outcome, _cost: number, nowMs: number): void {
    // The outcome of an ignored request is unknown: most likely it is that of the latest request. Otherwise a flow that
    // hangs up before each answer could never be blamed for the shortage that it causes, while all others would be.
    if (outcome !== 'ignored') this.#failed = outcome === 'failure'
    const failed = this.#failed
    this.placement.place(key, 'live', this.#places)
    this.#live.learn(this.#places, failed, nowMs)
    this.placement.place(key, 'shadow', this.#places)
    this.#shadow.learn(this.#places, failed, nowMs)
  }

  withdraw(): void {}

  /** Flows that share a bucket with it also benefit. */
  forget(key: FlowKey): void {
    this.placement.place(key, 'live', this.#places)
    this.#live.forget(this.#places)
    this.placement.place(key, 'shadow', this.#places)
    this.#shadow.forget(this.#places)
  }

  probability(key: FlowKey, nowMs: number): number {
    this.placement.place(key, 'live', this.#places)
    return this.#live.probability(this.#places, nowMs)
  }

  explain(key: FlowKey, nowMs: number): BlueExplanation {
    const place = (sketch: BlueSketch): BluePlace => ({
      buckets: [...this.#places],
      probabilities: [...sketch.read(this.#places, nowMs, new Float64Array(this.#places.length))],
      probability: sketch.probability(this.#places, nowMs),
    })
    this.placement.place(key, 'live', this.#places)
    const live = place(this.#live)
    this.placement.place(key, 'shadow', this.#places)
    return { live, shadow: place(this.#shadow) }
  }

  rotate(rotations: number, nowMs: number): void {
    const forget = rotations > 1
    const spent = this.#live
    this.#live = this.#shadow
    this.#shadow = spent
    spent.clear(nowMs)
    this.placement.rotate()
    if (forget) {
      this.#live.clear(nowMs)
      this.placement.rotate()
    }
  }

  /** Reads every bucket once. */
  snapshot(nowMs: number): BlueState {
    const { levels, bucketsPerLevel, failureIncrement, successDecrement, decayPerSecond } = this.#settings
    return {
      rule: 'blue',
      levels,
      bucketsPerLevel,
      failureIncrement,
      successDecrement,
      decayPerSecond,
      hotBuckets: this.#live.shareAbove(0.5, nowMs),
    }
  }
}

const BLUE_OPTIONS: readonly string[] = [
  'levels',
  'bucketsPerLevel',
  'failureIncrement',
  'successDecrement',
  'decayPerSecond',
  'rotateEveryMs',
  'combine',
  'placement',
]

/**
 * Rule `blue` for `createGate({ fair })` and `FairTracker`: each has its own structures. Throws a `RangeError` or
 * `TypeError` that names the option and its value.
 */
export function blue(options: BlueOptions = {}): BlueRule {
  requireOptions('fair', options, BLUE_OPTIONS)
  const settings = blueSettings(options)
  return {
    rule: 'blue',
    rotateEveryMs: settings.rotateEveryMs,
    make: (random, nowMs) => new BlueStructures(settings, random ?? secretRandom, random ?? coinRandom, nowMs),
  }
}

function blueSettings(options: BlueOptions): BlueSettings {
  const tuned = tuneFair()
  const {
    levels = tuned.levels,
    bucketsPerLevel = tuned.bucketsPerLevel,
    failureIncrement = tuned.failureIncrement,
    successDecrement = Math.min(tuned.successDecrement, failureIncrement / 1000),
    decayPerSecond = tuned.decayPerSecond,
    rotateEveryMs = tuned.rotateEveryMs,
    combine = 'min',
    placement,
  } = options
  requireGiven(SKETCH_CHECKS, options, 'fair.')
  requireBuckets(levels, bucketsPerLevel)
  requireAbove('fair.failureIncrement', failureIncrement, 0, 1)
  if (failureIncrement === 1) throw new RangeError('fair.failureIncrement must be below 1, got 1')
  requireAbove('fair.successDecrement', successDecrement, 0, 1)
  if (successDecrement >= failureIncrement)
    throw new RangeError(
      `fair.successDecrement must be below fair.failureIncrement (${failureIncrement}), got ${successDecrement}`,
    )
  requireNumber('fair.decayPerSecond', decayPerSecond, 0)
  if (typeof combine !== 'function') requireOneOf('fair.combine', combine, ['min', 'mean'])
  if (placement !== undefined) requireFunction('fair.placement', placement)
  return {
    levels,
    bucketsPerLevel,
    failureIncrement,
    successDecrement,
    decayPerSecond,
    rotateEveryMs,
    combine,
    placement,
  }
}
