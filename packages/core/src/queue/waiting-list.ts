import type { Refusal } from '../admission/refusal.js'
import { Alarm, type Clock } from '../clock.js'
import { DeadlineQueue } from '../containers.js'
import type { Flow } from '../path.js'
import type { Refused, Standing } from '../sfq/options.js'
import { AbortListeners, hasFired } from '../signals.js'
import { Band, Bands } from './bands.js'
import { type Durations, UNKNOWN_MS } from './estimates.js'
import type { FlowSlots } from './flow-slots.js'
import type { BandSnapshot, Passing, QueueSettings, WaitingFlow } from './options.js'
import type { QueuedRequest, QueueReason } from './queued-request.js'
import { Backfill, type SlotSupply } from './slots.js'

/** Age of a flow's backlog from which on its newest request is served first: this, and this many mean durations. */
const OVERLOADED_MS = 100
const OVERLOADED_DURATIONS = 5
/** Calls per perturbation, at least. */
const PERTURB_EVERY_CALLS = 100

/** Number of flows in a snapshot. */
const NAMED = 20

/** The parts of a queue that its waiting list needs. */
export interface WaitingListHost {
  readonly clock: Clock
  readonly durations: Durations
  readonly slots: FlowSlots
  readonly supply: SlotSupply
  /** Creates and counts a refusal. */
  refuse(reason: QueueReason, retryMs: number, detail: Readonly<Record<string, unknown>>): Refusal
  /** Called when it is time to {@link WaitingList.expire}, or sooner. */
  due(): void
}

/**
 * All waiting requests: in fair turns by band, by the time at which they expire, and with listeners to their signals.
 *
 * A request that is added leaves once: by its turn, or refused; then nothing of it is kept here. Turns are inspected
 * before they are taken, so a caller that takes one must know that no request was added or left since; see {@link
 * changes}.
 *
 * Of the options' functions only `weightOf` is called here, always in a consistent state, because it may call anything.
 */
export class WaitingList {
  /** Counts the requests that were added or left. */
  changes = 0
  closed = false
  readonly #bands: Bands<QueuedRequest>
  readonly #backfill: Backfill
  readonly #byTime = new DeadlineQueue<QueuedRequest>()
  readonly #signals = new AbortListeners<QueuedRequest>()
  readonly #alarm: Alarm
  readonly #host: WaitingListHost
  readonly #maxWaitMs: number
  readonly #newestFirst: boolean
  readonly #perturbEveryMs: number
  #perturbedMs: number
  #callsSince = 0
  /** Time of the last choice of a request, and the last request since then that was within its flow's share. */
  #lookMs = 0
  #within: QueuedRequest | undefined = undefined
  /** A fair queue may still remember flows without waiting requests. */
  #untidy = false

  constructor(settings: QueueSettings, host: WaitingListHost) {
    const { bands, fairQueue, bypass, after, maxWaitMs, newestFirst, perturbs, perturbEveryMs } = settings
    const all = bands.map((shares, index) => new Band<QueuedRequest>(index, shares, fairQueue))
    const backfill = new Backfill(bypass, host.supply)
    const isAllowed = (one: QueuedRequest): boolean => host.slots.isAllowed(one) && this.#leaves(one)
    this.#bands = new Bands(all, host.supply, isAllowed, () => backfill.head === undefined, bypass)
    this.#backfill = backfill
    this.#alarm = new Alarm(after, () => host.due())
    this.#host = host
    this.#maxWaitMs = maxWaitMs
    this.#newestFirst = newestFirst
    this.#perturbEveryMs = perturbs ? perturbEveryMs : Number.POSITIVE_INFINITY
    this.#perturbedMs = host.clock()
  }

  /** Number of waiting requests. */
  get size(): number {
    return this.#byTime.size
  }

  /** The waiting request that expires first. */
  get first(): QueuedRequest | undefined {
    return this.#byTime.first
  }

  /** The band of this index, from 0. */
  band(index: number): Band<QueuedRequest> {
    return this.#bands.all[index]!
  }

  /** Whether an arriving request may start before all waiting ones, if its slots are free. */
  mayStart(request: QueuedRequest): boolean {
    // With divided bands, a higher one may wait for its own slots: then the dispatch decides whose turn it is.
    const waits = this.size > 0 && (this.#bands.divided || this.#bands.anyUpTo(request.band))
    return !waits && this.mayPass(request) && this.#leaves(request)
  }

  /** Whether bands have shares of the slots, so that one may wait while slots are free. */
  get isDivided(): boolean {
    return this.#bands.divided
  }

  /** A request started at once on arrival. */
  startedAtOnce(request: QueuedRequest): void {
    this.#bands.started(request.band, request.cost)
    this.#backfill.pass(request)
  }

  /**
   * Adds a request, or returns its fair queue's reason for a refusal. It may be refused before this returns. Throws the
   * error of `weightOf`, the timer or the signal, and then keeps nothing of it.
   */
  add(request: QueuedRequest, signal: AbortSignal | undefined, nowMs: number): Refused | undefined {
    this.#perturbIfDue(nowMs)
    const { band, path, cost, className } = request
    const ticket = band.queue.enqueue(path, request, cost, className)
    if ('refused' in ticket) return ticket
    const evicted = ticket.evicted?.item
    this.#untidy = true
    this.changes++
    request.ticket = ticket
    request.state = 'waiting'
    band.came(request, nowMs)
    this.#host.slots.waits(request)
    this.#byTime.add(request)
    if (this.#newestFirst && band.backlogGrew(path, nowMs) >= this.#overloadedMs) band.queue.takeNewest(path)
    try {
      this.#alarm.set(this.#byTime.first!.startByMs, nowMs)
      if (signal !== undefined) this.#signals.add(signal, request)
      request.signal = signal
    } catch (error) {
      request.state = 'done'
      band.queue.remove(ticket)
      this.#forget(request, nowMs)
      this.#host.slots.waitsNoMore(request)
      throw error
    } finally {
      if (evicted !== undefined) this.#turnAway(evicted, 'evicted', nowMs)
    }
    // The functions called since may have called anything.
    if (this.closed) this.remove(request, 'closed', nowMs)
    else if (signal?.aborted === true) this.remove(request, 'gone', nowMs)
    return undefined
  }

  /** The request that is being passed while it waits for its slots. */
  passed(nowMs: number): QueuedRequest | undefined {
    const { head } = this.#backfill
    if (head !== undefined && hasFired(head.signal)) this.remove(head, 'gone', nowMs)
    return this.#backfill.head
  }

  /** The next request, of a flow within its share of its band's slots, if one waits; see {@link Bands.next}. */
  next(nowMs: number): QueuedRequest | undefined {
    const { slots } = this.#host
    if (!slots.isContested) return this.#bands.next(this.#isGone, this.#backfill.head && this.#leaves)
    slots.look()
    this.#lookMs = nowMs
    this.#within = undefined
    return this.#bands.next(this.#isGone, this.#isWithinShare, this.#mayOrElse)
  }

  /** Whether a request is within its flow's share of its band's limit. */
  readonly #isWithinShare = (one: QueuedRequest): boolean => {
    const { slots, supply } = this.#host
    const units = one.units === 0 ? 0 : this.#bands.leftFor(one.band, 'units', supply.poolLimit)
    const isWithin = this.#leaves(one) && slots.isWithinShare(one, units, this.#lookMs)
    if (isWithin) this.#within = one
    return isWithin
  }

  /** If none is: whether it is of the flow that owes least. */
  readonly #mayOrElse = (one: QueuedRequest): boolean =>
    one === this.#within || (this.#leaves(one) && this.#host.slots.owesLeast(one))

  /** Slots that a band has or might have. */
  slotsFor(band: Band<QueuedRequest>): number {
    return this.#bands.leftFor(band, 'width', this.#host.supply.limit)
  }

  /** Whether that request, or none, was found because others are at their limits. */
  get passedOver(): boolean {
    return this.#bands.passedOver
  }

  /**
   * Whether that request may pass the one that is being passed. A request at the limit of its flow or band waits for no
   * slots, and one that fits beside the slots reserved for other bands does not wait for those.
   */
  mayPass(request: QueuedRequest): boolean {
    const { head } = this.#backfill
    if (head === undefined || this.#backfill.allows(request)) return true
    return (
      !(this.#host.slots.isAllowed(head) && this.#bands.isWithinMost(head)) || this.#bands.isKeptFrom(request, head)
    )
  }

  /** Whether the limits of a request's flow and band allow it to run now. */
  mayRun(request: QueuedRequest): boolean {
    return this.#host.slots.isAllowed(request) && this.#bands.allows(request)
  }

  /**
   * The request of {@link next} has its turn, but does not fit: it leaves its fair queue, and is passed from now on.
   */
  hold(request: QueuedRequest): void {
    this.#backfill.hold(request, this.#takeTurn(request))
  }

  /** The request of {@link next} or {@link passed} starts. */
  start(request: QueuedRequest, nowMs: number): void {
    if (request === this.#backfill.head) this.#backfill.clear()
    else this.#takeTurn(request)
    request.band.started(request, nowMs)
    this.#forget(request, nowMs)
    this.#host.slots.startsLater(request, nowMs)
    this.#backfill.pass(request)
  }

  /** Whether a request has waited for its longest time. */
  isDue(nowMs: number): boolean {
    const { first } = this.#byTime
    return first !== undefined && first.startByMs <= nowMs
  }

  /** Refuses the requests that have waited for their longest time, and sets the timer for the next. */
  expire(nowMs: number): void {
    while (this.isDue(nowMs)) this.remove(this.#byTime.first!, 'expired', nowMs)
    // The timer may have been early, or there was another call.
    this.#alarm.set(this.#byTime.first?.startByMs, nowMs)
  }

  /** Refuses a waiting request and charges its flow nothing. Does nothing if it no longer waits. */
  remove(request: QueuedRequest, reason: QueueReason, nowMs: number, detail: object = {}): void {
    if (request.state !== 'waiting') return
    if (request === this.#backfill.head) {
      // It had its turn, and returns the credit for that.
      this.#bands.refund(request.band, this.#backfill.paid)
      this.#backfill.clear()
      this.settle(request, 0, false)
    } else request.band.queue.remove(request.ticket!)
    this.#turnAway(request, reason, nowMs, detail)
  }

  /** Reports the cost so far of a running request. */
  charge(request: QueuedRequest, costSoFar: number): void {
    this.owes(request, costSoFar)
    request.costSoFar = Math.max(request.costSoFar, costSoFar)
    if (request.ticket === undefined || this.closed) return
    this.#untidy = true
    request.band.queue.charge(request.ticket, costSoFar)
  }

  /**
   * A request that started at once needs a ticket if its flow is to owe the cost beyond its cost so far: its charges
   * while others wait and, at its end, all of it, if it is the latest of its flow. If the costs of earlier ones had
   * been known, their flow would have paid with turns that no other flow wanted.
   */
  owes(request: QueuedRequest, cost: number): void {
    const { band, path, className, costSoFar } = request
    if (request.ticket === undefined && cost > costSoFar && this.size > 0 && !this.closed)
      request.ticket = band.queue.started(path, request, request.cost, className, costSoFar)
  }

  /** Reports the actual cost of a started request, and may learn from it. */
  settle(request: QueuedRequest, actualCost: number, teaches = true): void {
    if (this.closed) return
    const { band, path, cost, className, ticket } = request
    if (request.drained > 0) band.settled(request, actualCost, teaches)
    if (ticket === undefined) {
      if (teaches) band.queue.learn(path, cost, actualCost, className)
      return
    }
    this.#untidy = true
    band.queue.settle(ticket, actualCost, teaches)
  }

  /** When no request waits, the fair queues may forget turns and debts. */
  tidy(): void {
    if (!this.#untidy || this.size > 0) return
    this.#untidy = false
    for (const { queue } of this.#bands.all) queue.dequeue()
  }

  /** Refuses every waiting request, and those that are added later. */
  close(nowMs: number): void {
    this.closed = true
    for (let first = this.#byTime.first; first !== undefined; first = this.#byTime.first)
      this.remove(first, 'closed', nowMs)
    this.tidy()
    for (const band of this.#bands.all) band.close()
  }

  snapshot(nowMs: number): {
    waiting: number
    passing: Passing | undefined
    bands: BandSnapshot[]
  } {
    const { head } = this.#backfill
    const passing = head && {
      width: head.width,
      passed: head.passedWidth,
      units: head.units,
      passedUnits: head.passedUnits,
    }
    const bands = this.#bands.all.map((band) => band.snapshot(nowMs))
    return { waiting: this.size, passing, bands }
  }

  /** The flow's state in each band, the highest first. */
  standings(flow: Flow): readonly Standing[] {
    return this.#bands.all.map(({ queue }) => queue.standing(flow))
  }

  /** The flows with most waiting requests, at most 20. O(waiting requests). */
  flows(nowMs: number): WaitingFlow[] {
    const flows = new Map<string, { weight: number; waiting: number; sinceMs: number }>()
    for (const { flow, weight, arrivedMs } of this.#byTime) {
      const known = flows.get(flow)
      if (known === undefined) flows.set(flow, { weight, waiting: 1, sinceMs: arrivedMs })
      else {
        known.waiting++
        if (arrivedMs < known.sinceMs) known.sinceMs = arrivedMs
      }
    }
    const longest = [...flows].sort(([, a], [, b]) => b.waiting - a.waiting || a.sinceMs - b.sinceMs).slice(0, NAMED)
    return longest.map(([flow, { weight, waiting, sinceMs }]) => {
      return { flow, weight, waiting, oldestMs: nowMs - sinceMs, running: this.#host.slots.held(flow) }
    })
  }

  /** Whether a request leaves the passed one the slots of their flow's or band's limit. */
  readonly #leaves = (one: QueuedRequest): boolean => {
    const { head } = this.#backfill
    return (
      head === undefined ||
      head === one ||
      ((head.flow !== one.flow || this.#host.slots.isAllowed(head, one)) && this.#bands.leaves(head, one))
    )
  }

  /** Returns the credit that this took from the request's band. */
  #takeTurn(request: QueuedRequest): number {
    const { band, cost } = request
    this.#bands.passes(request)
    band.queue.take(request.ticket!)
    return this.#bands.started(band, cost)
  }

  /**
   * Refuses a request whose client is gone; its signal has notified other listeners first, which may have called this
   * queue.
   */
  readonly #isGone = (request: QueuedRequest): boolean => {
    if (!hasFired(request.signal)) return false
    this.#turnAway(request, 'gone', this.#host.clock())
    return true
  }

  get #overloadedMs(): number {
    return Math.max(OVERLOADED_MS, OVERLOADED_DURATIONS * this.#host.durations.mean)
  }

  /** Refuses a request that is out of its fair queue, or about to leave it. */
  #turnAway(request: QueuedRequest, reason: QueueReason, nowMs: number, detail: object = {}): void {
    request.state = 'done'
    this.#forget(request, nowMs)
    this.#host.slots.waitsNoMore(request)
    const waitedMs = nowMs - request.arrivedMs
    const retryMs = this.#retryMs(request, reason, nowMs)
    request.answer(this.#host.refuse(reason, retryMs, { ...detail, waitedMs, band: request.band.index }))
  }

  /** Return time for a client that waited in vain. */
  #retryMs(request: QueuedRequest, reason: QueueReason, nowMs: number): number {
    if (reason === 'gone') return 0
    if (reason === 'closed') return UNKNOWN_MS
    if (reason === 'too-wide') return Number.POSITIVE_INFINITY
    const { band, path } = request
    return band.retryMs(request, band.queue.standing(path), reason === 'expired' ? this.#maxWaitMs : 0, nowMs)
  }

  /** The request no longer waits: no timer, no listener, and the records of its band are up to date. */
  #forget(request: QueuedRequest, nowMs: number): void {
    this.changes++
    this.#byTime.delete(request)
    if (this.size === 0) this.#alarm.set(undefined, nowMs)
    if (request.signal !== undefined) this.#signals.remove(request.signal, request)
    request.signal = undefined
    request.band.left(nowMs)
    if (this.#newestFirst) request.band.backlogShrank(request.path)
  }

  #perturbIfDue(nowMs: number): void {
    if (++this.#callsSince < PERTURB_EVERY_CALLS || nowMs - this.#perturbedMs < this.#perturbEveryMs) return
    this.#perturbedMs = nowMs
    this.#callsSince = 0
    for (const { queue } of this.#bands.all) queue.perturb()
  }
}
