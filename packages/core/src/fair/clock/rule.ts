import type { Outcome } from '../../admission/outcome.js'
import type { Random } from '../../random.js'
import { weightFrom } from '../../weight.js'
import type { ClockSettings } from '../options.js'
import { type FlowKey, IndependentPlacement } from '../placement.js'
import type { FairRefusal, FairRule } from '../rule.js'
import type { Sharing } from '../shared/report.js'
import { type Talker, TopTalkers } from '../talkers.js'
import type { FairClock } from './fair-clock.js'
import { KnownFlows, OwnFailures, TagSketch } from './flows.js'
import type { ClockJudgement } from './state.js'

/** State of a flow, and the reasons for admitting or refusing its next request. */
export interface ClockExplanation {
  /** True during a shortage. Otherwise nothing is refused, regardless of credit. */
  readonly engaged: boolean
  /** Number of ordinary requests by which the flow lags behind the clock; below 0: by which it is ahead. */
  readonly credit: number
  /** Present share of a flow with the weight of this one, in cost per second. */
  readonly fairRatePerSecond: number
  /** Cost per second that the resource was seen to serve; `null` before the first shortage. */
  readonly capacityPerSecond: number | null
  /** Time until the flow would be admitted, at the fair rate, in milliseconds; 0 if it would be now. */
  readonly waitMs: number
  /** True if there is a shortage, and the flow was not seen recently: it shares the newcomers' part. */
  readonly newcomer: boolean
  readonly weight: number
  /**
   * The other processes that share the clock with these numbers; `null`: the numbers are those of this process alone.
   */
  readonly sharing: Sharing | null
}

/** Settings and state of rule `fair-clock`. */
export interface ClockState {
  readonly rule: 'fair-clock'
  readonly levels: number
  readonly bucketsPerLevel: number
  readonly engaged: boolean
  /** Present share of a flow, in cost per second and unit of weight. While open: its potential share. */
  readonly fairRatePerSecond: number
  /**
   * Cost per second that the resource was seen to serve: enough is admitted that 95 % of it is served. `null` before
   * the first shortage.
   */
  readonly capacityPerSecond: number | null
  /** True while less is admitted, for about a second, to test whether failures decrease. */
  readonly looking: boolean
  /** Estimated spare cost of the resource; below 0: it is short. 0 while open. */
  readonly spare: number
  /** Mean cost of a request. */
  readonly meanCost: number
  /** Share of the latest outcomes that were failures, except flows' own ones. */
  readonly failureShare: number
  /** Share of failures that is independent of load, as shown by looks: they count for nothing. */
  readonly backgroundFailureShare: number
  /** The flows with the largest demand: at most 16. */
  readonly talkers: readonly Talker[]
  /** The other processes that share the clock; `null` while this one is independent. */
  readonly sharing: Sharing | null
}

/** A request that costs this many ordinary ones fails more often than those, which is not its flow's fault. */
const DEAR = 1.5
/**
 * While nothing is short, events this close to each other have one time: nothing here measures a shorter one, and with
 * thousands of requests a second the passing of time would cost as much as the requests.
 */
const STEP_MS = 0.1

/**
 * Rule `fair-clock`: the tags of all flows in two sketches with different seeds, and the clock that they are compared
 * with. Both sketches learn from every charge; the live one decides. At each rotation its twin takes over, so that no
 * two flows share all their cells for long.
 */
export class ClockRule implements FairRule<ClockExplanation, ClockState> {
  readonly placement: IndependentPlacement
  readonly #settings: ClockSettings
  protected readonly clock: FairClock
  protected readonly known: KnownFlows
  protected readonly own: OwnFailures
  readonly #talkers = new TopTalkers()
  readonly #places: Int32Array
  #nowMs = Number.NaN
  protected live: TagSketch
  protected twin: TagSketch

  constructor(settings: ClockSettings, random: Random, clock: FairClock) {
    const { levels, bucketsPerLevel } = settings
    this.#settings = settings
    this.clock = clock
    this.known = new KnownFlows(bucketsPerLevel)
    this.own = new OwnFailures(bucketsPerLevel)
    this.placement = new IndependentPlacement(levels, bucketsPerLevel, random)
    this.#places = new Int32Array(levels)
    this.live = new TagSketch(levels, bucketsPerLevel)
    this.twin = new TagSketch(levels, bucketsPerLevel)
  }

  register(key: FlowKey, cost: number, nowMs: number): boolean {
    const clock = this.clock
    const weight = this.#weight(key)
    this.advance(nowMs)
    clock.arrives(cost, weight)
    const known = this.known.has(key)
    const tag = clock.tagOf(this.stored(key) + this.foreseen(key), known, weight)
    key.charged = 0
    key.credit = this.#credit(tag, weight)
    this.#talkers.asks(key, cost)
    const judgement = this.judge(key, tag, known, cost, weight)
    if (judgement === 'refused') {
      this.#talkers.refused(cost)
      return false
    }
    if (judgement === 'charged') {
      key.charged = cost
      this.raise(key, tag + cost / weight)
    }
    clock.note(key, cost)
    return true
  }

  /**
   * A client may come back when the clock has caught up with its flow. Of a flow that asks n times as often as it may,
   * n - 1 of n clients would then be refused again, so each of these adds the time of a request; a newcomer adds one.
   */
  refusal(key: FlowKey, nowMs: number): FairRefusal {
    const { waitMs, ...detail } = this.explain(key, nowMs)
    const rate = detail.fairRatePerSecond
    const others = Math.max(Number(detail.newcomer), this.#talkers.askedPerSecond / rate - 1)
    return { retryAfterMs: waitMs + (1000 * this.clock.meanCost * others) / rate, detail }
  }

  report(key: FlowKey, outcome: Outcome, cost: number, nowMs: number): void {
    const clock = this.clock
    this.advance(nowMs)
    clock.running--
    this.#settle(key, cost)
    if (outcome !== 'failure') this.known.add(key)
    const isDear = cost > DEAR * clock.meanCost
    if (outcome === 'ignored' || isDear || !this.own.report(key, outcome === 'failure', this.#nowMs / 1000))
      this.ends(key, outcome, cost, isDear, nowMs)
  }

  charge(key: FlowKey, costSoFar: number, nowMs: number): void {
    if (costSoFar <= key.charged) return
    this.advance(nowMs)
    this.#settle(key, costSoFar)
    if (key.charged > 0) key.charged = costSoFar
  }

  withdraw(key: FlowKey, nowMs: number): void {
    this.advance(nowMs)
    this.clock.running--
    this.clock.withdrawn(key.charged)
    this.#giveBack(key, key.charged)
  }

  /** Resets the flow to a known one that has not asked for a while. */
  forget(key: FlowKey): void {
    this.known.add(key)
    this.#giveBack(key, Number.POSITIVE_INFINITY)
  }

  probability(key: FlowKey, nowMs: number): number {
    return Number(this.explain(key, nowMs).waitMs > 0)
  }

  explain(key: FlowKey, nowMs: number): ClockExplanation {
    this.advance(nowMs)
    const clock = this.clock
    const weight = this.#weight(key)
    const known = this.known.has(key)
    const tag = clock.tagOf(this.stored(key), known, weight)
    return {
      engaged: !clock.open,
      credit: this.#credit(tag, weight),
      fairRatePerSecond: clock.rate * weight,
      capacityPerSecond: clock.deliverable || null,
      waitMs: clock.open ? 0 : (1000 * Math.max(0, tag - clock.time)) / clock.rate,
      newcomer: !(known || clock.open),
      weight,
      sharing: null,
    }
  }

  rotate(rotations: number): void {
    this.known.rotate(rotations)
    // After two, both sketches are empty.
    for (let i = 0; i < Math.min(2, rotations); i++) {
      const spent = this.live
      this.live = this.twin
      this.twin = spent
      spent.clear()
      this.placement.rotate()
    }
  }

  get engaged(): boolean {
    return !this.clock.open
  }

  /** Calls of the user's `weightOf` cannot wait. */
  get isCalm(): boolean {
    return this.#settings.weightOf === undefined && this.clock.isCalm
  }

  snapshot(nowMs: number): ClockState {
    this.advance(nowMs)
    const { levels, bucketsPerLevel } = this.#settings
    const { open, rate, deliverable, looks, reserve, meanCost, failureShare, usual } = this.clock
    return {
      rule: 'fair-clock',
      levels,
      bucketsPerLevel,
      engaged: !open,
      fairRatePerSecond: rate,
      capacityPerSecond: deliverable || null,
      looking: looks.looking,
      spare: open ? 0 : reserve.left,
      meanCost,
      failureShare,
      backgroundFailureShare: usual,
      talkers: this.#talkers.list(),
      sharing: null,
    }
  }

  protected advance(nowMs: number): void {
    if (nowMs - this.#nowMs < STEP_MS && this.clock.isCalm) return
    this.#nowMs = nowMs
    this.clock.advance(nowMs / 1000)
    this.#talkers.advance(nowMs)
  }

  /** The charges of the flow that its tag does not contain yet. */
  protected foreseen(_key: FlowKey): number {
    return 0
  }

  protected judge(_key: FlowKey, tag: number, known: boolean, cost: number, weight: number): ClockJudgement {
    return this.clock.judge(tag, known, cost, weight)
  }

  /** An admitted request has ended, and did not fail for a reason of its flow. */
  protected ends(key: FlowKey, outcome: Outcome, cost: number, _isDear: boolean, _nowMs: number): void {
    if (outcome === 'ignored') this.clock.ignored(cost, key)
    else if (outcome === 'success') this.clock.succeeded(cost, key)
    else this.clock.failed(cost, key)
  }

  /** A request has cost `due` more than its charge, or less. */
  protected settled(due: number): void {
    this.clock.settle(due)
  }

  /** The flow's tag in the sketch; leaves its place in `#places`. */
  protected stored(key: FlowKey): number {
    this.placement.place(key, 'live', this.#places)
    return this.live.read(this.#places)
  }

  #credit(tag: number, weight: number): number {
    return ((this.clock.time - tag) * weight) / this.clock.meanCost
  }

  #weight(key: FlowKey): number {
    return weightFrom(this.#settings.weightOf, key.flow)
  }

  /** Charges or refunds the difference between the charge and the actual cost. */
  #settle(key: FlowKey, cost: number): void {
    const due = cost - key.charged
    if (due === 0 || key.charged === 0) return
    if (due < 0) this.#giveBack(key, -due)
    else {
      const weight = this.#weight(key)
      this.raise(key, this.clock.tagOf(this.stored(key), true, weight) + due / weight)
    }
    this.settled(due)
  }

  #giveBack(key: FlowKey, cost: number): void {
    const amount = cost / this.#weight(key)
    this.placement.place(key, 'live', this.#places)
    this.live.lower(this.#places, amount)
    this.placement.place(key, 'shadow', this.#places)
    this.twin.lower(this.#places, amount)
  }

  /** Raises the tag of the flow whose place is in `#places`. */
  protected raise(key: FlowKey, tag: number): void {
    this.live.raise(this.#places, tag)
    this.placement.place(key, 'shadow', this.#places)
    this.twin.raise(this.#places, tag)
  }
}
