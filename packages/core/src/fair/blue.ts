import type { Outcome } from '../admission/outcome.js'
import {
  requireAbove,
  requireFunction,
  requireGiven,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
} from '../options.js'
import { coinRandom, type Random, secretRandom } from '../random.js'
import { type BlueRule, requireBuckets, SKETCH_CHECKS } from './options.js'
import { type FlowKey, IndependentPlacement, type MakePlacement, type Placement } from './placement.js'
import type { FairRefusal, FairRule } from './rule.js'

/** The numbers of a FAIR structure; every one of them is also an option of `FairTracker`. */
export interface FairTuning {
  /** Levels of the sketch (L): hashes per flow. */
  levels: number
  /** Buckets in each level (M in the library's code, B in its article). */
  bucketsPerLevel: number
  /** Added to a flow's buckets at each failure (Pi), a probability. */
  failureIncrement: number
  /** Taken from them at each success (Pd), a probability. */
  successDecrement: number
  /** Exponential decay of a bucket (λ), per second. */
  decayPerSecond: number
  /** Renewal interval of the hash seeds, in milliseconds. */
  rotateEveryMs: number
}

/** Properties of a service for `tuneFair`. */
export interface FairTraffic {
  /** Flows expected; a thousandth of them, rounded up, may be heavy at once. Integer, at least 0. @default 1000 */
  flows?: number
  /** Integer, at least 1. @default 1000 */
  bucketsPerLevel?: number
  /** Consecutive failures after which a flow is refused entirely. Integer, at least 2. @default 25 */
  tolerableFailures?: number
}

/** Share of the flows that may be heavy at once. */
const HEAVY_SHARE = 0.001
/** Chance that an innocent flow shares a bucket with a heavy one on every level. */
const COLLISION_CHANCE = 1e-4
const LEAST_LEVELS = 3
/** Decrease by a success, as a part of the increase by a failure. */
const SUCCESS_PER_FAILURE = 0.001

/**
 * Chooses a structure as the Go library satmihir/fair does: enough levels that, with a thousandth of the flows heavy,
 * an innocent flow collides with heavy ones on all levels with a chance of at most 1e-4.
 *
 * With m heavy flows and B buckets a level is hit with chance 1 − (1 − 1/B)^m, so L = max(3, ⌈ln 1e-4 / ln(1 − (1 −
 * 1/B)^m)⌉). Throws a `RangeError` if no number of levels suffices: there the library silently returns its weakest
 * structure.
 */
export function tuneFair(traffic: FairTraffic = {}): FairTuning {
  requireOptions('traffic', traffic, ['flows', 'bucketsPerLevel', 'tolerableFailures'])
  const { flows = 1000, bucketsPerLevel = 1000, tolerableFailures = 25 } = traffic
  requireInteger('flows', flows, 0)
  requireInteger('bucketsPerLevel', bucketsPerLevel, 1)
  requireInteger('tolerableFailures', tolerableFailures, 2)
  const heavy = Math.ceil(flows * HEAVY_SHARE)
  const missChance = (1 - 1 / bucketsPerLevel) ** heavy
  const levels = Math.ceil(Math.log(COLLISION_CHANCE) / Math.log(1 - missChance))
  if (!Number.isFinite(levels))
    throw new RangeError(`bucketsPerLevel must be larger for ${flows} flows, got ${bucketsPerLevel}`)
  return {
    levels: Math.max(levels, LEAST_LEVELS),
    bucketsPerLevel,
    failureIncrement: 1 / tolerableFailures,
    successDecrement: SUCCESS_PER_FAILURE * (1 / tolerableFailures),
    decayPerSecond: 0.01,
    rotateEveryMs: 300_000,
  }
}

/** How the probabilities of a flow's buckets, one per level, are combined. The array is reused between calls. */
export type Combine = 'min' | 'mean' | ((probabilities: Readonly<Float64Array>) => number)

/** A sketch's reaction to failures, successes and time. */
export interface BlueReaction {
  readonly failureIncrement: number
  readonly successDecrement: number
  readonly decayPerSecond: number
  readonly combine: Combine
}

/**
 * Stochastic fair BLUE: levels of buckets, each a refusal probability and the time it was last changed.
 *
 * A failure adds to a flow's bucket on every level, a success takes a little back, and all fade with time. A flow's
 * probability is the least of its buckets', so it is refused only if it shares a hot bucket on *every* level.
 * Pure: positions, times and outcomes come in as numbers. O(levels) per call, nothing allocated, memory constant.
 *
 * Reading does not write: decay is applied when a bucket is looked at, which composes to the same curve.
 *
 * @see W. Feng, D. Kandlur, D. Saha, K. Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing
 *   Fairness", IEEE INFOCOM 2001
 */
export class BlueSketch {
  readonly #probabilities: Float64Array
  readonly #changedMs: Float64Array
  readonly #buckets: number
  readonly #rule: BlueReaction
  readonly #decayPerMs: number
  readonly #scratch: Float64Array

  constructor(levels: number, bucketsPerLevel: number, rule: BlueReaction, nowMs: number) {
    this.#probabilities = new Float64Array(levels * bucketsPerLevel)
    this.#changedMs = new Float64Array(levels * bucketsPerLevel).fill(nowMs)
    this.#buckets = bucketsPerLevel
    this.#rule = rule
    this.#decayPerMs = rule.decayPerSecond / 1000
    this.#scratch = new Float64Array(levels)
  }

  /** Chance, 0 to 1, that a request of the flow at `places` (one bucket index per level) should be refused. */
  probability(places: Int32Array, nowMs: number): number {
    const { combine } = this.#rule
    const levels = places.length
    if (combine === 'min') {
      let least = 1
      for (let level = 0; level < levels; level++) {
        const p = this.#decayed(level * this.#buckets + places[level]!, nowMs)
        if (p === 0) return 0
        if (p < least) least = p
      }
      return least
    }
    const all = this.read(places, nowMs, this.#scratch)
    if (combine !== 'mean') return combine(all)
    let sum = 0
    for (let level = 0; level < levels; level++) sum += all[level]!
    return sum / levels
  }

  /** Writes the probability of each level's bucket to `into`, and returns it. */
  read(places: Int32Array, nowMs: number, into: Float64Array): Float64Array {
    for (let level = 0; level < places.length; level++)
      into[level] = this.#decayed(level * this.#buckets + places[level]!, nowMs)
    return into
  }

  /**
   * Learns the outcome of a request of the flow at `places`: shortage adds to its buckets, service subtracts a little.
   */
  learn(places: Int32Array, failed: boolean, nowMs: number): void {
    const change = failed ? this.#rule.failureIncrement : -this.#rule.successDecrement
    for (let level = 0; level < places.length; level++) {
      const cell = level * this.#buckets + places[level]!
      if (!failed && this.#probabilities[cell] === 0) continue
      this.#probabilities[cell] = Math.max(0, Math.min(1, this.#decayed(cell, nowMs) + change))
      this.#changedMs[cell] = nowMs
    }
  }

  /** Clears the flow's buckets. */
  forget(places: Int32Array): void {
    for (let level = 0; level < places.length; level++) this.#probabilities[level * this.#buckets + places[level]!] = 0
  }

  /** Clears everything. */
  clear(nowMs: number): void {
    this.#probabilities.fill(0)
    this.#changedMs.fill(nowMs)
  }

  /** Share of the buckets, over all levels, whose probability is at least `probability`. Reads every bucket. */
  shareAbove(probability: number, nowMs: number): number {
    const cells = this.#probabilities.length
    let above = 0
    for (let cell = 0; cell < cells; cell++) if (this.#decayed(cell, nowMs) >= probability) above++
    return above / cells
  }

  #decayed(cell: number, nowMs: number): number {
    const p = this.#probabilities[cell]!
    if (p === 0) return 0
    const elapsedMs = nowMs - this.#changedMs[cell]!
    return elapsedMs > 0 ? p * Math.exp(-this.#decayPerMs * elapsedMs) : p
  }
}

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
