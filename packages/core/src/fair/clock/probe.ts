import type { CleanRun } from './clean-run.js'

/** A run of so many successes, or so many seconds, doubles the probe. */
const TELLING = 100
const SECONDS = 8
/** The most that the capacity is taken to be, as a multiple of what was measured. */
const MOST = 4

/**
 * How much capacity to go by, as a multiple of what was measured: a little more, so that growth is found, and soon
 * much more while nothing fails. It costs nothing until the resource is empty; the failure that follows resets it.
 *
 * By the lesser of successes and seconds: by successes alone a quick service would overshoot within a second, by
 * seconds alone a slow one on no evidence.
 */
export function probeFactor({ telling, seconds }: CleanRun, share: number): number {
  const trust = Math.min(telling / TELLING, seconds / SECONDS)
  return Math.min(MOST, 1 + share + trust * trust)
}
