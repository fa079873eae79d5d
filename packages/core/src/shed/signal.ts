import type { Clock } from '../clock.js'
import {
  by,
  type Check,
  fail,
  requireAbove,
  requireFunction,
  requireGiven,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
} from '../options.js'
import type { Random } from '../random.js'
import { type Curve, logistic } from './curve.js'

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
  /** Chance of refusal by load. Read at every decision, or see `standsUntilMs`: a signal may learn its own range. */
  readonly curve: Curve
  /**
   * How the signal is read.
   *
   * - `reserved`: every `sampleEveryMs`, and requests admitted since then are added at a learned size. For resources
   *   that requests hold while they run, and for readings that are costly or slow to show new requests.
   * - `sampled`: every `sampleEveryMs`, without a reserve.
   * - `live`: at every decision, or see `standsUntilMs`. For readings that cost nanoseconds.
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
   * The time until which the curve, and the reading of a `live` signal, cannot change: while they are too low to refuse
   * anybody, neither is read before. @default none: both are read at every decision
   */
  readonly standsUntilMs?: number
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

/** Options of load shedding: `signals`, or one `signal`. */
export interface ShedOptions {
  /** Several loads; the largest of their probabilities counts for a request. At least one. */
  signals?: readonly LoadSignal[]
  /** One load: a signal, or any function that returns a number, at least 0, in any unit. */
  signal?: LoadSignal | (() => number)
  /** With a function: the load at which refusing starts. At least 0, below `to`. */
  from?: number
  /** With a function: the load from which all requests are refused. */
  to?: number
  /** With a function, instead of `from` and `to`: the curve. @default logistic({ from, to }) */
  curve?: Curve
  /**
   * Milliseconds between samples of a signal, at least 1; at most 50 while it has learned from fewer than 3.
   * @default 100
   */
  sampleEveryMs?: number
  /** A request is admitted at any load once none was admitted for this time, in milliseconds, above 0. @default 1000 */
  trickleMs?: number
}

/** {@link ShedOptions}, with the clock and the random source. */
export interface LoadShedderOptions extends ShedOptions {
  /** Milliseconds since some fixed point. @default performance.now */
  clock?: Clock
  /** A number in [0, 1). @default the platform's cryptographic generator */
  random?: Random
}

/** Names of the options above, for code that passes them on. */
export const SHED_OPTIONS: readonly string[] = [
  'signals',
  'signal',
  'from',
  'to',
  'curve',
  'sampleEveryMs',
  'trickleMs',
]
const OF_A_FUNCTION = ['from', 'to', 'curve'] as const
const SIGNAL_CHECKS: Readonly<Partial<Record<keyof LoadSignal, Check>>> = {
  kind: by(requireOneOf, ['reserved', 'sampled', 'live']),
  limit: by(requireAbove, 0),
}

/**
 * The signals that valid options describe. Throws a `RangeError` or `TypeError` that names the option and its value.
 */
export function signalsOf(options: LoadShedderOptions): readonly LoadSignal[] {
  requireOptions('shed', options, [...SHED_OPTIONS, 'clock', 'random'])
  const { signal, signals } = options
  if (typeof signal === 'function' && signals === undefined) return [signalOf(signal, options)]
  for (const key of OF_A_FUNCTION)
    if (options[key] !== undefined)
      throw new TypeError(`${key} goes with a signal that is a function; other signals bring their own curve`)
  if ((signal === undefined) === (signals === undefined))
    throw new TypeError(`shed needs either signal or signals, got ${signal === undefined ? 'neither' : 'both'}`)
  if (signal !== undefined) {
    requireSignal('signal', signal)
    return [signal]
  }
  if (!Array.isArray(signals) || signals.length === 0) fail('signals', 'an array of at least one signal', signals)
  for (const [index, one] of signals.entries()) {
    requireSignal(`signals[${index}]`, one)
    if (signals.findIndex((other) => other.name === one.name) !== index)
      fail(`signals[${index}].name`, 'unique', one.name)
  }
  return signals
}

function signalOf(read: () => number, { from, to, curve }: ShedOptions): LoadSignal {
  if (curve === undefined) {
    // Checked here, so that the message can say what is missing for a function as a signal.
    requireNumber('from', from, 0)
    requireNumber('to', to, 0)
    return { name: 'signal', curve: logistic({ from: from as number, to: to as number }), read: () => read() }
  }
  requireCurve('curve', curve)
  if (from !== undefined || to !== undefined)
    throw new TypeError('curve has its own from and to; give one or the other')
  return { name: 'signal', curve, read: () => read() }
}

function requireSignal(name: string, signal: LoadSignal | (() => number)): asserts signal is LoadSignal {
  if (typeof signal !== 'object' || signal === null) fail(name, 'a signal: { name, curve, read }', signal)
  requireText(`${name}.name`, signal.name)
  requireFunction(`${name}.read`, signal.read)
  requireCurve(`${name}.curve`, signal.curve)
  requireGiven(SIGNAL_CHECKS, signal, `${name}.`)
}

function requireCurve(name: string, curve: Curve): void {
  if (typeof curve !== 'object' || curve === null) fail(name, 'a curve: { from, to, probability }', curve)
  requireNumber(`${name}.from`, curve.from, 0)
  requireAbove(`${name}.to`, curve.to, curve.from)
  requireFunction(`${name}.probability`, curve.probability)
}
