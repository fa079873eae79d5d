import type { Outcome } from '../admission/outcome.js'
import { Slots } from '../capacity/fixed.js'
import type { Capacity } from '../capacity/index.js'
import { Alarm, type Clock } from '../clock.js'
import { requireAbortSignal, requireAbove, requireFunction } from '../options.js'
import type { ClientResource, ResourceSnapshot } from './client-resource.js'
import { PEAK_MS, Peak } from './demand.js'
import { LeaseClosedError, LeaseHandle, LeaseLine, type Owner, waiting } from './lease.js'

/** A part of a gauge, held until it is released. */
export interface Slot {
  /** Gives it back; a second call does nothing. */
  release(): void
  /** The same, at the end of the block that says `using`. */
  [Symbol.dispose](): void
}

/** As plain JSON. */
export interface GaugeSnapshot extends ResourceSnapshot {
  readonly kind: 'gauge'
  readonly closed: boolean
  readonly waiting: number
  readonly inFlight: number
}

/** Shortest time between two checks for a change of demand while no caller waits, in milliseconds. */
const LOOK_MS = 100
/** Returned slots are checked for further need at once, and again after this time, in milliseconds. */
const UNUSED_MS = PEAK_MS + LOOK_MS
/** A queue whose attempt failed at most this long ago is short of capacity; in milliseconds. */
const PRESSED_MS = 2_000

/**
 * A leased concurrency, first come, first served. Made by `DoormanClient.gauge`.
 *
 * A slot counts until it is released, even if the lease shrinks meanwhile: then no slot is granted until enough have
 * come back, and the client tells the server about those that are still in use. A lease of 2.5 is two slots of width 1.
 *
 * As the `capacity` of a queue, the lease never exceeds its grant: a request wider than the limit waits until the limit
 * grows. The lease asks for the requests that wait in the queue; if a listener does not report their number, for twice
 * the capacity.
 */
export class GaugeLease implements Capacity {
  readonly id: string
  readonly maximum: number = Number.POSITIVE_INFINITY
  readonly #handle: LeaseHandle
  readonly #resource: ClientResource
  readonly #clock: Clock
  readonly #slots = new Slots()
  readonly #peak: Peak
  readonly #line = new LeaseLine()
  readonly #take: (width: number) => boolean
  /**
   * Wakes the lease, because no call reports that another request waits in a queue, or that slots have been idle for a
   * while.
   */
  readonly #alarm: Alarm
  #nowMs = 0
  #lookMs: number = Number.NEGATIVE_INFINITY
  #pressedMs: number = Number.NEGATIVE_INFINITY
  #releasedMs: number = Number.NEGATIVE_INFINITY

  /** @internal */
  constructor(owner: Owner) {
    this.id = owner.id
    this.#clock = owner.clock
    this.#peak = new Peak(owner.clock())
    this.#alarm = new Alarm(owner.after, () => this.#watch(this.#clock()))
    this.#handle = new LeaseHandle(owner, {
      wants: (nowMs) => this.#wants(nowMs),
      inUse: () => this.#slots.inFlight,
      waiting: () => this.#line.cost + this.#queued,
      wake: (nowMs) => this.#serve(nowMs),
    })
    this.#resource = this.#handle.resource
    this.#take = (width) => this.#tryTake(width, this.#nowMs)
  }

  /** Present concurrency; below 0: no limit. */
  get capacity(): number {
    return this.#resource.capacityAt(this.#clock())
  }

  /** True once the lease was closed: it grants no more slots. */
  get closed(): boolean {
    return !this.#handle.open
  }

  /** The same for a queue, where unlimited is a very large number. */
  get limit(): number {
    return limitOf(this.capacity)
  }

  get inFlight(): number {
    return this.#slots.inFlight
  }

  /** The waiting callers. */
  get waiting(): number {
    return this.#line.length
  }

  /**
   * Waits for a slot of `width`: `using slot = await gauge.take()`. Rejected with the signal's reason when `signal`
   * fires, and with a {@link LeaseClosedError} when the lease is closed. Throws a `RangeError` for a width that is no
   * number above 0.
   */
  async take(signal?: AbortSignal, width = 1): Promise<Slot> {
    requireAbove('width', width, 0)
    if (signal !== undefined) requireAbortSignal('signal', signal)
    signal?.throwIfAborted()
    if (this.closed) throw new LeaseClosedError(this.id)
    if (!this.#attempt(width)) {
      const promise = waiting(this.#line, width, signal, () => this.#serve(this.#clock()))
      this.#look(this.#clock())
      await promise
    }
    return this.#slot(width)
  }

  /** Takes `width` slots if they are free and no caller waits; they end by one `release` or `undo` of that width. */
  tryTake(width = 1): boolean {
    requireAbove('width', width, 0)
    if (this.#handle.open && this.#attempt(width)) return true
    this.#slots.want()
    if (this.#slots.awaited) this.#watch(this.#clock())
    return false
  }

  /**
   * @internal Waits in line until `end` is called, when the width has been taken, or until the returned function is
   * called.
   */
  join(width: number, end: (error?: Error) => void): () => void {
    const leave = this.#line.join(width, end)
    this.#look(this.#clock())
    return () => {
      leave()
      this.#serve(this.#clock())
    }
  }

  /** Takes `width` slots, even if they are not free. */
  charge(width: number): void {
    requireAbove('width', width, 0)
    this.#slots.take(width)
    this.#look(this.#clock())
  }

  release(width: number, _outcome?: Outcome, _durationMs?: number, _nowMs?: number): void {
    if (!this.#slots.giveBack(width)) return
    const nowMs = this.#clock()
    this.#serve(nowMs)
    this.#releasedMs = nowMs
    if (!this.closed) this.#alarm.set(nowMs + UNUSED_MS, nowMs)
    else if (this.#slots.inFlight === 0) this.#handle.release()
  }

  undo(width: number, _nowMs: number): void {
    this.release(width)
  }

  onAvailable(listener: () => void, waiting?: () => number): () => void {
    return this.#slots.onAvailable(listener, waiting)
  }

  /** Calls `listener` with each new {@link capacity}. Returns a function that removes it. */
  onChange(listener: (capacity: number) => void): () => void {
    requireFunction('listener', listener)
    return this.#resource.onChange(listener)
  }

  /** Asks for `wants` from now on; without `wants`, for the measured concurrency. */
  setWants(wants?: number): void {
    this.#handle.setWants(wants)
  }

  /**
   * Removes one user. The last one rejects the waiting callers, and gives the capacity back once all slots have come
   * back.
   */
  close(): void {
    if (this.#handle.leave(false)) this.#end()
  }

  snapshot(): GaugeSnapshot {
    return {
      kind: 'gauge',
      ...this.#resource.snapshot(this.#clock()),
      closed: this.closed,
      waiting: this.#line.length,
      inFlight: this.#slots.inFlight,
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

  /** Requests that wait in queues, as far as the queues report them. */
  get #queued(): number {
    return this.#slots.waiting ?? 0
  }

  #watch(nowMs: number): void {
    if (this.closed) return
    this.#look(nowMs)
    if (this.#slots.awaited) {
      this.#pressedMs = nowMs
      this.#alarm.set(nowMs + LOOK_MS, nowMs)
    } else if (nowMs < this.#releasedMs + UNUSED_MS) {
      // The alarm was set for an earlier slot; the measurement still contains the last one.
      this.#alarm.set(this.#releasedMs + UNUSED_MS, nowMs)
    }
  }

  #end(): void {
    this.#alarm.set(undefined, 0)
    this.#line.close(new LeaseClosedError(this.id))
    if (this.#slots.inFlight === 0) this.#handle.release()
  }

  #slot(width: number): Slot {
    let held = true
    const release = (): void => {
      if (!held) return
      held = false
      this.release(width)
    }
    return { release, [Symbol.dispose]: release }
  }

  #attempt(width: number): boolean {
    const nowMs = this.#clock()
    if (this.#line.length > 0 || !this.#tryTake(width, nowMs)) return false
    if (nowMs >= this.#lookMs) this.#look(nowMs)
    else this.#peak.set(this.#slots.inFlight, nowMs)
    return true
  }

  #tryTake(width: number, nowMs: number): boolean {
    if (!this.#slots.fits(width, limitOf(this.#resource.capacityAt(nowMs)))) return false
    this.#slots.take(width)
    return true
  }

  #serve(nowMs: number): void {
    this.#nowMs = nowMs
    this.#line.serve(this.#take)
    this.#peak.set(this.#slots.inFlight + this.#line.cost + this.#queued, nowMs)
    if (this.#line.length > 0 || !this.#slots.awaited) return
    if (this.#slots.inFlight < limitOf(this.#resource.capacityAt(nowMs)))
      this.#resource.shield(() => this.#slots.tell())
  }

  /** Demand has grown. */
  #look(nowMs: number): void {
    this.#lookMs = nowMs + LOOK_MS
    this.#peak.set(this.#slots.inFlight + this.#line.cost + this.#queued, nowMs)
    this.#resource.look(nowMs)
  }

  #wants(nowMs: number): number {
    const most = this.#peak.most(nowMs)
    if (this.#slots.waiting !== undefined) return most
    if (!this.#slots.awaited && nowMs - this.#pressedMs > PRESSED_MS) return most
    return Math.max(most, 2 * this.#resource.capacityAt(nowMs))
  }
}

function limitOf(capacity: number): number {
  return capacity < 0 ? Number.MAX_SAFE_INTEGER : capacity
}
