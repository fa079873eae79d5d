import type { Outcome } from '../admission/outcome.js'
import type { Contest } from '../admission/stage.js'
import type { Capacity } from '../capacity/index.js'
import { LinkedList } from '../linked-list.js'
import type { QueuedRequest } from './queued-request.js'

/** Slots within the error of sums of fractional widths. */
export const ROUNDING: number = 1e-9

/** Asks the capacity on behalf of waiting requests: if it throws, they wait on, and are tried again at the next call. */
export class SlotSupply {
  readonly capacity: Capacity
  /** Times that the capacity threw. */
  errors = 0
  /** True after the capacity threw: it may not tell its listeners when to try again. */
  mustRetry = false

  constructor(capacity: Capacity) {
    this.capacity = capacity
  }

  /** Slots there are; infinite if the capacity throws. */
  get limit(): number {
    try {
      return this.capacity.limit
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }

  take(width: number, nowMs: number): boolean {
    try {
      return this.capacity.tryTake(width, nowMs)
    } catch {
      return this.#failed()
    }
  }

  /** Whether any slots are free, though maybe too few for a given request. */
  anyFree(): boolean {
    try {
      return this.capacity.limit - this.capacity.inFlight > ROUNDING
    } catch {
      return this.#failed()
    }
  }

  /** Lets the capacity see that time has passed while requests waited. */
  wake(nowMs: number): void {
    try {
      this.capacity.wake?.(nowMs)
    } catch {
      this.#failed()
    }
  }

  /** Gives back the slots of a waiting request that left while they were taken for it. */
  giveBack(width: number, nowMs: number): void {
    try {
      this.capacity.undo(width, nowMs)
    } catch {
      this.#failed()
    }
  }

  /** Gives back the slots of a request that ran. Throws what the capacity, or a listener that it tells, throws. */
  release(width: number, outcome: Outcome, durationMs: number, nowMs: number): void {
    try {
      this.capacity.release(width, outcome, durationMs, nowMs)
    } catch (error) {
      this.#failed()
      throw error
    }
  }

  /** The same for a request that started, but did not run. */
  undo(width: number, nowMs: number): void {
    try {
      this.capacity.undo(width, nowMs)
    } catch (error) {
      this.#failed()
      throw error
    }
  }

  #failed(): false {
    this.errors++
    this.mustRetry = true
    return false
  }
}

/** What one flow has: its running requests, oldest first, and the number of its waiting ones. */
interface FlowRecord {
  readonly weight: number
  readonly running: LinkedList<QueuedRequest>
  /** Slots that the running requests take. */
  width: number
  waiting: number
  /** Number of all of these, and what they were expected to cost. */
  requests: number
  cost: number
  /** Requests that it is due, as a rate: its weight over their mean cost. */
  due: number
}

/**
 * The slots that each flow holds, and its share of them while others wait: by weight or, if that is more, by the requests
 * that it is due, which are its weight over their mean cost. For a flow of cheap requests needs more slots than one of
 * costly ones to have as much served. In whole slots, at least one, and never more than `perFlow`. Keeps a record per
 * flow that runs or waits; O(1) per change.
 */
export class FlowSlots {
  readonly #flows = new Map<string, FlowRecord>()
  readonly #perFlow: number
  #weight = 0
  #due = 0
  #waitingFlows = 0
  #waiting = 0

  constructor(perFlow: number) {
    this.#perFlow = perFlow
  }

  waits(request: QueuedRequest): void {
    const record = this.#open(request)
    this.#count(record, 1, request.expected)
    this.#waiting++
    if (record.waiting++ === 0) this.#waitingFlows++
  }

  waitsNoMore({ flow, expected }: QueuedRequest): void {
    const record = this.#flows.get(flow)!
    this.#count(record, -1, expected)
    this.#waiting--
    if (--record.waiting === 0) this.#waitingFlows--
    this.#close(flow, record)
  }

  starts(request: QueuedRequest): void {
    const record = this.#open(request)
    this.#count(record, 1, request.expected)
    record.running.push(request)
    record.width += request.width
  }

  ends(request: QueuedRequest): void {
    const record = this.#flows.get(request.flow)!
    this.#count(record, -1, request.expected)
    record.running.delete(request)
    record.width = record.running.first === undefined ? 0 : record.width - request.width
    this.#close(request.flow, record)
  }

  /** Slots that a flow's running requests take. */
  held(flow: string): number {
    return this.#flows.get(flow)?.width ?? 0
  }

  /** Whether more than one flow waits, so that one may be passed over for another. */
  get isContested(): boolean {
    return this.#waitingFlows > 1
  }

  /** Whether the request is within its flow's `perFlow`, whoever waits. A flow may always run one request. */
  isAllowed({ flow, width }: QueuedRequest): boolean {
    const held = this.#flows.get(flow)?.width ?? 0
    return held === 0 || held + width <= this.#perFlow
  }

  /** Whether the request is within its flow's share of `limit` slots, which counts while others wait. */
  isWithinShare({ flow, width }: QueuedRequest, limit: number): boolean {
    const record = this.#flows.get(flow)!
    return record.width === 0 || record.width + width <= Math.min(this.#perFlow, this.#share(record, limit))
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
    const part = Math.max(record.weight / this.#weight, record.due / Math.max(record.due, this.#due))
    return Math.max(1, Math.ceil(limit * part - ROUNDING))
  }

  /** A request of this cost comes to those of a flow, or goes from them. */
  #count(record: FlowRecord, change: 1 | -1, cost: number): void {
    record.requests += change
    record.cost = record.requests === 0 ? 0 : record.cost + change * cost
    const due = record.cost > 0 ? (record.weight * record.requests) / record.cost : 0
    this.#due += due - record.due
    record.due = due
  }

  #open({ flow, weight }: QueuedRequest): FlowRecord {
    let record = this.#flows.get(flow)
    if (record !== undefined) return record
    record = { weight, running: new LinkedList(), width: 0, waiting: 0, requests: 0, cost: 0, due: 0 }
    this.#weight += weight
    this.#flows.set(flow, record)
    return record
  }

  #close(flow: string, { weight, running, waiting }: FlowRecord): void {
    if (waiting > 0 || running.first !== undefined) return
    this.#flows.delete(flow)
    // Differences of floats are inexact; without flows the sum is exactly 0.
    this.#weight = this.#flows.size === 0 ? 0 : this.#weight - weight
    if (this.#flows.size === 0) this.#due = 0
  }
}

/**
 * Backfilling: a request whose turn has come while too few slots are free for it, and the width that may still pass it.
 *
 * Without passing, slots stand empty while it waits for its last; with unbounded passing, narrow requests can keep it
 * waiting for ever. So other requests that fit may take `bypass` times its width in all, and after that the slots that
 * come free are kept for it. There is one such head at a time: it has left its fair queue, while other requests that do
 * not fit wait in theirs. Every request that passes counts, whatever its flow or band.
 */
export class Backfill {
  readonly #bypass: number
  #head: QueuedRequest | undefined = undefined
  #passed = 0
  #paid = 0

  constructor(bypass: number) {
    this.#bypass = bypass
  }

  /** The request that is being passed. */
  get head(): QueuedRequest | undefined {
    return this.#head
  }

  /** The width that has passed it. */
  get passed(): number {
    return this.#passed
  }

  /** The credit that its turn took from its band. */
  get paid(): number {
    return this.#paid
  }

  /** The turn of `head` has come, and took this credit, but it does not fit. */
  hold(head: QueuedRequest, paid: number): void {
    this.#head = head
    this.#passed = 0
    this.#paid = paid
  }

  /** The head started, or will not. */
  clear(): void {
    this.#head = undefined
    this.#passed = 0
  }

  /** Whether a request of this width may start before the head. */
  allows(width: number): boolean {
    return this.#head === undefined || this.#passed + width <= this.#bypass * this.#head.width + ROUNDING
  }

  /** A request started. */
  pass(width: number): void {
    if (this.#head !== undefined) this.#passed += width
  }
}
