import { ClockArbiter, type ClockLink } from '@fairlead/core'
import { CLOCK_VERSION, requireOptions, requireText, systemAfter, systemClock } from '@fairlead/core/internal'
import { type RedisClient, type RunScript, type Script, scriptOf, scriptRunner } from './client.js'
import { CLOCK_SCRIPT } from './clock-script.js'

const EXCHANGE: Script = scriptOf(CLOCK_SCRIPT)
/**
 * Delay of the arbiter's fetch after the end of a period, and of the other members' fetch after their reports.
 */
const FETCH_MS = 35
const POLL_MS = 55
const PERIOD_MS = 250
const CALLS_PER_PERIOD = 2
/** A process without anything to report for this time has left. */
const OVER_MS = 2_000
/** A call without an answer after this time counts as lost; above this number of lost calls, the rest do too. */
const LOST_MS = 500
const MOST_LOST = 4
/** Term of an arbiter that could not renew it. */
const TERM_MS = 800

/** Options of {@link redisFleet}. */
export interface RedisFleetOptions {
  /** Prefix of every key. @default 'fairlead' */
  prefix?: string
}

/** A connection to the shared clocks of a fleet, through Redis. */
export interface RedisFleet extends ClockLink {
  /**
   * Makes the process leave immediately, so that the others need not wait for a time-out: call it before the process
   * ends. From then on its gates use their own clocks. Never rejects.
   */
  close(): Promise<void>
}

/**
 * Lets the processes of a fleet share FAIR's clock through Redis: for `createGate({ name, fleet })`. All gates of one
 * name on the same Redis share a clock.
 *
 * Without a shortage, it only asks whether others share a clock: three times in its first three seconds of requests,
 * and later if some fail, at most once a minute in the end. For two seconds after each question, and during a shortage,
 * it makes at most eight calls a second, of some hundred bytes, on one key, `<prefix>:clock5:{<name>}`, which lies on
 * one node of a cluster and expires by itself. One of the processes keeps the clock, in terms of 0.8 seconds; if it
 * ends or stops, another takes over. If Redis is unavailable, each process uses its own clock within two seconds, and
 * shares again when Redis is back. No request ever waits for Redis.
 *
 * The client stays yours: it is never closed. Needs Redis 5 or later, or Valkey. Throws a `TypeError` for an object
 * that is no client of the packages `redis`, `ioredis` or `@upstash/redis`.
 */
export function redisFleet(client: RedisClient, options: RedisFleetOptions = {}): RedisFleet {
  requireOptions('redisFleet', options, ['prefix'])
  const { prefix = 'fairlead' } = options
  requireText('redisFleet.prefix', prefix)
  const run = scriptRunner(client)
  const seats: RedisSeat[] = []
  let isClosed = false
  return {
    after: systemAfter,
    join(name, hear) {
      if (isClosed) return () => {}
      const seat = new RedisSeat(run, `${prefix}:clock${CLOCK_VERSION}:{${name}}`, hear)
      seats.push(seat)
      return (report, member) => seat.report(report, member)
    },
    async close() {
      isClosed = true
      await Promise.all(seats.map((seat) => seat.leave()))
    },
  }
}

/** A process's work for one clock: it sends reports, fetches leases, and keeps the clock if it is the arbiter. */
class RedisSeat {
  readonly #run: RunScript
  readonly #key: string
  readonly #hear: (lease: string, waitedMs?: number) => void
  #member = ''
  /** The latest report, until it is sent: it contains everything unconfirmed. */
  #report = ''
  #reportedAtMs = Number.NEGATIVE_INFINITY
  #arbiter: ClockArbiter | undefined
  #confirmedAtMs = 0
  /** Leases to publish. */
  #leases: ReadonlyMap<string, string> = new Map()
  #cancel: (() => void) | undefined
  #hasLeft = false
  /** The call in flight, the time when it began, and abandoned calls. */
  #call = 0
  #isWaiting = false
  #calls = 0
  #calledAtMs = 0
  #unanswered = 0

  constructor(run: RunScript, key: string, hear: (lease: string, waitedMs?: number) => void) {
    this.#run = run
    this.#key = key
    this.#hear = hear
  }

  report(report: string, member: string): void {
    if (this.#hasLeft) return
    const nowMs = systemClock()
    this.#member = member
    this.#reportedAtMs = nowMs
    if (this.#arbiter !== undefined) this.#take(report, 0)
    else {
      this.#report = report
      this.#exchange()
    }
    if (this.#arbiter === undefined || this.#cancel === undefined) this.#wake(this.#arbiter === undefined ? POLL_MS : 0)
  }

  async leave(): Promise<void> {
    this.#hasLeft = true
    this.#cancel?.()
    this.#arbiter = undefined
    if (this.#member === '') return
    try {
      await this.#run(EXCHANGE, [this.#key], [this.#member, 'l'])
    } catch {
      // Redis is unavailable: the entry expires there by itself.
    }
  }

  #wake(inMs: number): void {
    this.#cancel?.()
    this.#cancel = systemAfter(inMs, () => {
      this.#cancel = undefined
      this.#tick()
    })
  }

  #tick(): void {
    const nowMs = systemClock()
    if (this.#hasLeft || nowMs - this.#reportedAtMs > OVER_MS) {
      this.#arbiter = undefined
      return
    }
    this.#calls = 0
    this.#exchange()
    // The arbiter's periods are those of its own clock. A timer that fired slightly early must not fire twice for one
    // period.
    const untilMs = PERIOD_MS - ((nowMs - FETCH_MS) % PERIOD_MS)
    this.#wake(this.#arbiter === undefined ? PERIOD_MS : untilMs + (untilMs < PERIOD_MS / 2 ? PERIOD_MS : 0))
  }

  /** Sends everything pending to Redis, unless a call is still in flight. */
  #exchange(): void {
    const nowMs = systemClock()
    if (this.#isWaiting && nowMs - this.#calledAtMs < LOST_MS) return
    if (this.#isWaiting && this.#unanswered >= MOST_LOST) return
    if (this.#isWaiting) this.#unanswered++
    if (nowMs - this.#confirmedAtMs > TERM_MS) this.#arbiter = undefined
    const call = ++this.#call
    this.#calls++
    this.#isWaiting = true
    this.#calledAtMs = nowMs
    const leases = this.#arbiter === undefined ? new Map<string, string>() : this.#leases
    const report = this.#report
    this.#leases = new Map()
    this.#report = ''
    this.#run(EXCHANGE, [this.#key], this.#said(report, leases)).then(
      (reply) => {
        if (this.#answered(call)) this.#hears(reply, report, leases)
      },
      () => {
        this.#answered(call)
      },
    )
  }

  #said(report: string, leases: ReadonlyMap<string, string>): string[] {
    if (leases.size === 0) return [this.#member, report === '' ? 'f' : `r${report}`]
    let text = 'p'
    for (const [member, lease] of leases) {
      const [own, all] = lease.split('\n')
      if (text === 'p') text += all
      // The arbiter keeps its own lease.
      if (member !== this.#member) text += `\n${member} ${own}`
    }
    return [this.#member, text]
  }

  /** False if the call was abandoned: later calls have been made. */
  #answered(call: number): boolean {
    if (call !== this.#call) {
      this.#unanswered = Math.max(0, this.#unanswered - 1)
      return false
    }
    this.#isWaiting = false
    return !this.#hasLeft
  }

  #hears(reply: unknown, report: string, published: ReadonlyMap<string, string>): void {
    if (!Array.isArray(reply)) return
    // A client may have parsed numbers already.
    const [isArbiter, ...rest] = reply.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
    if (isArbiter === '1') {
      this.#confirmedAtMs = this.#calledAtMs
      if (this.#arbiter === undefined) {
        this.#arbiter = new ClockArbiter(PERIOD_MS)
        for (const each of [report, this.#report]) if (each !== '') this.#take(each, 0)
        this.#report = ''
        this.#wake(0)
      }
      // No process uses a lease that is not in Redis, including this one.
      const own = published.get(this.#member)
      if (own !== undefined) this.#hear(own)
      for (let i = 0; i + 1 < rest.length; i += 2) this.#take(rest[i + 1] ?? '', Number(rest[i]) / 1000)
      if (this.#leases.size > 0 && this.#calls < CALLS_PER_PERIOD) this.#exchange()
      return
    }
    this.#arbiter = undefined
    this.#leases = new Map()
    const [waitedUs, own, all] = rest
    if (own !== undefined) this.#hear(`${own}\n${all}`, Number(waitedUs) / 1000)
    if (this.#report !== '') this.#exchange()
  }

  /** Passes a report to the arbiter. */
  #take(report: string, waitedMs: number): void {
    const leases = this.#arbiter?.hear(report, systemClock(), waitedMs)
    if (leases !== undefined && leases.size > 0) this.#leases = new Map([...this.#leases, ...leases])
  }
}
