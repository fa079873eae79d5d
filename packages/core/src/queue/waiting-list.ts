import { Alarm } from '../alarm.js'
import type { Clock } from '../clock.js'
import type { Refused } from '../sfq/index.js'
import { hasFired } from '../signals.js'
import { UNKNOWN_MS } from './appointments.js'
import { Band, Bands } from './bands.js'
import { Bypass } from './bypass.js'
import { Departures } from './departures.js'
import type { Durations } from './durations.js'
import { Earliest } from './earliest.js'
import { Holdings } from './holdings.js'
import type { QueueSettings } from './options.js'
import type { QueueReason, Refusals } from './reasons.js'
import type { Waiter } from './waiter.js'

/** How long a flow waits before its newest request is served first. */
const OVERLOADED_MS = 100
const OVERLOADED_DURATIONS = 5

/**
 * All that waits: in fair turns by band, by the time until which it may, and with an ear to its signal.
 *
 * What is added leaves once: by its turn, or turned away, and then nothing of it is kept here. Turns are looked at
 * before they are taken, so whoever takes one must know that nobody came or left since; see {@link changes}.
 *
 * Of the options' functions only `weightOf` is called here, and where it is, everything is in order, because it may
 * call anything.
 */
export class WaitingList {
  readonly bands: Bands<Waiter>
  readonly bypass: Bypass<Waiter>
  readonly holdings: Holdings
  /** Counts what comes and leaves. */
  changes = 0
  closed = false
  readonly #byTime = new Earliest<Waiter>()
  readonly #departures = new Departures<Waiter>()
  readonly #alarm: Alarm
  readonly #durations: Durations
  readonly #refusals: Refusals
  readonly #clock: Clock
  readonly #maxWaitMs: number
  readonly #newestFirst: boolean
  /** A fair queue may remember flows that wait no more. */
  #untidy = false

  /** `ring` is called when it is time to {@link expire}, or sooner. */
  constructor(settings: QueueSettings, durations: Durations, refusals: Refusals, clock: Clock, ring: () => void) {
    const { minShares, fairQueue, bypass, after, maxWaitMs, newestFirst, perFlowConcurrency } = settings
    this.bands = new Bands(minShares.map((minShare, index) => new Band<Waiter>(index, minShare, fairQueue)))
    this.bypass = new Bypass(bypass)
    this.holdings = new Holdings(perFlowConcurrency)
    this.#alarm = new Alarm(after, ring)
    this.#durations = durations
    this.#refusals = refusals
    this.#clock = clock
    this.#maxWaitMs = maxWaitMs
    this.#newestFirst = newestFirst
  }

  get size(): number {
    return this.#byTime.size
  }

  /**
   * Takes a request in, or says why its queue does not. It may be turned away before this returns. Throws what
   * `weightOf`, the timer or the signal throws, and then nothing of it is kept.
   */
  add(waiter: Waiter, signal: AbortSignal | undefined, nowMs: number): Refused | undefined {
    const { band, flow, cost } = waiter
    const ticket = band.queue.enqueue(flow, waiter, cost)
    if ('refused' in ticket) return ticket
    const evicted = ticket.evicted?.item
    this.#untidy = true
    this.changes++
    waiter.ticket = ticket
    waiter.state = 'waiting'
    band.came(nowMs)
    this.holdings.waits(waiter)
    this.#byTime.add(waiter)
    if (this.#newestFirst && band.backlogs.came(flow, nowMs) >= this.#overloadedMs) band.queue.takeNewest(flow)
    try {
      this.#alarm.set(this.#byTime.first!.startByMs, nowMs)
      if (signal !== undefined) this.#departures.add(signal, waiter)
      waiter.signal = signal
    } catch (error) {
      waiter.state = 'done'
      band.queue.remove(ticket)
      this.#forget(waiter, nowMs)
      throw error
    } finally {
      if (evicted !== undefined) this.#turnAway(evicted, 'evicted', nowMs)
    }
    // What was called in between may have called anything.
    if (this.closed) this.remove(waiter, 'closed', nowMs)
    else if (signal?.aborted === true) this.remove(waiter, 'gone', nowMs)
    return undefined
  }

  /** The request that is being passed, while it waits for slots. */
  passing(nowMs: number): Waiter | undefined {
    const { head } = this.bypass
    if (head !== undefined && hasFired(head.signal)) this.remove(head, 'gone', nowMs)
    return this.bypass.head
  }

  /** The request whose turn it is. */
  next(mayStart?: (waiter: Waiter) => boolean): Waiter | undefined {
    return this.bands.next(this.#isGone, mayStart)
  }

  /** The one of {@link next} has its turn, but does not fit: it leaves the queue, so that nobody overtakes it there. */
  hold(waiter: Waiter): void {
    this.bypass.hold(waiter, this.#takeTurn(waiter))
  }

  /** The one of {@link next} or {@link passing} starts. */
  start(waiter: Waiter, nowMs: number): void {
    if (waiter === this.bypass.head) this.bypass.clear()
    else this.#takeTurn(waiter)
    waiter.band.drain.started(waiter.cost, nowMs)
    this.#forget(waiter, nowMs)
  }

  /** Whether something waits whose time is up. */
  isDue(nowMs: number): boolean {
    const { first } = this.#byTime
    return first !== undefined && first.startByMs <= nowMs
  }

  /** Turns away what waited for as long as it could, and sees to it that the next will be. */
  expire(nowMs: number): void {
    while (this.isDue(nowMs)) this.remove(this.#byTime.first!, 'expired', nowMs)
    // Where the timer was early too, or this was called without it.
    this.#alarm.set(this.#byTime.first?.startByMs, nowMs)
  }

  /** Turns away what waits, wherever it does, and charges its flow nothing. Does nothing if it waits no more. */
  remove(waiter: Waiter, reason: QueueReason, nowMs: number): void {
    if (waiter.state !== 'waiting') return
    if (waiter === this.bypass.head) {
      // It had its turn, and gives back what that took.
      this.bands.refund(waiter.band, this.bypass.paid)
      this.bypass.clear()
      this.settle(waiter, 0)
    } else waiter.band.queue.remove(waiter.ticket!)
    this.#turnAway(waiter, reason, nowMs)
  }

  /** What one that had its turn really cost. Throws what `weightOf` throws. */
  settle(waiter: Waiter, cost: number): void {
    if (waiter.ticket === undefined || this.closed) return
    this.#untidy = true
    waiter.band.queue.settle(waiter.ticket, cost)
  }

  /** Nobody waits: the fair queues may forget whose turn it was, and who owes. */
  tidy(): void {
    if (!this.#untidy || this.size > 0) return
    this.#untidy = false
    for (const { queue } of this.bands.all) queue.dequeue()
  }

  /** Turns everybody away, and whoever is added later. */
  close(nowMs: number): void {
    this.closed = true
    for (let first = this.#byTime.first; first !== undefined; first = this.#byTime.first)
      this.remove(first, 'closed', nowMs)
    this.tidy()
    for (const { appointments } of this.bands.all) appointments.clear()
  }

  /** Gives the credit that this took from its band. */
  #takeTurn(waiter: Waiter): number {
    waiter.band.queue.dequeue()
    return this.bands.started(waiter.band, waiter.cost)
  }

  /** Turns away one that is gone, though its signal has told others first: they may have asked whose turn it is. */
  readonly #isGone = (waiter: Waiter): boolean => {
    if (!hasFired(waiter.signal)) return false
    this.#turnAway(waiter, 'gone', this.#clock())
    return true
  }

  get #overloadedMs(): number {
    return Math.max(OVERLOADED_MS, OVERLOADED_DURATIONS * this.#durations.mean)
  }

  /** Refuses a request that is out of its queue, or about to be. */
  #turnAway(waiter: Waiter, reason: QueueReason, nowMs: number): void {
    waiter.state = 'done'
    this.#forget(waiter, nowMs)
    const waitedMs = nowMs - waiter.arrivedMs
    const retryMs = this.#retryMs(waiter, reason, nowMs)
    waiter.answer(this.#refusals.make(reason, retryMs, { waitedMs, band: waiter.band.index }))
  }

  /** When a client that waited in vain should come back. Never throws, unlike `weightOf`. */
  #retryMs(waiter: Waiter, reason: QueueReason, nowMs: number): number {
    if (reason === 'gone') return 0
    if (reason === 'closed') return UNKNOWN_MS
    try {
      const mayWaitMs = reason === 'expired' ? this.#maxWaitMs : 0
      return waiter.band.comeBackMs(waiter, waiter.band.queue.standing(waiter.flow), mayWaitMs, nowMs)
    } catch {
      return UNKNOWN_MS
    }
  }

  /** It waits no more: no timer, no listener, and what is known of its flow and band is up to date. */
  #forget(waiter: Waiter, nowMs: number): void {
    this.changes++
    this.#byTime.delete(waiter)
    if (this.size === 0) this.#alarm.set(undefined, nowMs)
    if (waiter.signal !== undefined) this.#departures.remove(waiter.signal, waiter)
    waiter.signal = undefined
    waiter.band.left(nowMs)
    this.holdings.waitsNoMore(waiter)
    if (this.#newestFirst) waiter.band.backlogs.left(waiter.flow)
  }
}
