import type { Contest } from '../admission/stage.js'
import { append, LinkedList, TurnoverMap, unlink } from '../containers.js'
import type { QueuedRequest } from './queued-request.js'
import { dueOf, FlowRecord, MaxMin, MEMORY, NOTHING, ROUNDING, slotsOf, weightOf } from './slots.js'

type Band = QueuedRequest['band']

/** Part of a flow's largest balance from which it goes before flows that are short. */
const MUCH = 1 / 4

/** By weight, and by entitled requests. */
type SharePair = readonly [MaxMin<FlowRecord>, MaxMin<FlowRecord>]

/**
 * The slots that each flow holds, and its share of them while others wait: by weight or, if that is more, by the
 * requests that it is entitled to, which are its weight over their mean cost. For a flow of cheap requests needs more
 * slots than one of costly ones to have as much served. Shares are max-min: the unused part of a flow's share is
 * divided among the others. A flow may always run one request. Fractions of a slot are granted over time: a flow may
 * have one request more than its share if it has not had more than its share so far; much less, if a flow waits that
 * has fewer whole slots than both ways of sharing give it. The units of the pool are shared in the same way, in whole
 * requests, and a flow never has more of them than `perFlowUnits`. The flows of a band share the slots that other bands
 * leave it: flows that wait elsewhere, possibly in vain, do not count. Keeps a record per flow that runs or waits, and
 * one for each of its bands, if there are several; O(1) per change, amortised. Records begin with the first waiting
 * request, and end when nothing runs or waits: before that the state of a flow is not needed, unless `isCapped`.
 */
export class FlowSlots {
  readonly #flows = new TurnoverMap<FlowRecord>()
  readonly #perFlowUnits: number
  readonly #isCapped: boolean
  readonly #isOfBand: boolean
  readonly #slots: SharePair
  readonly #units: SharePair
  readonly #slotsFor: (band: Band) => number
  /** All recorded requests are of this band; after that, each band also has its own slots. */
  #onlyBand: Band | undefined = undefined
  #bands: Map<Band, FlowSlots> | undefined = undefined
  /** Running requests while there are no records. */
  readonly #unrecorded = new LinkedList<QueuedRequest>()
  #isRecorded: boolean
  #changes = 0
  /** Number of times that no flow waited, or only one flow was left: then all debts are forgiven. */
  #era = 0
  /**
   * The longest duration of a request, decaying by one part in {@link MEMORY} of the time since; and the end of the
   * last one.
   */
  #longestMs = 0
  #endedMs = 0
  /** Flows that are short. */
  #short = 0
  /** The best balance of the flows that are held back for their slots, since {@link look}. */
  #best = Number.NEGATIVE_INFINITY
  #waitingFlows = 0
  #waiting = 0
  /** The cost of the first request since there were no records, and whether another had a different one. */
  #cost = 0
  #isUneven = false

  /**
   * `slotsFor` returns the slots that a band has or may have. `isCapped`: flows have a limit of slots, or units of the
   * pool, even if none waits.
   */
  constructor(slotsFor: (band: Band) => number, isCapped: boolean, perFlowUnits: number | undefined, isOfBand = false) {
    this.#slotsFor = slotsFor
    this.#isCapped = isCapped
    this.#isRecorded = isCapped || isOfBand
    this.#isOfBand = isOfBand
    this.#perFlowUnits = perFlowUnits ?? Number.POSITIVE_INFINITY
    const unitsOf = ({ wantedUnits }: FlowRecord): number => Math.min(wantedUnits, this.#perFlowUnits)
    const shares = (wants: (record: FlowRecord) => number): SharePair => [
      new MaxMin(this.#flows, wants, weightOf),
      new MaxMin(this.#flows, wants, dueOf),
    ]
    this.#slots = shares(slotsOf)
    this.#units = shares(unitsOf)
  }

  /**
   * A request has arrived: its flow's present weight and limit apply from now on to all its waiting and running
   * requests. True if more of the waiting ones may start.
   */
  retell(request: QueuedRequest): boolean {
    if (!this.#isRecorded) return false
    const record = this.#find(request)
    if (record === undefined) return false
    const mayMore = record.waiting > 0 && request.most > record.most
    record.most = request.most
    record.weight = request.weight
    if (this.#bands !== undefined) for (const band of this.#bands.values()) band.retell(request)
    return mayMore
  }

  waits(request: QueuedRequest): void {
    if (!this.#isRecorded) this.#record(request)
    const ofBand = this.#bandOf(request)
    const record = this.#open(request)
    this.#add(record, request, 1)
    this.#waiting++
    if (record.waiting++ === 0) this.#waitingFlows++
    this.#note(record)
    ofBand?.waits(request)
  }

  /** A request that waited will never start. */
  waitsNoMore(request: QueuedRequest): void {
    const record = this.#find(request)!
    this.#add(record, request, -1)
    this.#leftLine(record)
    this.#note(record)
    this.#bandOf(request)?.waitsNoMore(request)
    this.#close(request.flow, record)
  }

  /** A request that waited starts: its flow's demand stays the same. */
  startsLater(request: QueuedRequest, nowMs: number): void {
    const record = this.#find(request)!
    this.#balance(record, nowMs)
    this.#leftLine(record)
    this.#runs(record, request)
    this.#bandOf(request)?.startsLater(request, nowMs)
  }

  startsAtOnce(request: QueuedRequest, nowMs: number): void {
    if (!this.#isRecorded) {
      this.#unrecorded.push(request)
      return
    }
    const ofBand = this.#bandOf(request)
    const record = this.#open(request)
    this.#balance(record, nowMs)
    this.#add(record, request, 1)
    this.#runs(record, request)
    ofBand?.startsAtOnce(request, nowMs)
  }

  /** It ran for `ranMs`, at this cost; 0 if unknown. */
  ends(request: QueuedRequest, ranMs: number, cost: number, nowMs: number): void {
    if (!this.#isRecorded) {
      this.#unrecorded.delete(request)
      this.#ran(ranMs, nowMs)
      return
    }
    const record = this.#find(request)!
    if (!this.#isOfBand) unlink(record, request)
    this.#ran(ranMs, nowMs)
    if (record.requests > 1) {
      this.#balance(record, nowMs)
      this.#add(record, request, -1)
      const isLast = record.requests === record.waiting
      record.width = isLast ? 0 : record.width - request.width
      record.units = isLast ? 0 : record.units - request.units
      this.#note(record)
      if (cost > 0) {
        this.#see(cost)
        record.learn(ranMs, cost)
      }
    } else {
      // Its last request: the rest of the record is no longer of use.
      record.requests = 0
      this.#changes++
    }
    this.#bandOf(request)?.ends(request, ranMs, cost, nowMs)
    this.#close(request.flow, record)
  }

  /** Slots that a flow's running requests take. */
  held(flow: string): number {
    let width = this.#flows.entries.get(flow)?.width ?? 0
    for (let one = this.#unrecorded.first; one !== undefined; one = one.next) if (one.flow === flow) width += one.width
    return width
  }

  /** Whether a running request is the one that its flow started last. */
  isLatest(request: QueuedRequest): boolean {
    return this.#isRecorded && this.#find(request)?.last === request
  }

  /** Number of waiting requests of the flow of a request that has just been told. */
  waiting({ account }: QueuedRequest): number {
    return account?.waiting ?? 0
  }

  /** Whether more than one flow waits in a band, so that one may be skipped for another. */
  get isContested(): boolean {
    if (this.#bands === undefined) return this.#waitingFlows > 1
    for (const band of this.#bands.values()) if (band.isContested) return true
    return false
  }

  /**
   * Whether the request is within its flow's limits, regardless of other flows; after `other` has started, if given. A
   * flow may always run one request.
   */
  isAllowed(request: QueuedRequest, other?: QueuedRequest): boolean {
    if (!this.#isCapped) return true
    const { flow, width, units, most } = request
    const record = this.#find(request)
    const more = other?.flow === flow ? other : NOTHING
    const held = (record?.width ?? 0) + more.width
    if (held === 0) return true
    if (held + width > (record?.most ?? most)) return false
    return units === 0 || (record?.units ?? 0) + more.units + units <= this.#perFlowUnits + ROUNDING
  }

  /** Restarts the search for flows within their shares. */
  look(): void {
    this.#best = Number.NEGATIVE_INFINITY
    if (this.#bands !== undefined) for (const band of this.#bands.values()) band.look()
  }

  /**
   * Whether the request is within its flow's share of its band's slots and units, which counts while others wait. For a
   * request that would take its flow above its share of the slots, the flow must owe nothing; if a flow is short of
   * whole slots, it must be owed a quarter of {@link #mostBalance}, unless none of its requests has ended yet.
   */
  isWithinShare(request: QueuedRequest, poolLimit: number, nowMs: number): boolean {
    const { width, units } = request
    const ofBand = this.#bandOf(request)
    if (ofBand !== undefined) return !ofBand.isContested || ofBand.isWithinShare(request, poolLimit, nowMs)
    const record = this.#find(request)!
    this.#balance(record, nowMs, true)
    this.#note(record)
    if (record.width === 0) return true
    const wouldHold = record.width + width
    if (wouldHold > record.most) return false
    const needed = this.#short > 0 && record.ranMs > 0 ? MUCH * this.#mostBalance(record) : 0
    if (wouldHold > record.share + ROUNDING && (record.width > record.share - ROUNDING || record.balance < needed)) {
      this.#best = Math.max(this.#best, record.balance)
      return false
    }
    // Its part of the pool is rounded up to whole requests.
    return (
      units === 0 ||
      (record.units < this.#share(this.#units, record, poolLimit) - ROUNDING &&
        record.units + units <= this.#perFlowUnits + ROUNDING)
    )
  }

  /** If none is: whether its flow owes least among those that are held back for their slots. */
  owesLeast(request: QueuedRequest): boolean {
    const slots = this.#bandOf(request) ?? this
    return slots.#find(request)!.balance >= slots.#best
  }

  /**
   * The flows that wait for the slots of a running request. Of a flow's requests, those that started last are over its
   * share.
   */
  contest(request: QueuedRequest, limit: number): Contest {
    const record = this.#find(request)
    if (record === undefined || this.#waiting === record.waiting) return 'none'
    const share = Math.max(1, Math.ceil(this.#share(this.#slots, record, limit) - ROUNDING))
    let width = 0
    for (let one = record.first; one !== undefined; one = one.next) {
      width += one.width
      if (one === request) break
    }
    return width > share && width > request.width ? 'over-share' : 'others-wait'
  }

  /** Adds a request to those of a flow, or removes it. */
  #add(record: FlowRecord, { width, units, expected }: QueuedRequest, change: 1 | -1): void {
    this.#see(expected)
    record.requests += change
    record.costliest = Math.max(record.costliest, expected)
    // Differences of floats are inexact; without requests the sums are exactly 0.
    const kept = record.requests > 0 ? 1 : 0
    record.wantedWidth = kept * (record.wantedWidth + change * width)
    record.wantedUnits = kept * (record.wantedUnits + change * units)
    this.#changes++
  }

  /** A record of a flow has changed. */
  #note(record: FlowRecord): void {
    const { waiting, width, wantedWidth, requests, sure, most } = record
    const isShort = waiting > 0 && width + wantedWidth / requests <= Math.min(sure, most) + ROUNDING
    if (isShort !== record.isShort) this.#short += isShort ? 1 : -1
    record.isShort = isShort
  }

  /**
   * Charges a flow's slots against its share, up to now: against the larger of its shares at the beginning and at the
   * end, because slots that no other flow asked for are no debt. A new flow owes nothing, and is owed nothing.
   */
  #balance(record: FlowRecord, nowMs: number, isTurn: boolean = false): void {
    if (this.#bands !== undefined) return
    let { share, sure } = record
    // While several wait, shares are updated with each turn.
    if (isTurn || this.#waitingFlows < 2) {
      // One that need not share has everything, and nothing that others would have to leave to it.
      share = Number.POSITIVE_INFINITY
      sure = 0
      if (this.#waiting > 0 && this.#flows.entries.size > 1) {
        const slots = this.#slotsFor(this.#onlyBand!)
        share = this.#share(this.#slots, record, slots)
        sure = this.#isUneven ? this.#share(this.#slots, record, slots, true) : share
      }
    }
    record.share = Math.max(record.share, share)
    const own = this.#shareOf(record)
    const most = own * this.#longestMs
    const less = record.share < Number.POSITIVE_INFINITY ? own - record.width : 0
    const balance = record.balance + less * (nowMs - record.balancedMs)
    record.balance = record.era === this.#era ? Math.min(most, Math.max(-most, balance)) : 0
    record.balancedMs = nowMs
    record.era = this.#era
    record.share = share
    record.sure = sure
  }

  /** The largest amount that a flow owes, or is owed: its share for the duration of the longest request. */
  #mostBalance(record: FlowRecord): number {
    return this.#shareOf(record) * this.#longestMs
  }

  /** Its share, up to its demand. */
  #shareOf(record: FlowRecord): number {
    return Math.min(record.share, slotsOf(record))
  }

  #leftLine(record: FlowRecord): void {
    if (--this.#waiting === 0) this.#era++
    if (--record.waiting === 0) this.#waitingFlows--
  }

  #runs(record: FlowRecord, request: QueuedRequest): void {
    if (!this.#isOfBand) append(record, request)
    record.width += request.width
    record.units += request.units
    this.#note(record)
  }

  #ran(ranMs: number, nowMs: number): void {
    this.#longestMs = Math.max(ranMs, this.#longestMs - (nowMs - this.#endedMs) / MEMORY)
    this.#endedMs = nowMs
  }

  /** From now on flows have records, with their running requests, by their last arrivals. */
  #record(last: QueuedRequest): void {
    this.#isRecorded = true
    for (let one = this.#unrecorded.first; one !== undefined; one = this.#unrecorded.first) {
      this.#unrecorded.delete(one)
      this.startsAtOnce(one, one.startedMs)
      this.retell(one)
    }
    this.retell(last)
  }

  /** The record of the request's flow, if there is one; a record without requests was closed. */
  #find(request: QueuedRequest): FlowRecord | undefined {
    if (this.#isOfBand) return this.#flows.entries.get(request.flow)
    if (request.account === undefined || request.account.requests === 0)
      request.account = this.#flows.entries.get(request.flow)
    return request.account
  }

  #open(request: QueuedRequest): FlowRecord {
    const known = this.#find(request)
    if (known !== undefined) return known
    const record = new FlowRecord(request.weight, request.most, this.#era)
    this.#flows.set(request.flow, record)
    if (!this.#isOfBand) request.account = record
    return record
  }

  #close(flow: string, { requests }: FlowRecord): void {
    if (requests > 0) return
    this.#flows.delete(flow)
    if (this.#flows.entries.size === 1) this.#era++
    if (this.#flows.entries.size > 0) return
    this.#cost = 0
    this.#isUneven = false
    this.#isRecorded = this.#isCapped || this.#isOfBand
    this.#onlyBand = undefined
  }

  /** The slots of the request's band alone; `undefined` if these are. */
  #bandOf({ band }: QueuedRequest): FlowSlots | undefined {
    if (this.#bands === undefined) {
      this.#onlyBand ??= band
      if (band === this.#onlyBand) return undefined
      this.#bands = new Map([[this.#onlyBand, this.#copy()]])
    }
    let slots = this.#bands.get(band)
    if (slots === undefined) {
      slots = this.#another()
      this.#bands.set(band, slots)
    }
    return slots
  }

  #another(): FlowSlots {
    return new FlowSlots(this.#slotsFor, this.#isCapped, this.#perFlowUnits, true)
  }

  /** The slots of the band that was the only one so far. */
  #copy(): FlowSlots {
    const copy = this.#another()
    for (const [flow, record] of this.#flows.entries) copy.#flows.set(flow, record.copy())
    copy.#onlyBand = this.#onlyBand
    copy.#era = this.#era
    copy.#longestMs = this.#longestMs
    copy.#endedMs = this.#endedMs
    copy.#short = this.#short
    copy.#waitingFlows = this.#waitingFlows
    copy.#waiting = this.#waiting
    copy.#cost = this.#cost
    copy.#isUneven = this.#isUneven
    return copy
  }

  /** The larger of its shares of an amount, or the smaller. They are the same while all requests cost the same. */
  #share(shares: SharePair, record: FlowRecord, amount: number, isSmaller: boolean = false): number {
    const byWeight = shares[0].shareOf(record, amount, this.#changes)
    if (!this.#isUneven) return byWeight
    const byCost = shares[1].shareOf(record, amount, this.#changes)
    return isSmaller ? Math.min(byWeight, byCost) : Math.max(byWeight, byCost)
  }

  /** A request costs this. */
  #see(cost: number): void {
    if (this.#cost === 0) this.#cost = cost
    else if (cost !== this.#cost) this.#isUneven = true
  }
}
