import { requireInteger, requireOptions } from '../options.js'

/** The numbers of a FAIR structure; every one of them is also an option of `FairTracker`. */
export interface FairTuning {
  /** Levels of the sketch (L): hashes per flow. */
  levels: number
  /** Buckets in each level (M in the library's code, B in its article). */
  bucketsPerLevel: number
  /** Added to a flow's buckets at each failure (Pi), a probability. */
  failureIncrement: number
  /** Taken from them at each success (Pd), a probability. */
  successDecrement: number
  /** Exponential decay of a bucket (λ), per second. */
  decayPerSecond: number
  /** Renewal interval of the hash seeds, in milliseconds. */
  rotateEveryMs: number
}

/** Properties of a service for `tuneFair`. */
export interface FairTraffic {
  /** Flows expected; a thousandth of them, rounded up, may be heavy at once. Integer, at least 0. @default 1000 */
  flows?: number
  /** Integer, at least 1. @default 1000 */
  bucketsPerLevel?: number
  /** Consecutive failures after which a flow is refused entirely. Integer, at least 2. @default 25 */
  tolerableFailures?: number
}

/** Share of the flows that may be heavy at once. */
const HEAVY_SHARE = 0.001
/** Chance that an innocent flow shares a bucket with a heavy one on every level. */
const COLLISION_CHANCE = 1e-4
const LEAST_LEVELS = 3
/** Decrease by a success, as a part of the increase by a failure. */
const SUCCESS_PER_FAILURE = 0.001

/**
 * Chooses a structure as the Go library satmihir/fair does: enough levels that, with a thousandth of the flows heavy,
 * an innocent flow collides with heavy ones on all levels with a chance of at most 1e-4.
 *
 * With m heavy flows and B buckets a level is hit with chance 1 − (1 − 1/B)^m, so L = max(3, ⌈ln 1e-4 / ln(1 − (1 −
 * 1/B)^m)⌉). Throws a `RangeError` if no number of levels suffices: there the library silently returns its weakest
 * structure.
 */
export function tuneFair(traffic: FairTraffic = {}): FairTuning {
  requireOptions('traffic', traffic, ['flows', 'bucketsPerLevel', 'tolerableFailures'])
  const { flows = 1000, bucketsPerLevel = 1000, tolerableFailures = 25 } = traffic
  requireInteger('flows', flows, 0)
  requireInteger('bucketsPerLevel', bucketsPerLevel, 1)
  requireInteger('tolerableFailures', tolerableFailures, 2)
  const heavy = Math.ceil(flows * HEAVY_SHARE)
  const missChance = (1 - 1 / bucketsPerLevel) ** heavy
  const levels = Math.ceil(Math.log(COLLISION_CHANCE) / Math.log(1 - missChance))
  if (!Number.isFinite(levels))
    throw new RangeError(`bucketsPerLevel must be larger for ${flows} flows, got ${bucketsPerLevel}`)
  return {
    levels: Math.max(levels, LEAST_LEVELS),
    bucketsPerLevel,
    failureIncrement: 1 / tolerableFailures,
    successDecrement: SUCCESS_PER_FAILURE * (1 / tolerableFailures),
    decayPerSecond: 0.01,
    rotateEveryMs: 300_000,
  }
}
