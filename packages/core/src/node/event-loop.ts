import { openSync, readSync } from 'node:fs'
import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { type After, systemAfter } from '../clock.js'
import { requireFunction, requireOptions } from '../options.js'
import { type Curve, logistic } from '../shed/curve.js'
import type { LoadSignal, SignalHost } from '../shed/signal.js'
import { quotaClock } from './machine.js'

/** Time between two beats, in milliseconds. */
const PERIOD_MS = 10
/** Weight of a new beat in the smoothed lateness. More hears overload sooner, and a lone pause louder. */
const GAIN = 0.2
/** Without a decision for this long the heart stops, in milliseconds. */
const IDLE_MS = 1_000

/** Waiting that may have been a quota's, in milliseconds. */
const LEAST_THROTTLED_MS = 1

/** Where refusing starts, in requests' worth of CPU, and within which bounds, in milliseconds. */
const FROM_REQUESTS = 3
const LEAST_FROM_MS = 10
const MOST_FROM_MS = 200
/** Where refusing starts until the cost of a request is known. */
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
   * @default what Linux counts, about 1 µs a call, once a beat
   */
  waitedMs?: () => number
  /**
   * Total time for which a CPU quota has stopped this process, in milliseconds: the part of `waitedMs` that counts as
   * lateness. Read when `waitedMs` has grown by a millisecond. @default what the cgroups with a quota count
   */
  throttledMs?: () => number
}

/**
 * The delay of the event loop, in milliseconds: the smoothed lateness of a heartbeat, read at each decision.
 *
 * The heartbeat is a timer of 10 ms; requests are as late as the timer. An overdue beat counts at a decision as if it
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
  /** What others had taken in all at the last beat, how much more when last asked since, and when that was. */
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
    // A loop that is interrupted counts as active.
    if (curve === undefined) this.#cost = new RequestCost(() => activeMs() - waitedMs())
  }

  attach(host: SignalHost): void {
    if (this.#host !== undefined) throw new TypeError('an eventLoopDelaySignal serves one shedder; make one for each')
    this.#host = host
  }

  read(nowMs: number): number {
    const host = this.#host
    // Closed or not attached: there is no heartbeat, so nothing is late.
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
    this.#takenBeforeMs += this.#takenMs
    this.#takenMs = 0
    this.#dueMs = nowMs + PERIOD_MS
    this.#stop = this.#after(PERIOD_MS, this.#beat)
  }

  #ask(nowMs: number): void {
    this.#takenMs = Math.max(0, this.#taken.ms() - this.#takenBeforeMs)
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
    // Groups sum up all processors; at most the time that this thread waited is its own.
    if (newly >= 0) this.#ms += newly - Math.min(newly, Math.max(0, throttled - this.#throttled))
    this.#waited = waited
    this.#throttled = throttled
    return this.#ms
  }
}

/**
 * A loop that turns once per request is late by the cost of a request without any overload: heavy requests need room.
 */
function curveFor(costMs: number): Curve {
  return curveFrom(Math.min(Math.max(FROM_REQUESTS * costMs, LEAST_FROM_MS), MOST_FROM_MS))
}

function curveFrom(from: number): Curve {
  return logistic({ from, to: from === LEAST_FROM_MS ? 60 : 5 * from })
}

/** Learning what a request costs: shortest time, and least requests, that teach; weight of the news. */
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

  /** True if there was news. */
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

/** Linux on the calling thread: nanoseconds that it ran, nanoseconds that it was ready and did not run, time slices. */
const COUNTS = '/proc/thread-self/schedstat'
const SPACE = 0x20
const ZERO = 0x30
const NEVER_OPENED = -2
const CLOSED = -1

/** One file for the life of the thread, opened when first asked: opening it costs ten times what reading it does. */
let file = NEVER_OPENED
const bytes = new Uint8Array(64)

/**
 * Time that the calling thread has been ready to run and was not let, in milliseconds: other processes held the
 * processor, or the quota of a container was used up. Linux counts it; elsewhere, and where the count cannot be read,
 * it is 0 for ever. Takes about a microsecond, and 16 bytes that are soon collected.
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
 * Not a good load to shed by: it stops at 1 and cannot say how much is too much, so that half of the capacity is lost.
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
