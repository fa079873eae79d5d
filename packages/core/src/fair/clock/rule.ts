import { SharedClock } from '#processes'
import type { Outcome } from '../../admission/outcome.js'
import type { Clock } from '../../clock.js'
import type { Random } from '../../random.js'
import { weightFrom } from '../../weight.js'
import type { ClockOptions, ClockSettings } from '../options.js'
import { FlowKey, IndependentPlacement } from '../placement.js'
import type { FairRefusal, FairRule } from '../rule.js'
import type { Sharing } from '../shared/member.js'
import { FairClock } from './fair-clock.js'
import { KnownFlows } from './known-flows.js'
import { OwnFailures } from './own-failures.js'
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
  /** With whom the clock is shared, whose numbers these are; `null`: they are those of this process alone. */
  readonly sharing: Sharing | null
}

/** Settings and state of rule `fair-clock`. */
export interface ClockState {
  readonly rule: 'fair-clock'
  readonly levels: number
  readonly bucketsPerLevel: number
  readonly engaged: boolean
  /** Cost per second and unit of weight that a flow may have at present. While open: that it could have. */
  readonly fairRatePerSecond: number
  /**
   * Cost per second that the resource was seen to serve: so much is let in that 95 % of it is served. `null` until a
   * shortage was seen.
   */
  readonly capacityPerSecond: number | null
  /** True while less is let in, for a second or so, to see if failures become fewer. */
  readonly looking: boolean
  /** Cost that the resource is thought to have to spare at once; below 0: it is short. 0 while open. */
  readonly spare: number
  /** Mean cost of a request. */
  readonly meanCost: number
  /** Share of the latest outcomes that were failures, but for those that are their flow's own. */
  readonly failureShare: number
  /** Share of outcomes that are failures however little is let in, as looks have shown: they count for nothing. */
  readonly backgroundFailureShare: number
  /** The flows that ask for most: at most 16. */
  readonly talkers: readonly Talker[]
  /** How the clock is shared with other processes; `null` while this one is on its own. */
  readonly sharing: Sharing | null
}

/** A request that costs so many ordinary ones fails more often than these, and that is not its flow's fault. */
const DEAR = 1.5

/**
 * Rule `fair-clock`: the tags of all flows in two sketches with different seeds, and the clock that they are held
 * against. Both sketches learn from every charge; the live one decides. At each rotation its twin takes over, so that
 * no two flows share their fate for long.
 */
export class ClockRule implements FairRule<ClockExplanation, ClockState> {
  readonly placement: IndependentPlacement
  readonly #settings: ClockSettings
  readonly #clock: FairClock
  readonly #known: KnownFlows
  readonly #own: OwnFailures
  readonly #talkers = new TopTalkers()
  readonly #places: Int32Array
  readonly #shared: SharedClock | undefined
  #live: TagSketch
  #twin: TagSketch

  /** `originMs`: the time of day when the clock said 0. `time`: the clock. */
  constructor(settings: ClockSettings, random: Random, originMs: number, time: Clock) {
    const { levels, bucketsPerLevel, credit, probe } = settings
    this.#settings = settings
    const { shared } = settings
    if (shared !== undefined)
      this.#shared = new (shared.link.clock ?? SharedClock)(settings, shared, originMs / 1000, time, this)
    this.#clock = this.#shared?.clock ?? new FairClock(credit, probe, originMs / 1000)
    this.#known = new KnownFlows(bucketsPerLevel)
    this.#own = new OwnFailures(bucketsPerLevel)
    this.placement = new IndependentPlacement(levels, bucketsPerLevel, random)
    this.#places = new Int32Array(levels)
    this.#live = new TagSketch(levels, bucketsPerLevel)
    this.#twin = new TagSketch(levels, bucketsPerLevel)
  }

  /** @internal Tags are told from another beginning, `by` later. */
  shift(by: number): void {
    this.#live.shift(by)
    this.#twin.shift(by)
  }

  /** @internal The flow is known elsewhere, with this tag at least. */
  raise(flow: string, tag: number): void {
    const key = new FlowKey(flow)
    this.placement.digest(key)
    this.#known.add(key)
    this.#stored(key)
    this.#raise(key, tag)
  }

  register(key: FlowKey, cost: number, nowMs: number): boolean {
    const clock = this.#clock
    const weight = this.#weight(key)
    this.#advance(nowMs)
    clock.arrives(cost, weight)
    const known = this.#known.has(key)
    const shared = this.#counting
    const stored = this.#stored(key)
    const tag = clock.tagOf(shared === undefined ? stored : stored + shared.foreseen(key.flow), known, weight)
    key.charged = 0
    key.credit = this.#credit(tag, weight)
    this.#talkers.asks(key, cost)
    shared?.asks(tag, known, weight)
    const judgement = clock.judge(tag, known, cost, weight)
    shared?.judged(key.flow, judgement, tag, cost, weight)
    if (judgement === 'refused') {
      this.#talkers.refused(cost)
      return false
    }
    if (judgement === 'charged') {
      key.charged = cost
      this.#raise(key, tag + cost / weight)
    }
    clock.note(key, cost)
    return true
  }

  /** The flow may come back when the clock has caught up with it; a newcomer after the time of one request. */
  refusal(key: FlowKey, nowMs: number): FairRefusal {
    const { waitMs, ...detail } = this.explain(key, nowMs)
    const requestMs = (1000 * this.#clock.meanCost) / detail.fairRatePerSecond
    return { retryAfterMs: detail.newcomer ? requestMs : waitMs, detail }
  }

  report(key: FlowKey, outcome: Outcome, cost: number, nowMs: number): void {
    const clock = this.#clock
    this.#advance(nowMs)
    this.#settle(key, cost)
    if (outcome !== 'failure') this.#known.add(key)
    const isDear = cost > DEAR * clock.meanCost
    if (outcome === 'ignored') {
      clock.ignored(cost, key)
      this.#counting?.ended(outcome, key.at, cost, 0)
    } else if (isDear || !this.#own.report(key, outcome === 'failure', nowMs / 1000)) {
      if (outcome === 'success') clock.succeeded(cost, key)
      else clock.failed(cost, key)
      const counting = this.#counting
      if (counting !== undefined) {
        if (isDear) this.#own.expect(key, nowMs / 1000)
        counting.ended(outcome, key.at, cost, this.#own.expected)
      }
    }
  }

  charge(key: FlowKey, costSoFar: number, nowMs: number): void {
    if (costSoFar <= key.charged) return
    this.#advance(nowMs)
    this.#settle(key, costSoFar)
    if (key.charged > 0) key.charged = costSoFar
  }

  withdraw(key: FlowKey, nowMs: number): void {
    this.#advance(nowMs)
    this.#clock.withdrawn(key.charged)
    this.#counting?.settled(-key.charged)
    this.#giveBack(key, key.charged)
  }

  /** A flow like one that was let in before and has not asked for a while. */
  forget(key: FlowKey): void {
    this.#known.add(key)
    this.#giveBack(key, Number.POSITIVE_INFINITY)
  }

  probability(key: FlowKey, nowMs: number): number {
    const { waitMs } = this.explain(key, nowMs)
    return waitMs > 0 ? 1 : 0
  }

  explain(key: FlowKey, nowMs: number): ClockExplanation {
    this.#advance(nowMs)
    const clock = this.#clock
    const weight = this.#weight(key)
    const known = this.#known.has(key)
    const tag = clock.tagOf(this.#stored(key), known, weight)
    return {
      engaged: !clock.open,
      credit: this.#credit(tag, weight),
      fairRatePerSecond: clock.rate * weight,
      capacityPerSecond: clock.deliverable > 0 ? clock.deliverable : null,
      waitMs: clock.open ? 0 : (1000 * Math.max(0, tag - clock.time)) / clock.rate,
      newcomer: !(known || clock.open),
      weight,
      sharing: this.#shared?.sharing(nowMs) ?? null,
    }
  }

  optionsOf(resource: string): ClockOptions {
    const { shared } = this.#settings
    return { shared: shared === undefined ? false : { ...shared, resource } }
  }

  rotate(rotations: number): void {
    const forget = rotations > 1
    const spent = this.#live
    this.#live = this.#twin
    this.#twin = spent
    spent.clear()
    this.placement.rotate()
    this.#known.rotate(rotations)
    if (forget) {
      this.#live.clear()
      this.placement.rotate()
    }
  }

  get engaged(): boolean {
    return !this.#clock.open
  }

  /** What others have to hear of cannot wait, nor what the user's weights are asked for. */
  get isCalm(): boolean {
    return (this.#shared ?? this.#settings.weightOf) === undefined && this.#clock.isCalm
  }

  snapshot(nowMs: number): ClockState {
    this.#advance(nowMs)
    const { levels, bucketsPerLevel } = this.#settings
    const { open, rate, deliverable, looks, left, meanCost, failureShare, usual } = this.#clock
    return {
      rule: 'fair-clock',
      levels,
      bucketsPerLevel,
      engaged: !open,
      fairRatePerSecond: rate,
      capacityPerSecond: deliverable > 0 ? deliverable : null,
      looking: looks.looking,
      spare: open ? 0 : left,
      meanCost,
      failureShare,
      backgroundFailureShare: usual,
      talkers: this.#talkers.list(),
      sharing: this.#shared?.sharing(nowMs) ?? null,
    }
  }

  #advance(nowMs: number): void {
    this.#shared?.advance(nowMs)
    this.#clock.advance(nowMs / 1000)
    this.#talkers.advance(nowMs)
  }

  /** Who counts what happens, while the clock is shared. */
  get #counting(): SharedClock | undefined {
    return this.#shared?.isActive === true ? this.#shared : undefined
  }

  /** The flow's tag in the sketch; leaves its place in `#places`. */
  #stored(key: FlowKey): number {
    this.placement.place(key, 'live', this.#places)
    return this.#live.read(this.#places)
  }

  #credit(tag: number, weight: number): number {
    return ((this.#clock.time - tag) * weight) / this.#clock.meanCost
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
      this.#raise(key, this.#clock.tagOf(this.#stored(key), true, weight) + due / weight)
    }
    this.#clock.settle(due)
    this.#counting?.settled(due)
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
