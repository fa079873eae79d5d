import { performance } from 'node:perf_hooks'
import { type After, systemAfter } from '../clock.js'
import { requireFunction, requireOptions } from '../options.js'
import { type Curve, logistic } from '../shed/curve.js'
import type { LoadSignal, SignalHost } from '../shed/signal.js'
import { RequestCost } from './request-cost.js'
import { waitedMs as systemWaitedMs } from './run-queue.js'

/** Time between two beats, in milliseconds. */
const PERIOD_MS = 10
/** Weight of a new beat in the smoothed lateness. More hears overload sooner, and a lone pause louder. */
const GAIN = 0.2
/** Without a decision for this long the heart stops, in milliseconds. */
const IDLE_MS = 1_000

/** Where refusing starts, in requests' worth of CPU, and within which bounds, in milliseconds. */
const FROM_REQUESTS = 3
const LEAST_FROM_MS = 10
const MOST_FROM_MS = 50

/** Options of {@link eventLoopDelaySignal}. */
export interface EventLoopDelayOptions {
  /**
   * Chance of refusal by lateness in milliseconds. Without it the range is learned from the CPU time that a request
   * takes: 10 to 60 ms at first and for light handlers, 50 to 250 ms for the heaviest.
   */
  curve?: Curve
  /** Timer of the heartbeat. @default setTimeout, unref'd */
  after?: After
  /** Time that the event loop has been active in all, in milliseconds. @default performance.eventLoopUtilization */
  activeMs?: () => number
  /**
   * Time that this thread has been ready to run in all and was not let, in milliseconds; 0 where nobody knows.
   * @default what Linux counts, about 1 µs a call, once a beat
   */
  waitedMs?: () => number
}

/**
 * How late the event loop is, in milliseconds: a heartbeat, smoothed, and read live at each decision.
 *
 * A beat is a timer of 10 ms; what it is late by, requests are late by too. At a decision, a beat that is overdue
 * counts as if it came now: one turn of the loop may read hundreds of requests, and all would otherwise be decided by
 * a number from before that turn.
 *
 * Time in which other processes or a quota kept the thread from running is no lateness of its own, and does not count.
 *
 * The first decision starts the heart; it stops after a second without any, and never keeps a process alive.
 */
export function eventLoopDelaySignal(options: EventLoopDelayOptions = {}): LoadSignal {
  requireOptions('eventLoopDelaySignal', options, ['curve', 'after', 'activeMs', 'waitedMs'])
  const {
    curve,
    after = systemAfter,
    activeMs = () => performance.eventLoopUtilization().active,
    waitedMs = systemWaitedMs,
  } = options
  requireFunction('after', after)
  requireFunction('activeMs', activeMs)
  requireFunction('waitedMs', waitedMs)
  return new EventLoopDelaySignal(curve, after, activeMs, waitedMs)
}

class EventLoopDelaySignal implements LoadSignal {
  readonly name = 'event-loop-delay'
  readonly kind = 'live'
  curve: Curve

  readonly #after: After
  readonly #waited: () => number
  readonly #cost: RequestCost | undefined
  #host: SignalHost | undefined
  #stop: (() => void) | undefined
  #dueMs = 0
  /** What `waitedMs` said at the last beat, how much more it said when last asked since, and when that was. */
  #waitedMs = 0
  #takenMs = 0
  #askedAtMs = 0
  #smoothedMs = 0
  #decidedAtMs = 0

  constructor(curve: Curve | undefined, after: After, activeMs: () => number, waitedMs: () => number) {
    this.curve = curve ?? curveFor(0)
    this.#after = after
    this.#waited = waitedMs
    // A loop that is interrupted counts as active.
    if (curve === undefined) this.#cost = new RequestCost(() => activeMs() - waitedMs())
  }

  attach(host: SignalHost): void {
    if (this.#host !== undefined) throw new TypeError('an eventLoopDelaySignal serves one shedder; make one for each')
    this.#host = host
  }

  read(nowMs: number): number {
    const host = this.#host
    // Closed, or nobody's: no heart beats, so nothing is late.
    if (host === undefined) return 0
    this.#decidedAtMs = nowMs
    if (this.#stop === undefined) this.#start(nowMs, host)
    let lateMs = this.#lateMs(nowMs)
    // Once a beat's time, however many decisions fall into it.
    if (lateMs > this.#smoothedMs && nowMs - this.#askedAtMs >= PERIOD_MS) {
      this.#ask(nowMs)
      lateMs = this.#lateMs(nowMs)
    }
    return lateMs > this.#smoothedMs ? this.#smoothedMs + GAIN * (lateMs - this.#smoothedMs) : this.#smoothedMs
  }

  close(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#host = undefined
  }

  #start(nowMs: number, host: SignalHost): void {
    this.#smoothedMs = 0
    this.#cost?.begin(nowMs, host)
    this.#ask(nowMs)
    this.#next(nowMs)
  }

  /** The next beat. What was taken until now is the business of this one. */
  #next(nowMs: number): void {
    this.#waitedMs += this.#takenMs
    this.#takenMs = 0
    this.#dueMs = nowMs + PERIOD_MS
    this.#stop = this.#after(PERIOD_MS, this.#beat)
  }

  #ask(nowMs: number): void {
    this.#takenMs = Math.max(0, this.#waited() - this.#waitedMs)
    this.#askedAtMs = nowMs
  }

  /** How late the next beat is by the loop's own doing; below 0 before it is due. */
  #lateMs(nowMs: number): number {
    return nowMs - this.#dueMs - this.#takenMs
  }

  readonly #beat = (): void => {
    const host = this.#host
    if (host === undefined) return
    const nowMs = host.clock()
    this.#ask(nowMs)
    this.#smoothedMs += GAIN * (Math.max(0, this.#lateMs(nowMs)) - this.#smoothedMs)
    if (this.#cost?.learn(nowMs, host) === true) this.curve = curveFor(this.#cost.ms)
    if (nowMs - this.#decidedAtMs > IDLE_MS) this.#stop = undefined
    else this.#next(nowMs)
  }
}

/** A loop that turns once per request is late by what requests cost, without any overload: heavy ones need room. */
function curveFor(costMs: number): Curve {
  const from = Math.min(Math.max(FROM_REQUESTS * costMs, LEAST_FROM_MS), MOST_FROM_MS)
  return logistic({ from, to: from === LEAST_FROM_MS ? 60 : 5 * from })
}
