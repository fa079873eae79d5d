import { ownCopy } from '../path.js'

/** A moving average: of all samples while there are few; then each new one counts for `1 / memory`. */
export class MovingAverage {
  readonly #memory: number
  #count = 0
  #value = 0

  constructor(memory: number) {
    this.#memory = memory
  }

  /** The average; 0 before the first sample. */
  get value(): number {
    return this.#value
  }

  add(sample: number): void {
    if (this.#count < this.#memory) this.#count++
    this.#value += (sample - this.#value) / this.#count
  }
}

/** Requests over which durations are averaged. */
const DURATION_MEMORY = 20
/** Classes that are told apart; all others share one average. */
const MOST_CLASSES = 1_000

/** How long requests run, by class: moving averages of the requests that succeeded. */
export class Durations {
  readonly #classes = new Map<string, MovingAverage>()
  readonly #others = new MovingAverage(DURATION_MEMORY)
  readonly #all = new MovingAverage(DURATION_MEMORY)

  /** Mean duration over all classes, in milliseconds; 0 until known. */
  get mean(): number {
    return this.#all.value
  }

  /** Mean duration of a class, in milliseconds; 0 until known. */
  expected(name: string): number {
    return this.#of(name).value
  }

  learn(name: string, durationMs: number): void {
    this.#all.add(durationMs)
    let known = this.#classes.get(name)
    if (known === undefined && this.#classes.size < MOST_CLASSES) {
      known = new MovingAverage(DURATION_MEMORY)
      this.#classes.set(ownCopy(name), known)
    }
    ;(known ?? this.#others).add(durationMs)
  }

  #of(name: string): MovingAverage {
    return this.#classes.get(name) ?? this.#others
  }
}

/** Time in which an observation loses half its weight, while something waits. */
const HALF_LIFE_MS = 5_000
const MEAN_LIFE_MS = HALF_LIFE_MS / Math.LN2
/** Weight that old observations keep, as observed time, after a time in which nothing waited. */
const OLD_NEWS_MS = 500
/** Starts from which on the rate counts as known. */
const KNOWN_FROM = 10

/**
 * The rate at which a band is served: cost that started per millisecond *while something waited*.
 *
 * Time in which nothing waits does not count: then the rate of starts is the rate of arrivals, and a quiet hour would
 * make the first burst look hopeless. So this is the rate of the capacity or, for a lower band, of what the higher
 * bands leave. When nothing starts any more it halves every 5 s. While nothing waits it stays, but counts for less
 * beside later observations, so that an outage does not make the next burst look hopeless either. O(1) per call.
 */
export class DrainRate {
  #cost = 0
  #waitedMs = 0
  #starts = 0
  /** How often costs have faded by a factor of e since the start. */
  #faded = 0
  #waiting = false
  #nowMs = 0

  /** From now on something waits, or nothing does. */
  set(waiting: boolean, nowMs: number): void {
    this.#pass(nowMs)
    this.#waiting = waiting
  }

  /** A request that waited starts. Gives what `correct` needs. */
  started(cost: number, nowMs: number): number {
    this.#pass(nowMs)
    this.#cost += cost
    this.#starts++
    return this.#faded
  }

  /** A request has cost this much more than it started with, or less: as much of that counts as has not faded. */
  correct(change: number, fadedAtStart: number): void {
    this.#cost = Math.max(0, this.#cost + change * Math.exp(fadedAtStart - this.#faded))
  }

  /** Cost per millisecond; `undefined` until ten requests have started. */
  perMs(nowMs: number): number | undefined {
    this.#pass(nowMs)
    if (this.#starts < KNOWN_FROM || this.#waitedMs === 0) return undefined
    return this.#cost / this.#waitedMs
  }

  #pass(nowMs: number): void {
    const passedMs = nowMs - this.#nowMs
    this.#nowMs = nowMs
    if (!(passedMs > 0)) return
    let kept = Math.exp(-passedMs / MEAN_LIFE_MS)
    const seenMs = this.#waiting ? (1 - kept) * MEAN_LIFE_MS : 0
    if (!this.#waiting) kept = Math.min(1, Math.max(kept, OLD_NEWS_MS / this.#waitedMs))
    this.#cost *= kept
    this.#faded -= Math.log(kept)
    this.#waitedMs = this.#waitedMs * kept + seenMs
  }
}

const SOONEST_MS = 1_000
const LATEST_MS = 60_000
/** Lines that are remembered at most; the oldest is forgotten first. */
const MOST_LINES = 10_000

/** How long a client should stay away where nothing is known, in milliseconds. */
export const UNKNOWN_MS: number = SOONEST_MS

/**
 * Tells refused clients when to come back: one after another, at the rate at which their line is served.
 *
 * Giving every refused client the same time would bring them all back at once, and nearly all would be refused again.
 * So each client is placed behind those refused before it, as if it had queued: the end of the line moves on by the
 * time that its service takes. Times are from 1 s to 60 s, and not jittered.
 *
 * Keeps a record per line to which a client is still to come back, for at most a minute. O(1) amortised.
 */
export class RetrySchedule {
  /** When the last client of each line is to come back; lines used last are at the end. */
  readonly #ends = new Map<string, number>()

  /** Lines that are remembered. */
  get size(): number {
    return this.#ends.size
  }

  /**
   * How long, in milliseconds, the next refused client of `line` should stay away: at least `waitMs`, and until the
   * clients before it have been served. Its own service takes `serviceMs`.
   */
  schedule(line: string, waitMs: number, serviceMs: number, nowMs: number): number {
    this.#forget(nowMs)
    const latestMs = nowMs + LATEST_MS
    const comesMs = Math.min(latestMs, Math.max(this.#ends.get(line) ?? 0, nowMs + waitMs))
    this.#ends.delete(line)
    this.#ends.set(line, Math.min(latestMs, comesMs + serviceMs))
    return Math.max(SOONEST_MS, comesMs - nowMs)
  }

  clear(): void {
    this.#ends.clear()
  }

  /** Starts at the front, where the lines are that were used longest ago. */
  #forget(nowMs: number): void {
    for (const [line, endMs] of this.#ends) {
      if (endMs > nowMs && this.#ends.size < MOST_LINES) return
      this.#ends.delete(line)
    }
  }
}
