import type { Clock } from '../clock.js'

/** A clock that moves only when the test advances it; usable as a {@link Clock}. */
export interface ManualClock extends Clock {
  /** Advances the time by `ms` milliseconds, fractions allowed. A negative value sets it back, to test exactly that. */
  advance(ms: number): void
}

/** Makes a clock that stands at `startMs` until it is advanced. */
export function manualClock(startMs = 0): ManualClock {
  let nowMs = startMs
  const clock = (): number => nowMs
  return Object.assign(clock, {
    advance(ms: number): void {
      if (!Number.isFinite(ms)) throw new RangeError(`ms must be a finite number, got ${ms}`)
      nowMs += ms
    },
  })
}
