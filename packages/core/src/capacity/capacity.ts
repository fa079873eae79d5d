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
