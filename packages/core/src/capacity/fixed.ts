import type { Outcome } from '../admission/outcome.js'
import { fail, requireInteger } from '../options.js'
import { AvailabilityListeners, type Capacity } from './capacity.js'

/** Slots of a {@link fixed} capacity, and how many are taken. */
export interface FixedSnapshot {
  kind: 'fixed'
  limit: number
  inFlight: number
}

/**
 * A capacity of `limit` slots, an integer of at least 1, until `resize` changes it. Learns nothing; O(1), allocates
 * nothing.
 */
export function fixed(limit: number): FixedCapacity {
  requireInteger('limit', limit, 1)
  return new FixedCapacity(limit)
}

/** Created by {@link fixed}. */
export class FixedCapacity implements Capacity {
  readonly #slots: Slots = new Slots()
  #limit: number

  constructor(limit: number) {
    this.#limit = limit
  }

  get limit(): number {
    return this.#limit
  }

  get maximum(): number {
    return this.#limit
  }

  /** Changes the limit while it is in use, an integer of at least 1. Running requests are not touched. */
  resize(limit: number): void {
    requireInteger('limit', limit, 1)
    const grows = limit > this.#limit
    this.#limit = limit
    if (grows) this.#slots.tell()
  }

  get inFlight(): number {
    return this.#slots.inFlight
  }

  tryTake(width: number, _nowMs: number): boolean {
    return this.#slots.tryTake(width, this.limit, this.limit)
  }

  release(width: number, _outcome: Outcome, _durationMs: number, _nowMs: number): void {
    if (this.#slots.giveBack(width)) this.#slots.tell()
  }

  undo(width: number, _nowMs: number): void {
    if (this.#slots.giveBack(width)) this.#slots.tell()
  }

  onAvailable(listener: () => void): () => void {
    return this.#slots.onAvailable(listener)
  }

  snapshot(): FixedSnapshot {
    return { kind: 'fixed', limit: this.limit, inFlight: this.inFlight }
  }
}

/** Tolerance for sums of fractional widths, as a part of the limit. */
const ROUNDING = 1e-9

/**
 * The slots of a capacity: how many are taken, and the listeners to call when slots come free. No clock; O(1) except
 * the listeners.
 */
export class Slots extends AvailabilityListeners {
  #inFlight = 0
  /** Requests that hold slots. */
  #holders = 0
  /** Most in flight since nothing was: the errors of sums of fractions are in proportion to it. */
  #most = 0

  get inFlight(): number {
    return this.#inFlight
  }

  /** Takes `width` slots if that many of `limit` are free, or if nothing is in flight and it is at most `maximum`. */
  tryTake(width: number, limit: number, maximum: number): boolean {
    const alone = this.#holders === 0 && limit > 0 && width <= maximum + ROUNDING
    if (alone || this.fits(width, limit)) {
      this.take(width)
      return true
    }
    // A request must not wait for slots that will never exist.
    if (width <= maximum + ROUNDING) this.want()
    return false
  }

  /** Whether `width` slots of `limit` are free. */
  fits(width: number, limit: number): boolean {
    return this.#inFlight + width <= limit + ROUNDING * Math.max(1, limit)
  }

  /** Takes `width` slots, even if they are not free. */
  take(width: number): void {
    this.#inFlight += width
    this.#most = Math.max(this.#most, this.#inFlight)
    this.#holders++
  }

  /**
   * Gives slots back; `false` if none are taken. Calls no listener yet. Throws a `RangeError` or `TypeError` for a width
   * that cannot have been taken.
   */
  giveBack(width: number): boolean {
    if (this.#holders === 0) return false
    if (!(typeof width === 'number' && width > 0 && width <= this.#inFlight + ROUNDING * Math.max(1, this.#most)))
      fail('width', `a number > 0, of the ${this.#inFlight} slots in flight`, width)
    this.#holders--
    this.#inFlight = Math.max(0, this.#inFlight - width)
    // The last release also clears the rounding errors of fractions.
    if (this.#holders === 0) this.#inFlight = this.#most = 0
    return true
  }
}
