import { requireAbove } from '../../options.js'
import { randomId, systemRandom } from '../../random.js'
import type { ClockBelief } from '../clock/belief.js'
import type { FairClock } from '../clock/fair-clock.js'
import { Replay } from './replay.js'
import {
  type ClockGreeting,
  FLOW_PERIODS,
  type FlowTag,
  flowsNamed,
  NAME_LENGTH,
  NEAR_CREDIT,
  type PeriodSums,
  SLOTS,
  type SlotSums,
} from './report.js'
import { SharedFairClock } from './shared-fair-clock.js'
import { Allowance, Claims, consensus, MOST_MEMBERS, median } from './trust.js'
import { packOwnLease, packSharedLease, unpackReport } from './wire.js'

/** A process that was not heard of for so long is gone, or on its own: a lease is over by then. */
const GONE_MS = 1700
/** What processes believe of their parts is put together, if they come so soon after the first. */
const GATHERING_MS = 1000
/** What a process believes of its part counts as at most so many times what most of them do. */
const MOST_PART = 4
/** A process that sees something else is told nothing for so long. */
const STRANGE_MS = 30_000
/** How long after the end of a period its sums are waited for: one more report may come that has them, too. */
const PATIENCE_PERIODS = 1.25
/** Slots, rows and flows that are read for one period, of all processes; and of each in any case: more than any needs. */
const MOST_READ = 100_000
const LEAST_READ = 400
/** After a longer pause it goes on from here. */
const MOST_BEHIND = 20
/** Parts of what is let in are averaged over so many periods. */
const PART_PERIODS = 20
/** What is on its way for longer, in seconds, is not made room for. */
const MOST_LAG = 0.3
/** Flows whose tags are kept, and the cost asked for at which they are forgotten. */
const MOST_KEPT = 2048
const LEAST_ASKED = 1e-3
/** How often others are told of a flow that lags far behind the clock. */
const KNOWN_PERIODS = 100
/** No flow is put further ahead of the clock than this, in seconds at the fair rate, by what is said of it. */
const MOST_LEAD_SECONDS = 30

interface Member {
  heardAtMs: number
  arrivedAtMs: number
  sentAtMs: number
  /** The last period that it told of. */
  heard: number
  letIn: number
  /** Which part of what was let in it had when it was heard last. */
  part: number
  readonly claims: Claims
}

interface Told {
  readonly member: string
  readonly sums: PeriodSums
}

interface SharedFlow {
  tag: number
  asked: number
  /** Charged since the others were told of it. */
  untold: number
  /** The period in which they were. */
  toldAt: number
}

/**
 * Keeps the one clock of several processes: it hears the sums of their requests, in order of time and as if they all
 * had come to one process, and tells each what the clock believes. So capacity is measured once, where all outcomes
 * meet. It hears of no single request, and has no timer: all happens when reports come.
 *
 * The clock decides as the one that a process has alone. A flow is told to others by its name: the most charged of late
 * first, so that in time all of them are.
 *
 * @see B. Raghavan et al., "Cloud Control with Distributed Rate Limiting", SIGCOMM 2007: as if all traversed one limiter
 */
export class ClockArbiter {
  readonly #id: string = randomId(systemRandom).slice(0, NAME_LENGTH)
  readonly #periodMs: number
  readonly #members = new Map<string, Member>()
  readonly #flows = new Map<string, SharedFlow>()
  readonly #waiting = new Map<number, Told[]>()
  readonly #strange = new Map<string, number>()
  readonly #allowance = new Allowance()
  #replay: Replay
  #clock: SharedFairClock | undefined
  #belief: ClockBelief | undefined
  #startedAtMs = 0
  #credit = 0
  /** The last period that was played. */
  #period = 0
  #late: Told[] = []
  #greetings: ClockGreeting[] = []
  #letIn = 0
  #told: readonly FlowTag[] = []

  /** `periodMs`: how often processes report. The resource should have a store for longer than that. @default 100 */
  constructor(periodMs = 100) {
    requireAbove('periodMs', periodMs, 0)
    this.#periodMs = periodMs
    this.#replay = new Replay(this.#slotMs / 1000)
  }

  /**
   * A report has come, by way of something that kept it for `waitedMs`; anything else is passed over. Gives the leases
   * that are to be sent now, by the names of their processes. A lease is two lines of text, of which the second is the
   * same for all.
   *
   * Reports are not believed beyond what is possible: what all have let in together is bounded by what they may, and who
   * claims most is cut first; who sees other failures than the others is left to itself.
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
    const current = Math.floor(nowMs / this.#periodMs)
    for (const sums of periods) {
      if (sums.period <= member.heard || sums.period > current + 1 || sums.period < current - MOST_BEHIND) continue
      member.heard = sums.period
      const told = { member: id, sums: member.claims.possible(sums) }
      if (sums.period <= this.#period) this.#late.push(told)
      else {
        const waiting = this.#waiting.get(sums.period) ?? []
        waiting.push(told)
        this.#waiting.set(sums.period, waiting)
      }
    }
    if (this.#goOn(nowMs)) return this.#leases([...this.#members.keys()], nowMs)
    return this.#leases(greeting === undefined ? [] : [id], nowMs)
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
        part: this.#letIn > 0 ? Math.min(1, member.letIn / this.#letIn) : 1 / this.#members.size,
        heard: member.heard,
        sentAtMs: member.sentAtMs,
        heardAtMs: member.arrivedAtMs,
        atMs: nowMs,
      })
      leases.set(name, `${own}\n${shared}`)
    }
    return leases
  }

  /** A process comes. */
  #greet(id: string, greeting: ClockGreeting, nowMs: number): void {
    if (this.#strange.has(id) || this.#members.size >= MOST_MEMBERS) return
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
    if (nowMs - this.#startedAtMs < GATHERING_MS) this.#gather(this.#clock, greeting)
    this.#belief = this.#clock.belief
    const [heardAtMs, arrivedAtMs, claims] = [nowMs, nowMs, new Claims()]
    this.#members.set(id, { heardAtMs, arrivedAtMs, sentAtMs: 0, heard: -1, letIn: 0, part: 0, claims })
  }

  /**
   * Starts from what processes believe: of those that had an arbiter before, which told all the same, from the one in the
   * middle; otherwise from the sum of their parts, if most of them see a shortage. Nobody's part is believed to be much
   * larger than most are.
   */
  #gather(clock: SharedFairClock, greeting: ClockGreeting): void {
    this.#greetings.push(greeting)
    const followers = this.#greetings.filter(({ following }) => following)
    if (followers.length > 0) {
      if (greeting.following || followers.length === this.#greetings.length) clock.start(inTheMiddle(followers))
      return
    }
    const short = this.#greetings.filter(({ belief }) => !belief.open)
    if (2 * short.length <= this.#greetings.length) {
      clock.start(inTheMiddle(this.#greetings.filter(({ belief }) => belief.open)))
      return
    }
    const sum = (of: (belief: ClockBelief) => number): number => {
      const parts = short.map(({ belief }) => of(belief))
      const most = MOST_PART * median(parts)
      return parts.reduce((all, part) => all + Math.min(part, most), 0)
    }
    clock.start({
      ...inTheMiddle(short),
      deliverable: sum(({ deliverable }) => deliverable),
      rate: median(short.map(({ belief }) => belief.rate)),
    })
  }

  /** A process has gone, or goes on unheard. */
  #lose(name: string): void {
    const member = this.#members.get(name)
    if (member === undefined) return
    this.#members.delete(name)
    this.#clock?.doubt(member.part)
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
    const lag = (nowMs - (this.#period + 1) * this.#periodMs) / 1000
    clock.lag += (Math.min(lag, MOST_LAG) - clock.lag) / PART_PERIODS
    this.#belief = clock.belief
    this.#chooseFlows(clock)
    return true
  }

  /** True while a process that has told of the periods before has yet to tell of this one. */
  #isAwaited(period: number): boolean {
    for (const { heard } of this.#members.values()) if (heard < period && heard >= period - 2) return true
    return false
  }

  #play(clock: SharedFairClock, period: number): void {
    const all = this.#believed(clock, this.#readable([...(this.#waiting.get(period) ?? []), ...this.#late]))
    for (const each of this.#waiting.keys()) if (each <= period) this.#waiting.delete(each)
    this.#late = []
    const first = SLOTS * period
    // What comes late, or from a clock that was wrong, counts for the first slot.
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
    for (const member of this.#members.values())
      if (member.heard >= period && this.#letIn > 0) member.part = member.letIn / this.#letIn
    this.#charge(clock, all)
  }

  /** All but what processes said at greater length than is read of each: that counts as lost on its way. */
  #readable(told: readonly Told[]): readonly Told[] {
    const most = Math.max(LEAST_READ, MOST_READ / this.#members.size)
    const read = new Map<string, number>()
    return told.filter(({ member, sums }) => {
      const length = (read.get(member) ?? 0) + lengthOf(sums)
      if (length <= most) read.set(member, length)
      return length <= most
    })
  }

  /** What is believed of what the processes said of a period. */
  #believed(clock: SharedFairClock, told: readonly Told[]): readonly PeriodSums[] {
    for (const { member, sums } of told) this.#members.get(member)?.claims.add(sums)
    const others = consensus([...this.#members.values()].map(({ claims }) => claims))
    if (others !== undefined)
      for (const [name, { claims, heardAtMs }] of this.#members)
        if (claims.isStrange(others)) {
          this.#strange.set(name, heardAtMs + STRANGE_MS)
          this.#lose(name)
        }
    const known = told.filter(({ member }) => this.#members.has(member))
    for (const { claims } of this.#members.values()) claims.fade()
    const { open, fill, floor, deliverable, most } = clock.belief
    // All may do without the clock what it would allow, and make up for failures by half as much again.
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
   * The flows that all are told of. One that lags far behind the clock could have more than it asks for, whatever the
   * others charged it: that it is known is all that matters, and is said from time to time.
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
    this.#told = chosen.slice(0, named.all).map(([name, flow]) => {
      flow.untold = 0
      flow.toldAt = this.#period
      return [name, flow.tag, flow.asked * perSecond]
    })
  }
}

/** The belief of which as many believe more than less. */
function inTheMiddle(greetings: readonly ClockGreeting[]): ClockBelief {
  const sorted = greetings
    .map(({ belief }) => belief)
    .toSorted((x, y) => x.deliverable - y.deliverable || x.rate - y.rate)
  return sorted[Math.floor((sorted.length - 1) / 2)]!
}

function lengthOf({ slots, flows }: PeriodSums): number {
  return slots.reduce((sum, { ended }) => sum + 1 + ended.length, flows.length)
}
