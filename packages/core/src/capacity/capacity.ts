import type { Outcome } from '../admission/outcome.js'

/**
 * How much may run at once: what a queue drains into.
 *
 * A request takes `width` slots when it starts, and gives them back when it ended. The width is a finite number above
 * 0, the same at both calls; 1 for an ordinary request. A fraction is allowed and means that share of a slot: at a
 * limit of 10, twenty requests of width 0.5.
 *
 * What a caller may rely on:
 *
 * - {@link tryTake} answers at once, changes nothing when it answers `false`, and never calls a listener.
 * - A caller that got `false` for a width of at most {@link maximum} is told by its listener when it is worth trying again.
 *   A caller that tries until it gets `false`, and again when it is told, misses nothing and never has to poll.
 * - What may run alone runs alone: while nothing is in flight, a width above the present limit but not above
 *   {@link maximum} is let in, unless there is no limit left at all (0). Only a lease is stricter: its limit is a
 *   promise to others, so what is wider waits until it grows.
 *
 * What it must do in return: end each take with exactly one `release` or `undo`, of the same width. Slots carry no
 * name, so a second release of one request is another request's: the caller's ticket has to know that it has ended.
 * A surplus with nothing in flight does nothing.
 *
 * Times come from one steady clock; one that jumps back all the same counts as no time passed. Several callers may
 * share a capacity. `fixed` and `adaptive` change only within calls and have no timer; what comes from elsewhere, such
 * as a lease, has to see for itself that it tells its listeners.
 */
export interface Capacity {
  /** Slots that may be taken at present, from 0 to {@link maximum}. Never above it, and changed only by calls. */
  readonly limit: number
  /** Slots taken. May be above `limit` for a while after it fell: what runs is never touched. */
  readonly inFlight: number
  /** The most that `limit` can ever be: what is wider will never be let in, and should be refused, not kept waiting. */
  readonly maximum: number

  /** Takes `width` slots for a request that starts at `nowMs`; `false` if there are not that many now. */
  tryTake(width: number, nowMs: number): boolean
  /** The request ran for `durationMs`, without the time that it waited, and has ended: its slots are free again. */
  release(width: number, outcome: Outcome, durationMs: number, nowMs: number): void
  /** Nothing ran, because a later stage refused or the client left: gives the slots back, and nothing is learned. */
  undo(width: number, nowMs: number): void
  /**
   * Has `listener` called when more may be taken, whatever the reason: slots came back, the limit grew, a lease came.
   * Called synchronously, at the end of the call that brought it, if somebody has been answered `false` since the
   * last time; never from within {@link tryTake} nor within another listener. It may call anything here. Gives the
   * function that stops this. `waiting` says how many requests wait for this capacity at the listener's: a capacity that
   * is shared with other processes asks for as much.
   */
  onAvailable(listener: () => void, waiting?: () => number): () => void
  /**
   * Time has passed, and somebody waits, though nothing has ended: a capacity that learns from that may have more now,
   * and tells its listeners. Absent where only calls of the others change it.
   */
  wake?(nowMs: number): void
  /** Plain JSON for people, metrics and pages. */
  snapshot(): unknown
  /** Gives up what is held elsewhere, such as a lease. What runs may still be released. */
  close?(): void
}

/** Notifies listeners when capacity becomes available again. No clock; O(1), apart from the listeners themselves. */
export class AvailabilityListeners {
  #listeners: readonly (() => void)[] = []
  /** For each listener, the number of requests that wait there, if it says so. */
  #waiting: readonly ((() => number) | undefined)[] = []
  /** The listener to call first: each in its turn, so that the first of several queues does not get all free slots. */
  #first = 0
  /** A request was turned away, and the listeners have not been told since. */
  #wanted = false
  #telling = false
  /** Slots came back while the listeners were being told. */
  #again = false

  /** Whether there are listeners. */
  get heard(): boolean {
    return this.#listeners.length > 0
  }

  /** Whether there are listeners, which have not been told since a request was turned away. */
  get awaited(): boolean {
    return this.#wanted && this.#listeners.length > 0
  }

  /** Requests that wait at all listeners together; `undefined` if one of them does not say. */
  get waiting(): number | undefined {
    let sum = 0
    for (const waiting of this.#waiting) {
      if (waiting === undefined) return undefined
      sum += waiting()
    }
    return sum
  }

  onAvailable(listener: () => void, waiting?: () => number): () => void {
    // A wrapper of its own, so that the same function may listen twice and each stops only itself.
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

  /** A request was turned away: the listeners are to be told. */
  want(): void {
    this.#wanted = true
  }

  /** Calls the listeners if a request was turned away since the last time. To be called last: they may call anything. */
  tell(): void {
    if (!this.#wanted) return
    this.#again = true
    // No nested round: the outer call goes on when this listener is done.
    if (this.#telling) return
    this.#telling = true
    try {
      while (this.#again && this.#wanted) {
        this.#again = false
        this.#wanted = false
        const listeners = this.#listeners
        const count = listeners.length
        this.#first = count > 0 ? (this.#first + 1) % count : 0
        const first = this.#first
        for (let i = 0; i < count; i++) listeners[(first + i) % count]!()
      }
    } catch (error) {
      // The listeners that were not reached are told next time.
      this.#wanted = true
      throw error
    } finally {
      this.#telling = false
      this.#again = false
    }
  }
}
