import type { Outcome } from '../admission/outcome.js'
import type { Refusal } from '../admission/refusal.js'
import type { Hold, Passage, Stage, Verdict } from '../admission/stage.js'
import { type Clock, steady } from '../clock.js'
import { requireBoolean, requireInteger, requireText } from '../options.js'
import type { Refused } from '../sfq/index.js'
import { requireCost } from '../sfq/options.js'
import { Alarm } from './alarm.js'
import { NEVER_MS, UNKNOWN_MS } from './appointments.js'
import { Band, Bands } from './bands.js'
import { Bypass } from './bypass.js'
import { Durations } from './durations.js'
import { Earliest } from './earliest.js'
import { type QueueSettings, requireDeadline, requireWidth, settingsOf, type WaitingRoomOptions } from './options.js'
import { type QueuePermit, type QueueRequest, RunningRequest } from './permit.js'
import { type QueueReason, turnAway } from './reasons.js'
import type { WaitingRoomSnapshot } from './snapshot.js'
import { ROUNDING, Supply } from './supply.js'
import { type Host, Waiter } from './waiter.js'
import { Wishes } from './wishes.js'

/** Requests of a flow that wait, from which on its next one may be refused because it would wait too long. */
const LONG_BACKLOG = 4
/** Part of its waiting time that a request may be expected to need. */
const TOO_LONG = 0.8
/** How long a flow waits before its newest request is served first. */
const OVERLOADED_MS = 100
const OVERLOADED_DURATIONS = 5
/** Waiting requests per perturbation, at least. */
const PERTURB_EVERY_CALLS = 100
/** Costs that fair queues tell apart. */
const LEAST_COST = 1e-9
const MOST_COST = 1e12

/**
 * Where requests wait for capacity, and from which they are let out in fair turns.
 *
 * A request starts at once if slots are free and nobody waits before it; else it takes its place in the fair queue of
 * its band. It leaves exactly once: it starts; its time is up; its signal fires; it is evicted for one of a flow with
 * less; or the room closes. It never starts at or after its time, however late timers are. What left holds nothing.
 *
 * - Time: `maxWaitMs`, or less where a deadline leaves less after the time that such requests run. A request that can
 *   start at once is refused for its deadline only if that has passed: were all refused because they would take too
 *   long, none would ever run and show that they no longer do.
 * - Width: at its turn a request may be too wide for the slots free; see {@link Bypass}.
 * - Bands: see {@link Bands}. Exempt requests neither wait nor take slots.
 *
 * A stage of a gate, and useful alone by {@link WaitingRoom.enter}. It has one timer, while something waits, and no
 * work in the background. Starting at once is O(bands); waiting, and leaving, O(log n) where n wait. Memory is in
 * proportion to what waits, and to the flows of which refused clients are to come back within the minute, up to ten
 * thousand in a band. Reasons are listed at {@link QueueReason}.
 */
export class WaitingRoom implements Stage {
  readonly name = 'queue'
  readonly onError: 'admit' | 'refuse'

  readonly #settings: QueueSettings
  readonly #wishes: Wishes
  readonly #clock: Clock
  readonly #supply: Supply
  readonly #bands: Bands<Waiter>
  readonly #bypass: Bypass<Waiter>
  readonly #durations = new Durations()
  /** All that wait. */
  readonly #waiting = new Earliest<Waiter>()
  readonly #alarm: Alarm
  readonly #stopListening: () => void
  readonly #host: Host = {
    left: (waiter) => this.#left(waiter),
    finished: (waiter, outcome, cost, nowMs) => this.#finished(waiter, outcome, cost, nowMs),
    undone: (waiter, nowMs) => this.#undone(waiter, nowMs),
  }
  readonly #exempt: Hold = { finish: () => {}, undo: () => {} }
  readonly #refusedBy = new Map<QueueReason, number>()
  #came = 0
  #exempted = 0
  #startedAtOnce = 0
  #startedLater = 0
  #refused = 0
  #running = 0
  #closed = false
  #pumping = false
  /** A fair queue may remember flows that wait no more. */
  #untidy = false
  #perturbedMs: number
  #callsSince = 0

  /** Throws a `RangeError` or `TypeError` that names the option and its value. Starts no timer. */
  constructor(options: WaitingRoomOptions) {
    const settings = settingsOf(options)
    const { capacity, minShares, fairQueue, bypass, clock, after, onError } = settings
    this.#settings = settings
    this.#wishes = new Wishes(settings)
    this.onError = onError
    this.#clock = steady(clock)
    this.#perturbedMs = this.#clock()
    this.#bands = new Bands(minShares.map((minShare, index) => new Band<Waiter>(index, minShare, fairQueue)))
    this.#bypass = new Bypass(bypass)
    this.#alarm = new Alarm(after, () => this.#wake())
    this.#supply = new Supply(capacity)
    this.#stopListening = capacity.onAvailable(() => this.#pump())
  }

  /** The gate's question. Takes the time from `passage`, and answers at once unless the request has to wait. */
  admit(passage: Passage): Verdict | Promise<Verdict> {
    const cost = Math.min(MOST_COST, Math.max(LEAST_COST, passage.cost))
    return this.#admit(passage, cost, undefined, undefined, undefined)
  }

  /**
   * The same without a gate: a permit, or a refusal, or the promise of one of them, which never rejects. Throws what
   * the options' functions throw, and a `RangeError` or `TypeError` that names what is wrong with `request`; then
   * nothing of it is kept.
   */
  enter(request: QueueRequest): QueuePermit | Refusal | Promise<QueuePermit | Refusal> {
    const { flow, cost, width, priority = 0, band, exempt = false, deadlineMs, signal } = request
    requireText('flow', flow)
    if (cost !== undefined) requireCost('cost', cost)
    if (width !== undefined) requireWidth('width', width)
    requireInteger('priority', priority, -2, 2)
    if (band !== undefined) requireInteger('band', band, 0, this.#bands.all.length - 1)
    requireBoolean('exempt', exempt)
    if (deadlineMs !== undefined) requireDeadline('deadlineMs', deadlineMs)
    const passage: Passage = {
      flow,
      cost: cost ?? width ?? (typeof this.#settings.width === 'number' ? this.#settings.width : 1),
      priority,
      exempt,
      nowMs: this.#clock(),
      signal,
      credit: undefined,
    }
    if (signal?.aborted === true) {
      this.#came++
      return this.#refusal('gone', 0)
    }
    const verdict = this.#admit(passage, passage.cost, width, band, deadlineMs)
    return verdict instanceof Promise ? verdict.then((late) => this.#show(late, flow)) : this.#show(verdict, flow)
  }

  /** Plain JSON for people, metrics and pages. */
  snapshot(): WaitingRoomSnapshot {
    const nowMs = this.#clock()
    const { head, passed } = this.#bypass
    return {
      closed: this.#closed,
      came: this.#came,
      exempted: this.#exempted,
      startedAtOnce: this.#startedAtOnce,
      startedLater: this.#startedLater,
      refused: this.#refused,
      refusedBy: Object.fromEntries(this.#refusedBy),
      waiting: this.#waiting.size,
      running: this.#running,
      durationMs: this.#durations.mean,
      passing: head && { width: head.width, passed },
      capacityErrors: this.#supply.errors,
      bands: this.#bands.all.map((band) => {
        const perMs = band.drain.perMs(nowMs)
        return {
          waiting: band.waiting,
          credit: band.credit,
          drainPerSecond: perMs === undefined ? undefined : 1_000 * perMs,
          queue: band.queue.snapshot(),
        }
      }),
      capacity: this.#supply.capacity.snapshot(),
    }
  }

  /** Refuses what waits and what comes, with reason `closed`. What runs may still finish. Closing twice is no error. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#stopListening()
    const nowMs = this.#clock()
    for (let waiter = this.#waiting.first; waiter !== undefined; waiter = this.#waiting.first)
      this.#remove(waiter, 'closed', nowMs)
    this.#tidy()
    for (const { appointments } of this.#bands.all) appointments.clear()
  }

  #show(verdict: Verdict, flow: string): QueuePermit | Refusal {
    if (verdict instanceof Waiter) return new RunningRequest(verdict, this.#clock)
    if (verdict !== undefined && 'admitted' in verdict) return verdict
    return { admitted: true, flow, waitedMs: 0, finish: () => {} }
  }

  #admit(
    passage: Passage,
    cost: number,
    width: number | undefined,
    bandIndex: number | undefined,
    deadlineMs: number | undefined,
  ): Verdict | Promise<Verdict> {
    const { flow, nowMs } = passage
    // What the options' functions throw must leave no trace, so they are all asked first.
    width ??= this.#wishes.width(passage)
    const band = this.#bands.all[bandIndex ?? this.#wishes.band(passage)]!
    deadlineMs ??= this.#wishes.deadlineMs(passage)
    const className = this.#wishes.className(passage)
    this.#came++
    if (this.#closed) return this.#refusal('closed', UNKNOWN_MS)
    if (passage.exempt) {
      this.#exempted++
      return this.#exempt
    }
    if (deadlineMs <= 0) return this.#refusal('deadline', UNKNOWN_MS, { deadlineMs })
    const waiter = new Waiter(this.#host, flow, cost, width, band, className, nowMs)
    try {
      const { maximum } = this.#supply.capacity
      if (width > maximum + ROUNDING) return this.#refusal('too-wide', NEVER_MS, { width, maximum })
      if (this.#isDue(nowMs)) this.#wake(nowMs)
      if (!this.#bands.anyUpTo(band) && this.#bypass.allows(width) && this.#supply.capacity.tryTake(width, nowMs)) {
        this.#startedAtOnce++
        this.#bands.started(band, cost)
        this.#run(waiter, nowMs)
        return waiter
      }
      return this.#wait(waiter, passage, deadlineMs)
    } catch (error) {
      this.#came--
      throw error
    }
  }

  /** Takes a place in the queue, unless there is no point in that. */
  #wait(waiter: Waiter, passage: Passage, deadlineMs: number): Verdict | Promise<Verdict> {
    const { flow, cost, band, arrivedMs: nowMs } = waiter
    const expectedMs = deadlineMs === Number.POSITIVE_INFINITY ? 0 : this.#durations.expected(waiter.className)
    const waitMs = Math.min(this.#settings.maxWaitMs, deadlineMs - expectedMs)
    if (waitMs <= 0) return this.#refusal('deadline', UNKNOWN_MS, { deadlineMs, expectedMs })
    waiter.startByMs = nowMs + waitMs
    const hopeless = this.#wouldWaitTooLong(waiter, waitMs)
    if (hopeless !== undefined) return hopeless
    const { signal } = passage
    if (signal?.aborted === true) return this.#refusal('gone', 0)
    this.#perturbIfDue(nowMs)
    waiter.signal = signal
    try {
      signal?.addEventListener('abort', waiter)
      this.#waiting.add(waiter)
      this.#alarm.set(this.#waiting.first?.startByMs, nowMs)
      const answer = band.queue.enqueue(flow, waiter, cost)
      if ('refused' in answer) {
        this.#unlist(waiter, nowMs)
        return this.#full(waiter, answer, nowMs)
      }
      waiter.ticket = answer
    } catch (error) {
      this.#unlist(waiter, nowMs)
      throw error
    }
    this.#untidy = true
    waiter.state = 'waiting'
    band.came(nowMs)
    if (this.#settings.newestFirst) {
      const overloadedMs = Math.max(OVERLOADED_MS, OVERLOADED_DURATIONS * this.#durations.mean)
      if (band.backlogs.came(flow, nowMs) >= overloadedMs) band.queue.takeNewest(flow)
    }
    const evicted = waiter.ticket.evicted?.item
    if (evicted !== undefined) this.#turnAway(evicted, 'evicted', nowMs)
    // Slots may be free: the head was too wide for them, and others may pass it.
    if (this.#mayStart()) this.#pump(nowMs)
    if (waiter.verdict !== undefined) return waiter.verdict
    return new Promise((resolve) => {
      waiter.resolve = resolve
    })
  }

  /** The signal of a waiting request fired. */
  #left(waiter: Waiter): void {
    if (waiter.state !== 'waiting') return
    const nowMs = this.#clock()
    this.#remove(waiter, 'gone', nowMs)
    this.#resume(nowMs)
  }

  /** A request that ran has ended. */
  #finished(waiter: Waiter, outcome: Outcome, cost: number, nowMs: number): void {
    this.#running--
    const durationMs = Math.max(0, nowMs - waiter.startedMs)
    if (outcome === 'success') this.#durations.learn(waiter.className, durationMs)
    try {
      this.#settle(waiter, Math.min(MOST_COST, cost))
    } finally {
      this.#supply.capacity.release(waiter.width, outcome, durationMs, nowMs)
      this.#afterwards(nowMs)
    }
  }

  /** A request that started did not run after all. */
  #undone(waiter: Waiter, nowMs: number): void {
    this.#running--
    this.#settle(waiter, 0)
    this.#supply.capacity.undo(waiter.width, nowMs)
    this.#afterwards(nowMs)
  }

  /** Time has passed: turns away what waited for too long, and lets others take the place. */
  #wake(nowMs: number = this.#clock()): void {
    this.#expire(nowMs)
    // The timer was early, or is needed for the next.
    this.#alarm.set(this.#waiting.first?.startByMs, nowMs)
    this.#resume(nowMs)
  }

  /** After something left without having started: what stood behind it may fit. */
  #resume(nowMs: number): void {
    if (this.#mayStart()) this.#pump(nowMs)
    if (this.#waiting.size === 0 && this.#running === 0) this.#tidy()
  }

  /** After slots came back; the capacity has told us already, unless it was not able to. */
  #afterwards(nowMs: number): void {
    if (this.#supply.untold) this.#pump(nowMs)
    if (this.#waiting.size === 0) this.#tidy()
  }

  /** Whether there is something to be started and something to start it with. */
  #mayStart(): boolean {
    return this.#waiting.size > 0 && (this.#supply.untold || this.#supply.anyFree())
  }

  /** Starts all that may. */
  #pump(nowMs: number = this.#clock()): void {
    if (this.#pumping || this.#waiting.size === 0) return
    this.#pumping = true
    this.#supply.untold = false
    try {
      this.#expire(nowMs)
      while (this.#startNext(nowMs));
    } finally {
      this.#pumping = false
    }
  }

  /** Starts one, or has one that does not fit be passed; false if there is nothing more to do. */
  #startNext(nowMs: number): boolean {
    const { head: passing } = this.#bypass
    if (passing !== undefined && this.#supply.take(passing.width, nowMs)) {
      this.#bypass.clear()
      this.#startWaiting(passing, nowMs)
      return true
    }
    const band = this.#bands.next()
    if (band === undefined) return false
    const { item: head, cost } = band.queue.peek()!
    if (!this.#bypass.allows(head.width)) return false
    const fits = this.#supply.take(head.width, nowMs)
    if (!fits && (passing !== undefined || !this.#supply.anyFree())) return false
    // Its turn has come. What does not fit keeps its turn: it leaves the queue, so that nobody comes before it there.
    band.queue.dequeue()
    this.#bands.started(band, cost)
    if (fits) this.#startWaiting(head, nowMs)
    else this.#bypass.hold(head)
    return true
  }

  #startWaiting(waiter: Waiter, nowMs: number): void {
    this.#startedLater++
    waiter.band.drain.started(waiter.cost, nowMs)
    this.#unlist(waiter, nowMs)
    this.#run(waiter, nowMs)
    waiter.answer(waiter)
  }

  #run(waiter: Waiter, nowMs: number): void {
    this.#running++
    this.#bypass.pass(waiter.width)
    waiter.state = 'running'
    waiter.startedMs = nowMs
  }

  #isDue(nowMs: number): boolean {
    const { first } = this.#waiting
    return first !== undefined && first.startByMs <= nowMs
  }

  #expire(nowMs: number): void {
    while (this.#isDue(nowMs)) this.#remove(this.#waiting.first!, 'expired', nowMs)
  }

  /** Takes a waiting request from wherever it waits, and turns it away. It costs its flow nothing. */
  #remove(waiter: Waiter, reason: QueueReason, nowMs: number): void {
    if (waiter === this.#bypass.head) {
      this.#bypass.clear()
      this.#settle(waiter, 0)
      this.#bands.refund(waiter.band, waiter.cost)
    } else if (waiter.ticket !== undefined) waiter.band.queue.remove(waiter.ticket)
    this.#turnAway(waiter, reason, nowMs)
  }

  /** Refuses a request that is out of its queue. */
  #turnAway(waiter: Waiter, reason: QueueReason, nowMs: number): void {
    this.#unlist(waiter, nowMs)
    waiter.state = 'done'
    const waitedMs = nowMs - waiter.arrivedMs
    const retryMs = this.#retryMs(waiter, reason, nowMs)
    waiter.answer(this.#refusal(reason, retryMs, { waitedMs, band: waiter.band.index }))
  }

  /** Forgets that a request waits: no timer, no listener, and what is known of its flow and band is up to date. */
  #unlist(waiter: Waiter, nowMs: number): void {
    this.#waiting.delete(waiter)
    if (this.#waiting.size === 0) this.#alarm.set(undefined, nowMs)
    waiter.signal?.removeEventListener('abort', waiter)
    waiter.signal = undefined
    if (waiter.state !== 'waiting') return
    const { band } = waiter
    band.left(nowMs)
    if (this.#settings.newestFirst) band.backlogs.left(waiter.flow)
  }

  #settle(waiter: Waiter, cost: number): void {
    if (waiter.ticket === undefined || this.#closed) return
    this.#untidy = true
    waiter.band.queue.settle(waiter.ticket, cost)
  }

  /** Nobody waits: the fair queues may forget whose turn it was, and who owes. */
  #tidy(): void {
    if (!this.#untidy) return
    this.#untidy = false
    for (const { queue } of this.#bands.all) queue.dequeue()
  }

  #full(waiter: Waiter, { refused, waiting, limit, ...standing }: Refused, nowMs: number): Refusal {
    const { band } = waiter
    const detail = { waiting, limit, band: band.index }
    if (refused === 'full') return this.#refusal('queue-full', band.comeBackToAllMs(waiter.cost, nowMs), detail)
    return this.#refusal('flow-full', band.comeBackMs(waiter, standing, 0, nowMs), detail)
  }

  #perturbIfDue(nowMs: number): void {
    const { perturbEveryMs } = this.#settings
    if (perturbEveryMs === undefined || ++this.#callsSince < PERTURB_EVERY_CALLS) return
    if (nowMs - this.#perturbedMs < perturbEveryMs) return
    this.#perturbedMs = nowMs
    this.#callsSince = 0
    for (const { queue } of this.#bands.all) queue.perturb()
  }

  #wouldWaitTooLong(waiter: Waiter, waitMs: number): Refusal | undefined {
    const { flow, band, arrivedMs: nowMs } = waiter
    if (this.#settings.newestFirst || band.queue.waiting < LONG_BACKLOG) return undefined
    const perMs = band.drain.perMs(nowMs)
    if (perMs === undefined) return undefined
    const standing = band.queue.standing(flow)
    const { waiting, cost, share } = standing
    const expectedMs = cost / (share * perMs)
    if (waiting < LONG_BACKLOG || expectedMs <= TOO_LONG * waitMs) return undefined
    const detail = { waiting, expectedMs, waitMs, band: band.index }
    return this.#refusal('would-wait-too-long', band.comeBackMs(waiter, standing, waitMs, nowMs), detail)
  }

  /** When a client that waited in vain should come back. Never throws, unlike `weightOf`. */
  #retryMs(waiter: Waiter, reason: QueueReason, nowMs: number): number {
    if (reason === 'gone') return 0
    if (reason === 'closed') return UNKNOWN_MS
    try {
      const mayWaitMs = reason === 'expired' ? this.#settings.maxWaitMs : 0
      return waiter.band.comeBackMs(waiter, waiter.band.queue.standing(waiter.flow), mayWaitMs, nowMs)
    } catch {
      return UNKNOWN_MS
    }
  }

  #refusal(reason: QueueReason, retryMs: number, detail?: Readonly<Record<string, unknown>>): Refusal {
    this.#refused++
    this.#refusedBy.set(reason, (this.#refusedBy.get(reason) ?? 0) + 1)
    return turnAway(this.name, reason, retryMs, detail)
  }
}
