import type { Capacity } from '../capacity/index.js'

/** Slots that are only rounding. */
export const ROUNDING: number = 1e-9

/** The capacity, asked on behalf of what waits: if it throws, all wait on, and are tried again at the next call. */
export class Supply {
  readonly capacity: Capacity
  /** Times that it threw. */
  errors = 0
  /** It threw instead of answering, so it may not tell us when to try again. */
  untold = false

  constructor(capacity: Capacity) {
    this.capacity = capacity
  }

  take(width: number, nowMs: number): boolean {
    try {
      return this.capacity.tryTake(width, nowMs)
    } catch {
      return this.#failed()
    }
  }

  /** Whether there are free slots, though maybe too few for whoever asks. */
  anyFree(): boolean {
    try {
      return this.capacity.limit - this.capacity.inFlight > ROUNDING
    } catch {
      return this.#failed()
    }
  }

  #failed(): false {
    this.errors++
    this.untold = true
    return false
  }
}
