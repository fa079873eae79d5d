import type { Outcome } from '@fairlead/core'
import type { Capacity } from '@fairlead/core/queue'

/**
 * Rules of Netflix's concurrency-limits (commit 78a74b9, January 2026) in the form that it recommends: on windows of a
 * second, by their mean. Each with its own defaults, except that all start at 20 with bounds of 1 and 1,000, as ours.
 */
const INITIAL = 20
const MOST = 1_000

/** A rule: takes the measurements of a window, and returns the next limit. */
interface Rule {
  limit: number
  sample(durationMs: number, inFlight: number, failed: boolean): void
}

/** Cuts by the ratio of a long average of durations to the present one, if that is beyond 1.5; grows by 4, smoothed. */
class Gradient2 implements Rule {
  limit = INITIAL
  #samples = 0
  #longMs = 0

  sample(durationMs: number, inFlight: number): void {
    this.#samples++
    const part = this.#samples <= 10 ? 1 / this.#samples : 2 / 601
    this.#longMs += part * (durationMs - this.#longMs)
    const longMs = this.#longMs
    if (longMs > 2 * durationMs) this.#longMs *= 0.95
    if (inFlight < this.limit / 2) return
    const gradient = Math.max(0.5, Math.min(1, (1.5 * longMs) / durationMs))
    const next = this.limit * gradient + 4
    this.limit = within(0.8 * this.limit + 0.2 * next)
  }
}

/** Estimates the queue from the ratio of the shortest duration to the present one, and keeps it between two sizes. */
class Vegas implements Rule {
  limit = INITIAL
  #shortestMs = 0
  #sinceProbe = 0

  sample(durationMs: number, inFlight: number, failed: boolean): void {
    // The published rule draws a factor from .5 to 1 for each probe; here it is their mean.
    if (++this.#sinceProbe >= 0.75 * 30 * this.limit || this.#shortestMs === 0 || durationMs < this.#shortestMs) {
      if (this.#sinceProbe >= 0.75 * 30 * this.limit) this.#sinceProbe = 0
      this.#shortestMs = durationMs
      return
    }
    const step = Math.max(1, Math.floor(Math.log10(this.limit)))
    const queue = Math.ceil(this.limit * (1 - this.#shortestMs / durationMs))
    if (failed) this.limit = within(this.limit - step)
    else if (inFlight * 2 < this.limit) return
    else if (queue <= step) this.limit = within(this.limit + 6 * step)
    else if (queue < 3 * step) this.limit = within(this.limit + step)
    else if (queue > 6 * step) this.limit = within(this.limit - step)
  }
}

/** Grows by one, and cuts by a tenth after a failure or a mean duration of more than five seconds. */
class Aimd implements Rule {
  limit = INITIAL

  sample(durationMs: number, inFlight: number, failed: boolean): void {
    if (failed || durationMs > 5_000) this.limit = within(Math.floor(0.9 * this.limit))
    else if (inFlight * 2 >= this.limit) this.limit = within(this.limit + 1)
  }
}

function within(limit: number): number {
  return Math.min(MOST, Math.max(1, limit))
}

/**
 * A rule as a capacity: windows end with the first request that ends a second or more after the last, of ten or more.
 */
class Windowed implements Capacity {
  readonly maximum: number = MOST
  readonly #rule: Rule
  readonly #listeners: (() => void)[] = []
  inFlight = 0
  #endsMs = 0
  #count = 0
  #sumMs = 0
  #peak = 0
  #failed = false

  constructor(rule: Rule) {
    this.#rule = rule
  }

  get limit(): number {
    return Math.floor(this.#rule.limit)
  }

  tryTake(width: number): boolean {
    if (this.inFlight + width > this.limit) return false
    this.inFlight += width
    return true
  }

  release(width: number, outcome: Outcome, durationMs: number, nowMs: number): void {
    this.#count++
    this.#sumMs += durationMs
    this.#peak = Math.max(this.#peak, this.inFlight)
    this.#failed ||= outcome === 'failure'
    if (nowMs > this.#endsMs) {
      if (this.#count >= 10) this.#rule.sample(this.#sumMs / this.#count, this.#peak, this.#failed)
      this.#endsMs = nowMs + 1_000
      this.#count = 0
      this.#sumMs = 0
      this.#peak = 0
      this.#failed = false
    }
    this.undo(width)
  }

  undo(width: number): void {
    this.inFlight -= width
    for (const listener of this.#listeners) listener()
  }

  onAvailable(listener: () => void): () => void {
    this.#listeners.push(listener)
    return () => {
      this.#listeners.splice(this.#listeners.indexOf(listener), 1)
    }
  }

  snapshot(): { limit: number } {
    return { limit: this.limit }
  }
}

export const PUBLISHED_LIMITS: readonly { readonly name: string; readonly make: () => Capacity }[] = [
  { name: 'Gradient2', make: () => new Windowed(new Gradient2()) },
  { name: 'Vegas', make: () => new Windowed(new Vegas()) },
  { name: 'AIMD', make: () => new Windowed(new Aimd()) },
]
