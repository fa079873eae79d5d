import { type Flow, keyOf } from '../path.js'
import { FairQueue } from '../sfq/fair-queue.js'
import type { FairQueueOptions, Standing, Ticket } from '../sfq/options.js'
import { DrainRate, MovingAverage, RetrySchedule, UNKNOWN_MS } from './estimates.js'
import type { BandSettings, BandSnapshot } from './options.js'
import { type Need, NOTHING, ROUNDING, type SlotSupply } from './slots.js'

/** Starts over which the mean cost is averaged. */
const MEAN_MEMORY = 100
/** Most credit that a band may save, in mean costs. */
const MOST_CREDIT = 10
/** A cost counts as covered by credit within this factor: sums of fractions need not be exact. */
const CLOSE = 1 - 1e-9

/** More than any request needs. */
const MOST_NEED: Need = { width: Number.POSITIVE_INFINITY, units: Number.POSITIVE_INFINITY }

/** Needs of the requests of its band that started before it while it was too wide for its band's limit. */
interface Passed {
  passedWidth: number
  passedUnits: number
}

function lesser(least: Need, width: number, units: number): Need {
  if (width >= least.width && units >= least.units) return least
  return { width: Math.min(width, least.width), units: Math.min(units, least.units) }
}

type Test<T> = (item: T) => boolean

/** The flow of a request, its class, and its declared cost. */
interface Asked {
  readonly path: Flow
  readonly className: string
  readonly cost: number
}

/**
 * Written when a request that waited starts: its contribution to the drain rate of its band, 0 until then, and that
 * rate's decay.
 */
export interface Drained {
  drained: number
  faded: number
}

/** One band: a fair queue, its minimum share, and its drain rate. */
export class Band<T> {
  /** 0 is the highest. */
  readonly index: number
  readonly queue: FairQueue<T>
  readonly shares: BandSettings
  /** Its running requests, their slots, and their units of the pool. */
  running = 0
  width = 0
  units = 0
  /** Cost that may start before the bands above it. */
  credit = 0
  /** Number of waiting requests: those in the queue, and one that left it but is too wide for the free slots. */
  waiting = 0
  /** The smallest need among its waiting requests, including earlier ones since its queue was last empty. */
  least: Need = MOST_NEED
  /** The smallest need among its requests that have run. */
  leastRan: Need = MOST_NEED
  /** Its head, if it was too wide for the band's limit at the last inspection. */
  tooWide: T | undefined = undefined
  readonly #drain = new DrainRate()
  readonly #settledCost = new MovingAverage(MEAN_MEMORY)
  readonly #retries = new RetrySchedule()
  /** For each waiting flow, the number of its waiting requests and the start of its present backlog. */
  readonly #backlogs = new Map<string, { waiting: number; readonly sinceMs: number }>()

  constructor(index: number, shares: BandSettings, options: FairQueueOptions) {
    this.index = index
    this.shares = shares
    this.queue = new FairQueue(options)
  }

  /** A request starts to run. */
  runs({ width, units }: Need): void {
    this.running++
    this.width += width
    this.units += units
    this.leastRan = lesser(this.leastRan, width, units)
  }

  /** A request that ran has ended. */
  ends({ width, units }: Need): void {
    this.running--
    this.width = this.running === 0 ? 0 : this.width - width
    this.units = this.running === 0 ? 0 : this.units - units
  }

  /** A request starts to wait. */
  came({ width, units }: Need, nowMs: number): void {
    this.least = lesser(this.least, width, units)
    if (this.waiting++ === 0) this.#drain.set(true, nowMs)
  }

  /** A waiting request starts; `left` follows. */
  started(request: Asked & Drained, nowMs: number): void {
    request.drained = this.#expected(request)
    request.faded = this.#drain.started(request.drained, nowMs)
  }

  /**
   * A request that waited has ended. If its cost is unknown, and it declared more than others cost, it counts with
   * their cost.
   */
  settled({ drained, faded }: Drained, actualCost: number, isKnown: boolean): void {
    if (isKnown) this.#settledCost.add(actualCost)
    const cost = isKnown ? actualCost : Math.min(actualCost, this.#settledCost.value)
    if (cost !== drained) this.#drain.correct(cost - drained, faded)
  }

  /** A request no longer waits, for any reason. */
  left(nowMs: number): void {
    if (--this.waiting > 0) return
    this.#drain.set(false, nowMs)
    this.credit = 0
    this.least = MOST_NEED
  }

  /** A request of the flow starts to wait. Returns the age of the flow's backlog in milliseconds: 0 for a new one. */
  backlogGrew(flow: Flow, nowMs: number): number {
    const key = keyOf(flow)
    const backlog = this.#backlogs.get(key)
    if (backlog === undefined) {
      this.#backlogs.set(key, { waiting: 1, sinceMs: nowMs })
      return 0
    }
    backlog.waiting++
    return nowMs - backlog.sinceMs
  }

  /** A request of the flow no longer waits. */
  backlogShrank(flow: Flow): void {
    const key = keyOf(flow)
    const backlog = this.#backlogs.get(key)
    if (backlog !== undefined && --backlog.waiting === 0) this.#backlogs.delete(key)
  }

  /**
   * The state of `flow`, and the expected wait of its next request, in milliseconds; `undefined` until that is known.
   */
  outlook(flow: Flow, nowMs: number): { readonly standing: Standing; readonly expectedMs: number } | undefined {
    const perMs = this.#drain.perMs(nowMs)
    if (perMs === undefined) return undefined
    const standing = this.queue.standing(flow)
    return { standing, expectedMs: standing.cost / (standing.share * perMs) }
  }

  /**
   * How long a client whose request was refused should stay away, in milliseconds: until the flow's waiting requests,
   * except for the last `mayWaitMs`, and its earlier refused requests have been served.
   */
  retryMs(request: Asked, standing: Pick<Standing, 'cost' | 'share'>, mayWaitMs: number, nowMs: number): number {
    const perMs = this.#drain.perMs(nowMs)
    if (perMs === undefined) return UNKNOWN_MS
    const own = standing.share * perMs
    const serviceMs = this.#expected(request) / own
    return this.#retries.schedule(keyOf(request.path), Math.max(0, standing.cost / own - mayWaitMs), serviceMs, nowMs)
  }

  /** The same if the whole band is full. Its line is '', which is not a flow's name. */
  retryWhenFullMs(cost: number, nowMs: number): number {
    const perMs = this.#drain.perMs(nowMs)
    return perMs === undefined ? UNKNOWN_MS : this.#retries.schedule('', this.queue.cost / perMs, cost / perMs, nowMs)
  }

  #expected({ path, className, cost }: Asked): number {
    return this.queue.expected(path, cost, className)
  }

  /** The band is no longer used. */
  close(): void {
    this.#retries.clear()
  }

  snapshot(nowMs: number): BandSnapshot {
    const perMs = this.#drain.perMs(nowMs)
    const drainPerSecond = perMs === undefined ? undefined : 1_000 * perMs
    return {
      waiting: this.waiting,
      running: this.width,
      credit: this.credit,
      drainPerSecond,
      queue: this.queue.snapshot(),
    }
  }
}

/**
 * Chooses between bands. A band that waits and runs less than its share of the slots comes first, the highest such band
 * before the others; then a band whose credit covers its head; then the highest that waits.
 *
 * Other bands may use the unused part of a band's share, except the part that it does not lend. It comes back as
 * requests end: no running request is stopped. A band at its maximum is skipped, and so is one that would take slots
 * reserved for another. A request runs nevertheless if nothing else does, and one request of a band counts as within
 * its share: shares are parts of a limit that may change, and may be less than one request takes. With a pool the same
 * parts apply to its units. Other requests of its band may pass a head that is too wide for the band's present limit,
 * until they have taken `bypass` times its need: then the band waits for it.
 *
 * A band with a minimum share earns that part of every cost that starts while it waits, and goes first when its credit
 * covers its head. It saves at most ten mean costs, or the cost of its head, and loses its credit when none of its
 * requests wait. It pays for a start from its credit whether the credit caused it or the band was the highest anyway: a
 * minimum share is part of the band's service, not an addition to it. O(bands) per start.
 */
export class Bands<T extends Need & Passed & { readonly band: Band<T> }> {
  readonly all: readonly Band<T>[]
  /** Whether any band has a share of the slots. */
  readonly divided: boolean
  readonly #supply: SlotSupply
  readonly #isAllowed: (item: T) => boolean
  readonly #mayHold: () => boolean
  /** At the last {@link next}, a request had its turn that its flow may not start now. */
  passedOver = false
  readonly #bypass: number
  readonly #keeping: readonly Band<T>[]
  /** The bands with a minimum share, the lowest first. */
  readonly #earning: readonly Band<T>[]
  readonly #meanCost = new MovingAverage(MEAN_MEMORY)

  /**
   * `isAllowed`: whether the flow of a request may start it, before one that is being passed. `mayHold`: whether no
   * request is being passed, so that one can be.
   */
  constructor(
    all: readonly Band<T>[],
    supply: SlotSupply,
    isAllowed: (item: T) => boolean,
    mayHold: () => boolean,
    bypass: number,
  ) {
    this.all = all
    this.#mayHold = mayHold
    this.#bypass = bypass
    this.#isAllowed = isAllowed
    this.#supply = supply
    this.#earning = all.filter(({ shares }) => shares.minShare > 0).toReversed()
    this.#keeping = all.filter(({ shares }) => shares.kept > 0)
    this.divided = all.some(({ shares: { share, most } }) => share > 0 || most < 1)
  }

  /** Whether a request waits in the queue of `band` or of a higher one. */
  anyUpTo(band: Band<T>): boolean {
    for (let i = 0; i <= band.index; i++) if (this.all[i]!.queue.waiting > 0) return true
    return false
  }

  /**
   * The next request; `undefined` if none waits in a queue, or no waiting band may have more. Requests that `isGone`
   * reports as gone at their turn are dropped from their queue, at no cost to their flow. A request that `mayStart`
   * rejects is skipped in its band, unless all are rejected: then one that `orElse` rejects is. A band whose flows are
   * all at their limits leaves its turn to the bands below. The result may be a request that has its turn but needs
   * slots reserved for others: see {@link allows}.
   */
  next(isGone: Test<T>, mayStart?: Test<T>, orElse?: Test<T>): T | undefined {
    this.passedOver = false
    if (this.divided)
      for (const band of this.all) {
        const { share } = band.shares
        const head = share > 0 ? this.#head(band, isGone, mayStart, orElse)?.item : undefined
        if (head !== undefined && this.#isWithin(head, share)) return head
      }
    for (const band of this.#earning) {
      const head = this.#head(band, isGone, mayStart, orElse)
      if (head !== undefined && band.credit >= head.cost * CLOSE) return head.item
    }
    for (const band of this.all) {
      const head = this.#head(band, isGone, mayStart, orElse)
      if (head !== undefined) return head.item
    }
    return undefined
  }

  /** Whether a request is within its band's maximum, and leaves the slots reserved for others. */
  allows(request: T): boolean {
    if (!this.divided || this.all.every(({ running }) => running === 0)) return true
    return this.isWithinMost(request) && this.#leavesKept(request)
  }

  /** Whether a request is within its band's maximum. */
  isWithinMost(request: T): boolean {
    return !this.divided || this.#isWithin(request, request.band.shares.most)
  }

  /**
   * Whether a request takes only slots reserved for its band, and `waiting` fits beside all slots reserved for other
   * bands: then it does not wait for those.
   */
  isKeptFrom({ band, width, units }: T, waiting: T): boolean {
    const { limit, poolLimit } = this.#supply
    const { kept } = band.shares
    if (band === waiting.band || band.width + width > Math.floor(kept * limit + ROUNDING) + ROUNDING) return false
    if (units > 0 && band.units + units > kept * poolLimit + ROUNDING) return false
    let [slots, parts] = [limit - waiting.width, poolLimit - waiting.units]
    for (const other of this.#keeping) {
      if (other === waiting.band) continue
      slots -= Math.floor(other.shares.kept * limit + ROUNDING)
      parts -= other.shares.kept * poolLimit
    }
    return slots >= -ROUNDING && (waiting.units === 0 || parts >= -ROUNDING)
  }

  #leavesKept(request: T): boolean {
    if (this.#keeping.length === 0) return true
    const { limit, poolLimit, free, freeUnits } = this.#supply
    let [slots, units] = [free - request.width, freeUnits - request.units]
    for (const other of this.#keeping) {
      if (other === request.band) continue
      // A fraction of a slot is of no use to a request that takes a whole one.
      slots -= Math.max(0, Math.floor(other.shares.kept * limit + ROUNDING) - other.width)
      if (units < Number.POSITIVE_INFINITY) units -= Math.max(0, other.shares.kept * poolLimit - other.units)
    }
    // Missing slots cannot be reserved: then the capacity refuses, and notifies when to ask again.
    return (slots >= -ROUNDING || free < request.width) && (units >= -ROUNDING || freeUnits < request.units)
  }

  /** Slots, or units, that `band` has or may have: those that other bands neither use nor have reserved. */
  leftFor(band: Band<T>, of: 'width' | 'units', limit: number): number {
    if (limit === Number.POSITIVE_INFINITY) return limit
    let left = limit
    for (const other of this.all) {
      if (other === band) continue
      const taken = of === 'width' ? other.width : other.units
      const { kept } = other.shares
      left -= kept === 0 ? taken : Math.max(taken, Math.floor(kept * limit + ROUNDING))
    }
    return Math.max(0, Math.min(left, band.shares.most * limit))
  }

  /** Whether `head` would still be within its band's maximum after `one` has started. */
  leaves(head: T, one: T): boolean {
    return !this.divided || one.band !== head.band || this.#isWithin(head, head.band.shares.most, one)
  }

  /** The head of a band, if it may start. */
  #head(band: Band<T>, isGone: Test<T>, mayStart?: Test<T>, orElse?: Test<T>): Ticket<T> | undefined {
    if (band.waiting === 0 || band.queue.waiting === 0) return undefined
    let head = band.queue.peek(isGone, mayStart)
    if (head !== undefined && orElse?.(head.item) === false) head = band.queue.peek(isGone, orElse)
    if (head !== undefined && !this.#isAllowed(head.item)) {
      this.passedOver = true
      head = band.queue.peek(isGone, this.#isAllowed, true)
    }
    band.tooWide = undefined
    if (head === undefined || this.allows(head.item)) return head
    const { width, units } = head.item
    // Requests of any band with smaller needs could keep it from the slots that it needs beside the reserved ones: so
    // it is held.
    const isLeast = this.all.every(({ leastRan }) => leastRan.width >= width && leastRan.units >= units)
    if (!isLeast && this.#mayHold() && this.isWithinMost(head.item)) return head
    if (band.least.width >= width && band.least.units >= units) return undefined
    band.tooWide = head.item
    this.passedOver = true
    const { item } = head
    return band.queue.peek(isGone, (one) => this.#isAllowed(one) && this.allows(one) && this.#mayPass(item, one), true)
  }

  /** Whether a request may start before a head of its band that is too wide for the band's limit. */
  #mayPass(head: T, one: T): boolean {
    const bypass = this.#bypass
    const { limit, poolLimit } = this.#supply
    const { width, units, shares } = head.band
    // Others may have the resource that the head does not lack.
    const hasSlots = this.#keeping.length === 0 && width + head.width <= shares.most * limit + ROUNDING
    const hasUnits = head.units === 0 || units + head.units <= shares.most * poolLimit + ROUNDING
    return (
      (hasSlots || head.passedWidth + one.width <= bypass * head.width + ROUNDING) &&
      (hasUnits || head.passedUnits + one.units <= bypass * head.units + ROUNDING)
    )
  }

  /** A request has its turn: a head that is too wide for its band's limit is passed by it. */
  passes(one: T): void {
    const head = one.band.tooWide
    if (head === undefined || head === one) return
    head.passedWidth += one.width
    head.passedUnits += one.units
  }

  /** Whether with this request, and `more`, its band would have at most this part of the slots and units. */
  #isWithin({ band, width, units }: T, part: number, more: Need = NOTHING): boolean {
    if (band.running === 0 && more === NOTHING) return true
    const { limit, poolLimit } = this.#supply
    if (band.width + more.width + width > part * limit + ROUNDING) return false
    return units === 0 || band.units + more.units + units <= part * poolLimit + ROUNDING
  }

  /** A request of `band` has had its turn and is out of the queue. Returns the credit that it took from its band. */
  started(band: Band<T>, cost: number): number {
    if (this.#earning.length === 0) return 0
    this.#meanCost.add(cost)
    let paid = 0
    for (const each of this.#earning) {
      if (each.queue.waiting === 0) {
        each.credit = 0
        continue
      }
      const most = Math.max(MOST_CREDIT * this.#meanCost.value, each.queue.peek()!.cost)
      each.credit = Math.min(most, each.credit + each.shares.minShare * cost)
      if (each !== band) continue
      paid = Math.min(each.credit, cost)
      each.credit -= paid
    }
    return paid
  }

  /** A request that had its turn, and took this credit for it, will not run. */
  refund(band: Band<T>, paid: number): void {
    if (band.queue.waiting > 0) band.credit += paid
  }
}
