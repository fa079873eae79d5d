import { fail, requireAbove, requireNumber, requireOptions } from '../options.js'

/**
 * Chance of being refused, as a function of load. Pure: the same load always gives the same chance.
 *
 * 0 below `from`, 1 from `to` on, never falling in between.
 */
export interface Curve {
  /** Load at which refusal of ordinary requests starts, in the unit of the signal. */
  readonly from: number
  /** Load from which all requests are refused, at any priority, in the same unit. */
  readonly to: number
  /**
   * Chance, from 0 to 1, of refusing a request at `load`.
   *
   * `rise` moves where refusing starts, as a share of the range: 0.75 starts it three quarters up, -1 a range below
   * (see {@link startOf}). The top stays where it is. A load that is NaN gives 0.
   */
  probability(load: number, rise?: number): number
}

/** The range of a curve, in the unit of the signal. */
export interface CurveRange {
  /** Load at which refusing starts; at least 0. */
  from: number
  /** Load from which all requests are refused; above `from`. */
  to: number
}

export interface LogisticOptions extends CurveRange {
  /** Probability at `from`, and 1 minus the probability just below `to`; in (0, 0.5). @default 0.01 */
  edge?: number
}

/** Refuses everything from `from` on: the abrupt form, for comparison. `to` only bounds the rise. */
export function step(range: CurveRange): Curve {
  return curveOf('step', range, () => 1)
}

/** Refuses a share that grows evenly, from 0 at `from` to 1 at `to`. */
export function linear(range: CurveRange): Curve {
  return curveOf('linear', range, (position) => position)
}

/**
 * Refuses few at the bottom of the range and nearly all at its top: 1/(1 + e^(-k·(x - middle))), with k such that the
 * curve is worth `edge` at `from` and 1 - `edge` just below `to`.
 *
 * The flat start uses the remaining room if the next requests turn out to be small; the steep middle reacts quickly if
 * they do not.
 *
 * @see "Graceful degradation with the logistic function", 2022
 */
export function logistic(options: LogisticOptions): Curve {
  requireOptions('logistic', options, ['from', 'to', 'edge'])
  const { edge = 0.01, ...range } = options
  requireAbove('edge', edge, 0)
  if (edge >= 0.5) fail('edge', 'a number < 0.5', edge)
  const steepness = Math.log((1 - edge) / edge)
  return curveOf('logistic', range, (position) => 1 / (1 + Math.exp(-steepness * (2 * position - 1))))
}

/**
 * Load at which refusal of a request with this `rise` starts: `from + rise·(to - from)`.
 *
 * A negative rise lowers it by at most half of `from`. In a range that is wide relative to its start (10 to 60 ms), the
 * plain rule would start below zero, and refuse requests of low priority on an idle machine.
 */
export function startOf({ from, to }: Pick<Curve, 'from' | 'to'>, rise: number): number {
  return rise >= 0 ? from + rise * (to - from) : from + rise * Math.min(to - from, from / 2)
}

function curveOf(name: string, range: CurveRange, shape: (position: number) => number): Curve {
  requireOptions(name, range, ['from', 'to'])
  requireNumber('from', range.from, 0)
  requireNumber('to', range.to, 0)
  if (range.from >= range.to) throw new RangeError(`from must be below to, got ${range.from} and ${range.to}`)
  const { from, to } = range
  return {
    from,
    to,
    probability(load: number, rise = 0): number {
      if (load >= to) return 1
      const start = rise === 0 ? from : startOf(range, rise)
      return load >= start ? shape((load - start) / (to - start)) : 0
    },
  }
}
