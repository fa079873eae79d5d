import { type Outcome, outcomes } from '../admission/outcome.js'
import { type Clock, steady } from '../clock.js'
import { requireOneOf, requireText } from '../options.js'
import type { Random } from '../random.js'
import { type FairOptions, type FairSeams, resolveFairOptions } from './options.js'
import { FlowKey, IndependentPlacement, type Placement, PublishedPlacement } from './placement.js'
import { type BlueRule, BlueSketch } from './sketch.js'
import type { FairTuning } from './tuning.js'

/** A flow's place in one structure. */
export interface FairPlace {
  /** Bucket index on each level. */
  readonly buckets: readonly number[]
  /** Probability of each of those buckets, decayed to now. */
  readonly probabilities: readonly number[]
  /** What they combine to. */
  readonly probability: number
}

/** What is known of a flow: in the structure that decides, and in the one that will. */
export interface FairExplanation {
  readonly live: FairPlace
  readonly shadow: FairPlace
}

/** A tracker's state, as plain JSON. */
export interface FairSnapshot extends Omit<FairTuning, 'rotateEveryMs'> {
  readonly rule: 'blue'
  /** `null`: never. */
  readonly rotateEveryMs: number | null
  readonly rotations: number
  readonly registered: number
  readonly refused: number
  readonly successes: number
  readonly failures: number
  /** Share of the live buckets with a probability of at least one half. */
  readonly hotBuckets: number
}

/**
 * Keeps a shared resource fair in constant memory: finds the flows that cause a shortage and refuses them, with a
 * probability that grows with their failures, without a record per flow.
 *
 * Two structures with different seeds learn from everything; the live one decides. At each rotation the shadow, which
 * has learnt enough, becomes live and a fresh one its shadow, so that no two flows share their fate for long. Rotation
 * happens on the next call, without a timer; after several missed ones nothing old is left, as if they had happened.
 *
 * `register` and `report` each cost O(levels) plus one pass over the flow's name, allocate nothing, and take the same
 * time whether there are a thousand flows or a million. A clock that jumps back counts as no time passed.
 *
 * @see W. Feng et al., "Stochastic Fair Blue", IEEE INFOCOM 2001; the Go library satmihir/fair, whose structure,
 *   rotation and constants these are. Departure: refused if draw < probability, so that 0 refuses nobody.
 */
export class FairTracker {
  readonly #levels: number
  readonly #rule: BlueRule
  readonly #bucketsPerLevel: number
  readonly #rotateEveryMs: number
  readonly #placement: Placement
  readonly #clock: Clock
  readonly #random: Random
  readonly #places: Int32Array
  readonly #key = new FlowKey('')
  #live: BlueSketch
  #shadow: BlueSketch
  #rotateAtMs: number
  #rotations = 0
  #registered = 0
  #refused = 0
  #successes = 0
  #failures = 0

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: FairOptions & FairSeams = {}) {
    const { levels, bucketsPerLevel, rotateEveryMs, hash, clock, random, ...rule } = resolveFairOptions(options)
    this.#levels = levels
    this.#bucketsPerLevel = bucketsPerLevel
    this.#rule = rule
    this.#rotateEveryMs = rotateEveryMs
    this.#clock = steady(clock)
    this.#random = random
    this.#placement =
      hash === 'published'
        ? new PublishedPlacement(bucketsPerLevel, random)
        : new IndependentPlacement(levels, bucketsPerLevel, random)
    this.#places = new Int32Array(levels)
    const nowMs = this.#clock()
    this.#live = new BlueSketch(levels, bucketsPerLevel, this.#rule, nowMs)
    this.#shadow = new BlueSketch(levels, bucketsPerLevel, this.#rule, nowMs)
    this.#rotateAtMs = nowMs + rotateEveryMs
  }

  /**
   * Hashes a flow once, for a `register` and the `report` that follows it. Throws a `TypeError` on an empty flow.
   */
  key(flow: string): FlowKey {
    requireText('flow', flow)
    const key = new FlowKey(flow)
    this.#digest(key)
    return key
  }

  /**
   * A request of `flow` arrives: false if it should be refused. Draws once, unless the probability is 0.
   * Throws a `TypeError` on an empty flow.
   */
  register(flow: string | FlowKey, nowMs: number = this.#clock()): boolean {
    this.#rotateIfDue(nowMs)
    const key = this.#current(flow)
    this.#placement.place(key, 'live', this.#places)
    const probability = this.#live.probability(this.#places, nowMs)
    key.probability = probability
    this.#registered++
    if (probability === 0 || this.#random() >= probability) return true
    this.#refused++
    return false
  }

  /** How an admitted request of `flow` ended. `ignored` teaches nothing. Throws a `TypeError` on an empty flow. */
  report(flow: string | FlowKey, outcome: Outcome, nowMs: number = this.#clock()): void {
    this.#rotateIfDue(nowMs)
    if (outcome === 'ignored') return
    const key = this.#current(flow)
    const failed = outcome !== 'success'
    if (failed) {
      requireOneOf('outcome', outcome, outcomes)
      this.#failures++
    } else this.#successes++
    this.#placement.place(key, 'live', this.#places)
    this.#live.learn(this.#places, failed, nowMs)
    this.#placement.place(key, 'shadow', this.#places)
    this.#shadow.learn(this.#places, failed, nowMs)
  }

  /** The chance that a request of `flow` would be refused now. Changes nothing. */
  probability(flow: string | FlowKey): number {
    return this.explain(flow).live.probability
  }

  /** Where `flow` lies and what its buckets say. For people and pages: allocates. */
  explain(flow: string | FlowKey): FairExplanation {
    const nowMs = this.#clock()
    this.#rotateIfDue(nowMs)
    const key = this.#current(flow)
    const place = (sketch: BlueSketch): FairPlace => ({
      buckets: [...this.#places],
      probabilities: [...sketch.read(this.#places, nowMs, new Float64Array(this.#levels))],
      probability: sketch.probability(this.#places, nowMs),
    })
    this.#placement.place(key, 'live', this.#places)
    const live = place(this.#live)
    this.#placement.place(key, 'shadow', this.#places)
    return { live, shadow: place(this.#shadow) }
  }

  /** Settings and counts, as plain JSON. Reads every bucket once. */
  snapshot(): FairSnapshot {
    const nowMs = this.#clock()
    this.#rotateIfDue(nowMs)
    const { failureIncrement, successDecrement, decayPerSecond } = this.#rule
    return {
      rule: 'blue',
      levels: this.#levels,
      bucketsPerLevel: this.#bucketsPerLevel,
      failureIncrement,
      successDecrement,
      decayPerSecond,
      rotateEveryMs: Number.isFinite(this.#rotateEveryMs) ? this.#rotateEveryMs : null,
      rotations: this.#rotations,
      registered: this.#registered,
      refused: this.#refused,
      successes: this.#successes,
      failures: this.#failures,
      hotBuckets: this.#live.shareAbove(0.5, nowMs),
    }
  }

  /** The key to use for `flow`: the caller's, or our own one, hashed anew only if it is another flow than last time. */
  #current(flow: string | FlowKey): FlowKey {
    if (typeof flow === 'string') {
      const key = this.#key
      if (key.flow !== flow || key.epoch !== this.#rotations) {
        if (flow === '') requireText('flow', flow)
        key.flow = flow
        this.#digest(key)
      }
      return key
    }
    if (flow.epoch !== this.#rotations) this.#digest(flow)
    return flow
  }

  #digest(key: FlowKey): void {
    this.#placement.digest(key)
    key.epoch = this.#rotations
  }

  #rotateIfDue(nowMs: number): void {
    if (nowMs < this.#rotateAtMs) return
    const missed = Math.floor((nowMs - this.#rotateAtMs) / this.#rotateEveryMs) + 1
    this.#rotateAtMs += missed * this.#rotateEveryMs
    this.#rotations += missed
    const spent = this.#live
    this.#live = this.#shadow
    this.#shadow = spent
    spent.clear(nowMs)
    this.#placement.rotate()
    if (missed > 1) {
      this.#live.clear(nowMs)
      this.#placement.rotate()
    }
  }
}
