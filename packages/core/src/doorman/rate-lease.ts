import type { Outcome } from '../admission/outcome.js'
import { AvailabilityListeners } from '../capacity/capacity.js'
import type { Capacity } from '../capacity/index.js'
import { requireAbortSignal, requireAbove, requireNumber } from '../options.js'
import type { ResourceSnapshot } from './client-resource.js'
import { Attempts } from './demand.js'
import { CapacityLease, LeaseClosedError, LOOK_MS, type Owner, waiting } from './lease.js'
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

/**
 * A leased rate in units per second, spent first come, first served. Made by `DoormanClient.rate`.
 *
 * As the `capacity` of a queue, a request's width is its number of units; they are spent when it starts, for any
 * outcome. The lease asks for the requests that wait in the queue; if a listener does not report their number, for
 * twice the capacity.
 */
export class RateLease extends CapacityLease implements Capacity {
  readonly #budget: RateBudget
  readonly #attempts: Attempts
  readonly #take: (cost: number, nowMs: number) => boolean
  /** Smallest refused cost among the listeners to notify. */
  #refused: number = Number.POSITIVE_INFINITY

  /** @internal */
  constructor(owner: Owner, smooth: boolean) {
    super(owner, new AvailabilityListeners())
    this.#budget = new RateBudget(smooth)
    this.#attempts = new Attempts(this.clock())
    this.#take = (cost, nowMs) => this.#budget.take(cost, this.resource.capacityAt(nowMs), nowMs)
  }

  /** Units spent in the present second, or part of it. */
  get inFlight(): number {
    const nowMs = this.clock()
    return this.#budget.spent(this.resource.capacityAt(nowMs), nowMs)
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
    const promise = waiting(this.line, cost, signal, () => this.serve(this.clock()))
    this.#arm()
    return promise
  }

  /**
   * Spends `cost` units if they are available and no caller waits. Throws as {@link wait} does; `false` when closed.
   */
  tryTake(cost = 1): boolean {
    requireAbove('cost', cost, 0)
    // A queue repeats its attempt for the same request.
    if (!this.closed && this.#attempt(cost, !this.listeners.heard)) return true
    this.#turnAway(cost)
    return false
  }

  /** @internal The client's clock. */
  get nowMs(): number {
    return this.clock()
  }

  /**
   * Spends `cost` units, at least 0, even if they are not available: the following seconds have less by that amount.
   */
  charge(cost: number): void {
    requireNumber('cost', cost, 0)
    const nowMs = this.clock()
    this.#attempts.add(cost, nowMs)
    this.#budget.force(cost, this.resource.capacityAt(nowMs), nowMs)
  }

  /** Returns unused units that were spent at `spentMs` by the client's clock; nothing if that second is over. */
  refund(cost: number, spentMs: number): void {
    requireNumber('cost', cost, 0)
    const nowMs = this.clock()
    this.#budget.giveBack(cost, spentMs, this.resource.capacityAt(nowMs), nowMs)
    this.serve(nowMs)
  }

  /** A rate is not given back. */
  release(_width: number, _outcome: Outcome, _durationMs: number, _nowMs: number): void {}

  /** Nothing comes back here either: the second of the spending is unknown. */
  undo(_width: number, _nowMs: number): void {}

  snapshot(): RateSnapshot {
    return { kind: 'rate', ...this.state(this.clock()), spent: this.inFlight }
  }

  protected override get inUse(): number {
    return 0
  }

  /** A request that waits in a queue has not been counted as an attempt. */
  protected override measured(nowMs: number): number {
    return this.#attempts.perSecond(nowMs) + this.queued
  }

  protected override joined(): void {
    this.#arm()
  }

  protected override ring(nowMs: number): void {
    this.serve(nowMs)
  }

  protected override serve(nowMs: number): void {
    this.line.serve(this.#take, nowMs)
    if (this.line.length === 0 && this.listeners.awaited) {
      this.#refused = Number.POSITIVE_INFINITY
      this.resource.shield(() => this.listeners.tell())
    }
    this.#arm()
  }

  /** `counts`: as demand, even if it is refused. */
  #attempt(cost: number, counts: boolean): boolean {
    const nowMs = this.clock()
    const capacity = this.resource.capacityAt(nowMs)
    const taken = this.line.length === 0 && this.#budget.take(cost, capacity, nowMs)
    if (taken || counts) this.#attempts.add(cost, nowMs)
    if (nowMs >= this.lookMs) {
      this.lookMs = nowMs + LOOK_MS
      this.resource.look(nowMs)
    }
    return taken
  }

  #turnAway(cost: number): void {
    this.listeners.want()
    if (!this.listeners.awaited) return
    this.pressedMs = this.clock()
    if (cost < this.#refused) this.#refused = cost
    this.#arm()
  }

  /** Sets the alarm for the time at which the first waiting caller, or a listener, may be served. */
  #arm(): void {
    const cost = this.line.first ?? (this.listeners.awaited ? this.#refused : undefined)
    const nowMs = this.clock()
    const nextMs =
      cost === undefined || this.closed
        ? Number.POSITIVE_INFINITY
        : this.#budget.nextMs(cost, this.resource.capacityAt(nowMs), nowMs)
    this.alarm.set(nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs, nowMs)
  }
}
