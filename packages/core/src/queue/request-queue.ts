import type { Outcome } from '../admission/outcome.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Mechanism, Passage, Stage, Verdict } from '../admission/stage.js'
import { type Clock, steady } from '../clock.js'
import { requireOptions, withDefaults } from '../options.js'
import { LEAST_COST, MOST_COST, type Refused } from '../sfq/options.js'
import { Durations, UNKNOWN_MS } from './estimates.js'
import { FlowSlots } from './flow-slots.js'
import {
  bandOfPriority,
  isCapped,
  QUEUE_OPTIONS,
  type QueueOptions,
  type QueueSettings,
  queueSettings,
  type RequestQueueOptions,
  type RequestQueueSnapshot,
  safely,
} from './options.js'
import {
  isWaiting,
  passageOf,
  QueuedRequest,
  type QueuePermit,
  type QueueReason,
  type QueueRequest,
  type RequestHost,
  type Said,
  SHORTAGE,
} from './queued-request.js'
import { SlotSupply } from './slots.js'
import { WaitingList } from './waiting-list.js'

/** A request beyond both is refused: this many waiting requests of its flow, and this part of its waiting time. */
const LONG_BACKLOG = 4
const TOO_LONG = 0.8

const NOTHING_SAID: Said = {}
const EXEMPT: Hold = { finish: () => {}, undo: () => {} }

/**
 * Lets requests wait for capacity, and starts them in fair turns.
 *
 * A request starts at once if slots are free and none waits before it; otherwise it takes its place in the fair queue
 * of its band. It leaves exactly once: it starts; its time is up, after which it never starts even if timers are late;
 * its signal fires; it is evicted for a flow with less waiting; or the queue closes. Then nothing of it is kept.
 *
 * - Time: `maxWaitMs`, or less if a deadline leaves less after the usual duration of such requests. A request that can
 *   start at once is refused for its deadline only if that has passed; otherwise one slow period would have every
 *   request refused, and the estimate of durations could never recover.
 * - Width: at its turn a request may be too wide for the free slots; see `Backfill`.
 * - Bands: see `Bands`. Exempt requests neither wait nor take slots.
 *
 * A stage of a gate, and useful alone by {@link RequestQueue.enter}. It has one timer, while a request waits, and no
 * background work. Starting at once is O(bands); waiting, and leaving, O(log n) where n wait. Memory is in proportion
 * to the waiting requests and to the flows with refused clients that are to come back within the minute, up to ten
 * thousand per band. Reasons for refusals are listed at {@link QueueReason}.
 */
export class RequestQueue implements Stage {
  readonly name: 'queue' = 'queue'
  readonly onError: 'admit' | 'refuse'
  readonly prompt = true

  readonly #settings: QueueSettings
  readonly #clock: Clock
  readonly #durations = new Durations()
  readonly #slots: FlowSlots
  readonly #supply: SlotSupply
  readonly #list: WaitingList
  readonly #stopListening: () => void
  readonly #refusedBy = new Map<QueueReason, number>()
  #came = 0
  #exempted = 0
  #refused = 0
  #running = 0
  #startedAtOnce = 0
  #startedLater = 0
  #dispatching = false
  /** The time while slots of a request of this queue are returned; else NaN. */
  #endingMs: number = Number.NaN
  /** A request waits although slots are free, because its flow or band is at its limit. */
  #capped = false

  /** Throws a `RangeError` or `TypeError` that names the option and its value. Starts no timer. */
  constructor(options: RequestQueueOptions) {
    const settings = queueSettings(options)
    this.#settings = settings
    this.onError = settings.onError
    this.#clock = steady(settings.clock)
    const { capacity, pool } = settings
    this.#slots = new FlowSlots((band) => this.#list.slotsFor(band), isCapped(settings), pool?.perFlow)
    this.#supply = new SlotSupply(capacity, pool?.size)
    this.#list = new WaitingList(settings, {
      clock: this.#clock,
      durations: this.#durations,
      slots: this.#slots,
      supply: this.#supply,
      refuse: this.#refuse,
      due: () => this.wake(this.#clock()),
    })
    this.#stopListening = this.#supply.onAvailable(
      () => this.#slotsCameFree(),
      () => this.#list.size,
    )
  }

  /** Called by the gate. Takes the time from `passage`, and answers synchronously unless the request has to wait. */
  admit(passage: Passage): Verdict | Promise<Verdict> {
    const asked = this.ask(passage)
    return isWaiting(asked) ? asked.answered() : asked
  }

  /** @internal The same, but returns a request that has to wait; `isWaiting` tells it from one that has started. */
  ask(passage: Passage): Verdict {
    const cost = Math.min(MOST_COST, Math.max(LEAST_COST, passage.cost))
    return this.#admit(passage, cost, NOTHING_SAID)
  }

  /**
   * The same without a gate: a permit, or a refusal, or the promise of one, which never rejects. Throws the error of an
   * option's function, or a `RangeError` or `TypeError` that names the invalid property of `request`, and then keeps
   * nothing of it.
   */
  enter(request: QueueRequest): QueuePermit | Refusal | Promise<QueuePermit | Refusal> {
    const passage = passageOf(request, this.#settings, this.#clock())
    const { signal } = request
    if (signal?.aborted === true) {
      this.#came++
      return this.#refuse('gone', 0)
    }
    const asked = this.#admit(passage, passage.cost, request)
    return isWaiting(asked) ? asked.turn().then(() => this.#show(asked.verdict, passage)) : this.#show(asked, passage)
  }

  /** Plain JSON for people, metrics and pages. */
  snapshot(): RequestQueueSnapshot {
    const nowMs = this.#clock()
    const { waiting, passing, bands } = this.#list.snapshot(nowMs)
    return {
      closed: this.#list.closed,
      came: this.#came,
      exempted: this.#exempted,
      startedAtOnce: this.#startedAtOnce,
      startedLater: this.#startedLater,
      refused: this.#refused,
      refusedBy: Object.fromEntries(this.#refusedBy),
      waiting,
      running: this.#running,
      durationMs: this.#durations.mean,
      passing,
      capacityErrors: this.#supply.errors,
      bands,
      flows: this.#list.flows(nowMs),
      ...this.#supply.snapshot(),
    }
  }

  /**
   * State of a flow: number and expected cost of its waiting requests, its running requests, and its part of the
   * service if it waits: 0 to 1, in its best band; with weight 1 if `weightOf` throws.
   */
  explain(flow: string): { waiting: number; cost: number; running: number; share: number } {
    const standings = this.#list.standings(flow)
    const waiting = standings.reduce((sum, standing) => sum + standing.waiting, 0)
    const cost = standings.reduce((sum, standing) => sum + standing.cost, 0)
    return { waiting, cost, running: this.#slots.held(flow), share: Math.max(...standings.map(({ share }) => share)) }
  }

  /** Refuses the requests that have waited for too long, as the queue's timer does; see `gate.wake()`. */
  wake(nowMs: number): void {
    this.#list.expire(nowMs)
    this.#resume(nowMs)
  }

  /** Refuses waiting and new requests, with reason `closed`. Running ones may finish. A second call does nothing. */
  close(): void {
    if (this.#list.closed) return
    this.#list.close(this.#clock())
    this.#stopListening()
  }

  /**
   * The options' functions provide missing properties. Throws their errors or the capacity's, and then keeps nothing.
   */
  #admit(passage: Passage, cost: number, said: Said): Verdict {
    const { nowMs } = passage
    const settings = this.#settings
    // If an option's function throws, nothing must have changed, so all are called first.
    const { bands, bandOf, deadlineMsOf } = settings
    const index = said.band ?? bandOf?.(passage) ?? bandOfPriority(passage.priority, bands.length)
    const band = this.#list.band(index)
    const request = new QueuedRequest(this.#host, settings, passage, cost, band, said)
    const deadlineMs = said.deadlineMs ?? deadlineMsOf?.(passage) ?? Number.POSITIVE_INFINITY
    this.#came++
    if (this.#list.closed) return this.#refuse('closed', UNKNOWN_MS)
    if (passage.exempt) {
      this.#exempted++
      return EXEMPT
    }
    if (deadlineMs <= 0) return this.#refuse('deadline', UNKNOWN_MS, { deadlineMs })
    const mayMore = this.#slots.retell(request)
    try {
      if (mayMore || this.#list.isDue(nowMs)) this.wake(nowMs)
      const tooWide = this.#supply.tooWide(request)
      if (tooWide !== undefined) return this.#refuse('too-wide', Number.POSITIVE_INFINITY, { ...tooWide })
      return this.#startAtOnce(request, nowMs) ? request : this.#wait(request, passage, deadlineMs)
    } catch (error) {
      this.#came--
      throw error
    }
  }

  /** Throws the capacity's error. */
  #startAtOnce(request: QueuedRequest, nowMs: number): boolean {
    if (!this.#list.mayStart(request)) return false
    if (!this.#list.mayRun(request)) {
      // The capacity was not asked: it would not notify when a slot is free for another flow.
      this.#capped = true
      this.#supply.listen(nowMs)
      return false
    }
    if (!this.#supply.tryTake(request, nowMs)) return false
    this.#startedAtOnce++
    this.#list.startedAtOnce(request)
    this.#slots.startsAtOnce(request, nowMs)
    this.#run(request, nowMs)
    return true
  }

  /** Lets a request wait, unless that is hopeless. */
  #wait(request: QueuedRequest, { signal }: Passage, deadlineMs: number): Verdict {
    const nowMs = request.arrivedMs
    const expectedMs = deadlineMs === Number.POSITIVE_INFINITY ? 0 : this.#durations.expected(request.className)
    const waitMs = Math.min(this.#settings.maxWaitMs, deadlineMs - expectedMs)
    if (waitMs <= 0) return this.#refuse('deadline', UNKNOWN_MS, { deadlineMs, expectedMs })
    request.startByMs = nowMs + waitMs
    const hopeless = this.#refuseHopeless(request, waitMs)
    if (hopeless !== undefined) return hopeless
    if (signal?.aborted === true) return this.#refuse('gone', 0)
    const full = this.#list.add(request, signal, nowMs)
    if (full !== undefined) return this.#refuseFull(request, full, nowMs)
    // Slots may be free: the head was too wide for them, and others may pass it. Or `weightOf` ended a running request.
    this.#resume(nowMs)
    return request.verdict ?? request
  }

  /** Refuses a request whose turn would not come in time. */
  #refuseHopeless(request: QueuedRequest, waitMs: number): Refusal | undefined {
    const { path, band, arrivedMs: nowMs } = request
    if (this.#settings.newestFirst || this.#slots.waiting(request) < LONG_BACKLOG) return undefined
    const outlook = band.outlook(path, nowMs)
    if (outlook === undefined) return undefined
    const { standing, expectedMs } = outlook
    if (standing.waiting < LONG_BACKLOG || expectedMs <= TOO_LONG * waitMs) return undefined
    const detail = { waiting: standing.waiting, expectedMs, waitMs, band: band.index }
    return this.#refuse('would-wait-too-long', band.retryMs(request, standing, waitMs, nowMs), detail)
  }

  #refuseFull(request: QueuedRequest, { refused, waiting, limit, ...standing }: Refused, nowMs: number): Refusal {
    const { band } = request
    const detail = { waiting, limit, band: band.index }
    if (refused === 'full') return this.#refuse('queue-full', band.retryWhenFullMs(request.cost, nowMs), detail)
    return this.#refuse('flow-full', band.retryMs(request, standing, 0, nowMs), detail)
  }

  /** Receives the events of the requests. */
  readonly #host: RequestHost = {
    aborted: (request) => {
      if (request.state !== 'waiting') return
      const nowMs = this.#clock()
      this.#list.remove(request, 'gone', nowMs)
      this.#resume(nowMs)
    },
    charged: (request, costSoFar) => this.#list.charge(request, Math.min(MOST_COST, costSoFar)),
    finished: (request, outcome, cost, nowMs, isNamed) => this.#finished(request, outcome, cost, nowMs, isNamed),
    undone: (request, nowMs) => {
      this.#ended(request, 0, 0, nowMs)
      this.#list.settle(request, 0, false)
      this.#giveBack(request, nowMs)
    },
    contest: (request) => this.#slots.contest(request, this.#supply.limit),
  }

  #finished(request: QueuedRequest, outcome: Outcome, cost: number, nowMs: number, isNamed: boolean): void {
    const durationMs = Math.max(0, nowMs - request.startedMs)
    // A failed request without a named cost is no evidence about others.
    const teaches = outcome === 'success' || isNamed
    if (cost > request.cost && this.#slots.isLatest(request)) this.#list.owes(request, Math.min(MOST_COST, cost))
    this.#ended(request, durationMs, teaches ? cost : 0, nowMs)
    if (outcome === 'success') this.#durations.learn(request.className, durationMs)
    this.#list.settle(request, Math.min(MOST_COST, cost), teaches)
    this.#giveBack(request, nowMs, outcome, durationMs)
  }

  #ended(request: QueuedRequest, ranMs: number, cost: number, nowMs: number): void {
    this.#running--
    request.band.ends(request)
    this.#slots.ends(request, ranMs, Math.min(MOST_COST, cost), nowMs)
  }

  /** Returns the slots. The capacity notifies its listeners, unless it fails. */
  #giveBack(request: QueuedRequest, nowMs: number, outcome?: Outcome, durationMs?: number): void {
    this.#endingMs = nowMs
    try {
      this.#supply.end(request, nowMs, outcome, durationMs)
    } finally {
      this.#endingMs = Number.NaN
      if (this.#supply.mustRetry || this.#capped) this.#dispatch(nowMs)
      this.#list.tidy()
    }
  }

  /** The capacity has more, possibly because of another queue. */
  #slotsCameFree(): void {
    if (this.#list.size === 0 || this.#supply.isTaking) return
    this.#dispatch(Number.isNaN(this.#endingMs) ? this.#clock() : this.#endingMs)
    if (this.#running === 0) this.#list.tidy()
  }

  /** A request was added, or left without having started: starts the requests that may start now. */
  #resume(nowMs: number): void {
    if (this.#list.size > 0) this.#supply.wake(nowMs)
    if (this.#list.size > 0 && (this.#supply.mustRetry || this.#list.isDivided || this.#supply.anyFree()))
      this.#dispatch(nowMs)
    if (this.#running === 0) this.#list.tidy()
  }

  /**
   * Starts all waiting requests that may start. Afterwards the capacity has refused, and notifies when it is worth
   * asking again; or it failed, and is asked again at the next call of any kind.
   */
  #dispatch(nowMs: number): void {
    if (this.#dispatching || this.#list.size === 0) return
    this.#dispatching = true
    this.#supply.mustRetry = false
    this.#capped = false
    try {
      this.#list.expire(nowMs)
      while (this.#startNext(nowMs));
    } finally {
      this.#dispatching = false
    }
  }

  /** Starts one request, or lets one that does not fit be passed; false if no further step is possible. */
  #startNext(nowMs: number): boolean {
    const passed = this.#list.passed(nowMs)
    if (passed !== undefined && this.#outgrown(passed, nowMs)) return true
    if (passed !== undefined) {
      if (this.#list.mayRun(passed)) {
        if (this.#startWaiting(passed, nowMs)) return true
      } else this.#mayTellNothing(nowMs)
    }
    if (this.#supply.mustRetry || (passed === undefined && this.#isFull(nowMs))) return false
    // Of a flow within its share, if one waits; never of a flow or a band at its limit.
    const head = this.#list.next(nowMs)
    if (head === undefined || this.#list.passedOver) this.#mayTellNothing(nowMs)
    if (head === undefined) return false
    if (this.#outgrown(head, nowMs)) return true
    if (!this.#list.mayPass(head)) return false
    if (!this.#list.mayRun(head)) {
      this.#list.hold(head)
      return true
    }
    if (this.#startWaiting(head, nowMs)) return true
    const { changes } = this.#list
    if (passed !== undefined || this.#supply.mustRetry || !this.#supply.anyFree()) return false
    if (this.#list.changes === changes) this.#list.hold(head)
    return true
  }

  /** Whether no slot is free. Requests one, so that the capacity notifies, but chooses no flow: others may come. */
  #isFull(nowMs: number): boolean {
    const { first } = this.#list
    if (first === undefined || this.#supply.anyFree() || this.#supply.mustRetry) return this.#supply.mustRetry
    // A capacity need not notify about more than its maximum, which may have fallen.
    const need = { width: Math.min(first.width, this.#supply.maximum), units: 0 }
    if (!this.#supply.take(need, nowMs)) return true
    this.#supply.giveBack(need, nowMs)
    return false
  }

  /** Shares hold back the waiting requests: the capacity was not asked, and will not notify when it has more. */
  #mayTellNothing(nowMs: number): void {
    this.#capped = this.#list.size > 0
    if (this.#capped) this.#supply.listen(nowMs)
  }

  /** Refuses a request that can never start, because the capacity or the pool has become too small. */
  #outgrown(request: QueuedRequest, nowMs: number): boolean {
    const tooWide = this.#supply.tooWide(request)
    if (tooWide === undefined) return false
    this.#list.remove(request, 'too-wide', nowMs, tooWide)
    return true
  }

  /**
   * Starts a waiting request, if possible. Also true if a request came or left meanwhile: the turn may have changed.
   */
  #startWaiting(request: QueuedRequest, nowMs: number): boolean {
    const { changes } = this.#list
    const taken = this.#supply.take(request, nowMs)
    if (this.#list.changes !== changes) {
      if (taken) this.#supply.giveBack(request, nowMs)
      return true
    }
    if (!taken) return false
    this.#startedLater++
    this.#list.start(request, nowMs)
    this.#run(request, nowMs)
    request.answer(request)
    return true
  }

  #run(request: QueuedRequest, nowMs: number): void {
    this.#running++
    request.band.runs(request)
    request.state = 'running'
    request.startedMs = nowMs
  }

  readonly #refuse = (reason: QueueReason, retryMs: number, detail?: Readonly<Record<string, unknown>>): Refusal => {
    this.#refused++
    this.#refusedBy.set(reason, (this.#refusedBy.get(reason) ?? 0) + 1)
    return refuse(this.name, reason, SHORTAGE[reason], retryMs, detail)
  }

  #show(verdict: Verdict, { flow }: Passage): QueuePermit | Refusal {
    if (verdict instanceof QueuedRequest) return verdict.permit(this.#clock)
    if (verdict !== undefined && 'admitted' in verdict) return verdict
    return { admitted: true, flow, waitedMs: 0, charge: () => {}, finish: () => {} }
  }
}

/**
 * A queue for `createGate({ queue })`: requests wait until they may run, and flows take turns. Each gate that uses it
 * has its own queue. Throws a `TypeError` on an unknown option; the values of options are checked when the gate is
 * created.
 */
export function requestQueue(options: QueueOptions): Mechanism<'queue'> {
  requireOptions('queue', options, QUEUE_OPTIONS)
  return {
    place: 'queue',
    stage: ({ clock, after, random, weightOf, failed }) => {
      const weighted = weightOf === undefined ? options : withDefaults(options, { weightOf })
      const safe = safely(weighted, (error) => failed('queue', error))
      return new RequestQueue({ ...safe, clock, after, ...(random && { random }) })
    },
  }
}
