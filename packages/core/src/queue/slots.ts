import type { Outcome } from '../admission/outcome.js'
import type { Capacity } from '../capacity/index.js'
import type { Ends, TurnoverMap } from '../containers.js'
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
    // Without `told`: it is read at every turn.
    try {
      return this.capacity.limit
    } catch {
      return Number.POSITIVE_INFINITY
    }
  }

  get poolLimit(): number {
    return told(this.pool, limitOf, Number.POSITIVE_INFINITY)
  }

  /** The same for the largest possible numbers. */
  get maximum(): number {
    return told(this.capacity, maximumOf, Number.POSITIVE_INFINITY)
  }

  /** The same for free slots and units. */
  get free(): number {
    return told(this.capacity, freeOf, Number.POSITIVE_INFINITY)
  }

  get freeUnits(): number {
    return told(this.pool, freeOf, Number.POSITIVE_INFINITY)
  }

  /** Calls `listener` when either has more for `size()` waiting requests; the returned function ends that. */
  onAvailable(listener: () => void, size: () => number): () => void {
    const stops = [this.capacity, this.pool].map((each) => each?.onAvailable(listener, size))
    return () => {
      for (const stop of stops) stop?.()
    }
  }

  /** The snapshots of both; `undefined` for one that throws. */
  snapshot(): { capacity: unknown; pool: unknown } {
    const shown = (capacity: Capacity): unknown => capacity.snapshot()
    return { capacity: told(this.capacity, shown, undefined), pool: told(this.pool, shown, undefined) }
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
   * Makes the capacity notify when it grows, although slots are free now: asks for one slot more than that. None are
   * free if its limit has fallen below what is in flight. Does nothing if there can never be that many.
   */
  listen(nowMs: number): void {
    try {
      const { capacity } = this
      const width = Math.max(0, freeOf(capacity)) + 1
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

/** What a capacity says of itself; `otherwise` without one, or if it throws. */
function told<T>(capacity: Capacity | undefined, what: (capacity: Capacity) => T, otherwise: T): T {
  try {
    return capacity === undefined ? otherwise : what(capacity)
  } catch {
    return otherwise
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

/** Number of requests, of equal durations, over which the mean cost of a flow is taken. */
export const MEMORY: number = 32

/** State of one flow: the list of its running requests, oldest first, and numbers of those and the waiting ones. */
export class FlowRecord implements Ends<QueuedRequest> {
  first: QueuedRequest | undefined = undefined
  last: QueuedRequest | undefined = undefined
  /** From its last arrival. */
  weight: number
  most: number
  waiting = 0
  /** Slots and units that the running requests take. */
  width = 0
  units = 0
  /** The same including the waiting ones. */
  wantedWidth = 0
  wantedUnits = 0
  /** Number of all of these. */
  requests = 0
  /** The largest expected cost of one. */
  costliest = 0
  /** Of ended requests: their durations, the squares of those, and the products of duration and cost; decaying. */
  ranMs = 0
  ranSquared = 0
  ranCost = 0
  /** The larger of its two shares of the slots at the last update, and the smaller. */
  share: number = Number.POSITIVE_INFINITY
  sure = 0
  /** Slots times milliseconds that it lacks from its share, within bounds; up to this time. */
  balance = 0
  balancedMs = 0
  /** Number of times that all debts had been forgiven. */
  era: number
  /** It waits, and would be within the smaller share with one more request. */
  isShort = false

  constructor(weight: number, most: number, era: number) {
    this.weight = weight
    this.most = most
    this.era = era
  }

  /** The same numbers, without the list. */
  copy(): FlowRecord {
    return Object.assign(new FlowRecord(1, 1, 0), this, { first: undefined, last: undefined })
  }

  /** Among many requests of equal duration it remembers about 32, and others in proportion to their duration. */
  learn(ranMs: number, cost: number): void {
    this.ranMs += ranMs
    this.ranSquared += ranMs * ranMs
    this.ranCost += ranMs * cost
    const fade = (MEMORY * this.ranSquared) / this.ranMs ** 2
    if (!(fade < 1)) return
    this.ranMs *= fade
    this.ranSquared *= fade
    this.ranCost *= fade
  }
}

export const weightOf = ({ weight }: FlowRecord): number => weight
/**
 * Requests that a flow is entitled to, as a rate: its weight over their mean cost. Each is weighted by its duration, so
 * that cheap ones that wait, or end at once, gain nothing; until one has ended, the costliest counts.
 */
export const dueOf = ({ weight, costliest, ranMs, ranCost }: FlowRecord): number =>
  weight / (ranMs > 0 ? ranCost / ranMs : costliest)
export const slotsOf = ({ wantedWidth, most }: FlowRecord): number => Math.min(wantedWidth, most)

/** Part of the members that may have changed before the level is recomputed. */
const STALE = 1 / 8
/** Most passes over the members at a time. */
const PASSES = 8

/**
 * Max-min shares of an amount, by water-filling: each member is entitled to its part, none gets more than it wants, and
 * unused amounts are divided among the others by their entitlements.
 *
 * It keeps the level, the amount that a member gets per unit of entitlement. Members that want less than the level
 * gives them are full; the level that divides the rest among the others is never too high, for any set that was taken
 * for full, and so it rises from pass to pass until it is right. For up to eight members it is right at each change.
 * For more it may be outdated by changes to an eighth of them, so that a change costs O(1) on average.
 */
export class MaxMin<M> {
  readonly #members: TurnoverMap<M>
  readonly #wants: (member: M) => number
  readonly #due: (member: M) => number
  #level = 0
  #amount = 0
  /** Number of changes at the last computation of the level. */
  #changes = Number.NEGATIVE_INFINITY

  constructor(members: TurnoverMap<M>, wants: (member: M) => number, due: (member: M) => number) {
    this.#members = members
    this.#wants = wants
    this.#due = due
  }

  /**
   * The share of a member of this amount, after this number of arrivals, departures and changes of members. More than
   * it wants if all wants can be met.
   */
  shareOf(member: M, amount: number, changes: number): number {
    const stale = STALE * this.#members.entries.size
    if (changes - this.#changes >= stale || Math.abs(amount - this.#amount) > (stale > 1 ? STALE * this.#amount : 0)) {
      this.#changes = changes
      this.#refresh(amount)
    }
    return this.#level === Number.POSITIVE_INFINITY ? this.#level : this.#level * this.#due(member)
  }

  #refresh(amount: number): void {
    this.#amount = amount
    for (let pass = 0; pass < PASSES; pass++) {
      const before = this.#level
      let rest = amount
      let due = 0
      // The levels at which the last of the full members became full, and the next will.
      let last = 0
      let next = Number.POSITIVE_INFINITY
      for (const member of this.#members.entries.values()) {
        const wants = this.#wants(member)
        const part = this.#due(member)
        const full = wants / part
        if (full <= before) {
          rest -= wants
          last = Math.max(last, full)
        } else {
          due += part
          next = Math.min(next, full)
        }
      }
      const level = due > 0 ? rest / due : rest < 0 ? 0 : Number.POSITIVE_INFINITY
      this.#level = level
      // The same members would be full in another pass.
      if (last <= level && (level < next || due === 0)) return
    }
  }
}
