import type { Clock } from '../clock.js'
import type { Curve } from './curve.js'

/** What a shedder has counted since it was made. One object, updated in place. */
export interface ShedTotals {
  /** Requests let in, exempt ones included. */
  readonly admitted: number
  /** Requests refused. */
  readonly refused: number
  /** Requests that ran and ended, whatever the outcome. */
  readonly finished: number
}

/** What a shedder gives to each of its signals, once, when it is made. Nothing may be started then. */
export interface SignalHost {
  /** The clock that `read` is given the time of. */
  readonly clock: Clock
  readonly totals: ShedTotals
  /**
   * Takes a sharper reading at the instant it was taken, for signals whose best readings come when they come: live
   * memory at the end of a collection. The load is then the lesser of what this reading and the timed one lead to.
   */
  push(reading: number): void
  /**
   * Takes a reading of which garbage has just gone, as if it were the timed one: how far it fell says nothing about what
   * requests hold, and until the next of these what ends gives nothing back. For memory where garbage may be in the way.
   */
  collected(reading: number): void
}

/**
 * A load that requests are shed by: a number that grows with the work this process has taken on. Name, curve and
 * `read` are enough; the rest is for signals that know more about themselves.
 */
export interface LoadSignal {
  /** Appears in refusals and snapshots; unique within a shedder. */
  readonly name: string
  /** Chance of refusal by load. Asked for at every decision, so that a signal may learn its own range. */
  readonly curve: Curve
  /**
   * How it is read.
   *
   * - `reserved`: every `sampleEveryMs`, and what was admitted since then is added at a learned size. For what
   *   requests hold while they run, and for readings that are costly or slow to show what was let in.
   * - `sampled`: every `sampleEveryMs`, taken as it is.
   * - `live`: at every decision. For readings that cost nanoseconds.
   *
   * @default 'reserved'
   */
  readonly kind?: SignalKind
  /** Reading at which nothing is left; scales what is learned. Above 0. @default the curve's `to` */
  readonly limit?: number
  /**
   * Whether a reading that stays high under traffic is gradually discounted: right for memory that an allocator
   * keeps, wrong for what cannot rise above full, like a pool. Only where `kind` is `reserved`. @default false
   */
  readonly relief?: boolean
  /** False while a reading could not show yet what was let in since the last: then none is taken. @default true */
  readonly due?: boolean
  /** Why this signal cannot say anything, for people; absent while it can. Its readings should then be 0. */
  readonly problem?: string | undefined
  /**
   * The load at `nowMs`, in any unit, at least 0. To throw, or to give NaN, an infinity or less than 0 is a bad
   * sample: the last good one goes on for a while. Must not block.
   */
  read(nowMs: number): number
  /** Meets its shedder. Throws if it serves another one already and cannot serve two. */
  attach?(host: SignalHost): void
  /** Stops what it started. It may be attached and read again afterwards. */
  close?(): void
}

/**
 * How a signal is read: `sampled` every so often; `reserved`, the same, and what was let in since is added; `live`, at
 * each decision.
 */
export type SignalKind = 'reserved' | 'sampled' | 'live'
