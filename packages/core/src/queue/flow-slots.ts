import type { Contest } from '../admission/stage.js'
import { LinkedList } from '../linked-list.js'
import { MaxMin } from './max-min.js'
import type { QueuedRequest } from './queued-request.js'
import { NOTHING, ROUNDING } from './slots.js'

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
  /** Number of all of these, and what they were expected to cost. */
  requests: number
  cost: number
}

const weightOf = ({ weight }: FlowRecord): number => weight
/** Requests that a flow is due, as a rate: its weight over their mean cost. */
const dueOf = ({ weight, requests, cost }: FlowRecord): number => (cost > 0 ? (weight * requests) / cost : 0)
const slotsOf = ({ wantedWidth, most }: FlowRecord): number => Math.min(wantedWidth, most)

/**
 * The slots that each flow holds, and its share of them while others wait: by weight or, if that is more, by the requests
 * that it is due, which are its weight over their mean cost. For a flow of cheap requests needs more slots than one of
 * costly ones to have as much served. Shares are max-min: what a flow does not want of its own is shared by the others.
 * In whole slots, at least one. The units of the pool are shared in the same way, and a flow never has more of them than
 * `perFlowUnits`. Keeps a record per flow that runs or waits; O(1) per change, amortised.
 */
export class FlowSlots {
  readonly #flows = new Map<string, FlowRecord>()
  readonly #perFlowUnits: number
  readonly #slots: readonly MaxMin<FlowRecord>[]
  readonly #units: readonly MaxMin<FlowRecord>[]
  #changes = 0
  #waitingFlows = 0
  #waiting = 0

  constructor(perFlowUnits: number) {
    this.#perFlowUnits = perFlowUnits
    const unitsOf = ({ wantedUnits }: FlowRecord): number => Math.min(wantedUnits, perFlowUnits)
    const shares = (wants: (record: FlowRecord) => number): MaxMin<FlowRecord>[] =>
      [weightOf, dueOf].map((due) => new MaxMin(this.#flows, wants, due))
    this.#slots = shares(slotsOf)
    this.#units = shares(unitsOf)
  }

  /** A request has arrived: what its flow weighs, and may have, counts from now on for all that wait and run. */
  retell({ flow, weight, most }: QueuedRequest): void {
    const record = this.#flows.get(flow)
    if (record === undefined) return
    record.most = most
    record.weight = weight
  }

  waits(request: QueuedRequest): void {
    const record = this.#open(request)
    this.#count(record, request, 1)
    this.#waiting++
    if (record.waiting++ === 0) this.#waitingFlows++
  }

  waitsNoMore(request: QueuedRequest): void {
    const record = request.record!
    this.#count(record, request, -1)
    this.#waiting--
    if (--record.waiting === 0) this.#waitingFlows--
    this.#close(request.flow, record)
  }

  starts(request: QueuedRequest): void {
    const record = this.#open(request)
    this.#count(record, request, 1)
    record.running.push(request)
    record.width += request.width
    record.units += request.units
  }

  ends(request: QueuedRequest): void {
    const record = request.record!
    this.#count(record, request, -1)
    record.running.delete(request)
    const isLast = record.running.first === undefined
    record.width = isLast ? 0 : record.width - request.width
    record.units = isLast ? 0 : record.units - request.units
    this.#close(request.flow, record)
  }

  /** Slots that a flow's running requests take. */
  held(flow: string): number {
    return this.#flows.get(flow)?.width ?? 0
  }

  /** Requests of a flow that wait. */
  waiting(flow: string): number {
    return this.#flows.get(flow)?.waiting ?? 0
  }

  /** Whether more than one flow waits, so that one may be passed over for another. */
  get isContested(): boolean {
    return this.#waitingFlows > 1
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

  /** Whether the request is within its flow's share of the slots and units there are, which counts while others wait. */
  isWithinShare(request: QueuedRequest, limit: number, poolLimit: number): boolean {
    const { width, units } = request
    const record = request.record!
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
    // Differences of floats are inexact; without requests the sums are exactly 0.
    const kept = record.requests > 0 ? 1 : 0
    record.cost = kept * (record.cost + change * expected)
    record.wantedWidth = kept * (record.wantedWidth + change * width)
    record.wantedUnits = kept * (record.wantedUnits + change * units)
    this.#changes++
  }

  #open(request: QueuedRequest): FlowRecord {
    const { flow, weight, most } = request
    let record = this.#flows.get(flow)
    request.record = record
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
      cost: 0,
    }
    request.record = record
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
