import type { Outcome } from '../admission/outcome.js'
import { Slots } from '../capacity/fixed.js'
import type { Capacity } from '../capacity/index.js'
import { requireAbortSignal, requireAbove } from '../options.js'
import type { ResourceSnapshot } from './client-resource.js'
import { PEAK_MS, Peak } from './demand.js'
import { CapacityLease, LeaseClosedError, LOOK_MS, limitOf, type Owner, waiting } from './lease.js'

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

/** Returned slots are checked for further need at once, and again after this time, in milliseconds. */
const UNUSED_MS = PEAK_MS + LOOK_MS

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
export class GaugeLease extends CapacityLease implements Capacity {
  readonly #slots: Slots
  readonly #peak: Peak
  readonly #take: (width: number, nowMs: number) => boolean
  #releasedMs: number = Number.NEGATIVE_INFINITY

  /** @internal */
  constructor(owner: Owner) {
    const slots = new Slots()
    super(owner, slots)
    this.#slots = slots
    this.#peak = new Peak(this.clock())
    this.#take = (width, nowMs) => this.#tryTake(width, nowMs)
  }

  get inFlight(): number {
    return this.#slots.inFlight
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
      const promise = waiting(this.line, width, signal, () => this.serve(this.clock()))
      this.#look(this.clock())
      await promise
    }
    return this.#slot(width)
  }

  /** Takes `width` slots if they are free and no caller waits; they end by one `release` or `undo` of that width. */
  tryTake(width = 1): boolean {
    requireAbove('width', width, 0)
    if (!this.closed && this.#attempt(width)) return true
    this.#slots.want()
    if (this.#slots.awaited) this.ring(this.clock())
    return false
  }

  /** Takes `width` slots, even if they are not free. */
  charge(width: number): void {
    requireAbove('width', width, 0)
    this.#slots.take(width)
    this.#look(this.clock())
  }

  release(width: number, _outcome?: Outcome, _durationMs?: number, _nowMs?: number): void {
    if (!this.#slots.giveBack(width)) return
    const nowMs = this.clock()
    this.serve(nowMs)
    this.#releasedMs = nowMs
    if (!this.closed) this.alarm.set(nowMs + UNUSED_MS, nowMs)
    else if (this.#slots.inFlight === 0) this.giveBack()
  }

  undo(width: number, _nowMs: number): void {
    this.release(width)
  }

  snapshot(): GaugeSnapshot {
    return { kind: 'gauge', ...this.state(this.clock()), inFlight: this.inFlight }
  }

  protected override get inUse(): number {
    return this.#slots.inFlight
  }

  protected override measured(nowMs: number): number {
    return this.#peak.most(nowMs)
  }

  protected override joined(): void {
    this.#look(this.clock())
  }

  protected override serve(nowMs: number): void {
    this.line.serve(this.#take, nowMs)
    this.#notePeak(nowMs)
    if (this.line.length > 0 || !this.#slots.awaited) return
    if (this.#slots.inFlight < limitOf(this.resource.capacityAt(nowMs))) this.resource.shield(() => this.#slots.tell())
  }

  /** No call reports that another request waits in a queue, or that slots have been idle for a while. */
  protected override ring(nowMs: number): void {
    if (this.closed) return
    this.#look(nowMs)
    if (this.#slots.awaited) {
      this.pressedMs = nowMs
      this.alarm.set(nowMs + LOOK_MS, nowMs)
    } else if (nowMs < this.#releasedMs + UNUSED_MS) {
      // The alarm was set for an earlier slot; the measurement still contains the last one.
      this.alarm.set(this.#releasedMs + UNUSED_MS, nowMs)
    }
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
    const nowMs = this.clock()
    if (this.line.length > 0 || !this.#tryTake(width, nowMs)) return false
    if (nowMs >= this.lookMs) this.#look(nowMs)
    else this.#peak.set(this.#slots.inFlight, nowMs)
    return true
  }

  #tryTake(width: number, nowMs: number): boolean {
    if (!this.#slots.fits(width, limitOf(this.resource.capacityAt(nowMs)))) return false
    this.#slots.take(width)
    return true
  }

  /** Demand has grown. */
  #look(nowMs: number): void {
    this.lookMs = nowMs + LOOK_MS
    this.#notePeak(nowMs)
    this.resource.look(nowMs)
  }

  #notePeak(nowMs: number): void {
    this.#peak.set(this.#slots.inFlight + this.line.cost + this.queued, nowMs)
  }
}
