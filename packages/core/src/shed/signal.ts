import type { Clock } from '../clock.js'
import type { Curve } from './curve.js'

/** A shedder's counts since it was made. One object, updated in place. */
export interface ShedTotals {
  /** Requests admitted, exempt ones included. */
  readonly admitted: number
  /** Requests refused. */
  readonly refused: number
  /** Requests that ran and ended, with any outcome. */
  readonly finished: number
}

/** A shedder's interface to each of its signals, passed once, when the shedder is made. Nothing may be started then. */
export interface SignalHost {
  /** The clock of the times passed to `read`. */
  readonly clock: Clock
  readonly totals: ShedTotals
  /**
   * Takes a more precise reading at the instant of the call, for signals whose best readings arrive on events: live
   * memory at the end of a collection. The load is then the lower of the loads from this reading and from the timed
   * one.
   */
  push(reading: number): void
  /**
   * Takes a reading just after a garbage collection, in place of the timed one: the size of the fall says nothing about
   * the size of requests, and until the next such reading finished requests return nothing. For memory whose readings
   * include garbage.
   */
  collected(reading: number): void
}

/**
 * A load by which requests are shed: a number that grows with the work this process has taken on. Name, curve and
 * `read` are enough; the rest is for signals with more information about themselves.
 */
export interface LoadSignal {
  /** Appears in refusals and snapshots; unique within a shedder. */
  readonly name: string
  /** Chance of refusal by load. Read at every decision, so that a signal may learn its own range. */
  readonly curve: Curve
  /**
   * How the signal is read.
   *
   * - `reserved`: every `sampleEveryMs`, and requests admitted since then are added at a learned size. For resources
   *   that requests hold while they run, and for readings that are costly or slow to show new requests.
   * - `sampled`: every `sampleEveryMs`, without a reserve.
   * - `live`: at every decision. For readings that cost nanoseconds.
   *
   * @default 'reserved'
   */
  readonly kind?: SignalKind
  /** Reading of an exhausted resource; scales the learned sizes. Above 0. @default the curve's `to` */
  readonly limit?: number
  /**
   * Whether a reading that stays high under traffic is gradually discounted: right for memory that an allocator keeps,
   * wrong for a resource that is truly full, like a pool. Only if `kind` is `reserved`. @default false
   */
  readonly relief?: boolean
  /**
   * False while a reading could not show yet the requests admitted since the last one: then none is taken.
   * @default true
   */
  readonly due?: boolean
  /**
   * The reason why this signal has no readings, for people; absent without a problem. Its readings should then be 0.
   */
  readonly problem?: string | undefined
  /**
   * The load at `nowMs`, in any unit, at least 0. An error, NaN, an infinity or a negative number is a bad sample: the
   * last good one stays in use for a while. Must not block.
   */
  read(nowMs: number): number
  /** Called with its shedder's interface. Throws if it already serves another one and cannot serve two. */
  attach?(host: SignalHost): void
  /** Stops everything that it started. It may be attached and read again afterwards. */
  close?(): void
}

/**
 * How a signal is read: `sampled` at intervals; `reserved`, the same, plus a reserve for requests admitted since;
 * `live`, at each decision.
 */
export type SignalKind = 'reserved' | 'sampled' | 'live'
