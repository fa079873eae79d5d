import type { Outcome } from '../admission/outcome.js'
import { show } from '../options.js'
import { AvailabilityListeners, type Capacity } from './capacity.js'

/**
 * The same capacity, with a switch: while it is paused nothing more starts. What runs goes on and ends as usual, and what
 * waits keeps its turn, for as long as its queue lets it wait. O(1).
 *
 * A queue takes it over like any other: `const slots = pausable(fixed(8))`, `requestQueue({ concurrency: slots })`,
 * `fairLimit({ concurrency: slots })`. Throws a `TypeError` if it is given no capacity.
 */
export function pausable(capacity: Capacity): PausableCapacity {
  if (typeof (capacity as Partial<Capacity> | null)?.tryTake !== 'function')
    throw new TypeError(`capacity must be a Capacity, as fixed() makes one, got ${show(capacity)}`)
  return new PausableCapacity(capacity)
}

/** Made by {@link pausable}. */
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

  /** Whether nothing more may start. */
  get paused(): boolean {
    return this.#paused
  }

  /** Lets nothing more start. Does nothing if it is paused already. */
  pause(): void {
    this.#paused = true
  }

  /** Ends the pause: what waits starts at once, as far as there is room, in its turn. */
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
    this.#capacity.release(width, outcome, durationMs, nowMs)
  }

  undo(width: number, nowMs: number): void {
    this.#capacity.undo(width, nowMs)
  }

  onAvailable(listener: () => void, waiting?: () => number): () => void {
    return this.#listeners.onAvailable(listener, waiting)
  }

  /** Nothing is to be learned from a line that a pause has made. */
  wake(nowMs: number): void {
    if (!this.#paused) this.#capacity.wake?.(nowMs)
  }

  /** What the capacity says, and whether it is paused. */
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
