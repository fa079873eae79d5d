import { SharedClockRule } from '#processes'
import { type Outcome, outcomes } from '../admission/outcome.js'
import { type Clock, originMs, steady } from '../clock.js'
import { requireAbove, requireNumber, requireOneOf, requireText } from '../options.js'
import { type Random, secretRandom } from '../random.js'
import type { BlueExplanation, BlueState } from './blue.js'
import { FairClock } from './clock/fair-clock.js'
import { type ClockExplanation, ClockRule, type ClockState } from './clock/rule.js'
import {
  type ClockSettings,
  type FairOptions,
  type FairRuleName,
  type FairSeams,
  resolveFairOptions,
} from './options.js'
import { FlowKey } from './placement.js'
import type { FairRefusal, FairRule } from './rule.js'

/** State of a flow in each rule. */
export interface FairExplanations {
  'fair-clock': ClockExplanation
  blue: BlueExplanation
}

interface FairStates {
  'fair-clock': ClockState
  blue: BlueState
}

/** Counts that every rule has. */
export interface FairCounts {
  /** `null`: never. */
  readonly rotateEveryMs: number | null
  readonly rotations: number
  readonly registered: number
  readonly refused: number
  readonly successes: number
  readonly failures: number
}

/** A tracker's state, as plain JSON. */
export type FairSnapshot<R extends FairRuleName = FairRuleName> = FairStates[R] & FairCounts

/** Most deferred requests and outcomes. */
const MOST_PUT_OFF = 64

/**
 * Keeps a shared resource fair in constant memory, without a record per flow: refuses demand beyond a flow's share
 * while the resource is short. Its rule decides; see docs/fair.md. Rule `fair-clock` refuses nothing until there is
 * proof that the resource delivers as much when less is admitted, and takes 640 KiB at the default size; `blue` refuses
 * flows by their failures.
 *
 * Hash seeds change periodically, so that no two flows share all their cells for long. That happens on the next call,
 * without a timer; after several missed rotations no old state is left, as if they had happened.
 *
 * `register` and `report` each cost O(levels) plus one pass over the flow's name, allocate nothing, and take the same
 * time for a thousand flows and a million. If the clock jumps back, no time counts as passed.
 */
export class FairTracker<R extends FairRuleName = 'fair-clock'> {
  readonly #rule: FairRule<FairExplanations[R], FairStates[R]>
  readonly #options: { rule?: R } & FairOptions<R> & FairSeams
  readonly #rotateEveryMs: number
  readonly #clock: Clock
  readonly #key = new FlowKey('')
  #rotateAtMs: number
  #rotations = 0
  #registered = 0
  #refused = 0
  #successes = 0
  #failures = 0
  /** Deferred work, in order: the flow whose request arrived or was served, the time, and the cost. */
  readonly #keys: FlowKey[] = []
  readonly #times = new Float64Array(MOST_PUT_OFF)
  readonly #costs = new Float64Array(MOST_PUT_OFF)
  #putOff = 0

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options?: { rule?: R } & FairOptions<R> & FairSeams) {
    this.#options = { ...options } as { rule?: R } & FairOptions<R> & FairSeams
    const { clock, random, settings } = resolveFairOptions(options ?? {})
    this.#clock = steady(clock)
    const nowMs = this.#clock()
    const rule: FairRule<FairExplanations[FairRuleName], FairStates[FairRuleName]> =
      settings.rule === 'blue'
        ? settings.make(random, nowMs)
        : clockRule(settings, random ?? secretRandom, originMs(clock), this.#clock)
    this.#rule = rule as FairRule<FairExplanations[R], FairStates[R]>
    this.#rotateEveryMs = settings.rotateEveryMs
    this.#rotateAtMs = nowMs + settings.rotateEveryMs
  }

  /**
   * A tracker with the same options and no state: for another resource. If the clock is shared, it shares that of this
   * resource in the other processes.
   */
  another(resource: string): FairTracker<R> {
    return new FairTracker({ ...this.#options, ...this.#rule.optionsOf?.(resource) })
  }

  /**
   * Hashes a flow once, for a `register` and the `report` that follows it. Throws a `TypeError` on an empty flow.
   */
  key(flow: string): FlowKey {
    requireText('flow', flow)
    return this.#current(new FlowKey(flow))
  }

  /**
   * A request of `flow` arrives with the expected cost `cost`: false if it should be refused. Rule `blue` ignores
   * costs. Throws a `TypeError` on an empty flow, a `RangeError` on a cost that is not above 0, and the error of
   * `weightOf`.
   */
  register(flow: string | FlowKey, nowMs: number = this.#clock(), cost = 1): boolean {
    requireAbove('cost', cost, 0)
    this.#rotateIfDue(nowMs)
    const admitted = this.#rule.register(this.#current(flow), cost, nowMs)
    this.#registered++
    if (!admitted) this.#refused++
    return admitted
  }

  /** Details of the refusal that `register` has just decided for this key. */
  refusal(key: FlowKey, nowMs: number = this.#clock()): FairRefusal {
    return this.#rule.refusal(key, nowMs)
  }

  /**
   * Outcome of an admitted request of `flow`. `ignored`: unknown; the request stays charged, and counts as served as
   * often as others are. Rule `blue` assumes the latest known outcome for it. By a key, `cost` may differ from the
   * registered cost, which is then settled; by a name it must equal it. Throws a `TypeError` on an empty flow.
   */
  report(flow: string | FlowKey, outcome: Outcome, nowMs: number = this.#clock(), cost = 1): void {
    requireNumber('cost', cost, 0)
    this.#rotateIfDue(nowMs)
    if (outcome === 'success') this.#successes++
    else if (outcome === 'failure') this.#failures++
    else requireOneOf('outcome', outcome, outcomes)
    const key = this.#current(flow)
    // By a name, the caller states the charge.
    if (typeof flow === 'string') key.charged = cost
    this.#rule.report(key, outcome, cost, nowMs)
  }

  /**
   * A request that was admitted by this key still runs, and has cost `costSoFar`: its flow is charged the excess over
   * its charge. Throws a `RangeError` or `TypeError` on a bad cost.
   */
  charge(key: FlowKey, costSoFar: number, nowMs: number = this.#clock()): void {
    requireNumber('costSoFar', costSoFar, 0)
    this.#rotateIfDue(nowMs)
    this.#rule.charge?.(this.#current(key), costSoFar, nowMs)
  }

  /**
   * A request that was admitted by this key will not run, for a reason other than shortage: its flow is refunded, and
   * nothing is learnt.
   */
  withdraw(key: FlowKey, nowMs: number = this.#clock()): void {
    this.#rotateIfDue(nowMs)
    this.#rule.withdraw(this.#current(key), nowMs)
  }

  /** Clears the flow's past demand and outcomes. */
  forget(flow: string | FlowKey): void {
    this.#rotateIfDue(this.#clock())
    this.#rule.forget(this.#current(flow))
  }

  /** The chance that a request of `flow` would be refused now. Changes nothing. */
  probability(flow: string | FlowKey): number {
    const nowMs = this.#clock()
    this.#rotateIfDue(nowMs)
    return this.#rule.probability(this.#current(flow), nowMs)
  }

  /** True during a shortage, as of the last request or outcome. Rule `blue` has no such state: always false. */
  get engaged(): boolean {
    return this.#rule.engaged === true
  }

  /** The state of `flow`, and the basis of its next decision. For people and pages: allocates. */
  explain(flow: string | FlowKey, nowMs: number = this.#clock()): FairExplanations[R] {
    this.#rotateIfDue(nowMs)
    return this.#rule.explain(this.#current(flow), nowMs)
  }

  /** Settings and counts, as plain JSON. */
  snapshot(): FairSnapshot<R> {
    const nowMs = this.#clock()
    this.#rotateIfDue(nowMs)
    return {
      ...this.#rule.snapshot(nowMs),
      rotateEveryMs: Number.isFinite(this.#rotateEveryMs) ? this.#rotateEveryMs : null,
      rotations: this.#rotations,
      registered: this.#registered,
      refused: this.#refused,
      successes: this.#successes,
      failures: this.#failures,
    }
  }

  /** The key for `flow`: the caller's, or our own one, hashed again only if it is another flow than last time. */
  #current(flow: string | FlowKey): FlowKey {
    const key = typeof flow === 'string' ? this.#key : flow
    if (typeof flow === 'string') {
      requireText('flow', flow)
      if (flow !== key.flow) key.epoch = -1
      key.flow = flow
    }
    if (key.epoch !== this.#rotations) {
      key.generation = 0
      this.#rule.placement.digest(key)
      key.epoch = this.#rotations
    }
    return key
  }

  /**
   * @internal A request arrives by a new key, or an admitted one is served. If that can change no answer it is
   * deferred, and processed together with others, which takes a fraction of the time. Otherwise returns false, and does
   * nothing.
   */
  putOff(key: FlowKey, nowMs: number, cost: number): boolean {
    // Only events that change no answer have arrived since the first was deferred.
    if (this.#putOff === 0 && !this.#rule.isCalm) return false
    this.#keys[this.#putOff] = key
    this.#times[this.#putOff] = nowMs
    this.#costs[this.#putOff++] = cost
    if (this.#putOff === MOST_PUT_OFF) this.catchUp()
    return true
  }

  /** @internal Processes the deferred events. */
  catchUp(): void {
    const count = this.#putOff
    this.#putOff = 0
    for (let i = 0; i < count; i++) {
      const key = this.#keys[i]!
      // A key that was never used is that of an arriving request.
      if (key.epoch < 0) this.register(key, this.#times[i], this.#costs[i])
      else this.report(key, 'success', this.#times[i], this.#costs[i])
    }
  }

  #rotateIfDue(nowMs: number): void {
    if (this.#putOff > 0) this.catchUp()
    if (nowMs < this.#rotateAtMs) return
    const missed = Math.floor((nowMs - this.#rotateAtMs) / this.#rotateEveryMs) + 1
    this.#rotateAtMs += missed * this.#rotateEveryMs
    this.#rotations += missed
    this.#rule.rotate(missed, nowMs)
  }
}

/** `originMs`: the time of day at the clock's 0. */
function clockRule(settings: ClockSettings, seeds: Random, originMs: number, clock: Clock): ClockRule {
  const { shared, credit, probe } = settings
  if (shared === undefined) return new ClockRule(settings, seeds, new FairClock(credit, probe, originMs / 1000))
  return new (shared.link.clock ?? SharedClockRule)(settings, shared, seeds, originMs, clock)
}
