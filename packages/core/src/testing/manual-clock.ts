import type { Clock } from '../clock.js'

/** A clock that only moves when it is told to; callable wherever a {@link Clock} is wanted. */
export interface ManualClock extends Clock {
  /** Moves time on by `ms` milliseconds, fractions allowed. A negative figure sets it back, to test just that. */
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
