import type { Outcome } from '../../admission/outcome.js'
import { weightFrom } from '../../escrow/options.js'
import type { Random } from '../../random.js'
import type { ClockSettings } from '../options.js'
import { type FlowKey, IndependentPlacement } from '../placement.js'
import type { FairRefusal, FairRule } from '../rule.js'
import { FairClock } from './fair-clock.js'
import { TagSketch } from './tags.js'
import { type Talker, TopTalkers } from './talkers.js'

/** What is known of a flow, and why a request of it would be refused or not. */
export interface ClockExplanation {
  /** True while there is a shortage. Otherwise nobody is refused, whatever their credit. */
  readonly engaged: boolean
  /** How many ordinary requests the flow lags behind the clock; below 0: how many it is ahead of it. */
  readonly credit: number
  /** Cost per second that a flow with the weight of this one may have at present. */
  readonly fairRatePerSecond: number
  /** Cost per second that the resource was seen to serve; `null` until a shortage was seen. */
  readonly capacityPerSecond: number | null
  /** Until the flow would be let in, at the fair rate, in milliseconds; 0 for who would be now. */
  readonly waitMs: number
  /** True if there is a shortage, and the flow was not seen lately: it shares what is set aside for newcomers. */
  readonly newcomer: boolean
  readonly weight: number
}

/** Settings and state of rule `fair-clock`. */
export interface ClockState {
  readonly rule: 'fair-clock'
  readonly levels: number
  readonly bucketsPerLevel: number
  readonly engaged: boolean
  /** Cost per second and unit of weight that a flow may have at present. While open: that it could have. */
  readonly fairRatePerSecond: number
  /** Cost per second that the resource was seen to serve; `null` until a shortage was seen. */
  readonly capacityPerSecond: number | null
  /** Cost that the resource is thought to have to spare at once; below 0: it is short. 0 while open. */
  readonly spare: number
  /** Mean cost of a request. */
  readonly meanCost: number
  /** Share of the latest outcomes that were failures, but for those that come however little is let in. */
  readonly failureShare: number
  /** Share of outcomes that are failures however little is let in, as trials have shown: they are put up with. */
  readonly backgroundFailureShare: number
  /** The flows that ask for most: at most 16. */
  readonly talkers: readonly Talker[]
}

/**
 * Rule `fair-clock`: the tags of all flows in two sketches with different seeds, and the clock that they are held
 * against. Both sketches learn from every charge; the live one decides. At each rotation its twin takes over, so that
 * no two flows share their fate for long.
 */
export class ClockRule implements FairRule<ClockExplanation, ClockState> {
  readonly placement: IndependentPlacement
  readonly #settings: ClockSettings
  readonly #clock: FairClock
  readonly #talkers = new TopTalkers()
  readonly #places: Int32Array
  #live: TagSketch
  #twin: TagSketch

  constructor(settings: ClockSettings, random: Random) {
    const { levels, bucketsPerLevel, credit, probe } = settings
    this.#settings = settings
    this.#clock = new FairClock(credit, probe, bucketsPerLevel)
    this.placement = new IndependentPlacement(levels, bucketsPerLevel, random)
    this.#places = new Int32Array(levels)
    this.#live = new TagSketch(levels, bucketsPerLevel)
    this.#twin = new TagSketch(levels, bucketsPerLevel)
  }

  register(key: FlowKey, cost: number, nowMs: number): boolean {
    const clock = this.#clock
    const weight = this.#weight(key)
    this.#advance(nowMs)
    clock.arrives(cost)
    const stored = this.#stored(key, weight)
    const tag = clock.tagOf(stored, weight)
    key.charged = 0
    key.credit = this.#credit(tag, weight)
    const greedy = this.#talkers.asks(key, cost)
    const judgement = clock.judge(stored, tag, cost, weight, greedy)
    if (judgement === 'refused') {
      this.#talkers.refused(cost)
      return false
    }
    if (judgement === 'charged') {
      key.charged = cost
      this.#raise(key, clock.tagAfter(stored, tag, cost, weight))
    }
    clock.note(key)
    return true
  }

  /** The flow may come back when the clock has caught up with it; a newcomer after the time of one request. */
  refusal(key: FlowKey, nowMs: number): FairRefusal {
    const { waitMs, ...detail } = this.explain(key, nowMs)
    const requestMs = (1000 * this.#clock.traffic.meanCost) / detail.fairRatePerSecond
    return { retryAfterMs: detail.newcomer ? requestMs : waitMs, detail }
  }

  report(key: FlowKey, outcome: Outcome, cost: number, nowMs: number): void {
    const clock = this.#clock
    this.#advance(nowMs)
    if (outcome === 'success') {
      this.#settle(key, cost)
      clock.succeeded(cost, key)
    } else if (outcome === 'failure') clock.failed(cost, key)
    else clock.ignored(key.charged, key)
  }

  withdraw(key: FlowKey, nowMs: number): void {
    this.#advance(nowMs)
    this.#clock.ignored(key.charged, key)
    this.#giveBack(key, key.charged)
  }

  probability(key: FlowKey, nowMs: number): number {
    this.#advance(nowMs)
    const clock = this.#clock
    const weight = this.#weight(key)
    return !clock.phase.open && this.#tag(key, weight) > clock.limit(weight) ? 1 : 0
  }

  explain(key: FlowKey, nowMs: number): ClockExplanation {
    this.#advance(nowMs)
    const weight = this.#weight(key)
    const { phase, pace, capacity } = this.#clock
    const stored = this.#stored(key, weight)
    const tag = this.#clock.tagOf(stored, weight)
    return {
      engaged: !phase.open,
      credit: this.#credit(tag, weight),
      fairRatePerSecond: pace.rate * weight,
      capacityPerSecond: capacity.perSecond > 0 ? capacity.perSecond : null,
      waitMs: (1000 * Math.max(0, tag - this.#clock.limit(weight))) / pace.rate,
      newcomer: this.#clock.isNew(stored),
      weight,
    }
  }

  rotate(forget: boolean): void {
    const spent = this.#live
    this.#live = this.#twin
    this.#twin = spent
    spent.clear()
    this.placement.rotate()
    if (forget) {
      this.#live.clear()
      this.placement.rotate()
    }
  }

  snapshot(nowMs: number): ClockState {
    this.#advance(nowMs)
    const { levels, bucketsPerLevel } = this.#settings
    const { phase, pace, capacity, reservoir, traffic, background } = this.#clock
    return {
      rule: 'fair-clock',
      levels,
      bucketsPerLevel,
      engaged: !phase.open,
      fairRatePerSecond: pace.rate,
      capacityPerSecond: capacity.perSecond > 0 ? capacity.perSecond : null,
      spare: phase.open ? 0 : reservoir.level,
      meanCost: traffic.meanCost,
      failureShare: traffic.failureShare,
      backgroundFailureShare: background.share,
      talkers: this.#talkers.list(),
    }
  }

  #advance(nowMs: number): void {
    this.#clock.advance(nowMs)
    this.#talkers.advance(nowMs)
  }

  /** The flow's tag in the sketch, as far as it is known; leaves its place in `#places`. */
  #stored(key: FlowKey, weight: number): number {
    this.placement.place(key, 'live', this.#places)
    return this.#clock.recall(this.#live.read(this.#places), weight)
  }

  #tag(key: FlowKey, weight: number): number {
    return this.#clock.tagOf(this.#stored(key, weight), weight)
  }

  #credit(tag: number, weight: number): number {
    return ((this.#clock.pace.time - tag) * weight) / this.#clock.traffic.meanCost
  }

  #weight(key: FlowKey): number {
    return weightFrom(this.#settings.weightOf, key.flow)
  }

  /** Charges or gives back the difference between what was charged and what it really cost. */
  #settle(key: FlowKey, cost: number): void {
    const due = cost - key.charged
    if (due === 0 || key.charged === 0) return
    if (due < 0) this.#giveBack(key, -due)
    else {
      const weight = this.#weight(key)
      this.#raise(key, this.#tag(key, weight) + due / weight)
    }
    this.#clock.settle(due, key)
  }

  #giveBack(key: FlowKey, cost: number): void {
    const amount = cost / this.#weight(key)
    this.placement.place(key, 'live', this.#places)
    this.#live.lower(this.#places, amount)
    this.placement.place(key, 'shadow', this.#places)
    this.#twin.lower(this.#places, amount)
  }

  /** Raises the tag of the flow whose place is in `#places`. */
  #raise(key: FlowKey, tag: number): void {
    this.#live.raise(this.#places, tag)
    this.placement.place(key, 'shadow', this.#places)
    this.#twin.raise(this.#places, tag)
  }
}
