import type { Outcome } from '../admission/outcome.js'
import { requireInteger, requireOptions } from '../options.js'
import type { Capacity } from './capacity.js'
import { Climb } from './climb.js'
import { Slots } from './fixed.js'
import { TwoLevelLimit } from './two-level-limit.js'
import { Window } from './window.js'

/** Options of {@link adaptive}. */
export interface AdaptiveOptions {
  /** The limit to start from. Integer from `min` to `max`. @default 20, or the nearest value within `min` and `max` */
  initial?: number
  /** The limit never falls below this. Integer, at least 1. @default 1 */
  min?: number
  /**
   * The limit never grows beyond this, and wider requests are never admitted. Integer, at least `min`.
   * @default 1000
   */
  max?: number
}

/** State of an {@link adaptive} capacity, in slots. */
export interface AdaptiveSnapshot {
  kind: 'adaptive'
  limit: number
  inFlight: number
  min: number
  max: number
  /** True during a climb: the limit is raised to test whether throughput grows. */
  climbing: boolean
  /** True during a look: the limit is lowered briefly to measure durations there. */
  looking: boolean
  /** Mean duration of the requests in the last window, in milliseconds; undefined before the first. */
  durationMs: number | undefined
  /** Expected duration of requests that do not wait for each other, in milliseconds; undefined before it is known. */
  baselineMs: number | undefined
}

/**
 * Total time with waiting requests at the limit before the next climb; and the least such time, as a multiple of the
 * length of the first climb and of one that brought nothing, so that these take at most a twentieth of it.
 */
const CLIMB_EVERY_MS = 60_000
const CLIMB_EVERY = 20
/** Mean durations without an end that a later climb waits for, and at least the time between climbs. */
const SILENCE = 5
/**
 * Losses in a row after which the limit is halved: the least number; the least multiple of the limit, because requests
 * that started together are lost together; and the least multiple of the usual distance between two successes, which
 * chance exceeds once in twenty thousand. Then the number of successes over which that distance is averaged.
 */
const ALL_LOST = 50
const GENERATIONS = 2
const UNUSUAL = 10
const MEMORY = 100

/**
 * A capacity that learns its limit: about 1.3 times the number of requests in flight above which they only wait for
 * each other; or the demand, if nothing runs short. It sees only the number in flight and the times of the ends.
 *
 * It doubles its limit until throughput stops growing, then follows the service in windows of 50 completions (of 500,
 * where durations vary much, and of up to 20 s, where all of them rise and fall together), and looks at three quarters
 * of the limit about every 20 windows. Once a minute it climbs again, unless these looks show that a higher limit
 * brings nothing. Running requests are not touched, and nothing is learned while the limit is not reached. O(1) per
 * request; while the limit climbs, O(log n), with memory for the times of the requests in flight and of a round.
 *
 * In flight are the *slots* taken: a request of width 3 is three requests that start and end together, and a mean
 * duration counts it three times.
 *
 * Only successes are throughput. A request that ends without one, after as long as the others, has used its slot for
 * nothing: a time-out shows the same duration however full the service is. One that was faster is left out, because a
 * downstream's fast refusal must not look like speed. Until a first request succeeds, `ignored` ones count as
 * successes: some services have streams alone, which only clients end. If nothing succeeds any more, the limit falls by
 * halves until something does, and climbs from there as at first; but not twice to where all is lost.
 *
 * @throws RangeError, TypeError for an option out of its range, or an unknown option
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

/** Created by {@link adaptive}: combines the slots, the climb, the window and the rule. */
export class AdaptiveCapacity implements Capacity {
  readonly maximum: number
  readonly #min: number
  readonly #slots: Slots = new Slots()
  readonly #window: Window = new Window()
  #rule: TwoLevelLimit
  /** Undefined between climbs. */
  #climb: Climb | undefined
  /** Length of the last climb; 0 if it was careful and brought more. */
  #vainMs = 0
  /** Width of the last request that did not fit, which shows whether the slots are full. */
  #asked = 0
  /** Time with full slots since the last climb. */
  #fullMs = 0
  /** Time of the last call; NaN before the first. */
  #nowMs: number = Number.NaN
  /** Time left before a release may open the next window, while none is open. */
  #settling = false
  #settleMs = 0
  /** Mean duration in the last window. */
  #durationMs = 0
  /** Requests since the last success that ended without, and took as long; and the mean of that number. */
  #losses = 0
  #usualLosses = 0
  /** Number of successes, up to those over which that is averaged. */
  #successes = 0
  /** Time since the limit was halved. */
  #levelMs: number = Number.POSITIVE_INFINITY
  /** The climb goes on from a total loss; and where it ends, because the last one that did so led to another. */
  #recovering = false
  #ceiling = 0
  /** Nothing has succeeded since there were too many of them. */
  #lost = false

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
    this.#climb?.start()
    return true
  }

  release(width: number, outcome: Outcome, durationMs: number, nowMs: number): void {
    this.#pass(nowMs)
    if (!this.#slots.giveBack(width)) return
    this.#end(width, outcome, durationMs)
    this.#endClimb()
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

  #end(width: number, outcome: Outcome, durationMs: number): void {
    const { typicalMs } = this.#window
    if (outcome === 'success') this.#succeed()
    if (outcome === 'success' || (outcome === 'ignored' && this.#successes === 0)) {
      this.#window.complete(width, durationMs)
      this.#climb?.complete(durationMs)
    } else if (durationMs < typicalMs) {
      this.#window.passOver(width, durationMs)
      this.#climb?.passOver(durationMs)
    } else {
      this.#window.lose(width, durationMs)
      this.#climb?.complete(durationMs, false)
      this.#lose(durationMs)
    }
  }

  #succeed(): void {
    this.#successes = Math.min(this.#successes + 1, MEMORY)
    this.#usualLosses += (this.#losses - this.#usualLosses) / this.#successes
    this.#losses = 0
    // What the service can do after a total loss is unknown.
    if (!this.#lost) return
    this.#lost = false
    const { limit } = this.#rule
    if (limit >= this.#ceiling) return
    this.#recovering = true
    this.#climb = new Climb(limit, this.#ceiling, false, this.#min)
  }

  /** A row of losses that is beyond chance shows that all slots are in vain: a half of them is as good. */
  #lose(durationMs: number): void {
    // What started before the last such step belongs to the level before it.
    if (this.#successes === 0 || durationMs > this.#levelMs) return
    const { limit } = this
    const usual = 1 + this.#usualLosses
    if (++this.#losses < Math.max(ALL_LOST, GENERATIONS * limit, UNUSUAL * usual)) return
    this.#losses = 0
    if (!this.#lost) this.#ceiling = this.#recovering ? limit >> 1 : this.maximum
    this.#recovering = false
    this.#levelMs = 0
    this.#lost = true
    this.#climb = undefined
    this.#rule = new TwoLevelLimit(Math.max(this.#min, limit >> 1), this.#min, this.maximum, this.#rule)
    this.#open(0)
  }

  /** Reads the window, if it is complete. */
  #follow(): void {
    if (this.#settling) {
      if (this.#settleMs <= 0) this.#open(0)
    } else if (this.#window.isDone) {
      this.#durationMs = this.#window.durationMs
      this.#rule.read(this.#window)
      this.#open(this.#rule.settleMs)
      // A climb that has not begun, because requests wait only briefly, would begin from here.
      if (this.#climb?.from === this.#rule.limit) this.#climb.fade()
      else if (this.#climb) this.#climb = this.#nextClimb(this.#climb.careful)
    }
  }

  #nextClimb(careful: boolean): Climb {
    const silenceMs = careful ? Math.max(CLIMB_EVERY_MS, SILENCE * this.#window.typicalMs) : undefined
    return new Climb(this.#rule.limit, this.maximum, careful, this.#min, this.#rule.windowMs, silenceMs)
  }

  /** If the climb has ended: continues from its result, or as before if that is the same limit. */
  #endClimb(): void {
    if (this.#climb?.ended !== true) return
    const { limit, from, careful, spentMs, settleMs } = this.#climb
    if (!careful || limit !== from) this.#rule = new TwoLevelLimit(limit, this.#min, this.maximum, this.#rule)
    this.#climb = undefined
    this.#recovering = false
    this.#vainMs = careful && limit > from ? 0 : spentMs
    this.#fullMs = 0
    this.#open(settleMs)
  }

  /** Reads the window of a look that has lasted for long enough, though little or nothing has ended. */
  #cutLook(): void {
    if (!this.#rule.looking || this.#climb?.underWay || this.#window.elapsedMs <= this.#rule.lookMs) return
    this.#rule.read(this.#window, true)
    this.#open(this.#rule.settleMs)
  }

  /** Begins the next window now, or with the first release after `settleMs`. */
  #open(settleMs: number): void {
    this.#settling = settleMs > 0
    this.#settleMs = settleMs
    this.#window.open(this.#slots.inFlight, this.#rule.windowMs)
  }

  /** Counts the time since the last call. If the clock jumped back, or is no number, no time counts as passed. */
  #pass(nowMs: number): void {
    const elapsedMs = nowMs - this.#nowMs
    this.#nowMs = nowMs
    if (!(elapsedMs > 0)) return
    const { inFlight } = this
    this.#levelMs += elapsedMs
    this.#settleMs -= elapsedMs
    this.#window.pass(elapsedMs, inFlight)
    this.#cutLook()
    if (this.#slots.fits(this.#asked, this.limit)) {
      this.#climb?.pass(elapsedMs, false, inFlight)
    } else if (this.#climb) {
      this.#climb.pass(elapsedMs, !this.#rule.looking, inFlight)
      this.#endClimb()
    } else {
      this.#fullMs += elapsedMs
      if (this.#fullMs < Math.max(CLIMB_EVERY_MS, CLIMB_EVERY * this.#vainMs)) return
      // During a look it begins after it.
      if (this.#rule.saturated || this.#lost) this.#fullMs = 0
      else this.#climb = this.#nextClimb(true)
    }
  }
}
