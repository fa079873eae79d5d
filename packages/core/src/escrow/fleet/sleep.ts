import { type Clock, steady } from '../../clock.js'

/** A smaller difference between the clocks is only a correction, or the time between two readings. */
const LEAST_SLEEP_MS = 100
/** Longest step of a coarse wall clock: it is compared with its largest lead within one such time, or two. */
const COARSE_MS = 1_000

/**
 * Tells whether the machine may have slept, while a monotonic clock stood still, since it was asked last: the wall
 * clock goes forward by more. There may be other reasons for that, too; `nowMs` is the monotonic clock's time. A wall
 * clock that throws, or returns no number, shows nothing.
 */
export function sleepWatch(clock: Clock, wallClock: Clock): (nowMs: number) => boolean {
  let sinceMs = clock()
  let last = read(wallClock) - sinceMs
  if (!Number.isFinite(last)) last = Number.POSITIVE_INFINITY
  let [lead, leadBefore] = [last, last]
  return (nowMs) => {
    const apart = read(wallClock) - nowMs
    if (!Number.isFinite(apart)) return false
    if (nowMs >= sinceMs + COARSE_MS) {
      leadBefore = nowMs < sinceMs + 2 * COARSE_MS ? lead : last
      lead = last
      sinceMs = nowMs
    }
    const isAhead = apart - Math.max(lead, leadBefore) >= LEAST_SLEEP_MS
    lead = Math.max(lead, apart)
    last = apart
    return isAhead
  }
}

function read(clock: Clock): number {
  try {
    return clock()
  } catch {
    return Number.NaN
  }
}

/** `clock`, made steady; at each reading that shows that the machine may have slept, it first calls `doubt`. */
export function watched(clock: Clock, wallClock: Clock | undefined, doubt: () => void): Clock {
  const steadied = steady(clock)
  if (wallClock === undefined) return steadied
  const mayHaveSlept = sleepWatch(steadied, wallClock)
  return () => {
    const nowMs = steadied()
    if (mayHaveSlept(nowMs)) doubt()
    return nowMs
  }
}
