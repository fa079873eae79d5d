import type { Contest } from '../admission/stage.js'
import { LinkedList } from '../linked-list.js'
import { MaxMin } from './max-min.js'
import type { QueuedRequest } from './queued-request.js'
import { NOTHING, ROUNDING } from './slots.js'

/** Requests, of equal durations, over which the mean cost of a flow is taken. */
const MEMORY = 32

/** What one flow has: its running requests, oldest first, and its waiting ones. */
export interface FlowRecord {
  /** As its last arrival had them. */
  weight: number
  most: number
  readonly running: LinkedList<QueuedRequest>
  waiting: number
  /** Slots and units that the running requests take. */
  width: number
  units: number
  /** The same with the waiting ones. */
  wantedWidth: number
  wantedUnits: number
  /** Number of all of these. */
  requests: number
  /** The most that one was expected to cost. */
  costliest: number
  /** Of those that ended: how long they ran, the squares of that, and how long they ran times what they cost; fading. */
  ranMs: number
  ranSquared: number
  ranCost: number
}

const weightOf = ({ weight }: FlowRecord): number => weight
/**
 * Requests that a flow is due, as a rate: its weight over their mean cost. Each counts for as long as it ran, so that
 * cheap ones that wait, or end at once, gain nothing; until one has, the costliest counts.
 */
const dueOf = ({ weight, costliest, ranMs, ranCost }: FlowRecord): number =>
  weight / (ranMs > 0 ? ranCost / ranMs : costliest)
const slotsOf = ({ wantedWidth, most }: FlowRecord): number => Math.min(wantedWidth, most)

/**
 * The slots that each flow holds, and its share of them while others wait: by weight or, if that is more, by the requests
 * that it is due, which are its weight over what they cost in the mean. For a flow of cheap requests needs more slots than one of
 * costly ones to have as much served. Shares are max-min: what a flow does not want of its own is shared by the others.
 * In whole slots, at least one. The units of the pool are shared in the same way, and a flow never has more of them than
 * `perFlowUnits`. The flows of a band share what other bands leave it: those that wait elsewhere, maybe in vain, do not
 * count. Keeps a record per flow that runs or waits, and one for each of its bands; O(1) per change, amortised.
 */
export class FlowSlots {
  readonly #flows = new Map<string, FlowRecord>()
  readonly #perFlowUnits: number
  readonly #slots: readonly MaxMin<FlowRecord>[]
  readonly #units: readonly MaxMin<FlowRecord>[]
  /** Those of each band, if there are several. */
  readonly #bands: readonly FlowSlots[]
  readonly #isOfBand: boolean
  #changes = 0
  #waitingFlows = 0
  #waiting = 0

  constructor(perFlowUnits: number, bands: number = 1) {
    this.#perFlowUnits = perFlowUnits
    this.#bands = bands > 1 ? Array.from({ length: bands }, () => new FlowSlots(perFlowUnits, 0)) : []
    this.#isOfBand = bands === 0
    const unitsOf = ({ wantedUnits }: FlowRecord): number => Math.min(wantedUnits, perFlowUnits)
    const shares = (wants: (record: FlowRecord) => number): MaxMin<FlowRecord>[] =>
      [weightOf, dueOf].map((due) => new MaxMin(this.#flows, wants, due))
    this.#slots = shares(slotsOf)
    this.#units = shares(unitsOf)
  }

  /**
   * A request has arrived: what its flow weighs, and may have, counts from now on for all that wait and run. True if more
   * of those that wait may start.
   */
  retell(request: QueuedRequest): boolean {
    const record = this.#flows.get(request.flow)
    if (record === undefined) return false
    const mayMore = record.waiting > 0 && request.most > record.most
    record.most = request.most
    record.weight = request.weight
    for (const band of this.#bands) band.retell(request)
    return mayMore
  }

  waits(request: QueuedRequest): void {
    const record = this.#open(request)
    this.#count(record, request, 1)
    this.#waiting++
    if (record.waiting++ === 0) this.#waitingFlows++
    this.#bands[request.band.index]?.waits(request)
  }

  waitsNoMore(request: QueuedRequest): void {
    const record = this.#flows.get(request.flow)!
    this.#count(record, request, -1)
    this.#waiting--
    if (--record.waiting === 0) this.#waitingFlows--
    this.#close(request.flow, record)
    this.#bands[request.band.index]?.waitsNoMore(request)
  }

  starts(request: QueuedRequest): void {
    const record = this.#open(request)
    this.#count(record, request, 1)
    if (!this.#isOfBand) record.running.push(request)
    record.width += request.width
    record.units += request.units
    this.#bands[request.band.index]?.starts(request)
  }

  /** It ran for so long, and cost this; 0 if that is not known. */
  ends(request: QueuedRequest, ranMs: number, cost: number): void {
    const record = this.#flows.get(request.flow)!
    this.#count(record, request, -1)
    if (!this.#isOfBand) record.running.delete(request)
    const isLast = record.requests === record.waiting
    record.width = isLast ? 0 : record.width - request.width
    record.units = isLast ? 0 : record.units - request.units
    if (cost > 0) learn(record, ranMs, cost)
    this.#close(request.flow, record)
    this.#bands[request.band.index]?.ends(request, ranMs, cost)
  }

  /** Slots that a flow's running requests take. */
  held(flow: string): number {
    return this.#flows.get(flow)?.width ?? 0
  }

  /** Requests of a flow that wait. */
  waiting(flow: string): number {
    return this.#flows.get(flow)?.waiting ?? 0
  }

  /** Whether more than one flow waits in a band, so that one may be passed over for another. */
  get isContested(): boolean {
    return this.#bands.length === 0 ? this.#waitingFlows > 1 : this.#bands.some(({ isContested }) => isContested)
  }

  /**
   * Whether the request is within what its flow may have, whoever waits; after `other` has started, if that is given. A
   * flow may always run one request.
   */
  isAllowed({ flow, width, units, most }: QueuedRequest, other?: QueuedRequest): boolean {
    const record = this.#flows.get(flow)
    const more = other?.flow === flow ? other : NOTHING
    const held = (record?.width ?? 0) + more.width
    if (held === 0) return true
    if (held + width > (record?.most ?? most)) return false
    return units === 0 || (record?.units ?? 0) + more.units + units <= this.#perFlowUnits + ROUNDING
  }

  /** Whether the request is within its flow's share of its band's slots and units, which counts while others wait. */
  isWithinShare(request: QueuedRequest, limit: number, poolLimit: number): boolean {
    const { width, units, flow, band } = request
    const ofBand = this.#bands[band.index]
    if (ofBand !== undefined) return !ofBand.isContested || ofBand.isWithinShare(request, limit, poolLimit)
    const record = this.#flows.get(flow)!
    if (record.width === 0) return true
    if (record.width + width > Math.min(record.most, this.#share(record, limit))) return false
    // As slots are rounded up, so is its part of the pool: to whole requests.
    return (
      units === 0 ||
      (record.units < this.#larger(this.#units, record, poolLimit) - ROUNDING &&
        record.units + units <= this.#perFlowUnits + ROUNDING)
    )
  }

  /** Who waits for the slots of a running request. Of a flow's requests, those that started last are over its share. */
  contest(request: QueuedRequest, limit: number): Contest {
    const record = this.#flows.get(request.flow)
    if (record === undefined || this.#waiting === record.waiting) return 'none'
    const share = this.#share(record, limit)
    let width = 0
    for (let one = record.running.first; one !== undefined; one = one.next) {
      width += one.width
      if (one === request) break
    }
    return width > share && width > request.width ? 'over-share' : 'others-wait'
  }

  #share(record: FlowRecord, limit: number): number {
    return Math.max(1, Math.ceil(this.#larger(this.#slots, record, limit) - ROUNDING))
  }

  /** A request comes to those of a flow, or goes from them. */
  #count(record: FlowRecord, { width, units, expected }: QueuedRequest, change: 1 | -1): void {
    record.requests += change
    record.costliest = Math.max(record.costliest, expected)
    // Differences of floats are inexact; without requests the sums are exactly 0.
    const kept = record.requests > 0 ? 1 : 0
    record.wantedWidth = kept * (record.wantedWidth + change * width)
    record.wantedUnits = kept * (record.wantedUnits + change * units)
    this.#changes++
  }

  #open(request: QueuedRequest): FlowRecord {
    const { flow, weight, most } = request
    let record = this.#flows.get(flow)
    if (record !== undefined) return record
    record = {
      weight,
      most,
      running: new LinkedList(),
      waiting: 0,
      width: 0,
      units: 0,
      wantedWidth: 0,
      wantedUnits: 0,
      requests: 0,
      costliest: 0,
      ranMs: 0,
      ranSquared: 0,
      ranCost: 0,
    }
    this.#flows.set(flow, record)
    return record
  }

  #close(flow: string, { requests }: FlowRecord): void {
    if (requests === 0) this.#flows.delete(flow)
  }

  #larger(shares: readonly MaxMin<FlowRecord>[], record: FlowRecord, amount: number): number {
    return Math.max(...shares.map((each) => each.shareOf(record, amount, this.#changes)))
  }
}

/** Of many of equal durations it remembers about 32, and as much of others as that is worth. */
function learn(record: FlowRecord, ranMs: number, cost: number): void {
  record.ranMs += ranMs
  record.ranSquared += ranMs * ranMs
  record.ranCost += ranMs * cost
  const fade = (MEMORY * record.ranSquared) / record.ranMs ** 2
  if (!(fade < 1)) return
  record.ranMs *= fade
  record.ranSquared *= fade
  record.ranCost *= fade
}
