import { openSync, readSync } from 'node:fs'
import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { type After, systemAfter } from '../clock.js'
import { requireFunction, requireOptions } from '../options.js'
import { type Curve, logistic } from '../shed/curve.js'
import type { LoadSignal, SignalHost } from '../shed/signal.js'
import { quotaClock } from './machine.js'

/** Period of the heartbeat, in milliseconds. */
const PERIOD_MS = 10
/**
 * Weight of a new beat in the smoothed lateness. A larger weight detects overload sooner, and reacts more to a single
 * pause.
 */
const GAIN = 0.2
/** Without a decision for this long the heartbeat stops, in milliseconds. */
const IDLE_MS = 1_000

/** Least waiting that a quota may have caused, in milliseconds: less is not looked up. */
const LEAST_THROTTLED_MS = 1

/** Lateness at which refusing starts, in units of a request's CPU time, and its bounds, in milliseconds. */
const FROM_REQUESTS = 3
const LEAST_FROM_MS = 10
const MOST_FROM_MS = 200
/** Lateness at which refusing starts until the cost of a request is known. */
const FIRST_FROM_MS = 50

/** Options of {@link eventLoopDelaySignal}. */
export interface EventLoopDelayOptions {
  /**
   * Chance of refusal by lateness in milliseconds. Without it the range is learned from the CPU time that a request
   * takes: 10 to 60 ms for light handlers, 200 to 1000 ms for the heaviest, 50 to 250 ms until it is known.
   */
  curve?: Curve
  /** Timer of the heartbeat. @default setTimeout, unref'd */
  after?: After
  /** Total time that the event loop has been active, in milliseconds. @default performance.eventLoopUtilization */
  activeMs?: () => number
  /**
   * Total time that this thread was ready to run but had no processor, in milliseconds; 0 if unknown.
   * @default the count of Linux, about 1 µs a call, once a beat
   */
  waitedMs?: () => number
  /**
   * Total time for which a CPU quota has stopped this process, in milliseconds: the part of `waitedMs` that counts as
   * lateness. Read when `waitedMs` has grown by a millisecond. @default the count of the cgroups with a quota
   */
  throttledMs?: () => number
}

/**
 * The delay of the event loop, in milliseconds: the smoothed lateness of a heartbeat, read at each decision.
 *
 * The heartbeat is a timer of 10 ms; requests are as late as the timer. At a decision, an overdue beat counts as if it
 * came now. Otherwise one turn of the loop, which may read hundreds of requests, would judge all of them by a value
 * from before that turn.
 *
 * Time for which other processes kept the thread from running does not count, because refusing requests would not give
 * it back. Time for which a CPU quota stopped the thread does count: our own work had used up the quota.
 *
 * The first decision starts the heartbeat. It stops after a second without decisions and never keeps a process alive.
 */
export function eventLoopDelaySignal(options: EventLoopDelayOptions = {}): LoadSignal {
  requireOptions('eventLoopDelaySignal', options, ['curve', 'after', 'activeMs', 'waitedMs', 'throttledMs'])
  const {
    curve,
    after = systemAfter,
    activeMs = () => performance.eventLoopUtilization().active,
    waitedMs = threadWaitedMs,
    throttledMs = quotaClock(),
  } = options
  requireFunction('after', after)
  requireFunction('activeMs', activeMs)
  requireFunction('waitedMs', waitedMs)
  requireFunction('throttledMs', throttledMs)
  return new EventLoopDelaySignal(curve, after, activeMs, waitedMs, throttledMs)
}

class EventLoopDelaySignal implements LoadSignal {
  readonly name = 'event-loop-delay'
  readonly kind = 'live'
  curve: Curve

  readonly #after: After
  readonly #taken: TakenByOthers
  readonly #cost: RequestCost | undefined
  #host: SignalHost | undefined
  #stop: (() => void) | undefined
  #dueMs = 0
  /**
   * Time that others had taken in all at the last beat, the time they have taken since, and when that was last read.
   */
  #takenBeforeMs = 0
  #takenMs = 0
  #askedAtMs = 0
  #smoothedMs = 0
  #decidedAtMs = 0

  constructor(
    curve: Curve | undefined,
    after: After,
    activeMs: () => number,
    waitedMs: () => number,
    throttledMs: () => number,
  ) {
    this.curve = curve ?? curveFrom(FIRST_FROM_MS)
    this.#after = after
    this.#taken = new TakenByOthers(waitedMs, throttledMs)
    // Interruptions count as active time of the loop, so the time that the thread waited is subtracted.
    if (curve === undefined) this.#cost = new RequestCost(() => activeMs() - waitedMs())
  }

  attach(host: SignalHost): void {
    if (this.#host !== undefined) throw new TypeError('an eventLoopDelaySignal serves one shedder; make one for each')
    this.#host = host
  }

  read(nowMs: number): number {
    const host = this.#host
    // Closed or not attached: without a heartbeat nothing can be late.
    if (host === undefined) return 0
    this.#decidedAtMs = nowMs
    if (this.#stop === undefined) this.#start(nowMs, host)
    let lateMs = this.#lateMs(nowMs)
    // At most once per period, no matter how many decisions fall into it.
    if (lateMs > this.#smoothedMs && nowMs - this.#askedAtMs >= PERIOD_MS) {
      this.#ask(nowMs)
      lateMs = this.#lateMs(nowMs)
    }
    return lateMs > this.#smoothedMs ? this.#smoothedMs + GAIN * (lateMs - this.#smoothedMs) : this.#smoothedMs
  }

  /** Before the next beat is due, nothing is late. */
  get standsUntilMs(): number {
    return this.#dueMs
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

  /** Sets the next beat. Time that others took before it does not count against it. */
  #next(nowMs: number): void {
    this.#takenBeforeMs += this.#takenMs
    this.#takenMs = 0
    this.#dueMs = nowMs + PERIOD_MS
    this.#stop = this.#after(PERIOD_MS, this.#beat)
  }

  #ask(nowMs: number): void {
    this.#takenMs = Math.max(0, this.#taken.ms() - this.#takenBeforeMs)
    this.#askedAtMs = nowMs
  }

  /** Lateness of the next beat caused by the loop itself; below 0 before it is due. */
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

/** Time that the thread was ready but did not run, less the part that a quota took. */
class TakenByOthers {
  readonly #waitedMs: () => number
  readonly #throttledMs: () => number
  #ms = 0
  #waited: number = Number.NaN
  #throttled = 0

  constructor(waitedMs: () => number, throttledMs: () => number) {
    this.#waitedMs = waitedMs
    this.#throttledMs = throttledMs
  }

  ms(): number {
    const waited = this.#waitedMs()
    const newly = waited - this.#waited
    // A quota stops a thread for milliseconds at least: less is not worth reading a file.
    if (newly < LEAST_THROTTLED_MS) return this.#ms + newly
    const throttled = this.#throttledMs()
    // Groups sum over all processors; at most the time that this thread waited is its own.
    if (newly >= 0) this.#ms += newly - Math.min(newly, Math.max(0, throttled - this.#throttled))
    this.#waited = waited
    this.#throttled = throttled
    return this.#ms
  }
}

/**
 * A loop that handles one request per turn is late by that request's cost without any overload, so heavy requests need
 * a higher range.
 */
function curveFor(costMs: number): Curve {
  return curveFrom(Math.min(Math.max(FROM_REQUESTS * costMs, LEAST_FROM_MS), MOST_FROM_MS))
}

function curveFrom(from: number): Curve {
  return logistic({ from, to: from === LEAST_FROM_MS ? 60 : 5 * from })
}

/**
 * Shortest window, and least number of requests, from which the cost of a request is learned; weight of a new window.
 */
const WINDOW_MS = 500
const WINDOW_REQUESTS = 10
const COST_GAIN = 0.3

/**
 * CPU time per request that ran.
 *
 * Refusing a request costs CPU time too: an unknown amount, at most the cost of a request that ran. So each window
 * bounds the cost from both sides, and the estimate moves only as far as needed to lie between them.
 */
class RequestCost {
  /** CPU milliseconds per request; 0 until learned. */
  ms = 0

  readonly #activeMs: () => number
  #sinceMs = 0
  #active = 0
  #finished = 0
  #refused = 0

  constructor(activeMs: () => number) {
    this.#activeMs = activeMs
  }

  begin(nowMs: number, { totals }: SignalHost): void {
    this.#sinceMs = nowMs
    this.#active = this.#activeMs()
    this.#finished = totals.finished
    this.#refused = totals.refused
  }

  /** Ends a due window. True if the estimate changed. */
  learn(nowMs: number, host: SignalHost): boolean {
    const finished = host.totals.finished - this.#finished
    if (nowMs - this.#sinceMs < WINDOW_MS || finished < WINDOW_REQUESTS) return false
    const refused = host.totals.refused - this.#refused
    const activeMs = Math.max(0, this.#activeMs() - this.#active)
    const cost = Math.min(Math.max(this.ms, activeMs / (finished + refused)), activeMs / finished)
    this.ms = this.ms === 0 ? cost : this.ms + COST_GAIN * (cost - this.ms)
    this.begin(nowMs, host)
    return true
  }
}

/**
 * Linux's counts for the calling thread: nanoseconds on a processor, nanoseconds ready but not running, time slices.
 */
const COUNTS = '/proc/thread-self/schedstat'
const SPACE = 0x20
const ZERO = 0x30
const NEVER_OPENED = -2
const CLOSED = -1

/**
 * One descriptor for the life of the thread, opened at the first call: opening the file costs ten times as much as
 * reading it.
 */
let file = NEVER_OPENED
const bytes = new Uint8Array(64)

/**
 * Time that the calling thread was ready to run but did not run, in milliseconds: other processes held the processor,
 * or the quota of a container was used up. Linux counts it; elsewhere, and if the count cannot be read, it stays 0.
 * Takes about a microsecond, and 16 bytes that are soon collected.
 */
export function threadWaitedMs(): number {
  if (file === NEVER_OPENED) file = open()
  if (file === CLOSED) return 0
  try {
    return secondNumber(readSync(file, bytes, 0, bytes.length, 0)) / 1e6
  } catch {
    file = CLOSED
    return 0
  }
}

function open(): number {
  try {
    return openSync(COUNTS, 'r')
  } catch {
    return CLOSED
  }
}

function secondNumber(length: number): number {
  let number = 0
  for (let i = bytes.indexOf(SPACE) + 1; i < length && bytes[i] !== SPACE; i++) number = 10 * number + bytes[i]! - ZERO
  return number
}

/**
 * Share of the time that the event loop was busy since the last sample, from 0 to 1. For pages and metrics.
 *
 * A poor load for shedding: it saturates at 1 and does not show the extent of an overload, so that half of the capacity
 * is lost.
 */
export function eventLoopUtilizationSignal(curve: Curve = logistic({ from: 0.9, to: 1 })): LoadSignal {
  let last: EventLoopUtilization = performance.eventLoopUtilization()
  return {
    name: 'event-loop-utilization',
    kind: 'sampled',
    curve,
    read(): number {
      const now = performance.eventLoopUtilization()
      const { utilization } = performance.eventLoopUtilization(now, last)
      last = now
      return utilization
    },
  }
}
