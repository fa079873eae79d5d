import { type After, type Clock, steady } from '../../clock.js'
import type { DrawingSettings } from './options.js'
import { pulseOf } from './store.js'

/** A heartbeat is delayed by this factor: usually, a refused tenant has asked again by then. */
const LATE = 1.125

/** The owner of a {@link Pulse}. */
interface Beating {
  /** Time of the last event. */
  lastUseMs(): number
  /** Time of the last heartbeat. */
  lastSignMs(): number
  /** Whether heartbeats are needed. */
  isOpen(): boolean
  /** Sends a heartbeat. There may have been no event for a while. */
  sign(isIdle: boolean): void
}

/** One timer: sends a heartbeat at regular intervals while needed, and after an interval without events. */
export class Pulse {
  readonly #everyMs: number
  readonly #settings: DrawingSettings
  readonly #beating: Beating
  #cancel: (() => void) | undefined
  #dueMs = 0

  constructor(settings: DrawingSettings, beating: Beating) {
    this.#everyMs = pulseOf(settings.terms.windowMs)
    this.#settings = settings
    this.#beating = beating
  }

  /** Starts the timer, unless it runs. A long overdue one was lost, as those of a worker's former requests are. */
  start(nowMs: number): void {
    if (this.#cancel === undefined) {
      if (this.#beating.isOpen()) this.#set(nowMs)
    } else if (nowMs > this.#dueMs + this.#everyMs) this.#ring()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #set(nowMs: number): void {
    const { lastUseMs, lastSignMs } = this.#beating
    const usedMs = lastUseMs()
    const dueMs = lastSignMs() + this.#everyMs * LATE
    // A heartbeat that could not be sent, because no call was possible, is tried again.
    const signMs = dueMs > nowMs ? dueMs : nowMs + this.#everyMs / 2
    const idleMs = usedMs + this.#everyMs
    const nextMs = idleMs > nowMs ? Math.min(idleMs, signMs) : signMs
    this.#dueMs = nextMs
    this.#cancel = this.#settings.after(Math.max(1, nextMs - nowMs), () => this.#ring())
  }

  #ring(): void {
    this.stop()
    if (!this.#beating.isOpen()) return
    const nowMs = this.#settings.clock()
    const isIdle = nowMs - this.#beating.lastUseMs() >= this.#everyMs
    if (isIdle || nowMs - this.#beating.lastSignMs() >= this.#everyMs * LATE) this.#beating.sign(isIdle)
    this.#set(nowMs)
  }
}

const STEPS = 4
const MOST_TIMES = 4
const LATE_MS = 5

/**
 * Calls `end` after `ms` of running time of this process; the returned function cancels it. The time is counted in
 * steps. A step that took much longer than expected does not count, because the process stalled, and an answer that has
 * arrived meanwhile is read before the next step ends. Ends after 16 steps at the latest.
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
    if (restMs <= 1e-6 || steps >= MOST_TIMES * STEPS) end()
    else cancel = after(Math.min(stepMs, restMs), ring)
  }
  let cancel = after(stepMs, ring)
  return () => cancel()
}

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
