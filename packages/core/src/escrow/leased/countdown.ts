import type { After, Clock } from '../../clock.js'

const STEPS = 4
const MOST_STEPS = 4 * STEPS
const LATE_MS = 5

/**
 * Calls `end` after `ms` in which this process was running; cancelled by calling what it returns. The time is counted
 * in steps. One that took much longer than it should counts for nothing, because the process stood still, and an answer
 * that has arrived meanwhile is read before the next step ends. Ends after 16 steps at the latest.
 */
export function countdown(ms: number, clock: Clock, after: After, end: () => void): () => void {
  const stepMs = ms / STEPS
  let restMs = ms
  let steps = 0
  let fromMs = clock()
  const ring = (): void => {
    const nowMs = clock()
    const tookMs = nowMs - fromMs
    fromMs = nowMs
    steps++
    if (tookMs <= 1.5 * stepMs + LATE_MS) restMs -= tookMs
    if (restMs <= 1e-6 || steps >= MOST_STEPS) end()
    else cancel = after(Math.min(stepMs, restMs), ring)
  }
  let cancel = after(stepMs, ring)
  return () => cancel()
}
