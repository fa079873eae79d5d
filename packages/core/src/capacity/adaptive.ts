import type { Outcome } from '../admission/outcome.js'
import { requireInteger, requireOptions } from '../options.js'
import type { Capacity } from './capacity.js'
import { Climb } from './climb.js'
import { Slots } from './fixed.js'
import { TwoLevelLimit } from './two-level-limit.js'
import { Window } from './window.js'

/** Options of {@link adaptive}. */
export interface AdaptiveOptions {
  /** The limit to start from. Integer from `min` to `max`. @default 20, or the nearest to it within `min` and `max` */
  initial?: number
  /** The limit never falls below this. Integer, at least 1. @default 1 */
  min?: number
  /** The limit never grows beyond this, and nothing wider is let in. Integer, at least `min`. @default 1000 */
  max?: number
}

/** What an {@link adaptive} capacity knows at a moment, in slots. */
export interface AdaptiveSnapshot {
  kind: 'adaptive'
  limit: number
  inFlight: number
  min: number
  max: number
  /** True while the limit is higher for a moment, or for the first time, to see whether that brings more. */
  climbing: boolean
  /** True while the limit is lower for a moment, to see how long requests take then. */
  looking: boolean
  /** Mean duration of the requests in the last window, in milliseconds; undefined before there was one. */
  durationMs: number | undefined
  /** What is expected of requests that do not wait for each other, in milliseconds; undefined before it is known. */
  baselineMs: number | undefined
}

/**
 * How long somebody has to wait at the limit, in all, before the next climb; and that, as a multiple of what the last
 * one took, so that climbs take at most a twentieth of the time.
 */
const CLIMB_EVERY_MS = 60_000
const CLIMB_EVERY = 20

/**
 * A capacity that learns its limit: the number of requests in flight above which they only wait for each other, times
 * about 1.3; or what is asked for, where nothing runs short. It sees nothing but how many are in flight and when they
 * end.
 *
 * It doubles its limit until that brings no more, then follows the service in windows of 50 completions (of 500, where
 * durations vary much) with a look at three quarters of the limit every 20 windows or so, and climbs again once a
 * minute. Nothing that runs is touched, and nothing is learned while the limit is not reached. O(1) per request,
 * allocates nothing of its own but 3.4 kB for each climb.
 *
 * In flight are the *slots* taken: a request of width 3 is three requests that start and end together, and a mean
 * duration counts it three times. A `failure` that was faster than the mean counts as if it had lasted the mean,
 * because a downstream's fast refusal must not look like speed; all else counts as what it lasted.
 *
 * @throws RangeError, TypeError for an option out of its range, or one that there is not
 * @see `Climb` for the way up, `TwoLevelLimit` for the rule after it, `Window` for what that measures, beside this file
 */
export function adaptive(options: AdaptiveOptions = {}): AdaptiveCapacity {
  requireOptions('adaptive', options, ['initial', 'min', 'max'])
  const { min = 1, max = 1_000 } = options
  requireInteger('min', min, 1)
  requireInteger('max', max, min)
  const { initial = Math.min(Math.max(20, min), max) } = options
  requireInteger('initial', initial, min, max)
  return new AdaptiveCapacity(initial, min, max)
}

/** Made by {@link adaptive}: the slots, the climb, the window and the rule, put together. */
export class AdaptiveCapacity implements Capacity {
  readonly maximum: number
  readonly #min: number
  readonly #slots: Slots = new Slots()
  readonly #window: Window = new Window()
  #rule: TwoLevelLimit
  /** Undefined between climbs. */
  #climb: Climb | undefined
  /** Time that the last one has taken. */
  #climbedMs = 0
  /** Width of the request that was turned away last, which is to show whether the slots are full. */
  #asked = 0
  /** Time since the last climb in which they were. */
  #fullMs = 0
  /** The last time that was told; NaN before the first. */
  #nowMs: number = Number.NaN
  /** No window is open yet, and what is left until the first release that may open it. */
  #settling = false
  #settleMs = 0
  /** Mean duration in the last window. */
  #durationMs = 0

  constructor(initial: number, min: number, max: number) {
    this.maximum = max
    this.#min = min
    this.#rule = new TwoLevelLimit(initial, min, max)
    this.#climb = new Climb(initial, max)
  }

  get limit(): number {
    return this.#climb?.underWay ? this.#climb.limit : this.#rule.limit
  }

  get inFlight(): number {
    return this.#slots.inFlight
  }

  tryTake(width: number, nowMs: number): boolean {
    this.#pass(nowMs)
    if (!this.#slots.tryTake(width, this.limit, this.maximum)) {
      this.#asked = width
      return false
    }
    this.#window.take(this.#slots.inFlight)
    return true
  }

  release(width: number, outcome: Outcome, durationMs: number, nowMs: number): void {
    this.#pass(nowMs)
    if (!this.#slots.giveBack(width)) return
    if (outcome === 'failure' && durationMs < this.#durationMs) this.#window.passOver(width, durationMs)
    else {
      this.#window.complete(width, durationMs)
      this.#climb?.complete(durationMs)
      this.#endClimb()
    }
    if (!this.#climb?.underWay) this.#follow()
    this.#slots.tell()
  }

  undo(width: number, nowMs: number): void {
    this.#pass(nowMs)
    this.#climb?.undo()
    if (this.#slots.giveBack(width)) this.#slots.tell()
  }

  wake(nowMs: number): void {
    const { limit } = this
    this.#pass(nowMs)
    if (this.limit > limit) this.#slots.tell()
  }

  onAvailable(listener: () => void): () => void {
    return this.#slots.onAvailable(listener)
  }

  snapshot(): AdaptiveSnapshot {
    const { baselineMs, looking } = this.#rule
    return {
      kind: 'adaptive',
      limit: this.limit,
      inFlight: this.inFlight,
      min: this.#min,
      max: this.maximum,
      climbing: this.#climb?.underWay ?? false,
      looking,
      durationMs: this.#durationMs > 0 ? this.#durationMs : undefined,
      baselineMs: baselineMs > 0 ? baselineMs : undefined,
    }
  }

  /** Reads the window, if it is done. */
  #follow(): void {
    if (this.#settling) {
      if (this.#settleMs <= 0) this.#open(0)
    } else if (this.#window.isDone) {
      this.#durationMs = this.#window.durationMs
      this.#rule.read(this.#window)
      this.#open(this.#rule.settleMs)
      // One that has not begun, because nobody waits for long, would begin from here.
      if (this.#climb) this.#climb = new Climb(this.#rule.limit, this.maximum, this.#climb.careful)
    }
  }

  /** If the climb has ended: goes on from what it has found, or where it was before if that is the same. */
  #endClimb(): void {
    if (this.#climb?.ended !== true) return
    const { limit, from, careful, spentMs, settleMs } = this.#climb
    if (!careful || limit !== from) this.#rule = new TwoLevelLimit(limit, this.#min, this.maximum)
    this.#climb = undefined
    this.#climbedMs = spentMs
    this.#fullMs = 0
    this.#open(settleMs)
  }

  /** Begins the next window now, or with the first release after `settleMs`. */
  #open(settleMs: number): void {
    this.#settling = settleMs > 0
    this.#settleMs = settleMs
    this.#window.open(this.#slots.inFlight)
  }

  /** Counts the time since the last call. A clock that jumped back, or is no number, counts as no time passed. */
  #pass(nowMs: number): void {
    const elapsedMs = nowMs - this.#nowMs
    this.#nowMs = nowMs
    if (!(elapsedMs > 0)) return
    const { inFlight } = this
    this.#settleMs -= elapsedMs
    this.#window.pass(elapsedMs, inFlight)
    if (this.#slots.fits(this.#asked, this.limit)) {
      this.#climb?.pass(elapsedMs, false)
    } else if (this.#climb) {
      if (!this.#rule.looking) this.#climb.pass(elapsedMs, true)
      this.#endClimb()
    } else {
      this.#fullMs += elapsedMs
      const due = this.#fullMs >= Math.max(CLIMB_EVERY_MS, CLIMB_EVERY * this.#climbedMs)
      if (due && !this.#rule.looking) this.#climb = new Climb(this.#rule.limit, this.maximum, true)
    }
  }
}
