import type { Outcome } from '../../admission/outcome.js'
import type { After, Clock } from '../../clock.js'
import { ownCopy } from '../../path.js'
import { shortId, systemRandom } from '../../random.js'
import { onRejection } from '../../rejection.js'
import { CHANCE, type ClockJudgement } from '../clock/state.js'
import {
  type ClockLease,
  type ClockLink,
  type ClockReport,
  count,
  FLOW_PERIODS,
  type FlowName,
  flowsNamed,
  MOST_NUMBERED,
  NEAR_CREDIT,
  type NumberedCharge,
  noSums,
  type ReportedPeriod,
  type Sharing,
  SLOTS,
  type SlotSums,
} from './report.js'
import type { SharedFairClock } from './shared-fair-clock.js'
import { LONGEST_NAME, MOST_LENGTH, packReport, unpackLease } from './wire.js'

/** Lifetime of a lease. */
const LEASE_MS = 1500
/** Retry interval without an answer, and the time until an arbiter counts as silent. */
const GREET_MS = 1000
const SILENT_MS = 400
/** Longest interval at which a process that sees no shortage asks whether others share one. */
const MOST_ASKING_MS = 60_000
/** Time without trouble after which reports stop. */
const CALM_MS = 5000
/** The same without a request: in each of many processes requests may be rare. */
const REST_MS = 60_000
/** Periods for which the clock's state at their end is known, and whose sums are kept until they are acknowledged. */
const MOST_MARKS = 64
const MOST_UNHEARD = 20
const LEAST_ASKED_PER_SECOND = 0.01
/** Time for which others' admissions of a flow are extrapolated, and the largest multiple of the local ones. */
const FORESEEN_SECONDS = 0.2
const MOST_SPREAD = 64
/** The weight of an earlier round trip decays: clocks drift. */
const TRIP_GROWTH = 1.02
/** Outcomes arrive up to this many slots late; for older ones only about as many slots are distinguished. */
const EXACT_SLOTS = 8

/** A process's counts of a flow, of which there are at most {@link MOST_NUMBERED}. */
interface CountedFlow {
  readonly name: string
  readonly id: number
  /** The period whose report has first told the name. */
  namedAt: number
  /** Its charge since the last report, on top of `tag`, and its demand. */
  charge: number
  tag: number
  asked: number
  askedPerSecond: number
  /** Charged here since the moment of the lease's state. */
  since: number
  /** Requests of it in all processes for each one here, and others' possible charges until the next lease. */
  spread: number
  elsewhere: number
  /** Extrapolated charges by others since then. */
  foreseen: number
}

/** The clock's unique name: a gate may be called `orders/reports`, and `orders` may have such a resource. */
function clockName({ name, resource }: { readonly name: string; readonly resource?: string }): string {
  const escaped = (part: string): string => part.replaceAll('%', '%25').replaceAll('/', '%2F')
  return resource === undefined ? escaped(name) : `${escaped(name)}/${escaped(resource)}`
}

/** The tags of a process's flows. */
interface Tags {
  /** The clock was set forward by `by`. */
  shift(by: number): void
  /** The flow is known, with a tag of at least `tag`. */
  raiseFlow(flow: string, tag: number): void
}

/**
 * A process's part in a clock that several share. While nothing is short it sends nothing, except three questions at
 * its first requests whether others share one. From the first alarm on, or such an answer, it reports to the arbiter,
 * once per period, the sums of events, and the charges of the most charged flows. Its own clock then follows the
 * arbiter's: it decides synchronously by its last lease, by its admissions since, and by its part of the resource's
 * rate. It does not measure, and does not look.
 *
 * A lease holds for 1.5 seconds. Then the process measures by itself again, and starts from its part of the total
 * state. Times are the arbiter's: the lead of its clock is estimated with every answer, as in NTP.
 *
 * All happens at the next request, or when the link's timer fires at the end of a period.
 */
export class SharedClock {
  /** True while it counts events. */
  isActive = false
  /** The process's own clock. */
  readonly #clock: SharedFairClock
  readonly #name: string
  readonly #settings: { credit: number; probe: number }
  readonly #time: Clock
  readonly #tags: Tags
  readonly #sendText: (report: string, member: string) => void
  readonly #after: After | undefined
  readonly #flows = new Map<string, CountedFlow>()
  readonly #numbered: CountedFlow[] = []
  readonly #freeIds: number[] = []
  #id = ''
  #arbiter = ''
  #lease: ClockLease | undefined
  #leaseHeardAtMs = Number.NEGATIVE_INFINITY
  #greetedAtMs = Number.NEGATIVE_INFINITY
  /** Time after which it asks again whether others share a clock; 0: it has not asked yet. */
  #askingMs = 0
  /** True if the last greeting was such a question. */
  #isAsking = false
  #troubledAtMs = 0
  #usedAtMs = 0
  #periodMs = 0
  /** Lead of the arbiter's clock, by the quickest answer. */
  #aheadMs = 0
  #tripMs = Number.POSITIVE_INFINITY
  #period = 0
  #sums = noSums(0)
  #slots: SlotSums[] = []
  #marks: { period: number; time: number; left: number; owed: number }[] = []
  #unheard: ReportedPeriod[] = []
  /** The last period that the arbiter has received. */
  #heard = -1

  /** `time` is the clock of `FairTracker`, in milliseconds. */
  constructor(
    { credit, probe }: { credit: number; probe: number },
    shared: { readonly name: string; readonly resource?: string; readonly link: ClockLink },
    clock: SharedFairClock,
    time: Clock,
    tags: Tags,
  ) {
    this.#clock = clock
    this.#name = clockName(shared)
    this.#settings = { credit, probe }
    this.#time = time
    this.#tags = tags
    this.#after = shared.link.after
    this.#sendText = shared.link.join(this.#name, (lease, waitedMs = 0) => this.#hear(unpackLease(lease), waitedMs))
  }

  /** `undefined` while the process is independent. */
  sharing(nowMs: number): Sharing | undefined {
    if (this.#lease === undefined) return undefined
    const { arbiter, members, part } = this.#lease
    return { name: this.#name, arbiter, members, part, ageMs: Math.max(0, nowMs - this.#leaseHeardAtMs) }
  }

  /** It is `nowMs`: reports if a period has ended. To be called before the clock advances. */
  advance(nowMs: number): void {
    const isTroubled = this.#clock.isTroubled
    if (!this.isActive) {
      if (isTroubled && (this.#isAsking || nowMs - this.#greetedAtMs >= GREET_MS)) this.#greet(nowMs)
      else if (!isTroubled && nowMs - this.#greetedAtMs >= this.#askingMs) this.#ask(nowMs)
      return
    }
    const { letIn, refused } = this.#sums
    if (letIn[0] + refused[0] > 0) this.#usedAtMs = nowMs
    if (isTroubled && nowMs - this.#usedAtMs < REST_MS) this.#troubledAtMs = nowMs
    const slot = this.#slotAt(nowMs)
    if (slot > this.#sums.slot) this.#closeSlot(slot, nowMs)
    const silentMs = nowMs - this.#leaseHeardAtMs
    if (silentMs > LEASE_MS || nowMs - this.#troubledAtMs > CALM_MS) this.#leave(nowMs)
    else if (silentMs > SILENT_MS && nowMs - this.#greetedAtMs > SILENT_MS) this.#greet(nowMs)
  }

  /** Extrapolated charges of a flow by others since the last lease, in units of the clock's time. */
  foreseen(flow: string): number {
    return this.#flows.get(flow)?.foreseen ?? 0
  }

  /** A request of a flow with this tag is about to be judged. */
  asks(tag: number, known: boolean, weight: number): void {
    const sums = this.#sums
    const { time, meanCost, isStrained } = this.#clock
    if (known) sums.known++
    if (known && tag > time) sums.ahead++
    if (isStrained && tag <= time && time - tag < meanCost / weight) sums.strained++
  }

  /** A request was judged. */
  judged(name: string, judgement: ClockJudgement, tag: number, cost: number, weight: number): void {
    count(judgement === 'refused' ? this.#sums.refused : this.#sums.letIn, cost)
    if (name.length > LONGEST_NAME) return
    let flow = this.#flows.get(name)
    if (flow === undefined) {
      if (this.#flows.size >= MOST_NUMBERED) return
      flow = newFlow(ownCopy(name), this.#freeIds.pop() ?? this.#flows.size, tag)
      this.#flows.set(flow.name, flow)
      this.#numbered[flow.id] = flow
    }
    flow.asked += cost
    if (judgement !== 'charged') return
    if (flow.charge === 0) flow.tag = tag
    flow.charge += cost / weight
    flow.since += cost / weight
    flow.foreseen = Math.min(flow.since * (flow.spread - 1), flow.elsewhere / weight)
  }

  /** A request that was admitted at `at` seconds ended. */
  ended(outcome: Outcome, at: number, cost: number, expected: number): void {
    const { ended, slot } = this.#sums
    const age = slot - this.#slotAt(at * 1000)
    const grain = age < 2 * EXACT_SLOTS ? 1 : 2 ** Math.floor(Math.log2(age / EXACT_SLOTS))
    const letIn = grain * Math.floor((slot - age) / grain)
    let row = ended.get(letIn)
    if (row === undefined) {
      row = { letIn, success: [0, 0], failure: [0, 0], ignored: [0, 0], expected: 0 }
      ended.set(letIn, row)
    }
    count(row[outcome], cost)
    row.expected += expected
  }

  /** A request cost this much more than its charge, or less. */
  settled(cost: number): void {
    this.#sums.settled += cost
  }

  #slotAt(ms: number): number {
    return Math.floor(((ms + this.#aheadMs) / this.#periodMs) * SLOTS)
  }

  /**
   * A process that sees no shortage may only see none because others leave room for it: it asks whether they share a
   * clock, three times at first, because messages may be lost, and later if more than chance fails, ever less often.
   */
  #ask(nowMs: number): void {
    if (this.#askingMs > 2 * GREET_MS && this.#clock.failureShare <= CHANCE) return
    this.#askingMs = Math.min(MOST_ASKING_MS, Math.max(GREET_MS, 2 * this.#askingMs))
    this.#greet(nowMs, true)
  }

  #greet(nowMs: number, asking = false): void {
    if (this.#id === '') this.#id = shortId(systemRandom)
    this.#greetedAtMs = nowMs
    this.#isAsking = asking
    this.#tellNames()
    const greeting = { ...this.#settings, belief: this.#clock.belief, following: this.#lease !== undefined, asking }
    this.#send({ member: this.#id, sentAtMs: nowMs, greeting, periods: [] })
  }

  #closeSlot(slot: number, nowMs: number): void {
    const { ended, ...sums } = this.#sums
    if (sums.letIn[0] + sums.refused[0] + ended.size > 0 || sums.settled !== 0)
      this.#slots.push({ ...sums, ended: [...ended.values()] })
    this.#sums = noSums(slot)
    const period = Math.floor(slot / SLOTS)
    if (period > this.#period) this.#closePeriod(period, nowMs)
  }

  #closePeriod(period: number, nowMs: number): void {
    const clock = this.#clock
    clock.advance((period * this.#periodMs - this.#aheadMs) / 1000)
    this.#marks.push({ period: period - 1, ...clock.mark })
    if (this.#marks.length > MOST_MARKS) this.#marks.shift()
    this.#unheard.push({ period: period - 1, slots: this.#slots, ...this.#mostCharged(period - 1) })
    if (this.#unheard.length > MOST_UNHEARD) this.#loseReport()
    this.#slots = []
    this.#period = period
    while (!this.#send({ member: this.#id, sentAtMs: nowMs, periods: this.#unheard })) this.#loseReport()
  }

  /** The names that the lost period tells will be told again. */
  #loseReport(): void {
    this.#unheard.shift()
    this.#tellNames()
  }

  /** Tells all names again: the arbiter may not know them. */
  #tellNames(): void {
    for (const flow of this.#flows.values()) flow.namedAt = Number.POSITIVE_INFINITY
  }

  /** False for a report that is too long, which one without any period never is. */
  #send(report: ClockReport): boolean {
    const packed = packReport(report)
    if (packed.length > MOST_LENGTH) return false
    try {
      onRejection(this.#sendText(packed, report.member), () => {})
    } catch {
      // A link that fails is one that loses reports: no request is to blame for that, and lost reports are sent again.
    }
    return true
  }

  /**
   * The most charged of the flows charged since their last report: the others' turn comes as their charges add up. Of
   * flows that lag far behind the clock, which could have more than their demand, a few are included.
   */
  #mostCharged(period: number): { names: FlowName[]; flows: NumberedCharge[] } {
    const { time, meanCost } = this.#clock
    const kept = Math.exp(-1 / FLOW_PERIODS)
    const perSecond = ((1 - kept) * 1000) / this.#periodMs
    const near = time - NEAR_CREDIT * this.#settings.credit * meanCost
    const charged: CountedFlow[] = []
    for (const flow of this.#flows.values()) {
      flow.askedPerSecond *= kept
      if (flow.charge > 0) charged.push(flow)
      else if (flow.askedPerSecond < LEAST_ASKED_PER_SECOND) this.#drop(flow)
    }
    charged.sort((x, y) => y.charge - x.charge)
    if (this.#flows.size >= MOST_NUMBERED) for (const flow of charged.splice(MOST_NUMBERED / 2)) this.#drop(flow)
    const most = flowsNamed(this.#periodMs)
    let far = 0
    const chosen = charged.filter(({ tag, charge }) => tag + charge > near || ++far <= most.far).slice(0, most.all)
    const unknown = chosen.filter(({ namedAt }) => namedAt > this.#heard)
    for (const flow of unknown) flow.namedAt = Math.min(flow.namedAt, period)
    const flows = chosen.map((flow): NumberedCharge => {
      const { id, tag, charge, asked } = flow
      flow.askedPerSecond += asked * perSecond
      flow.charge = flow.asked = 0
      return [id, tag - time, charge, asked]
    })
    return { names: unknown.map(({ id, name }) => [id, name]), flows }
  }

  #drop({ name, id }: CountedFlow): void {
    this.#flows.delete(name)
    this.#freeIds.push(id)
  }

  #hear(lease: ClockLease | undefined, waitedMs: number): void {
    if (lease === undefined) return
    const nowMs = this.#time()
    // Only a request lets a process join.
    if (this.isActive) this.advance(nowMs)
    this.#clock.advance(nowMs / 1000)
    if (lease.arbiter !== this.#arbiter) {
      // Another arbiter than the one that it has reported to: accepted only if it has just asked.
      if (nowMs - this.#greetedAtMs <= GREET_MS) this.#begin(lease, nowMs, waitedMs)
      return
    }
    if (!this.isActive) return
    this.#compareClocks(lease, nowMs - waitedMs)
    this.#leaseHeardAtMs = nowMs
    this.#heard = Math.max(this.#heard, lease.heard)
    this.#unheard = this.#unheard.filter((sums) => sums.period > lease.heard)
    if (this.#lease === undefined || lease.period > this.#lease.period) this.#follow(lease)
  }

  /** An arbiter has answered: from now on it receives reports. */
  #begin(lease: ClockLease, nowMs: number, waitedMs: number): void {
    this.#arbiter = lease.arbiter
    this.#periodMs = lease.periodMs
    this.#tripMs = Number.POSITIVE_INFINITY
    this.#compareClocks(lease, nowMs - waitedMs)
    this.#lease = undefined
    this.#leaseHeardAtMs = this.#troubledAtMs = this.#usedAtMs = nowMs
    const slot = this.#slotAt(nowMs)
    this.#sums = noSums(slot)
    this.#period = Math.floor(slot / SLOTS)
    this.#marks = []
    this.#slots = []
    this.#unheard = []
    this.#heard = -1
    this.#tellNames()
    this.isActive = true
    this.#ring()
  }

  /** The end of the period, with any number of requests. */
  #ring(): void {
    if (!this.isActive) return
    const nowMs = this.#time()
    const endsInMs = (this.#period + 1) * this.#periodMs - this.#aheadMs - nowMs
    const arbiter = this.#arbiter
    this.#after?.(Math.max(1, endsInMs), () => {
      if (!this.isActive || this.#arbiter !== arbiter) return
      const nowMs = this.#time()
      this.advance(nowMs)
      this.#clock.advance(nowMs / 1000)
      this.#ring()
    })
  }

  #compareClocks({ sentAtMs, heardAtMs, atMs }: ClockLease, nowMs: number): void {
    const tripMs = nowMs - sentAtMs - (atMs - heardAtMs)
    this.#tripMs *= TRIP_GROWTH
    if (tripMs > this.#tripMs) return
    this.#tripMs = Math.max(tripMs, 0)
    this.#aheadMs = (heardAtMs + atMs - sentAtMs - nowMs) / 2
  }

  #follow(lease: ClockLease): void {
    const { period, belief, part } = lease
    const mark = this.#marks.findLast((each) => each.period <= period)
    if (mark === undefined) return
    const by = belief.time - mark.time
    const [left, owed] = [belief.left - mark.left, belief.owed - mark.owed]
    this.#clock.follow(belief, mark, part)
    for (const each of this.#marks) {
      each.time += by
      each.left += left
      each.owed += owed
    }
    if (this.#lease === undefined) {
      this.#clock.shift(by)
      this.#tags.shift(by)
      for (const flow of this.#flows.values()) flow.tag += by
    }
    this.#lease = lease
    for (const flow of this.#flows.values()) {
      flow.since = flow.charge
      flow.foreseen = 0
    }
    for (const sums of this.#unheard) {
      if (sums.period <= period) continue
      for (const [id, , charge] of sums.flows) {
        const flow = this.#numbered[id]
        if (flow !== undefined) flow.since += charge
      }
    }
    for (const [name, tag, askedPerSecond] of lease.flows) {
      const flow = this.#flows.get(name)
      this.#tags.raiseFlow(name, tag + (flow?.since ?? 0))
      if (flow === undefined) continue
      flow.spread = flow.askedPerSecond > 0 ? Math.min(MOST_SPREAD, askedPerSecond / flow.askedPerSecond) : 1
      flow.spread = Math.max(1, flow.spread)
      flow.elsewhere = FORESEEN_SECONDS * Math.max(0, askedPerSecond - flow.askedPerSecond)
    }
  }

  /** Becomes independent again. */
  #leave(nowMs: number): void {
    this.#clock.lead(1 / (this.#lease?.members ?? 1), nowMs - this.#usedAtMs > REST_MS)
    this.isActive = false
    this.#arbiter = ''
    this.#lease = undefined
    this.#flows.clear()
    this.#numbered.length = this.#freeIds.length = 0
  }
}

function newFlow(name: string, id: number, tag: number): CountedFlow {
  const counts = { charge: 0, asked: 0, askedPerSecond: 0, since: 0, spread: 1, elsewhere: 0, foreseen: 0 }
  return { name, id, namedAt: Number.POSITIVE_INFINITY, tag, ...counts }
}
