import { fail } from './options.js'

/** Milliseconds since some fixed point, fractions allowed. Only differences are used. */
export type Clock = () => number

/** Runs `fn` once, `ms` milliseconds from now; the returned function cancels it. Must not keep a process alive. */
export type After = (ms: number, fn: () => void) => () => void

/** The platform's monotonic clock. A wrapper, so that replacing the global still works. */
export const systemClock: Clock = () => performance.now()

/**
 * The offset from a clock's readings to the time of day, for processes that act at the same moment without
 * communicating. Known for the platform's clock; any other clock is assumed to show the time of day.
 */
export function originMs(clock: Clock): number {
  return clock === systemClock ? performance.timeOrigin : 0
}

/** `setTimeout` fires immediately for a longer time. */
const LONGEST_TIMER_MS = 0x7fff_ffff

/** The platform's timer, unref'd where the runtime supports that. Waits at most 24.8 days: a later timer fires then. */
export const systemAfter: After = (ms, fn) => {
  const timer = setTimeout(fn, Math.min(ms, LONGEST_TIMER_MS))
  // A number in most runtimes.
  ;(timer as { unref?(): void }).unref?.()
  return () => clearTimeout(timer)
}

/** Clocks are corrected by less than this gradually, as by NTP: a smaller step back is noise. */
const NOISE_MS = 128

/**
 * `clock`, made to never run backwards. A small step back is noise: the time stands still until the reading has caught
 * up, otherwise the steps forward would add up. A larger one is a jump: it counts as no time passed, and time goes on
 * from there.
 * A later reading that is not a finite number repeats the last one. The platform's own clock is steady already.
 *
 * @throws TypeError, RangeError if the first reading is not a finite number, such as that of an async function
 */
export function steady(clock: Clock): Clock {
  if (clock === systemClock) return clock
  const first = clock()
  if (!Number.isFinite(first)) fail('clock()', 'finite', first)
  // In a typed array, because a captured number that is not a small integer is allocated anew at each assignment.
  const state = Float64Array.of(first, 0)
  return () => {
    const reading = clock()
    const back = state[LAST]! - reading
    if (Number.isFinite(reading) && (back <= 0 || back > NOISE_MS)) {
      state[SKIPPED]! += Math.max(0, back)
      state[LAST] = reading
    }
    return state[LAST]! + state[SKIPPED]!
  }
}

/** The last reading, and the sum of the jumps back. */
const LAST = 0
const SKIPPED = 1

/** A single timer for the earliest due event. It may ring early or late, so its listener must read the clock. */
export class Alarm {
  readonly #after: After
  readonly #ring: () => void
  #cancel: (() => void) | undefined = undefined
  #atMs = 0

  constructor(after: After, ring: () => void) {
    this.#after = after
    this.#ring = ring
  }

  /** Rings at `atMs`, unless it is already set to ring sooner. `undefined` cancels it. */
  set(atMs: number | undefined, nowMs: number): void {
    if (atMs === undefined) {
      this.#stop()
      return
    }
    if (this.#cancel !== undefined && this.#atMs <= atMs) return
    this.#stop()
    this.#atMs = atMs
    this.#start(Math.max(0, atMs - nowMs))
  }

  /**
   * A method apart from `set`: a closure in `set` would be allocated on every call, although the timer is mostly set
   * already.
   */
  #start(ms: number): void {
    this.#cancel = this.#after(ms, () => {
      this.#cancel = undefined
      this.#ring()
    })
  }

  #stop(): void {
    const cancel = this.#cancel
    this.#cancel = undefined
    cancel?.()
  }
}
