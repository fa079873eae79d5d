import { type Clock, systemClock } from '../clock.js'
import {
  requireAbove,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
} from '../options.js'
import { type Random, systemRandom } from '../random.js'
import type { Combine } from './sketch.js'
import { tuneFair } from './tuning.js'

/** Options of FAIR. The defaults are what `tuneFair()` gives: the published library's. */
export interface FairOptions {
  /** Levels of the sketch. Integer, at least 1. @default 3 */
  levels?: number
  /** Buckets in each level; more of them, fewer innocent flows caught. Integer, at least 1. @default 1000 */
  bucketsPerLevel?: number
  /** What a failure adds to the flow's refusal probability; above 0 and below 1. @default 0.04 */
  failureIncrement?: number
  /** What a success takes from it; above 0 and below `failureIncrement`. @default 0.00004 */
  successDecrement?: number
  /** Exponential decay of a probability, per second; 0 means never. @default 0.01 */
  decayPerSecond?: number
  /** Time between two changes of the hash seeds, in milliseconds; `Infinity` means never. @default 300000 */
  rotateEveryMs?: number
  /** How the levels' probabilities become one. @default 'min' */
  combine?: Combine
  /** `independent` bits per level, or the `published` library's double hashing, bit for bit (15 times slower). */
  hash?: 'independent' | 'published'
}

/** Seams of the outside world. */
export interface FairSeams {
  /** @default the platform's monotonic clock */
  clock?: Clock
  /** @default `Math.random` */
  random?: Random
}

/** Names of the options above, for whoever passes them on. */
export const FAIR_OPTIONS: readonly string[] = [
  'levels',
  'bucketsPerLevel',
  'failureIncrement',
  'successDecrement',
  'decayPerSecond',
  'rotateEveryMs',
  'combine',
  'hash',
]

const MOST_BUCKETS = 2 ** 27

/** All options with their defaults. Throws a `RangeError` or `TypeError` that names the option and its value. */
export function resolveFairOptions(options: FairOptions & FairSeams): Required<FairOptions & FairSeams> {
  requireOptions('fair', options, [...FAIR_OPTIONS, 'clock', 'random'])
  const tuned = tuneFair()
  const {
    levels = tuned.levels,
    bucketsPerLevel = tuned.bucketsPerLevel,
    failureIncrement = tuned.failureIncrement,
    successDecrement = Math.min(tuned.successDecrement, failureIncrement / 1000),
    decayPerSecond = tuned.decayPerSecond,
    rotateEveryMs = tuned.rotateEveryMs,
    combine = 'min',
    hash = 'independent',
    clock = systemClock,
    random = systemRandom,
  } = options
  requireInteger('fair.levels', levels, 1)
  requireInteger('fair.bucketsPerLevel', bucketsPerLevel, 1)
  if (levels * bucketsPerLevel > MOST_BUCKETS)
    throw new RangeError(
      `fair.levels × fair.bucketsPerLevel must be at most ${MOST_BUCKETS}, got ${levels} × ${bucketsPerLevel}`,
    )
  requireAbove('fair.failureIncrement', failureIncrement, 0, 1)
  if (failureIncrement === 1) throw new RangeError('fair.failureIncrement must be below 1, got 1')
  requireAbove('fair.successDecrement', successDecrement, 0, 1)
  if (successDecrement >= failureIncrement)
    throw new RangeError(
      `fair.successDecrement must be below fair.failureIncrement (${failureIncrement}), got ${successDecrement}`,
    )
  requireNumber('fair.decayPerSecond', decayPerSecond, 0)
  if (rotateEveryMs !== Number.POSITIVE_INFINITY) requireAbove('fair.rotateEveryMs', rotateEveryMs, 0)
  if (typeof combine !== 'function') requireOneOf('fair.combine', combine, ['min', 'mean'])
  requireOneOf('fair.hash', hash, ['independent', 'published'])
  requireFunction('fair.clock', clock)
  requireFunction('fair.random', random)
  return {
    levels,
    bucketsPerLevel,
    failureIncrement,
    successDecrement,
    decayPerSecond,
    rotateEveryMs,
    combine,
    hash,
    clock,
    random,
  }
}
