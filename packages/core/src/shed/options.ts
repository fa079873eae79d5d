import type { Clock } from '../clock.js'
import {
  requireAbove,
  requireFunction,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
  show,
} from '../options.js'
import type { Random } from '../random.js'
import { type Curve, logistic } from './curve.js'
import type { LoadSignal } from './signal.js'

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
const KINDS = ['reserved', 'sampled', 'live'] as const

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
  if (!Array.isArray(signals) || signals.length === 0)
    throw new TypeError(`signals must be an array of at least one signal, got ${show(signals)}`)
  for (const [index, one] of signals.entries()) {
    requireSignal(`signals[${index}]`, one)
    if (signals.findIndex((other) => other.name === one.name) !== index)
      throw new TypeError(`signals[${index}].name must be unique, got ${show(one.name)}`)
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
  if (typeof signal !== 'object' || signal === null)
    throw new TypeError(`${name} must be a signal: { name, curve, read }, got ${show(signal)}`)
  requireText(`${name}.name`, signal.name)
  requireFunction(`${name}.read`, signal.read)
  requireCurve(`${name}.curve`, signal.curve)
  if (signal.kind !== undefined) requireOneOf(`${name}.kind`, signal.kind, KINDS)
  if (signal.limit !== undefined) requireAbove(`${name}.limit`, signal.limit, 0)
}

function requireCurve(name: string, curve: Curve): void {
  if (typeof curve !== 'object' || curve === null)
    throw new TypeError(`${name} must be a curve: { from, to, probability }, got ${show(curve)}`)
  requireNumber(`${name}.from`, curve.from, 0)
  requireAbove(`${name}.to`, curve.to, curve.from)
  requireFunction(`${name}.probability`, curve.probability)
}
