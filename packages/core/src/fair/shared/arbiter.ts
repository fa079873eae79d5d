import type { After, Clock } from '../../clock.js'
import { requireAbove } from '../../options.js'
import { shortId, systemRandom } from '../../random.js'
import type { FairClock } from '../clock/fair-clock.js'
import type { ClockBelief } from '../clock/state.js'
import { Replay } from './replay.js'
import {
  type ClockGreeting,
  FLOW_PERIODS,
  type FlowCharge,
  type FlowTag,
  flowsNamed,
  NEAR_CREDIT,
  type PeriodSums,
  type ReportedPeriod,
  SLOTS,
  type SlotSums,
} from './report.js'
import { SharedFairClock } from './shared-fair-clock.js'
import { Transit } from './transit.js'
import { Allowance, consensus, gathered, MOST_MEMBERS, MOST_PART, ReportedOutcomes, typical } from './trust.js'
import {
  isReadable,
  LEASE_LENGTH,
  lengthInLease,
  MOST_LENGTH,
  packOwnLease,
  packSharedLease,
  unpackReport,
} from './wire.js'

/** Time without a report after which a process is gone, or independent: its lease is over by then. */
const GONE_MS = 1700
/** States of processes that arrive within this time after the first are combined. */
const GATHERING_MS = 1000
/** Time for which a process with other observations gets no lease, or none does if it could not be read. */
const STRANGE_MS = 30_000
/** Longest wait for missing reports of a period: by then the next one has arrived, with the same sums. */
const PATIENCE_PERIODS = 1.25
/**
 * Slots, rows and flows that are read for one period, of all processes; and of each in any case: more than any needs.
 */
const MOST_READ = 100_000
const LEAST_READ = 400
/** After a longer pause it continues from the present. */
const MOST_BEHIND = 20
/** Periods over which parts of admissions are averaged. */
const PART_PERIODS = 20
/** Longer transit times, in seconds, are not provided for. */
const MOST_LAG = 0.3
/** Flows whose tags are kept, and the demand below which they are forgotten. */
const MOST_KEPT = 2048
const LEAST_ASKED = 1e-3
/** Interval of telling others of a flow that lags far behind the clock. */
const KNOWN_PERIODS = 100
/** Bound on a reported flow's lead over the clock, in seconds at the fair rate. */
const MOST_LEAD_SECONDS = 30

interface ClockMember {
  heardAtMs: number
  arrivedAtMs: number
  sentAtMs: number
  /** The last period that it reported. */
  heard: number
  letIn: number
  /** Its part of the admissions at its last report. */
  part: number
  readonly claims: ReportedOutcomes
  /** The flows of its reports, by their numbers. */
  readonly names: Map<number, string>
}

/** An arbiter's own timer. */
export interface ArbiterTimer {
  readonly now: Clock
  readonly after: After
  /** Sends leases, by the names of their processes. */
  readonly tell: (leases: ReadonlyMap<string, string>) => void
}

interface Told {
  readonly member: string
  readonly sums: PeriodSums
}

interface SharedFlow {
  tag: number
  asked: number
  /** Charged since the others were last told of it. */
  untold: number
  /** The period in which they were told. */
  toldAt: number
}

/**
 * Keeps the one clock of several processes: it receives the sums of their requests, in order of time and as if all had
 * arrived at one process, and tells each the state of the clock. So capacity is measured once, where all outcomes meet.
 * It sees no single request. All happens when reports arrive, or when its timer ends the wait for one.
 *
 * The clock decides like that of a single process. Others are told of a flow by its name: the recently most charged
 * first, so that in time all of them are.
 *
 * @see B. Raghavan et al., "Cloud Control with Distributed Rate Limiting", SIGCOMM 2007: as if all traversed one
 *   limiter
 */
export class ClockArbiter {
  readonly #id: string = shortId(systemRandom)
  readonly #periodMs: number
  readonly #members = new Map<string, ClockMember>()
  readonly #flows = new Map<string, SharedFlow>()
  readonly #waiting = new Map<number, Told[]>()
  readonly #strange = new Map<string, number>()
  readonly #allowance = new Allowance()
  #replay: Replay
  #clock: SharedFairClock | undefined
  #belief: ClockBelief | undefined
  #startedAtMs = 0
  #silentUntilMs = 0
  #credit = 0
  /** The last replayed period. */
  #period = 0
  #late: Told[] = []
  #greetings: ClockGreeting[] = []
  readonly #transit = new Transit()
  readonly #timer: ArbiterTimer | undefined
  #isRinging = false
  #letIn = 0
  #told: readonly FlowTag[] = []

  /**
   * `periodMs`: report interval of processes. The resource should have a store for longer than that. `timer`: with one,
   * a lost report delays no lease for longer than reports usually need; otherwise, until the next report.
   */
  constructor(periodMs = 100, timer?: ArbiterTimer) {
    requireAbove('periodMs', periodMs, 0)
    this.#periodMs = periodMs
    this.#timer = timer
    this.#replay = new Replay(this.#slotMs / 1000)
  }

  /**
   * A report has arrived, after a delay of `waitedMs` on its way; any other text is ignored. Returns the leases to send
   * now, by the names of their processes. A lease is two lines of text, of which the second is the same for all.
   *
   * Impossible reports are corrected: the total admissions are bounded by the allowance, and the process with the
   * largest claim is cut first; a process with other failures than the others becomes independent.
   */
  hear(text: string, nowMs: number, waitedMs = 0): ReadonlyMap<string, string> {
    const report = unpackReport(text)
    if (report === undefined) return new Map()
    const { member: id, greeting, periods } = report
    for (const [name, { heardAtMs }] of this.#members) if (nowMs - heardAtMs > GONE_MS) this.#lose(name)
    for (const [name, untilMs] of this.#strange) if (nowMs > untilMs) this.#strange.delete(name)
    if (greeting !== undefined && !this.#members.has(id)) this.#greet(id, greeting, nowMs)
    const member = this.#members.get(id)
    if (member === undefined) return new Map()
    member.heardAtMs = nowMs
    member.arrivedAtMs = nowMs - Math.max(0, waitedMs)
    member.sentAtMs = report.sentAtMs
    if (periods.length > 0) member.part = this.#partOf(member)
    const current = Math.floor(nowMs / this.#periodMs)
    for (const sums of periods) {
      if (sums.period <= member.heard) continue
      // A number may soon mean another flow.
      const flows = named(sums, member.names)
      if (sums.period > current + 1 || sums.period < current - MOST_BEHIND) continue
      member.heard = sums.period
      if (sums.period === current - 1) this.#transit.add(nowMs - current * this.#periodMs)
      const told = { member: id, sums: member.claims.possible({ ...sums, flows }) }
      if (sums.period <= this.#period) this.#late.push(told)
      else {
        const waiting = this.#waiting.get(sums.period) ?? []
        waiting.push(told)
        this.#waiting.set(sums.period, waiting)
      }
    }
    const hasNews = this.#goOn(nowMs)
    this.#ring(nowMs)
    return this.#leases(hasNews ? [...this.#members.keys()] : greeting === undefined ? [] : [id], nowMs)
  }

  #leases(members: readonly string[], nowMs: number): ReadonlyMap<string, string> {
    const leases = new Map<string, string>()
    if (members.length === 0 || this.#belief === undefined) return leases
    const shared = packSharedLease({
      arbiter: this.#id,
      periodMs: this.#periodMs,
      period: this.#period,
      belief: this.#belief,
      members: this.#members.size,
      flows: this.#told,
    })
    for (const name of members) {
      const member = this.#members.get(name)
      if (member === undefined) continue
      const own = packOwnLease({
        part: this.#partOf(member),
        heard: member.heard,
        sentAtMs: member.sentAtMs,
        heardAtMs: member.arrivedAtMs,
        atMs: nowMs,
      })
      leases.set(name, `${own}\n${shared}`)
    }
    return leases
  }

  /** A process arrives. */
  #greet(id: string, greeting: ClockGreeting, nowMs: number): void {
    if (greeting.asking && (this.#members.size === 0 || this.#belief?.open !== false)) return
    if (nowMs < this.#silentUntilMs || this.#strange.has(id) || this.#members.size >= MOST_MEMBERS) return
    if (this.#clock === undefined || this.#members.size === 0) {
      this.#clock = new SharedFairClock(greeting.credit, greeting.probe, 0, this.#slotMs / 1000)
      this.#clock.advance(nowMs / 1000)
      this.#period = Math.floor(nowMs / this.#periodMs) - 1
      this.#startedAtMs = nowMs
      this.#credit = greeting.credit
      this.#greetings = []
      this.#waiting.clear()
      this.#flows.clear()
      this.#replay = new Replay(this.#slotMs / 1000)
      this.#late = []
      this.#told = []
    }
    if (!greeting.asking && nowMs - this.#startedAtMs < GATHERING_MS) {
      this.#greetings.push(greeting)
      const start = gathered(this.#greetings)
      if (start !== undefined) this.#clock.start(start)
    }
    this.#belief = this.#clock.belief
    const [heardAtMs, arrivedAtMs, claims, names] = [nowMs, nowMs, new ReportedOutcomes(), new Map<number, string>()]
    this.#members.set(id, { heardAtMs, arrivedAtMs, sentAtMs: 0, heard: -1, letIn: 0, part: 0, claims, names })
  }

  /** A process has gone, or continues unheard. */
  #lose(name: string): void {
    const member = this.#members.get(name)
    if (member === undefined) return
    this.#members.delete(name)
    this.#clock?.doubt(member.part)
  }

  get #slotMs(): number {
    return this.#periodMs / SLOTS
  }

  /** Replays the complete periods. True if there were any. */
  #goOn(nowMs: number): boolean {
    const clock = this.#clock
    const ended = Math.floor(nowMs / this.#periodMs) - 1
    this.#period = Math.max(this.#period, ended - MOST_BEHIND)
    const from = this.#period
    while (clock !== undefined && this.#period < ended) {
      const next = this.#period + 1
      if (nowMs < this.#awaitedUntil(next)) break
      this.#period = next
      this.#play(clock, next)
    }
    if (clock === undefined || this.#period === from) return false
    const lag = (nowMs - (this.#period + 1) * this.#periodMs) / 1000
    clock.lag += (Math.min(lag, MOST_LAG) - clock.lag) / PART_PERIODS
    this.#belief = clock.belief
    if (!isReadable(this.#belief)) {
      // Another clock begins at 0. Until then each process is on its own: a false report may be the cause.
      this.#members.clear()
      this.#silentUntilMs = nowMs + STRANGE_MS
    }
    this.#chooseFlows(clock)
    return true
  }

  /** The end of the wait for missing reports of a period; in the past if none is missing. */
  #awaitedUntil(period: number): number {
    for (const { heard } of this.#members.values())
      if (heard < period && heard >= period - 2)
        return (period + 1) * this.#periodMs + Math.min(this.#transit.most, PATIENCE_PERIODS * this.#periodMs)
    return Number.NEGATIVE_INFINITY
  }

  /** Without a report, the timer ends the wait. */
  #ring(nowMs: number): void {
    const timer = this.#timer
    const awaited = this.#awaitedUntil(this.#period + 1)
    if (timer === undefined || this.#isRinging || awaited <= nowMs) return
    this.#isRinging = true
    timer.after(awaited - nowMs, () => {
      this.#isRinging = false
      const laterMs = timer.now()
      if (this.#goOn(laterMs)) timer.tell(this.#leases([...this.#members.keys()], laterMs))
      this.#ring(laterMs)
    })
  }

  #partOf({ letIn }: ClockMember): number {
    return this.#letIn > 0 ? Math.min(1, letIn / this.#letIn) : 1 / this.#members.size
  }

  #play(clock: SharedFairClock, period: number): void {
    const all = this.#believed(clock, this.#readable([...(this.#waiting.get(period) ?? []), ...this.#late]))
    for (const each of this.#waiting.keys()) if (each <= period) this.#waiting.delete(each)
    this.#late = []
    const first = SLOTS * period
    // Late reports, and those from a wrong clock, count for the first slot.
    const slots: SlotSums[][] = Array.from({ length: SLOTS }, () => [])
    for (const sums of all) for (const each of sums.slots) (slots[each.slot - first] ?? slots[0]!).push(each)
    slots.forEach((sums, i) => {
      this.#replay.play(clock, first + i, sums)
    })
    const kept = Math.exp(-1 / PART_PERIODS)
    this.#letIn = 0
    for (const member of this.#members.values()) {
      member.letIn *= kept
      this.#letIn += member.letIn
    }
    this.#charge(clock, all)
  }

  /** The reports without the excess beyond each process's limit: that counts as lost. */
  #readable(told: readonly Told[]): readonly Told[] {
    const most = Math.max(LEAST_READ, MOST_READ / this.#members.size)
    const read = new Map<string, number>()
    return told.filter(({ member, sums }) => {
      const length = (read.get(member) ?? 0) + lengthOf(sums)
      if (length <= most) read.set(member, length)
      return length <= most
    })
  }

  /** The trusted part of the processes' reports of a period. */
  #believed(clock: SharedFairClock, told: readonly Told[]): readonly PeriodSums[] {
    for (const { member, sums } of told) this.#members.get(member)?.claims.add(sums)
    const all = [...this.#members.values()].map(({ claims }) => claims)
    const others = consensus(all)
    const bounds = typical(all)
    // Of the time before there were enough processes to compare.
    if (bounds !== undefined && bounds.costs[0] > 0)
      clock.meanCost = Math.min(clock.meanCost, MOST_PART * bounds.costs[0])
    if (others !== undefined)
      for (const [name, { claims, heardAtMs }] of this.#members)
        if (claims.isStrange(others)) {
          this.#strange.set(name, heardAtMs + STRANGE_MS)
          this.#lose(name)
        }
    const known = told.flatMap(({ member, sums }): Told[] => {
      const claims = this.#members.get(member)?.claims
      if (claims === undefined) return []
      return [{ member, sums: bounds === undefined ? sums : claims.within(sums, bounds) }]
    })
    for (const { claims } of this.#members.values()) claims.fade()
    const { open, fill, floor, deliverable, most } = clock.belief
    // All together may admit the clock's rate, and compensate failures by half as much again.
    const perSecond = open ? Number.POSITIVE_INFINITY : Math.max(fill, 1.5 * floor, 1.5 * deliverable)
    const seconds = this.#periodMs / 1000
    const possible = this.#allowance.within(
      known.map(({ sums }) => sums),
      perSecond,
      most,
      seconds,
    )
    return possible.map((sums, i) => {
      const member = this.#members.get(known[i]?.member ?? '')
      if (member === undefined) return sums
      for (const { letIn } of sums.slots) member.letIn += letIn[1]
      return { ...sums, flows: member.claims.flows(sums, others) }
    })
  }

  #charge({ time, rate }: FairClock, all: readonly PeriodSums[]): void {
    const kept = Math.exp(-1 / FLOW_PERIODS)
    for (const [name, flow] of this.#flows) {
      flow.asked *= kept
      if (flow.untold === 0 && flow.asked < LEAST_ASKED) this.#flows.delete(name)
    }
    const most = time + MOST_LEAD_SECONDS * rate
    for (const [name, lead, charge, asked] of all.flatMap(({ flows }) => flows)) {
      const tag = time + lead
      let flow = this.#flows.get(name)
      if (flow === undefined) {
        if (this.#flows.size >= MOST_KEPT) continue
        flow = { tag, asked: 0, untold: 0, toldAt: Number.NEGATIVE_INFINITY }
        this.#flows.set(name, flow)
      }
      flow.tag = Math.min(Math.max(flow.tag, tag) + charge, most)
      flow.asked += asked
      flow.untold += charge
    }
  }

  /**
   * The flows in leases. One that lags far behind the clock could have more than its demand, with any charges by
   * others: it only matters that it is known, which is sent occasionally.
   */
  #chooseFlows({ time, meanCost }: FairClock): void {
    const near = time - NEAR_CREDIT * this.#credit * meanCost
    const untold: [string, SharedFlow][] = []
    for (const entry of this.#flows) {
      const [, { tag, untold: charge, toldAt }] = entry
      if (charge > 0 && (tag > near || this.#period - toldAt > KNOWN_PERIODS)) untold.push(entry)
    }
    untold.sort(([, x], [, y]) => y.untold - x.untold)
    if (this.#flows.size >= MOST_KEPT) for (const [name] of untold.splice(MOST_KEPT / 2)) this.#flows.delete(name)
    const perSecond = ((1 - Math.exp(-1 / FLOW_PERIODS)) * 1000) / this.#periodMs
    const named = flowsNamed(this.#periodMs)
    let far = 0
    const chosen = untold.filter(([, { tag }]) => tag > near || ++far <= named.far)
    let length = LEASE_LENGTH
    const fit = chosen.slice(0, named.all).filter(([name]) => {
      length += lengthInLease(name)
      return length <= MOST_LENGTH
    })
    this.#told = fit.map(([name, flow]) => {
      flow.untold = 0
      flow.toldAt = this.#period
      return [name, flow.tag, flow.asked * perSecond]
    })
  }
}

/** The charges of the flows whose names are known; learns the names that are told. */
function named({ names, flows }: ReportedPeriod, known: Map<number, string>): readonly FlowCharge[] {
  for (const [id, flow] of names) known.set(id, flow)
  return flows.flatMap(([id, ...numbers]) => {
    const flow = known.get(id)
    return flow === undefined ? [] : [[flow, ...numbers] as const]
  })
}

function lengthOf({ slots, flows }: PeriodSums): number {
  return slots.reduce((sum, { ended }) => sum + 1 + ended.length, flows.length)
}
