import { systemAfter } from '../clock.js'
import { SharedClock } from '../fair/shared/member.js'
import type { ClockLink } from '../fair/shared/report.js'
import { type HttpTransportOptions, httpPosts, type Post } from './transport.js'

/** Where a Doorman server hears reports of shared clocks. */
export const CLOCK_PATH = '/doorman.Clock/Report'

/** Reports that one process has under way for one clock at most: each waits for its lease. */
const MOST_CALLS = 3
/** A call that was not answered for so long is given up, and another server is tried. */
const LOST_MS = 1_000

/** The clocks of a fleet's processes, which a Doorman server keeps. */
export interface DoormanFleet extends ClockLink {
  /** Nothing is reported any more: each gate is on its own. */
  close(): void
}

/**
 * The processes of a fleet share one sense of fairness by way of a Doorman server: for `createGate({ name, fleet })`. All
 * that give their gate the same name share, if the servers of `url` have one master.
 *
 * While nothing is short, nothing is sent. Then each process makes ten calls a second, of some hundred bytes, each of
 * which waits for its answer. If the server is away, each process is on its own within two seconds, and shares again when
 * it, or another master, is there. No request ever waits for it.
 *
 * @throws RangeError, TypeError for an option that is wrong, by its name
 */
export function doormanFleet(options: HttpTransportOptions): DoormanFleet {
  const posts = httpPosts(options)
  const seats: Seat[] = []
  let isClosed = false
  return {
    after: systemAfter,
    clock: SharedClock,
    join(name, hear) {
      const seat = new Seat(posts, name, hear)
      if (isClosed) seat.close()
      seats.push(seat)
      return (report, member) => seat.report(report, member)
    },
    close() {
      isClosed = true
      for (const seat of seats) seat.close()
    },
  }
}

/** What a process says of one clock. */
class Seat {
  readonly #connect: (address?: string) => Post
  readonly #name: string
  readonly #hear: (lease: string, waitedMs?: number) => void
  readonly #calls = new Set<AbortController>()
  #post: Post
  #isClosed = false

  constructor(connect: (address?: string) => Post, name: string, hear: (lease: string, waitedMs?: number) => void) {
    this.#connect = connect
    this.#name = name
    this.#hear = hear
    this.#post = connect()
  }

  /** The report has all that was not heard, so one that cannot be sent is not missed. */
  report(report: string, member: string): void {
    if (this.#isClosed || this.#calls.size >= MOST_CALLS) return
    void this.#call({ name: this.#name, member, report })
  }

  close(): void {
    this.#isClosed = true
    for (const call of this.#calls) call.abort()
  }

  async #call(body: object): Promise<void> {
    const post = this.#post
    const call = new AbortController()
    const cancel = systemAfter(LOST_MS, () => call.abort())
    this.#calls.add(call)
    try {
      this.#answered(post, await post(CLOCK_PATH, body, (answer) => answer, call.signal))
    } catch {
      // Whoever else has found that out has gone on to the next one already.
      if (!this.#isClosed && post === this.#post) this.#post = this.#connect()
    } finally {
      cancel()
      this.#calls.delete(call)
    }
  }

  #answered(post: Post, answer: unknown): void {
    if (this.#isClosed || typeof answer !== 'object' || answer === null) return
    const { lease, waitedMs, mastership } = answer as { lease?: unknown; waitedMs?: unknown; mastership?: object }
    if (typeof lease === 'string') this.#hear(lease, typeof waitedMs === 'number' ? waitedMs : 0)
    if (typeof mastership !== 'object' || mastership === null || post !== this.#post) return
    const { masterAddress } = mastership as { masterAddress?: unknown }
    this.#post = this.#connect(typeof masterAddress === 'string' ? masterAddress : undefined)
  }
}
