import type { Outcome } from '../admission/outcome.js'
import { type Capacity, fixed } from '../capacity/index.js'
import { requireFunction, requireInteger, requireNumber, show } from '../options.js'

/** Slots that are only rounding. */
export const ROUNDING: number = 1e-9

const METHODS = ['tryTake', 'release', 'undo', 'onAvailable', 'snapshot'] as const

/** The option `concurrency`, checked: a number of slots becomes a fixed capacity. */
export function capacityFrom(concurrency: unknown): Capacity {
  if (typeof concurrency === 'number') {
    requireInteger('concurrency', concurrency, 1)
    return fixed(concurrency)
  }
  if (typeof concurrency !== 'object' || concurrency === null)
    throw new TypeError(`concurrency must be a number of slots or a capacity, got ${show(concurrency)}`)
  for (const method of METHODS)
    requireFunction(`concurrency.${method}`, (concurrency as Record<string, unknown>)[method])
  const { limit, maximum, inFlight } = concurrency as Capacity
  requireNumber('concurrency.limit', limit, 0)
  requireNumber('concurrency.inFlight', inFlight, 0)
  if (maximum !== Number.POSITIVE_INFINITY) requireNumber('concurrency.maximum', maximum, 0)
  return concurrency as Capacity
}

/** The capacity, asked on behalf of what waits: if it throws, all wait on, and are tried again at the next call. */
export class Supply {
  readonly capacity: Capacity
  /** Times that it threw. */
  errors = 0
  /** It threw instead of answering, or of telling everybody, so it may not tell us when to try again. */
  untold = false

  constructor(capacity: Capacity) {
    this.capacity = capacity
  }

  /** What may run at once; nothing is known if it throws. */
  get limit(): number {
    try {
      return this.capacity.limit
    } catch {
      return Number.POSITIVE_INFINITY
    }
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

  /** Lets the capacity see that time has passed while somebody waited. */
  wake(nowMs: number): void {
    try {
      this.capacity.wake?.(nowMs)
    } catch {
      this.#failed()
    }
  }

  /** Gives back what was taken for one that waited, and left while it was. */
  giveBack(width: number, nowMs: number): void {
    try {
      this.capacity.undo(width, nowMs)
    } catch {
      this.#failed()
    }
  }

  /** Gives back what a request held that ran. Throws what the capacity throws, or somebody else that it tells. */
  release(width: number, outcome: Outcome, durationMs: number, nowMs: number): void {
    try {
      this.capacity.release(width, outcome, durationMs, nowMs)
    } catch (error) {
      this.#failed()
      throw error
    }
  }

  /** The same for one that started, but did not run. */
  undo(width: number, nowMs: number): void {
    try {
      this.capacity.undo(width, nowMs)
    } catch (error) {
      this.#failed()
      throw error
    }
  }

  #failed(): false {
    this.errors++
    this.untold = true
    return false
  }
}
