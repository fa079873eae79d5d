import type { CleanRun } from './clean-run.js'
import type { Delay } from './delay.js'

/** A run of so many successes, and so many seconds, can be trusted fully: more where failures are heard of late. */
const TELLING = 100
const SECONDS = 8
const DELAYS = 6
/** The most that the capacity is taken to be, as a multiple of what was measured. */
const MOST = 4

/**
 * How far a run without failure can be trusted to mean that there is more: from 0, without bound. The lesser of what
 * its successes say and its seconds: by successes alone a quick service would overshoot within a second, by seconds
 * alone a slow one on no evidence. And slower, the later failures are heard of: what is let in too much until then
 * fails too.
 */
export function trustIn({ telling, seconds }: CleanRun, delay: Delay): number {
  return Math.max(0, Math.min(telling / TELLING, (seconds - delay.seconds) / (SECONDS + DELAYS * delay.seconds)))
}

/**
 * How much capacity to go by, as a multiple of what was measured: a little more, so that growth is found, and soon
 * much more while nothing fails. It costs nothing until the resource is empty; the failure that follows resets it.
 */
export function probeFactor(trust: number, share: number): number {
  return Math.min(MOST, 1 + share + trust * trust)
}
