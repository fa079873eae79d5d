import { requireAbove } from '../../options.js'
import { randomId, systemRandom } from '../../random.js'
import { type Admission, type ClockBelief, FairClock } from '../clock/fair-clock.js'
import {
  type Amount,
  type ClockGreeting,
  type ClockLease,
  type ClockReport,
  FLOW_PERIODS,
  type FlowTag,
  isReport,
  MOST_FLOWS,
  type PeriodSums,
  SLOTS,
  type SlotSums,
} from './report.js'

/** A process that was not heard of for so long is gone. */
const GONE_MS = 2000
/** What processes believe of their parts is put together, if they come so soon after the first. */
const GATHERING_MS = 1000
/** How long after the end of a period its sums are waited for: one more report may come that has them, too. */
const PATIENCE_PERIODS = 1.25
/** After a longer pause it goes on from here. */
const MOST_BEHIND = 20
/** Parts of what is let in are averaged over so many periods. */
const PART_PERIODS = 20
/** Outcomes of what was let in longer ago tell the clock nothing but their number. */
const REMEMBERED_SLOTS = 1000
/** Flows whose tags are kept, and the cost asked for at which they are forgotten. */
const MOST_KEPT = 2048
const LEAST_ASKED = 1e-3

interface Member {
  heardAtMs: number
  sentAtMs: number
  /** The last period that it told of. */
  heard: number
  letIn: number
}

interface SharedFlow {
  tag: number
  asked: number
  /** Charged since the others were told of it. */
  untold: number
}

/**
 * Keeps the one clock of several processes: it hears the sums of their requests, in order of time and as if they all
 * had come to one process, and tells each what the clock believes. So capacity is measured once, where all outcomes
 * meet. It hears of no single request, and has no timer: all happens when reports come.
 *
 * The clock is the same `FairClock` that a process has alone. Within a slot, requests and outcomes are taken to be
 * spread evenly. A flow is told to others by its name: the most charged of late first, so that in time all of them are.
 *
 * @see B. Raghavan et al., "Cloud Control with Distributed Rate Limiting", SIGCOMM 2007: as if all traversed one limiter
 */
export class ClockArbiter {
  readonly #id: string = randomId(systemRandom)
  readonly #periodMs: number
  readonly #members = new Map<string, Member>()
  readonly #flows = new Map<string, SharedFlow>()
  readonly #waiting = new Map<number, PeriodSums[]>()
  readonly #admissions = new Map<number, Admission>()
  #clock: FairClock | undefined
  #belief: ClockBelief | undefined
  #startedAtMs = 0
  /** The last period that was played. */
  #period = 0
  #late: PeriodSums[] = []
  #letIn = 0
  #told: readonly FlowTag[] = []

  /** `periodMs`: how often processes report. The resource should have a store for longer than that. @default 100 */
  constructor(periodMs = 100) {
    requireAbove('periodMs', periodMs, 0)
    this.#periodMs = periodMs
  }

  /**
   * A report has come; anything else is passed over. Gives the names of the processes that should be told something
   * now. The numbers of a report are believed: processes that share a clock trust each other.
   */
  hear(report: ClockReport, nowMs: number): string[] {
    if (!isReport(report)) return []
    const { member: id, greeting, periods } = report
    for (const [name, { heardAtMs, letIn }] of this.#members) {
      if (nowMs - heardAtMs <= GONE_MS) continue
      this.#members.delete(name)
      if (this.#letIn > 0) this.#clock?.doubt(Math.min(1, letIn / this.#letIn))
    }
    if (greeting !== undefined && !this.#members.has(id)) this.#greet(id, greeting, nowMs)
    const member = this.#members.get(id)
    if (member === undefined) return []
    member.heardAtMs = nowMs
    member.sentAtMs = report.sentAtMs
    const current = Math.floor(nowMs / this.#periodMs)
    for (const sums of periods) {
      if (sums.period <= member.heard || sums.period > current + 1) continue
      member.heard = sums.period
      for (const { letIn } of sums.slots) member.letIn += letIn[1]
      if (sums.period <= this.#period) this.#late.push(sums)
      else this.#waiting.set(sums.period, [...(this.#waiting.get(sums.period) ?? []), sums])
    }
    if (this.#goOn(nowMs)) return [...this.#members.keys()]
    return greeting === undefined ? [] : [id]
  }

  /** What a process is told: `undefined` if it did not report lately. */
  lease(member: string, nowMs: number): ClockLease | undefined {
    const known = this.#members.get(member)
    if (known === undefined || this.#belief === undefined) return undefined
    return {
      arbiter: this.#id,
      periodMs: this.#periodMs,
      period: this.#period,
      belief: this.#belief,
      members: this.#members.size,
      part: this.#letIn > 0 ? Math.min(1, known.letIn / this.#letIn) : 1 / this.#members.size,
      heard: known.heard,
      sentAtMs: known.sentAtMs,
      heardAtMs: known.heardAtMs,
      atMs: nowMs,
      flows: this.#told,
    }
  }

  /** A process comes. The first one brings what it believes; so do those that were on their own before, of their parts. */
  #greet(id: string, { credit, probe, belief, following }: ClockGreeting, nowMs: number): void {
    if (this.#clock === undefined || this.#members.size === 0) {
      this.#clock = new FairClock(credit, probe, 0, this.#slotMs / 1000)
      this.#clock.advance(nowMs / 1000)
      this.#clock.start(belief)
      this.#period = Math.floor(nowMs / this.#periodMs) - 1
      this.#startedAtMs = nowMs
      this.#waiting.clear()
      this.#flows.clear()
      this.#admissions.clear()
      this.#late = []
      this.#told = []
    } else if (!following && nowMs - this.#startedAtMs < GATHERING_MS) this.#clock.gather(belief)
    this.#belief = this.#clock.belief
    this.#members.set(id, { heardAtMs: nowMs, sentAtMs: 0, heard: -1, letIn: 0 })
  }

  get #slotMs(): number {
    return this.#periodMs / SLOTS
  }

  /** Plays the periods that are complete. True if there were any. */
  #goOn(nowMs: number): boolean {
    const clock = this.#clock
    const ended = Math.floor(nowMs / this.#periodMs) - 1
    this.#period = Math.max(this.#period, ended - MOST_BEHIND)
    const from = this.#period
    while (clock !== undefined && this.#period < ended) {
      const next = this.#period + 1
      if (nowMs < (next + 1 + PATIENCE_PERIODS) * this.#periodMs && this.#isAwaited(next)) break
      this.#period = next
      this.#play(clock, next)
    }
    if (clock === undefined || this.#period === from) return false
    this.#belief = clock.belief
    this.#chooseFlows()
    return true
  }

  /** True while a process that has told of the periods before has yet to tell of this one. */
  #isAwaited(period: number): boolean {
    for (const { heard } of this.#members.values()) if (heard < period && heard >= period - 2) return true
    return false
  }

  #play(clock: FairClock, period: number): void {
    const all = [...(this.#waiting.get(period) ?? []), ...this.#late]
    this.#waiting.delete(period)
    this.#late = []
    const first = SLOTS * period
    // What comes late, or from a clock that was wrong, counts for the first slot.
    const slots: SlotSums[][] = Array.from({ length: SLOTS }, () => [])
    for (const sums of all) for (const each of sums.slots) (slots[each.slot - first] ?? slots[0]!).push(each)
    slots.forEach((sums, i) => {
      this.#playSlot(clock, first + i, sums)
    })
    const kept = Math.exp(-1 / PART_PERIODS)
    this.#letIn = 0
    for (const member of this.#members.values()) {
      member.letIn *= kept
      this.#letIn += member.letIn
    }
    this.#charge(clock.time, all)
  }

  #playSlot(clock: FairClock, slot: number, all: readonly SlotSums[]): void {
    const seconds = this.#slotMs / 1000
    const start = slot * seconds
    let now = start
    const events: { count: number; done: number; happen: () => void }[] = []
    const add = (count: number, happen: () => void): void => {
      if (count > 0) events.push({ count, done: 0, happen })
    }
    const count = (of: 'known' | 'ahead' | 'strained' | 'settled'): number =>
      all.reduce((sum, each) => sum + each[of], 0)
    const letIn = total(all.map((sums) => sums.letIn))
    const refused = total(all.map((sums) => sums.refused))
    const steps = Math.max(1, letIn[0], refused[0])
    clock.advance(start + (0.25 / steps) * seconds)
    const admission = { ...(this.#admissions.get(slot - 1) ?? { at: 0, window: -1, look: 0 }) }
    admission.at = start + seconds / 2
    const meanCost = letIn[1] / letIn[0]
    for (let i = 0; i < letIn[0]; i++) clock.note(admission, meanCost)
    this.#admissions.set(slot, admission)
    this.#admissions.delete(slot - REMEMBERED_SLOTS)
    add(count('ahead'), () => clock.shadow(true))
    add(count('known') - count('ahead'), () => clock.shadow(false))
    add(count('strained'), () => clock.strain())
    add(letIn[0], () => {
      clock.arrives(meanCost, 1)
      clock.letIn(meanCost)
    })
    add(refused[0], () => {
      clock.arrives(refused[1] / refused[0], 1)
      clock.refuse(refused[1] / refused[0])
    })
    for (const row of all.flatMap(({ ended }) => ended)) {
      const known = this.#admissions.get(row.letIn) ?? { at: row.letIn * seconds, window: -1, look: 0 }
      const isNow = row.letIn >= slot
      const of = (): Admission => (isNow ? { ...known, at: now } : known)
      const costOf = ([requests, cost]: Amount): number => cost / requests
      add(row.success[0], () => clock.succeeded(costOf(row.success), of()))
      add(row.failure[0], () => clock.failed(costOf(row.failure), of()))
      add(row.ignored[0], () => clock.ignored(costOf(row.ignored), of()))
    }
    const rounds = Math.max(1, ...events.map((event) => event.count))
    for (let i = 0; i < rounds; i++) {
      now = start + ((i + 0.5) / rounds) * seconds
      clock.advance(now)
      for (const event of events)
        for (const due = Math.round((event.count * (i + 1)) / rounds); event.done < due; event.done++) event.happen()
    }
    clock.settle(count('settled'))
  }

  #charge(time: number, all: readonly PeriodSums[]): void {
    const kept = Math.exp(-1 / FLOW_PERIODS)
    for (const [name, flow] of this.#flows) {
      flow.asked *= kept
      if (flow.untold === 0 && flow.asked < LEAST_ASKED) this.#flows.delete(name)
    }
    for (const [name, lead, charge, asked] of all.flatMap(({ flows }) => flows)) {
      const tag = time + lead
      let flow = this.#flows.get(name)
      if (flow === undefined) {
        if (this.#flows.size >= MOST_KEPT) continue
        flow = { tag, asked: 0, untold: 0 }
        this.#flows.set(name, flow)
      }
      flow.tag = Math.max(flow.tag, tag) + charge
      flow.asked += asked
      flow.untold += charge
    }
  }

  #chooseFlows(): void {
    const untold = [...this.#flows].filter(([, flow]) => flow.untold > 0)
    untold.sort(([, x], [, y]) => y.untold - x.untold)
    if (this.#flows.size >= MOST_KEPT) for (const [name] of untold.splice(MOST_KEPT / 2)) this.#flows.delete(name)
    const perSecond = ((1 - Math.exp(-1 / FLOW_PERIODS)) * 1000) / this.#periodMs
    this.#told = untold.slice(0, MOST_FLOWS).map(([name, flow]) => {
      flow.untold = 0
      return [name, flow.tag, flow.asked * perSecond]
    })
  }
}

function total(amounts: readonly Amount[]): Amount {
  return amounts.reduce<Amount>(([requests, cost], each) => [requests + each[0], cost + each[1]], [0, 0])
}
