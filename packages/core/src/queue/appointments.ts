const SOONEST_MS = 1_000
const LONGEST_MS = 60_000

/**
 * How long a client should stay away, in milliseconds: until what stands in its way will have been served, `waitMs`
 * from now, as far as is known; from 1 s, which is also for when nothing is known, to 60 s. Not jittered.
 */
export function retryAfterMs(waitMs: number | undefined): number {
  return Math.min(LONGEST_MS, Math.max(SOONEST_MS, waitMs ?? SOONEST_MS))
}

/** For what will not be admitted later either. */
export const NEVER_MS: number = LONGEST_MS
