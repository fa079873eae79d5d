import type { Outcome } from '../admission/outcome.js'
import type { Contest } from '../admission/stage.js'
import type { Capacity } from '../capacity/index.js'
import { LinkedList } from '../linked-list.js'
import type { QueuedRequest } from './queued-request.js'

/** Slots within the error of sums of fractional widths. */
export const ROUNDING: number = 1e-9

/** What a request takes while it runs: slots, and units of the pool. */
export interface Need {
  readonly width: number
  readonly units: number
}

/** What takes nothing. */
export const NOTHING: Need = { width: 0, units: 0 }

/**
 * Slots, and the pool if there is one. Asks both on behalf of waiting requests: if one throws, they wait on, and are tried
 * again at the next call. A request takes both or neither.
 */
export class SlotSupply {
  readonly capacity: Capacity
  readonly pool: Capacity | undefined
  /** Times that either threw. */
  errors = 0
  /** True after one threw: it may not tell its listeners when to try again. */
  mustRetry = false
  /** True while slots that were taken in vain are given back: nobody need hear of those. */
  isTaking = false

  constructor(capacity: Capacity, pool: Capacity | undefined) {
    this.capacity = capacity
    this.pool = pool
  }

  /** Slots, and units, there are: infinite without a pool, or if the capacity or the pool throws. */
  get limit(): number {
    return told(this.capacity, limitOf)
  }

  get poolLimit(): number {
    return told(this.pool, limitOf)
  }

  /** What the slots can ever be: the same. */
  get maximum(): number {
    return told(this.capacity, ({ maximum }) => maximum)
  }

  /** Slots, and units, that are free: the same. */
  get free(): number {
    return told(this.capacity, freeOf)
  }

  get freeUnits(): number {
    return told(this.pool, freeOf)
  }

  /**
   * Takes slots and units, or neither. Throws what the capacity or the pool throws, and has taken nothing then.
   *
   * Whichever is short is asked first, so that it tells when to ask again, and nothing is given back: that would tell all
   * who wait, who would ask again, and so on.
   */
  tryTake(need: Need, nowMs: number): boolean {
    const { capacity, pool } = this
    if (pool === undefined || need.units === 0) return capacity.tryTake(need.width, nowMs)
    const poolFirst = this.hasSlots(need) && !this.hasUnits(need)
    const [first, amount, second, rest] = poolFirst
      ? [pool, need.units, capacity, need.width]
      : [capacity, need.width, pool, need.units]
    if (!first.tryTake(amount, nowMs)) return false
    let taken = false
    try {
      taken = second.tryTake(rest, nowMs)
      return taken
    } finally {
      if (!taken) this.#putBack(first, amount, nowMs)
    }
  }

  /** The same; false if the capacity or the pool throws. */
  take(need: Need, nowMs: number): boolean {
    try {
      return this.tryTake(need, nowMs)
    } catch {
      return this.#failed()
    }
  }

  /** What of a request is more than there can ever be; `undefined` if nothing is, or if that cannot be told. */
  tooWide({ width, units }: Need): TooWide | undefined {
    try {
      const { maximum } = this.capacity
      if (width > maximum + ROUNDING) return { width, maximum }
      const most = this.pool?.maximum ?? Number.POSITIVE_INFINITY
      return units > most + ROUNDING ? { units, maximum: most } : undefined
    } catch {
      this.#failed()
      return undefined
    }
  }

  /** Whether a request would find its slots free. */
  hasSlots({ width }: Need): boolean {
    return this.#has(this.capacity, width)
  }

  /** Whether it would find its units free. */
  hasUnits({ units }: Need): boolean {
    return this.#has(this.pool, units)
  }

  #has(capacity: Capacity | undefined, width: number): boolean {
    try {
      return capacity === undefined || width <= freeOf(capacity) + ROUNDING
    } catch {
      return this.#failed()
    }
  }

  /** Whether any slots are free, though maybe too few for a given request. */
  anyFree(): boolean {
    return this.#has(this.capacity, 2 * ROUNDING)
  }

  /** Lets the capacity see that time has passed while requests waited. */
  wake(nowMs: number): void {
    try {
      this.capacity.wake?.(nowMs)
    } catch {
      this.#failed()
    }
  }

  /**
   * Has the listeners told when the capacity grows, although slots are free now: asks for one more slot than that. Does
   * nothing if there can never be as many.
   */
  listen(nowMs: number): void {
    try {
      const { capacity } = this
      const width = freeOf(capacity) + 1
      if (capacity.inFlight >= 1 && capacity.tryTake(width, nowMs)) this.#putBack(capacity, width, nowMs)
    } catch {
      this.#failed()
    }
  }

  /** Gives back what was taken for a waiting request that left meanwhile. */
  giveBack(need: Need, nowMs: number): void {
    try {
      this.undo(need, nowMs)
    } catch {
      // Counted already.
    }
  }

  /** Gives back what a request that ran had. Throws what the capacity, or a listener that it tells, throws. */
  release(need: Need, outcome: Outcome, durationMs: number, nowMs: number): void {
    this.#giveBack(need, (capacity, width) => capacity.release(width, outcome, durationMs, nowMs))
  }

  /** The same for a request that started, but did not run. */
  undo(need: Need, nowMs: number): void {
    this.#giveBack(need, (capacity, width) => capacity.undo(width, nowMs))
  }

  /** Units first: whoever is told of slots finds both. */
  #giveBack({ width, units }: Need, end: (capacity: Capacity, width: number) => void): void {
    try {
      try {
        if (this.pool !== undefined && units > 0) end(this.pool, units)
      } finally {
        end(this.capacity, width)
      }
    } catch (error) {
      this.#failed()
      throw error
    }
  }

  /** Gives back what was taken in vain. */
  #putBack(capacity: Capacity, width: number, nowMs: number): void {
    this.isTaking = true
    try {
      capacity.undo(width, nowMs)
    } finally {
      this.isTaking = false
    }
  }

  #failed(): false {
    this.errors++
    this.mustRetry = true
    return false
  }
}

const limitOf = ({ limit }: Capacity): number => limit
const freeOf = ({ limit, inFlight }: Capacity): number => limit - inFlight

/** What a capacity says of itself; infinite without one, or if it throws. */
function told(capacity: Capacity | undefined, what: (capacity: Capacity) => number): number {
  try {
    return capacity === undefined ? Number.POSITIVE_INFINITY : what(capacity)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** What a request takes that is more than there can ever be, and how much that is. */
export interface TooWide {
  readonly width?: number
  readonly units?: number
  readonly maximum: number
}

/** What one flow has: its running requests, oldest first, and the number of its waiting ones. */
interface FlowRecord {
  /** As its last arrival had them. */
  weight: number
  most: number
  readonly running: LinkedList<QueuedRequest>
  /** Slots and units that the running requests take. */
  width: number
  units: number
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
 * costly ones to have as much served. In whole slots, at least one, and never more than the most that it may have. Of the
 * pool a flow has the same part, and never more than `perFlowUnits`. Keeps a record per flow that runs or waits; O(1) per change.
 */
export class FlowSlots {
  readonly #flows = new Map<string, FlowRecord>()
  readonly #perFlowUnits: number
  #weight = 0
  #due = 0
  #waitingFlows = 0
  #waiting = 0

  constructor(perFlowUnits: number) {
    this.#perFlowUnits = perFlowUnits
  }

  /** A request has arrived: what its flow weighs, and may have, counts from now on for all that wait and run. */
  retell({ flow, weight, most }: QueuedRequest): void {
    const record = this.#flows.get(flow)
    if (record === undefined) return
    record.most = most
    if (record.weight === weight) return
    this.#weight += weight - record.weight
    record.weight = weight
    this.#count(record, 0, 0)
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
    record.units += request.units
  }

  ends(request: QueuedRequest): void {
    const record = this.#flows.get(request.flow)!
    this.#count(record, -1, request.expected)
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
  isWithinShare({ flow, width, units }: QueuedRequest, limit: number, poolLimit: number): boolean {
    const record = this.#flows.get(flow)!
    if (record.width === 0) return true
    if (record.width + width > Math.min(record.most, this.#share(record, limit))) return false
    // As slots are rounded up, so is its part of the pool: to whole requests.
    return (
      units === 0 ||
      (record.units < poolLimit * this.#part(record) - ROUNDING &&
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
    return Math.max(1, Math.ceil(limit * this.#part(record) - ROUNDING))
  }

  #part(record: FlowRecord): number {
    return Math.max(record.weight / this.#weight, record.due / Math.max(record.due, this.#due))
  }

  /** A request of this cost comes to those of a flow, or goes from them; or the flow's weight has changed. */
  #count(record: FlowRecord, change: 1 | 0 | -1, cost: number): void {
    record.requests += change
    record.cost = record.requests === 0 ? 0 : record.cost + change * cost
    const due = record.cost > 0 ? (record.weight * record.requests) / record.cost : 0
    this.#due += due - record.due
    record.due = due
  }

  #open({ flow, weight, most }: QueuedRequest): FlowRecord {
    let record = this.#flows.get(flow)
    if (record !== undefined) return record
    record = { weight, most, running: new LinkedList(), width: 0, units: 0, waiting: 0, requests: 0, cost: 0, due: 0 }
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
 * Backfilling: a request whose turn has come while too few slots or units are free for it, and what may still pass it.
 *
 * Without passing, slots stand empty while it waits for its last; with unbounded passing, narrow requests can keep it
 * waiting for ever. So other requests that fit may take `bypass` times what it needs in all, and after that whatever
 * comes free is kept for it. There is one such head at a time: it has left its fair queue, while other requests that do
 * not fit wait in theirs. Every request that passes counts, whatever its flow or band.
 *
 * With a pool, slots and units are counted apart, and what the head lacks decides: a head that lacks units may be passed
 * by any number of requests that take none.
 */
export class Backfill {
  /** The request that is being passed; written here alone, as all of these. */
  head: QueuedRequest | undefined = undefined
  /** The width, and the units, that have passed it. */
  passed = 0
  passedUnits = 0
  /** The credit that its turn took from its band. */
  paid = 0
  readonly #bypass: number
  readonly #supply: SlotSupply

  constructor(bypass: number, supply: SlotSupply) {
    this.#bypass = bypass
    this.#supply = supply
  }

  /** The turn of `head` has come, and took this credit, but it does not fit. */
  hold(head: QueuedRequest, paid: number): void {
    this.head = head
    this.passed = 0
    this.passedUnits = 0
    this.paid = paid
  }

  /** The head started, or will not. */
  clear(): void {
    this.head = undefined
    this.passed = 0
    this.passedUnits = 0
  }

  /** Whether a request that takes this may start before the head. */
  allows({ width, units }: Need): boolean {
    const { head } = this
    if (head === undefined) return true
    const slotsPass = this.passed + width <= this.#bypass * head.width + ROUNDING
    if (this.#supply.pool === undefined || head.units === 0) return slotsPass
    const unitsPass = this.passedUnits + units <= this.#bypass * head.units + ROUNDING
    return (slotsPass || this.#supply.hasSlots(head)) && (unitsPass || this.#supply.hasUnits(head))
  }

  /** A request started. */
  pass({ width, units }: Need): void {
    if (this.head === undefined) return
    this.passed += width
    this.passedUnits += units
  }
}
