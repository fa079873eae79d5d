import type { Outcome } from '../admission/outcome.js'
import { show } from '../options.js'
import { AvailabilityListeners, type Capacity } from './capacity.js'

/**
 * The same capacity, with a switch: while it is paused nothing starts. Running requests end as usual, and waiting
 * requests keep their turn, for as long as their queue lets them wait. O(1).
 *
 * Use it like any other capacity: `const slots = pausable(fixed(8))`, `requestQueue({ concurrency: slots })`,
 * `fairLimit({ concurrency: slots })`. Throws a `TypeError` if the argument is no capacity.
 */
export function pausable(capacity: Capacity): PausableCapacity {
  if (typeof (capacity as Partial<Capacity> | null)?.tryTake !== 'function')
    throw new TypeError(`capacity must be a Capacity, as fixed() makes one, got ${show(capacity)}`)
  return new PausableCapacity(capacity)
}

/** Created by {@link pausable}. */
export class PausableCapacity implements Capacity {
  readonly #capacity: Capacity
  readonly #listeners: AvailabilityListeners = new AvailabilityListeners()
  #paused = false

  constructor(capacity: Capacity) {
    this.#capacity = capacity
    capacity.onAvailable(
      () => this.#tell(),
      () => (this.#paused ? 0 : (this.#listeners.waiting ?? 0)),
    )
  }

  /** True while it is paused. */
  get paused(): boolean {
    return this.#paused
  }

  /** Stops all starts. Does nothing if it is already paused. */
  pause(): void {
    this.#paused = true
  }

  /** Ends the pause: waiting requests start immediately, in turn, as far as slots are free. */
  resume(): void {
    this.#paused = false
    this.#tell()
  }

  /** 0 while it is paused. */
  get limit(): number {
    return this.#paused ? 0 : this.#capacity.limit
  }

  get inFlight(): number {
    return this.#capacity.inFlight
  }

  get maximum(): number {
    return this.#capacity.maximum
  }

  tryTake(width: number, nowMs: number): boolean {
    const taken = !this.#paused && this.#capacity.tryTake(width, nowMs)
    if (!taken && width <= this.maximum) this.#listeners.want()
    return taken
  }

  release(width: number, outcome: Outcome, durationMs: number, nowMs: number): void {
    // biome-ignore lint/correctness/noVoidTypeReturn: a capacity may be async by mistake; the caller handles rejections
    return this.#capacity.release(width, outcome, durationMs, nowMs)
  }

  undo(width: number, nowMs: number): void {
    // biome-ignore lint/correctness/noVoidTypeReturn: see release()
    return this.#capacity.undo(width, nowMs)
  }

  onAvailable(listener: () => void, waiting?: () => number): () => void {
    return this.#listeners.onAvailable(listener, waiting)
  }

  /** Waiting caused by a pause is no evidence about the capacity. */
  wake(nowMs: number): void {
    // biome-ignore lint/correctness/noVoidTypeReturn: see release()
    if (!this.#paused) return this.#capacity.wake?.(nowMs)
  }

  /** The capacity's snapshot, and whether this is paused. */
  snapshot(): object {
    return { ...(this.#capacity.snapshot() as object), paused: this.#paused }
  }

  close(): void {
    this.#capacity.close?.()
  }

  #tell(): void {
    if (!this.#paused) this.#listeners.tell()
  }
}
