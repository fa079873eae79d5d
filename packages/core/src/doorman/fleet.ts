import { systemAfter } from '../clock.js'
import type { ClockLink } from '../fair/shared/report.js'
import { SharedClockRule } from '../fair/shared/shared-rule.js'
import { type HttpTransportOptions, httpPosts } from './transport.js'

/** The path at which a Doorman server takes reports of shared clocks. */
export const CLOCK_PATH = '/doorman.Clock/Report'

/** Most reports of one process in flight for one clock: each waits for its lease. */
const MOST_CALLS = 3
/** A call without an answer after this time is abandoned, and the next server is tried. */
const LOST_MS = 1_000

/** A connection to the shared clocks of a Doorman server. */
export interface DoormanFleet extends ClockLink {
  /** Stops all reports: from then on each gate uses its own clock. */
  close(): void
}

/**
 * Lets the processes of a fleet share FAIR's clock through a Doorman server: for `createGate({ name, fleet })`. All
 * gates of one name share a clock, if the servers of `url` have one master.
 *
 * Without a shortage, it only asks whether others share a clock: three times in its first three seconds of requests,
 * and later if some fail, at most once a minute in the end. During a shortage each process makes four calls a second of
 * some hundred bytes, and each call waits for its answer. If the server is unavailable, each process uses its own clock
 * within two seconds, and shares again when that server, or another master, answers. No request ever waits for the
 * server.
 *
 * @throws RangeError, TypeError that names an invalid option
 */
export function doormanFleet(options: HttpTransportOptions): DoormanFleet {
  const posts = httpPosts(options)
  return fleetBy((address) => {
    const post = posts(address)
    // A list: the names of its parts would be a part of every message.
    return ({ name, report }, signal) => post(CLOCK_PATH, [name, report], (answer) => answer, signal)
  })
}

/** A process's message to a server: the name of the clock, and its report. */
export interface NamedReport {
  readonly name: string
  readonly report: string
}

/** Sends a report to a server, and resolves with its unchecked answer. */
export type SendReport = (report: NamedReport, signal: AbortSignal) => Promise<unknown>

/**
 * A fleet that reports by `connect`: to the server at an address, which another one named as the master; without an
 * address, to the first server, or the next of several to try.
 */
export function fleetBy(connect: (address?: string) => SendReport): DoormanFleet {
  const seats: DoormanSeat[] = []
  let isClosed = false
  return {
    after: systemAfter,
    clock: SharedClockRule,
    join(name, hear) {
      const seat = new DoormanSeat(connect, name, hear)
      if (isClosed) seat.close()
      seats.push(seat)
      return (report) => seat.report(report)
    },
    close() {
      isClosed = true
      for (const seat of seats) seat.close()
    },
  }
}

/** A process's report about one clock. */
class DoormanSeat {
  readonly #connect: (address?: string) => SendReport
  readonly #name: string
  readonly #hear: (lease: string, waitedMs?: number) => void
  readonly #calls = new Set<AbortController>()
  #send: SendReport
  #isClosed = false

  constructor(
    connect: (address?: string) => SendReport,
    name: string,
    hear: (lease: string, waitedMs?: number) => void,
  ) {
    this.#connect = connect
    this.#name = name
    this.#hear = hear
    this.#send = connect()
  }

  /** Each report contains everything unconfirmed, so a report that cannot be sent is not missed. */
  report(report: string): void {
    if (this.#isClosed || this.#calls.size >= MOST_CALLS) return
    void this.#call({ name: this.#name, report })
  }

  close(): void {
    this.#isClosed = true
    for (const call of this.#calls) call.abort()
  }

  async #call(report: NamedReport): Promise<void> {
    const send = this.#send
    const call = new AbortController()
    const cancel = systemAfter(LOST_MS, () => call.abort())
    this.#calls.add(call)
    try {
      this.#answered(send, await send(report, call.signal))
    } catch {
      // Another call that failed has moved on to the next server already.
      if (!this.#isClosed && send === this.#send) this.#send = this.#connect()
    } finally {
      cancel()
      this.#calls.delete(call)
    }
  }

  #answered(send: SendReport, answer: unknown): void {
    if (this.#isClosed || typeof answer !== 'object' || answer === null) return
    const { lease, waitedMs, mastership } = answer as { lease?: unknown; waitedMs?: unknown; mastership?: object }
    if (typeof lease === 'string') this.#hear(lease, typeof waitedMs === 'number' ? waitedMs : 0)
    if (typeof mastership !== 'object' || mastership === null || send !== this.#send) return
    const { masterAddress } = mastership as { masterAddress?: unknown }
    this.#send = this.#connect(typeof masterAddress === 'string' ? masterAddress : undefined)
  }
}
