import type { Outcome } from '../admission/outcome.js'
import type { Capacity } from '../capacity/index.js'
import { requireBoolean } from '../options.js'
import { onRejection } from '../rejection.js'
import type { QueuedRequest } from './queued-request.js'

/** Tolerance for sums of fractional widths. */
export const ROUNDING: number = 1e-9

/** Needs of a request while it runs: slots, and units of the pool. */
export interface Need {
  readonly width: number
  readonly units: number
}

/** The need of a request that takes nothing. */
export const NOTHING: Need = { width: 0, units: 0 }

/**
 * Slots, and the pool if there is one. Asks both on behalf of waiting requests: if one throws, they wait on, and are
 * tried again at the next call. A request takes both or neither.
 */
export class SlotSupply {
  readonly capacity: Capacity
  readonly pool: Capacity | undefined
  /** Number of errors of either. */
  errors = 0
  /** True after one threw: it may not notify its listeners when to try again. */
  mustRetry = false
  /** True while slots that were taken in vain are returned: no listener needs to be notified. */
  isTaking = false

  constructor(capacity: Capacity, pool: Capacity | undefined) {
    this.capacity = capacity
    this.pool = pool
  }

  /** Number of slots, and units: infinite without a pool, or if the capacity or the pool throws. */
  get limit(): number {
    return told(this.capacity, limitOf)
  }

  get poolLimit(): number {
    return told(this.pool, limitOf)
  }

  /** The same for the largest possible numbers. */
  get maximum(): number {
    return told(this.capacity, maximumOf)
  }

  /** The same for free slots and units. */
  get free(): number {
    return told(this.capacity, freeOf)
  }

  get freeUnits(): number {
    return told(this.pool, freeOf)
  }

  /** The snapshots of both; `undefined` for one that throws. */
  snapshot(): { capacity: unknown; pool: unknown } {
    return { capacity: snapshotOf(this.capacity), pool: snapshotOf(this.pool) }
  }

  /**
   * Takes slots and units, or neither. Throws the error of the capacity or the pool, and has taken nothing then.
   *
   * The scarce one is asked first, so that it notifies when to ask again, and nothing is returned: that would notify
   * all waiting requests, which would ask again, and so on.
   */
  tryTake(need: Need, nowMs: number): boolean {
    const { capacity, pool } = this
    if (pool === undefined || need.units === 0) return took(capacity, need.width, nowMs)
    const poolFirst = this.hasSlots(need) && !this.hasUnits(need)
    const [first, amount, second, rest] = poolFirst
      ? [pool, need.units, capacity, need.width]
      : [capacity, need.width, pool, need.units]
    if (!took(first, amount, nowMs)) return false
    let taken = false
    try {
      taken = took(second, rest, nowMs)
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

  /**
   * The need of a request that exceeds the largest possible capacity; `undefined` if none does, or if that is unknown.
   */
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

  /** Whether a request's slots are free. */
  hasSlots({ width }: Need): boolean {
    return this.#has(this.capacity, width)
  }

  /** Whether its units are free. */
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

  /** Whether any slots are free, though possibly too few for a given request. */
  anyFree(): boolean {
    return this.#has(this.capacity, 2 * ROUNDING)
  }

  /** Tells the capacity that time has passed while requests waited. */
  wake(nowMs: number): void {
    try {
      this.#mayReject(this.capacity.wake?.(nowMs))
    } catch {
      this.#failed()
    }
  }

  /**
   * Makes the capacity notify when it grows, although slots are free now: asks for one slot more than that. Does
   * nothing if there can never be that many.
   */
  listen(nowMs: number): void {
    try {
      const { capacity } = this
      const width = freeOf(capacity) + 1
      if (capacity.inFlight >= 1 && took(capacity, width, nowMs)) this.#putBack(capacity, width, nowMs)
    } catch {
      this.#failed()
    }
  }

  /** Returns the slots and units of a waiting request that left meanwhile. */
  giveBack(need: Need, nowMs: number): void {
    try {
      this.end(need, nowMs)
    } catch {
      // Already counted.
    }
  }

  /**
   * Returns the slots and units of a request that ran, or of one that did not, without an outcome. Units first: a
   * listener that is notified of slots finds both. Throws the error of the capacity, or of a listener.
   */
  end({ width, units }: Need, nowMs: number, outcome?: Outcome, durationMs: number = 0): void {
    try {
      try {
        if (units > 0) this.#give(this.pool, units, nowMs, outcome, durationMs)
      } finally {
        this.#give(this.capacity, width, nowMs, outcome, durationMs)
      }
    } catch (error) {
      this.#failed()
      throw error
    }
  }

  #give(capacity: Capacity | undefined, width: number, nowMs: number, outcome?: Outcome, durationMs: number = 0): void {
    const given: unknown =
      outcome === undefined ? capacity?.undo(width, nowMs) : capacity?.release(width, outcome, durationMs, nowMs)
    this.#mayReject(given)
  }

  /** Returns slots that were taken in vain. */
  #putBack(capacity: Capacity, width: number, nowMs: number): void {
    this.isTaking = true
    try {
      this.#give(capacity, width, nowMs)
    } finally {
      this.isTaking = false
    }
  }

  /** A method that returns nothing may still be async. */
  #mayReject(given: unknown): void {
    if (given !== undefined) onRejection(given, () => this.#failed())
  }

  #failed(): false {
    this.errors++
    this.mustRetry = true
    return false
  }
}

/** Takes slots of a capacity, which may be the user's. A promise must not count as a slot. */
function took(capacity: Capacity, width: number, nowMs: number): boolean {
  const taken = capacity.tryTake(width, nowMs)
  requireBoolean('tryTake()', taken)
  return taken
}

const limitOf = ({ limit }: Capacity): number => limit
const maximumOf = ({ maximum }: Capacity): number => maximum
const freeOf = ({ limit, inFlight }: Capacity): number => limit - inFlight

/** A property of a capacity; infinite without one, or if it throws. */
function told(capacity: Capacity | undefined, what: (capacity: Capacity) => number): number {
  try {
    return capacity === undefined ? Number.POSITIVE_INFINITY : what(capacity)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

function snapshotOf(capacity: Capacity | undefined): unknown {
  try {
    return capacity?.snapshot()
  } catch {
    return undefined
  }
}

/** The need of a request that exceeds the largest possible capacity, and that capacity. */
export interface TooWide {
  readonly width?: number
  readonly units?: number
  readonly maximum: number
}

/**
 * Backfilling: a request whose turn has come while too few slots or units are free for it, and the requests that may
 * still pass it.
 *
 * Without passing, slots stay empty while it waits for its last; with unbounded passing, narrow requests can keep it
 * waiting for ever. So other requests that fit may take `bypass` times its need in total, and after that all capacity
 * that becomes free is reserved for it. There is one such head at a time: it has left its fair queue, while other
 * requests that do not fit wait in theirs. Every request that passes counts, of any flow or band.
 *
 * With a pool, slots and units are counted separately, and the resource that the head lacks decides: a head that lacks
 * units may be passed by any number of requests that take none.
 */
export class Backfill {
  /** The request that is being passed; written only here, as `paid`. */
  head: QueuedRequest | undefined = undefined
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
    this.paid = paid
    head.passedWidth = 0
    head.passedUnits = 0
  }

  /** The head started, or never will. */
  clear(): void {
    this.head = undefined
  }

  /** Whether a request with this need may start before the head. */
  allows({ width, units }: Need): boolean {
    const { head } = this
    if (head === undefined) return true
    const slotsPass = head.passedWidth + width <= this.#bypass * head.width + ROUNDING
    if (this.#supply.pool === undefined || head.units === 0) return slotsPass
    const unitsPass = head.passedUnits + units <= this.#bypass * head.units + ROUNDING
    return (slotsPass || this.#supply.hasSlots(head)) && (unitsPass || this.#supply.hasUnits(head))
  }

  /** A request started. */
  pass({ width, units }: Need): void {
    if (this.head === undefined) return
    this.head.passedWidth += width
    this.head.passedUnits += units
  }
}
