import type { After, Clock } from '../../clock.js'
import { ClockArbiter } from './arbiter.js'
import { senderOf } from './wire.js'

/** The answer to a process's report; empty if there is no news. */
export interface ClockAnswer {
  readonly lease?: string
  /** Time for which the lease has waited to be fetched. */
  readonly waitedMs?: number
}

/** A call costs hundreds of bytes, whatever it says: longer than between processes of one machine. */
const PERIOD_MS = 250
/**
 * A report is answered after this time at the latest: a lease arrives when all have reported, some milliseconds later.
 */
const HANG_MS = 150
/** Most clocks at once, and their time to live after the last report; a member's place lives as long as a lease. */
const MOST_CLOCKS = 1_000
const KEPT_MS = 60_000
const SEAT_MS = 2_000
/** A longer name is invalid. */
const LONGEST_NAME = 512

interface KeptClock {
  readonly arbiter: ClockArbiter
  heardAtMs: number
  readonly seats: Map<string, Seat>
}

interface Seat {
  heardAtMs: number
  /** Answers the waiting report. */
  answer?: (answer: ClockAnswer) => void
  /** A lease without a waiting report, and its arrival time. */
  lease?: string
  leaseAtMs: number
}

/**
 * The place where processes report that share clocks: keeps the clock of each name, and answers a report as soon as
 * there is a lease for its sender. No state outlives it: the next keeper of the clocks starts from the processes'
 * states.
 */
export class ClockDesk {
  readonly #clocks = new Map<string, KeptClock>()
  readonly #now: Clock
  readonly #after: After

  constructor(now: Clock, after: After) {
    this.#now = now
    this.#after = after
  }

  /** Number of clocks. */
  get size(): number {
    return this.#clocks.size
  }

  /** A report has arrived. One report of a process waits at a time: an earlier one gets an empty answer. */
  report(name: string, report: string): Promise<ClockAnswer> {
    const nowMs = this.#now()
    const member = senderOf(report)
    if (member === undefined || name.length > LONGEST_NAME) return Promise.resolve({})
    const clock = this.#clocks.get(name) ?? this.#begin(nowMs)
    const leases = clock.arbiter.hear(report, nowMs)
    // Only valid reports create a clock, and keep it: an invalid text leads to no lease.
    if (leases.size > 0) this.#keep(name, clock, nowMs)
    for (const [to, lease] of leases) if (to !== member) this.#hand(clock.seats.get(to), lease, nowMs)
    const own = leases.get(member)
    const seat = clock.seats.get(member)
    seat?.answer?.({})
    if (own !== undefined) {
      if (seat === undefined)
        for (const [other, { heardAtMs }] of clock.seats) if (nowMs - heardAtMs > SEAT_MS) clock.seats.delete(other)
      clock.seats.set(member, { heardAtMs: nowMs, leaseAtMs: nowMs })
      return Promise.resolve({ lease: own })
    }
    // A sender that is not a member, by its report, need not wait.
    if (seat === undefined) return Promise.resolve({})
    seat.heardAtMs = nowMs
    return this.#waitAt(seat)
  }

  /** Forgets all clocks, and answers all waiting reports: another keeper has taken over. */
  clear(): void {
    for (const { seats } of this.#clocks.values()) for (const seat of seats.values()) seat.answer?.({})
    this.#clocks.clear()
  }

  #begin(nowMs: number): KeptClock {
    const seats = new Map<string, Seat>()
    const tell = (leases: ReadonlyMap<string, string>): void => {
      for (const [member, lease] of leases) this.#hand(seats.get(member), lease, this.#now())
    }
    return {
      arbiter: new ClockArbiter(PERIOD_MS, { now: this.#now, after: this.#after, tell }),
      heardAtMs: nowMs,
      seats,
    }
  }

  #keep(name: string, clock: KeptClock, nowMs: number): void {
    clock.heardAtMs = nowMs
    if (this.#clocks.has(name)) return
    for (const [other, { heardAtMs }] of this.#clocks) if (nowMs - heardAtMs > KEPT_MS) this.#clocks.delete(other)
    if (this.#clocks.size >= MOST_CLOCKS) this.#makeRoom()
    this.#clocks.set(name, clock)
  }

  /** Removes the clock with the fewest members, and of those the one without reports for longest. */
  #makeRoom(): void {
    const [name, { seats }] = [...this.#clocks].reduce((least, each) => {
      const more = each[1].seats.size - least[1].seats.size
      return more < 0 || (more === 0 && each[1].heardAtMs < least[1].heardAtMs) ? each : least
    })
    for (const seat of seats.values()) seat.answer?.({})
    this.#clocks.delete(name)
  }

  #hand(seat: Seat | undefined, lease: string, nowMs: number): void {
    if (seat === undefined) return
    if (seat.answer !== undefined) seat.answer({ lease })
    else {
      seat.lease = lease
      seat.leaseAtMs = nowMs
    }
  }

  #waitAt(seat: Seat): Promise<ClockAnswer> {
    return new Promise((resolve) => {
      const cancel = this.#after(HANG_MS, () => {
        const { lease, leaseAtMs } = seat
        answer(lease === undefined ? {} : { lease, waitedMs: this.#now() - leaseAtMs })
      })
      const answer = (given: ClockAnswer): void => {
        cancel()
        delete seat.answer
        if (given.lease !== undefined) delete seat.lease
        resolve(given)
      }
      seat.answer = answer
    })
  }
}
