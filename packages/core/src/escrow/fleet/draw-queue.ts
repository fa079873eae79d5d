import type { After, Clock } from '../../clock.js'
import { andThen } from '../../rejection.js'
import type { PoolAccount, Wish } from './account.js'
import type { DrawingSettings } from './options.js'
import { pulseOf } from './store.js'

/** A heartbeat is delayed by this factor: usually, a refused tenant has asked again by then. */
const LATE = 1.125

/** The owner of a {@link Pulse}. */
interface Beating {
  /** Time of the last event. */
  lastUseMs(): number
  /** Time of the last heartbeat. */
  lastSignMs(): number
  /** Whether heartbeats are needed. */
  isOpen(): boolean
  /** Sends a heartbeat. There may have been no event for a while. */
  sign(isIdle: boolean): void
}

/** One timer: sends a heartbeat at regular intervals while needed, and after an interval without events. */
export class Pulse {
  readonly #everyMs: number
  readonly #settings: DrawingSettings
  readonly #beating: Beating
  #cancel: (() => void) | undefined
  #dueMs = 0

  constructor(settings: DrawingSettings, beating: Beating) {
    this.#everyMs = pulseOf(settings.terms.windowMs)
    this.#settings = settings
    this.#beating = beating
  }

  /** Starts the timer, unless it runs. A long overdue one was lost, as those of a worker's former requests are. */
  start(nowMs: number): void {
    if (this.#cancel === undefined) {
      if (this.#beating.isOpen()) this.#set(nowMs)
    } else if (nowMs > this.#dueMs + this.#everyMs) this.#ring()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #set(nowMs: number): void {
    const { lastUseMs, lastSignMs } = this.#beating
    const usedMs = lastUseMs()
    const dueMs = lastSignMs() + this.#everyMs * LATE
    // A heartbeat that could not be sent, because no call was possible, is tried again.
    const signMs = dueMs > nowMs ? dueMs : nowMs + this.#everyMs / 2
    const idleMs = usedMs + this.#everyMs
    const nextMs = idleMs > nowMs ? Math.min(idleMs, signMs) : signMs
    this.#dueMs = nextMs
    this.#cancel = this.#settings.after(Math.max(1, nextMs - nowMs), () => this.#ring())
  }

  #ring(): void {
    this.stop()
    if (!this.#beating.isOpen()) return
    const nowMs = this.#settings.clock()
    const isIdle = nowMs - this.#beating.lastUseMs() >= this.#everyMs
    if (isIdle || nowMs - this.#beating.lastSignMs() >= this.#everyMs * LATE) this.#beating.sign(isIdle)
    this.#set(nowMs)
  }
}

const STEPS = 4
const MOST_TIMES = 4
const LATE_MS = 5

/**
 * Calls `end` after `ms` of running time of this process; the returned function cancels it. The time is counted in
 * steps. A step that took much longer than expected does not count, because the process stalled, and an answer that has
 * arrived meanwhile is read before the next step ends. Ends after 16 steps at the latest.
 */
export function countdown(ms: number, clock: Clock, after: After, end: () => void): () => void {
  const stepMs = ms / STEPS
  let restMs = ms
  let steps = 0
  let fromMs = clock()
  const ring = (): void => {
    const nowMs = clock()
    const tookMs = nowMs - fromMs
    fromMs = nowMs
    steps++
    if (tookMs <= 1.5 * stepMs + LATE_MS) restMs -= tookMs
    if (restMs <= 1e-6 || steps >= MOST_TIMES * STEPS) end()
    else cancel = after(Math.min(stepMs, restMs), ring)
  }
  let cancel = after(stepMs, ring)
  return () => cancel()
}

/** The purpose of a lease, and its result. */
export interface Errand<Result> {
  /** The cost of its check or settlement. */
  readonly cost: number
  /** Whether it is within its tenant's guarantee, by the last attempt. */
  isDue(): boolean
  /** The wish for the next lease; others wait behind this one, for `behind` together. */
  wish(behind: number): Wish
  /** The result, once there is enough credit; undefined if more has to be drawn. */
  attempt(): Result | undefined
  /** The result if the store fails. */
  giveUp(): Result
}

/** Every so many leases, the first in line draws, though others are within their guarantees: it learns its refusal. */
const TURN = 4

/** Most that are tried for each answer of the store, if more draws are needed: each try costs some microseconds. */
const MOST_TRIED = 256

/** A check or a settlement that waits for a lease. */
interface WaitingErrand {
  readonly errand: Errand<unknown>
  finish(result: unknown): void
}

/**
 * The checks and settlements that wait for credit. When a lease is answered, all for which there is enough are served,
 * first come, first served; of the others, the first within its tenant's guarantee draws another lease, or else the
 * first. So one that needs more than there is, or that will be refused, holds up nobody, and a tenant that asks often
 * does not keep the store busy.
 *
 * None waits longer than two calls may take, nor for a store that has failed; the next check tries it again.
 */
export class DrawQueue {
  readonly #account: PoolAccount
  readonly #settings: DrawingSettings
  readonly #waiters: Set<WaitingErrand> = new Set()
  #served = 0

  constructor(account: PoolAccount, settings: DrawingSettings) {
    this.#account = account
    this.#settings = settings
  }

  /** Draws leases until the errand is done: synchronously if the store answers synchronously. */
  run<Result>(errand: Errand<Result>): Result | Promise<Result> {
    for (;;) {
      const nowMs = this.#settings.clock()
      const hadFailed = this.#account.hasFailed
      // The errands in front have caused the line to be served.
      if (this.#waiters.size > 0 && !hadFailed) return this.#wait(errand)
      const lease = this.#account.draw(() => errand.wish(0), nowMs)
      if (lease !== undefined && !hadFailed) {
        const result = this.#wait(errand)
        this.#serveAfter(lease)
        return result
      }
      // An errand that retries a failed store does not wait for it.
      if (this.#account.hasFailed) return errand.giveUp()
      const result = errand.attempt()
      if (result !== undefined) return result
    }
  }

  /**
   * Draws one lease with this wish, after a pending or unanswered call, and after those that others draw meanwhile;
   * gives up after `most` calls, or when the store fails. A store that has just failed is tried once more.
   */
  drawOwn(wish: () => Wish, now: () => number, most: number): void | Promise<void> {
    let isDrawn = false
    const own = (): Wish => {
      isDrawn = true
      return wish()
    }
    const wasCalling = this.#account.isCalling
    const done = this.#account.draw(own, now(), true)
    if (isDrawn || most <= 1) return done
    const again = (): void | Promise<void> =>
      this.#account.hasFailed && !wasCalling ? undefined : this.drawOwn(wish, now, most - 1)
    return andThen<void, void>(done, again)
  }

  #wait<Result>(errand: Errand<Result>): Promise<Result> {
    const { storeTimeoutMs, clock, after } = this.#settings
    return new Promise((resolve) => {
      const finish = (result: unknown): void => {
        cancel()
        this.#waiters.delete(waiter)
        resolve(result as Result)
      }
      const waiter: WaitingErrand = { errand, finish }
      // For the pending call and its own, each of which may take that long.
      const cancel = countdown(2 * storeTimeoutMs, clock, after, () => finish(errand.attempt() ?? errand.giveUp()))
      this.#waiters.add(waiter)
    })
  }

  /** The need of the first in line, with the needs of those behind it. */
  #wishOf(errand: Errand<unknown>): Wish {
    let behind = -errand.cost
    for (const waiter of this.#waiters) behind += waiter.errand.cost
    return errand.wish(Math.max(0, behind))
  }

  #serveAfter(lease: Promise<void>): void {
    void lease.then(() => this.#serve())
  }

  #serve(): void {
    for (;;) {
      const next = this.#tryAll()
      if (next === undefined) return
      const lease = this.#account.hasFailed
        ? undefined
        : this.#account.draw(() => this.#wishOf(next), this.#settings.clock())
      if (lease !== undefined) {
        this.#serveAfter(lease)
        return
      }
    }
  }

  /** Serves those that can be; returns the one that draws next. */
  #tryAll(): Errand<unknown> | undefined {
    let next: Errand<unknown> | undefined
    let left = MOST_TRIED
    const isTurn = ++this.#served % TURN === 0
    for (const waiter of this.#waiters) {
      const { errand } = waiter
      const result = errand.attempt() ?? (this.#account.hasFailed ? errand.giveUp() : undefined)
      if (result !== undefined) waiter.finish(result)
      else if (next === undefined || (!isTurn && !next.isDue() && errand.isDue())) next = errand
      if (next !== undefined && --left <= 0) break
    }
    return next
  }
}
