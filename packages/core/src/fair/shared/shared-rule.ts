import type { Outcome } from '../../admission/outcome.js'
import type { Clock } from '../../clock.js'
import type { Random } from '../../random.js'
import { type ClockExplanation, ClockRule, type ClockState } from '../clock/rule.js'
import type { ClockJudgement } from '../clock/state.js'
import type { ClockOptions, ClockSettings, SharedSettings } from '../options.js'
import { FlowKey } from '../placement.js'
import { SharedClock } from './member.js'
import { SharedFairClock } from './shared-fair-clock.js'

/** Rule `fair-clock` in a process that shares its clock: it counts the events that the clock reports. */
export class SharedClockRule extends ClockRule {
  readonly #settings: SharedSettings
  readonly #shared: SharedClock

  /** `originMs`: the time of day at the clock's 0. `time`: the clock. */
  constructor(settings: ClockSettings, shared: SharedSettings, random: Random, originMs: number, time: Clock) {
    const clock = new SharedFairClock(settings.credit, settings.probe, originMs / 1000)
    super(settings, random, clock)
    this.#settings = shared
    this.#shared = new SharedClock(settings, shared, clock, time, this)
  }

  /** @internal Moves the origin of tags, `by` later. */
  shift(by: number): void {
    this.live.shift(by)
    this.twin.shift(by)
  }

  /** @internal The flow is known elsewhere, with at least this tag. */
  raiseFlow(flow: string, tag: number): void {
    const key = new FlowKey(flow)
    this.placement.digest(key)
    this.known.add(key)
    this.stored(key)
    this.raise(key, tag)
  }

  override withdraw(key: FlowKey, nowMs: number): void {
    super.withdraw(key, nowMs)
    this.#counting?.settled(-key.charged)
  }

  override explain(key: FlowKey, nowMs: number): ClockExplanation {
    return { ...super.explain(key, nowMs), sharing: this.#shared.sharing(nowMs) ?? null }
  }

  optionsOf(resource: string): ClockOptions {
    return { shared: { ...this.#settings, resource } }
  }

  /** Reports to other processes cannot wait. */
  override get isCalm(): boolean {
    return false
  }

  override snapshot(nowMs: number): ClockState {
    return { ...super.snapshot(nowMs), sharing: this.#shared.sharing(nowMs) ?? null }
  }

  protected override advance(nowMs: number): void {
    this.#shared.advance(nowMs)
    super.advance(nowMs)
  }

  protected override foreseen({ flow }: FlowKey): number {
    return this.#counting?.foreseen(flow) ?? 0
  }

  protected override judge(key: FlowKey, tag: number, known: boolean, cost: number, weight: number): ClockJudgement {
    const counting = this.#counting
    counting?.asks(tag, known, weight)
    const judgement = super.judge(key, tag, known, cost, weight)
    counting?.judged(key.flow, judgement, tag, cost, weight)
    return judgement
  }

  protected override ends(key: FlowKey, outcome: Outcome, cost: number, isDear: boolean, nowMs: number): void {
    super.ends(key, outcome, cost, isDear, nowMs)
    const counting = this.#counting
    if (counting === undefined) return
    if (isDear && outcome !== 'ignored') this.own.expect(key, nowMs / 1000)
    counting.ended(outcome, key.at, cost, outcome === 'ignored' ? 0 : this.own.expected)
  }

  protected override settled(due: number): void {
    super.settled(due)
    this.#counting?.settled(due)
  }

  /** Counts events while the clock is shared. */
  get #counting(): SharedClock | undefined {
    return this.#shared.isActive ? this.#shared : undefined
  }
}
