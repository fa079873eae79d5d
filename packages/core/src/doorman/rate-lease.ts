import type { Outcome } from '../admission/outcome.js'
import { AvailabilityListeners } from '../capacity/capacity.js'
import type { Capacity } from '../capacity/index.js'
import { Alarm, type Clock } from '../clock.js'
import { requireAbortSignal, requireAbove, requireFunction, requireNumber } from '../options.js'
import type { ClientResource, ResourceSnapshot } from './client-resource.js'
import { Attempts } from './demand.js'
import { LeaseClosedError, LeaseHandle, LeaseLine, type Owner, waiting } from './lease.js'
import { RateBudget } from './rate-budget.js'

/** As plain JSON. */
export interface RateSnapshot extends ResourceSnapshot {
  readonly kind: 'rate'
  readonly closed: boolean
  readonly waiting: number
  /** Units spent in the present second, or part of it. */
  readonly spent: number
}

const GRANTED: Promise<void> = Promise.resolve()
/** Shortest time between two checks for a change of demand, in milliseconds. */
const LOOK_MS = 100
/** A queue whose attempt failed at most this long ago is short of capacity; in milliseconds. */
const PRESSED_MS = 2_000

/**
 * A leased rate in units per second, spent first come, first served. Made by `DoormanClient.rate`.
 *
 * As the `capacity` of a queue, a request's width is its number of units; they are spent when it starts, for any
 * outcome. The lease asks for the requests that wait in the queue; if a listener does not report their number, for
 * twice the capacity.
 */
export class RateLease implements Capacity {
  readonly id: string
  readonly maximum: number = Number.POSITIVE_INFINITY
  readonly #handle: LeaseHandle
  readonly #resource: ClientResource
  readonly #clock: Clock
  readonly #budget: RateBudget
  readonly #attempts: Attempts
  readonly #line = new LeaseLine()
  readonly #listeners = new AvailabilityListeners()
  readonly #alarm: Alarm
  readonly #take: (cost: number) => boolean
  #nowMs = 0
  #lookMs: number = Number.NEGATIVE_INFINITY
  #pressedMs: number = Number.NEGATIVE_INFINITY
  /** Smallest refused cost among the listeners to notify. */
  #refused: number = Number.POSITIVE_INFINITY

  /** @internal */
  constructor(owner: Owner, smooth: boolean) {
    this.id = owner.id
    this.#clock = owner.clock
    this.#budget = new RateBudget(smooth)
    this.#attempts = new Attempts(owner.clock())
    this.#alarm = new Alarm(owner.after, () => this.#serve(this.#clock()))
    this.#handle = new LeaseHandle(owner, {
      wants: (nowMs) => this.#wants(nowMs),
      inUse: () => 0,
      waiting: () => this.#line.cost + (this.#listeners.waiting ?? 0),
      wake: (nowMs) => this.#serve(nowMs),
    })
    this.#resource = this.#handle.resource
    this.#take = (cost) => this.#budget.take(cost, this.#resource.capacityAt(this.#nowMs), this.#nowMs)
  }

  /** Units per second at present; below 0: without limit. */
  get capacity(): number {
    return this.#resource.capacityAt(this.#clock())
  }

  /** True once the lease was closed: it grants no more permits. */
  get closed(): boolean {
    return !this.#handle.open
  }

  /** The same for a queue, where unlimited is a very large number. */
  get limit(): number {
    const { capacity } = this
    return capacity < 0 ? Number.MAX_SAFE_INTEGER : capacity
  }

  /** Units spent in the present second, or part of it. */
  get inFlight(): number {
    const nowMs = this.#clock()
    return this.#budget.spent(this.#resource.capacityAt(nowMs), nowMs)
  }

  /**
   * Waits until `cost` units may be spent, and spends them: at once if they are available and no caller waits. The
   * lease saves up for a cost of more than a second's capacity. Rejected with the signal's reason when `signal` fires,
   * and with a {@link LeaseClosedError} when the lease is closed. Throws a `RangeError` for a cost that is no number
   * above 0, and a `TypeError` for an invalid signal.
   */
  wait(signal?: AbortSignal, cost = 1): Promise<void> {
    requireAbove('cost', cost, 0)
    if (signal !== undefined) requireAbortSignal('signal', signal)
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    if (this.closed) return Promise.reject(new LeaseClosedError(this.id))
    if (this.#attempt(cost, true)) return GRANTED
    const promise = waiting(this.#line, cost, signal, () => this.#serve(this.#clock()))
    this.#arm()
    return promise
  }

  /**
   * Spends `cost` units if they are available and no caller waits. Throws as {@link wait} does; `false` when closed.
   */
  tryTake(cost = 1): boolean {
    requireAbove('cost', cost, 0)
    // A queue repeats its attempt for the same request.
    if (this.#handle.open && this.#attempt(cost, !this.#listeners.heard)) return true
    this.#turnAway(cost)
    return false
  }

  /** @internal Waits in line until `end` or the returned function is called. */
  join(cost: number, end: (error?: Error) => void): () => void {
    const leave = this.#line.join(cost, end)
    this.#arm()
    return () => {
      leave()
      this.#serve(this.#clock())
    }
  }

  /** The waiting callers. */
  get waiting(): number {
    return this.#line.length
  }

  /** @internal The client's clock. */
  get nowMs(): number {
    return this.#clock()
  }

  /**
   * Spends `cost` units, at least 0, even if they are not available: the following seconds have less by that amount.
   */
  charge(cost: number): void {
    requireNumber('cost', cost, 0)
    const nowMs = this.#clock()
    this.#attempts.add(cost, nowMs)
    this.#budget.force(cost, this.#resource.capacityAt(nowMs), nowMs)
  }

  /** Returns unused units that were spent at `spentMs` by the client's clock; nothing if that second is over. */
  refund(cost: number, spentMs: number): void {
    requireNumber('cost', cost, 0)
    const nowMs = this.#clock()
    this.#budget.giveBack(cost, spentMs, this.#resource.capacityAt(nowMs), nowMs)
    this.#serve(nowMs)
  }

  /** A rate is not given back. */
  release(_width: number, _outcome: Outcome, _durationMs: number, _nowMs: number): void {}

  /** Nothing comes back here either: the second of the spending is unknown. */
  undo(_width: number, _nowMs: number): void {}

  onAvailable(listener: () => void, waiting?: () => number): () => void {
    return this.#listeners.onAvailable(listener, waiting)
  }

  /** Calls `listener` with each new {@link capacity}. Returns a function that removes it. */
  onChange(listener: (capacity: number) => void): () => void {
    requireFunction('listener', listener)
    return this.#resource.onChange(listener)
  }

  /** Asks for `wants` units per second from now on; without `wants`, for the measured rate. */
  setWants(wants?: number): void {
    this.#handle.setWants(wants)
  }

  /** Removes one user. The last one gives the capacity back and rejects the waiting callers. */
  close(): void {
    if (this.#handle.leave(false)) this.#end()
  }

  snapshot(): RateSnapshot {
    const nowMs = this.#clock()
    return {
      kind: 'rate',
      ...this.#resource.snapshot(nowMs),
      closed: this.closed,
      waiting: this.#line.length,
      spent: this.inFlight,
    }
  }

  /** @internal One more user. */
  share(): void {
    this.#handle.share()
  }

  /** @internal Removes all users. */
  closeAll(): void {
    if (this.#handle.leave(true)) this.#end()
  }

  #end(): void {
    this.#line.close(new LeaseClosedError(this.id))
    this.#alarm.set(undefined, 0)
    this.#handle.release()
  }

  /** `counts`: as demand, even if it is refused. */
  #attempt(cost: number, counts: boolean): boolean {
    const nowMs = this.#clock()
    const capacity = this.#resource.capacityAt(nowMs)
    const taken = this.#line.length === 0 && this.#budget.take(cost, capacity, nowMs)
    if (taken || counts) this.#attempts.add(cost, nowMs)
    if (nowMs >= this.#lookMs) {
      this.#lookMs = nowMs + LOOK_MS
      this.#resource.look(nowMs)
    }
    return taken
  }

  #turnAway(cost: number): void {
    this.#listeners.want()
    if (!this.#listeners.awaited) return
    this.#pressedMs = this.#clock()
    if (cost < this.#refused) this.#refused = cost
    this.#arm()
  }

  #serve(nowMs: number): void {
    this.#nowMs = nowMs
    this.#line.serve(this.#take)
    if (this.#line.length === 0 && this.#listeners.awaited) {
      this.#refused = Number.POSITIVE_INFINITY
      this.#resource.shield(() => this.#listeners.tell())
    }
    this.#arm()
  }

  /** Sets the alarm for the time at which the first waiting caller, or a listener, may be served. */
  #arm(): void {
    const cost = this.#line.first ?? (this.#listeners.awaited ? this.#refused : undefined)
    const nowMs = this.#clock()
    const nextMs =
      cost === undefined || this.closed
        ? Number.POSITIVE_INFINITY
        : this.#budget.nextMs(cost, this.#resource.capacityAt(nowMs), nowMs)
    this.#alarm.set(nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs, nowMs)
  }

  #wants(nowMs: number): number {
    const queued = this.#listeners.waiting
    // A request that waits in a queue has not been counted as an attempt.
    const measured = this.#attempts.perSecond(nowMs) + (queued ?? 0)
    if (queued !== undefined) return measured
    if (!this.#listeners.awaited && nowMs - this.#pressedMs > PRESSED_MS) return measured
    return Math.max(measured, 2 * this.#resource.capacityAt(nowMs))
  }
}
