import { AvailabilityListeners } from './availability-listeners.js'

/** What sums of fractional widths may be off by. */
const ROUNDING = 1e-9

/**
 * The slots of a capacity: how many are taken, and which listeners want to know when there are more. No clock; O(1) but for
 * the listeners.
 */
export class Slots extends AvailabilityListeners {
  #inFlight = 0
  /** Requests among which the slots are divided. */
  #holders = 0

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
    // Nobody may wait for what never comes.
    if (width <= maximum + ROUNDING) this.want()
    return false
  }

  /** Whether `width` slots of `limit` are free. */
  fits(width: number, limit: number): boolean {
    return this.#inFlight + width <= limit + ROUNDING
  }

  /** Takes `width` slots, whether they are free or not. */
  take(width: number): void {
    this.#inFlight += width
    this.#holders++
  }

  /** Gives slots back; `false` if none are taken. Tells nobody yet. */
  giveBack(width: number): boolean {
    if (this.#holders === 0) return false
    this.#holders--
    // The last one takes the rounding errors of fractions with it.
    this.#inFlight = this.#holders === 0 ? 0 : Math.max(0, this.#inFlight - width)
    return true
  }
}
