import { ownCopy } from '../path.js'

/** A moving average: of all samples while there are few; then each new one has the weight `1 / memory`. */
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
/** Number of classes that are distinguished; all others share one average. */
const MOST_CLASSES = 1_000

/** Durations of requests, by class: moving averages of the requests that succeeded. */
export class Durations {
  readonly #classes = new Map<string, MovingAverage>()
  readonly #others = new MovingAverage(DURATION_MEMORY)
  readonly #all = new MovingAverage(DURATION_MEMORY)

  /** Mean duration over all classes, in milliseconds; 0 until known. */
  get mean(): number {
    return this.#all.value
  }

  /** Mean duration of a class, in milliseconds; 0 until known. Without classes, the name is empty. */
  expected(name: string): number {
    return name === '' ? this.#all.value : (this.#classes.get(name) ?? this.#others).value
  }

  learn(name: string, durationMs: number): void {
    this.#all.add(durationMs)
    if (name === '') return
    let known = this.#classes.get(name)
    if (known === undefined && this.#classes.size < MOST_CLASSES) {
      known = new MovingAverage(DURATION_MEMORY)
      this.#classes.set(ownCopy(name), known)
    }
    ;(known ?? this.#others).add(durationMs)
  }
}

/** Time in which an observation loses half its weight, while a request waits. */
const HALF_LIFE_MS = 5_000
const MEAN_LIFE_MS = HALF_LIFE_MS / Math.LN2
/** Weight that old observations keep, as observed time, after a time without waiting requests. */
const OLD_NEWS_MS = 500
/** Number of starts after which the rate counts as known. */
const KNOWN_FROM = 10
/** After hours without a start the rate would be 0, and a wait of nothing at that rate no number. */
const LEAST_PER_MS = 1e-100

/**
 * The rate at which a band is served: cost started per millisecond *while a request waited*.
 *
 * Time without waiting requests does not count: then the rate of starts is the rate of arrivals, and a quiet hour would
 * make the first burst look hopeless. So this is the rate of the capacity or, for a lower band, of the rest that the
 * higher bands leave. When starts stop, it halves every 5 s. While no request waits it stays, but has less weight
 * beside later observations, so that an outage does not make the next burst look hopeless either. O(1) per call.
 */
export class DrainRate {
  #cost = 0
  #waitedMs = 0
  #starts = 0
  /** Number of factors of e by which costs have decayed since the start. */
  #faded = 0
  #waiting = false
  #nowMs = 0

  /** From now on a request waits, or none does. */
  set(waiting: boolean, nowMs: number): void {
    this.#pass(nowMs)
    this.#waiting = waiting
  }

  /** A request that waited starts. Returns the argument for `correct`. */
  started(cost: number, nowMs: number): number {
    this.#pass(nowMs)
    this.#cost += cost
    this.#starts++
    return this.#faded
  }

  /** A request has cost `change` more than at its start, or less: the part that has not decayed counts. */
  correct(change: number, fadedAtStart: number): void {
    this.#cost = Math.max(0, this.#cost + change * Math.exp(fadedAtStart - this.#faded))
  }

  /** Cost per millisecond, above 0; `undefined` until ten requests have started. */
  perMs(nowMs: number): number | undefined {
    this.#pass(nowMs)
    if (this.#starts < KNOWN_FROM || this.#waitedMs === 0) return undefined
    return Math.max(LEAST_PER_MS, this.#cost / this.#waitedMs)
  }

  #pass(nowMs: number): void {
    const passedMs = nowMs - this.#nowMs
    this.#nowMs = nowMs
    if (!(passedMs > 0)) return
    let fades = passedMs / MEAN_LIFE_MS
    if (!this.#waiting) fades = Math.max(0, Math.min(fades, Math.log(this.#waitedMs / OLD_NEWS_MS)))
    const kept = Math.exp(-fades)
    this.#cost *= kept
    this.#faded += fades
    this.#waitedMs *= kept
    if (this.#waiting) this.#waitedMs += (1 - kept) * MEAN_LIFE_MS
  }
}

const SOONEST_MS = 1_000
const LATEST_MS = 60_000
/** Most lines that are remembered; the oldest is forgotten first. */
const MOST_LINES = 10_000

/** Retry delay of a client while nothing is known, in milliseconds. */
export const UNKNOWN_MS: number = SOONEST_MS

/**
 * Tells refused clients when to come back: one after another, at the rate at which their line is served.
 *
 * The same time for every refused client would bring them all back at once, and nearly all would be refused again. So
 * each client is placed behind those refused before it, as if it had queued: the end of the line moves on by its
 * service time. Times are from 1 s to 60 s, and not jittered.
 *
 * Keeps a record per line with clients that are still to come back, for at most a minute. O(1) amortised.
 */
export class RetrySchedule {
  /** Return time of the last client of each line; recently used lines are at the end. */
  readonly #ends = new Map<string, number>()

  /** Number of remembered lines. */
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

  /** Starts at the front, with the lines that were used longest ago. */
  #forget(nowMs: number): void {
    for (const [line, endMs] of this.#ends) {
      if (endMs > nowMs && this.#ends.size < MOST_LINES) return
      this.#ends.delete(line)
    }
  }
}
