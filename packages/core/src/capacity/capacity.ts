import type { Outcome } from '../admission/outcome.js'

/**
 * The number of slots for requests that run at the same time: a queue drains into it.
 *
 * A request takes `width` slots when it starts, and gives them back when it ends. The width is a finite number above
 * 0, the same at both calls; 1 for an ordinary request. A fraction is allowed and means that share of a slot: at a
 * limit of 10, twenty requests of width 0.5.
 *
 * What a caller may rely on:
 *
 * - {@link tryTake} answers at once, changes nothing when it answers `false`, and never calls a listener.
 * - A caller that got `false` for a width of at most {@link maximum} is told by its listener when it is worth trying
 *   again. A caller that tries until it gets `false`, and again when it is told, misses nothing and never has to poll.
 * - A wide request may run alone: while nothing is in flight, a width above the present limit but not above {@link
 *   maximum} is admitted, unless the limit is 0. Only a lease is stricter: its limit is a promise to others, so a wider
 *   request waits until it grows.
 *
 * The caller must end each take with exactly one `release` or `undo`, of the same width. Slots carry no
 * name, so a second release of one request would free another request's slots: the caller must remember that it has
 * ended. A release with nothing in flight does nothing.
 *
 * Times come from one steady clock; if it jumps back, no time counts as passed. Several callers may share a capacity.
 * `fixed` and `adaptive` change only within calls and have no timer; a capacity that changes otherwise, such as a
 * lease, must notify its listeners itself.
 */
export interface Capacity {
  /** Slots that may be taken at present, from 0 to {@link maximum}. Never above it, and changed only by calls. */
  readonly limit: number
  /** Slots taken. May be above `limit` for a while after it fell, because running requests are never touched. */
  readonly inFlight: number
  /** The largest possible `limit`: a wider request can never be admitted, and should be refused instead of waiting. */
  readonly maximum: number

  /** Takes `width` slots for a request that starts at `nowMs`; `false` if there are not that many now. */
  tryTake(width: number, nowMs: number): boolean
  /** A request that ran for `durationMs`, without its waiting time, has ended: its slots are free again. */
  release(width: number, outcome: Outcome, durationMs: number, nowMs: number): void
  /** A request did not run, because a later stage refused or the client left: returns its slots, and learns nothing. */
  undo(width: number, nowMs: number): void
  /**
   * Calls `listener` when more slots may be taken: slots came back, the limit grew, or a lease came. It is called
   * synchronously, at the end of the call that made the change, if {@link tryTake} has returned `false` since the last
   * notification; never from within {@link tryTake} or another listener. It may call any method. Returns a function
   * that stops it. `waiting` returns the number of requests that wait at the listener: a capacity that is shared with
   * other processes asks for that amount.
   */
  onAvailable(listener: () => void, waiting?: () => number): () => void
  /**
   * Time has passed while requests wait and none has ended: a capacity that learns from this may have more now, and
   * notifies its listeners. Absent if only the other calls change it.
   */
  wake?(nowMs: number): void
  /** Plain JSON for people, metrics and pages. */
  snapshot(): unknown
  /** Releases outside resources, such as a lease. Running requests may still be released. */
  close?(): void
}

/** Notifies listeners when capacity becomes available again. No clock; O(1), apart from the listeners themselves. */
export class AvailabilityListeners {
  #listeners: readonly (() => void)[] = []
  /** For each listener, the number of requests that wait there, if it reports one. */
  #waiting: readonly ((() => number) | undefined)[] = []
  /** Index of the listener to call first: it rotates, so that one of several queues does not get all free slots. */
  #first = 0
  /** A request did not fit, and the listeners have not been notified since. */
  #wanted = false
  #telling = false
  /** Slots came back while the listeners were being notified. */
  #again = false

  /** Whether there are listeners. */
  get heard(): boolean {
    return this.#listeners.length > 0
  }

  /** Whether there are listeners that have not been notified since a request did not fit. */
  get awaited(): boolean {
    return this.#wanted && this.#listeners.length > 0
  }

  /** Requests that wait at all listeners together; `undefined` if one of them does not report its number. */
  get waiting(): number | undefined {
    let sum = 0
    for (const waiting of this.#waiting) {
      if (waiting === undefined) return undefined
      sum += waiting()
    }
    return sum
  }

  onAvailable(listener: () => void, waiting?: () => number): () => void {
    // Each registration has its own wrapper, so the same function may listen twice and stop each separately.
    const own = (): void => listener()
    this.#listeners = [...this.#listeners, own]
    this.#waiting = [...this.#waiting, waiting]
    return () => {
      const at = this.#listeners.indexOf(own)
      if (at < 0) return
      this.#listeners = this.#listeners.toSpliced(at, 1)
      this.#waiting = this.#waiting.toSpliced(at, 1)
    }
  }

  /** A request did not fit: notify the listeners later. */
  want(): void {
    this.#wanted = true
  }

  /** Calls the listeners if a request did not fit since the last time. Call it last: listeners may call any method. */
  tell(): void {
    if (!this.#wanted) return
    this.#again = true
    // No nested round: the outer call continues when this listener returns.
    if (this.#telling) return
    this.#telling = true
    try {
      while (this.#again && this.#wanted) {
        this.#again = false
        this.#wanted = false
        const listeners = this.#listeners
        const count = listeners.length
        let at = this.#first + 1 < count ? this.#first + 1 : 0
        this.#first = at
        for (let left = count; left > 0; left--) {
          listeners[at]!()
          at = at + 1 < count ? at + 1 : 0
        }
      }
    } catch (error) {
      // The listeners that were not reached are called next time.
      this.#wanted = true
      throw error
    } finally {
      this.#telling = false
      this.#again = false
    }
  }
}
