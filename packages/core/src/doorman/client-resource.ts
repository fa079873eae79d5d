import type { Clock } from '../clock.js'
import type { Lease, ResourceRequest, ResourceResponse } from './protocol.js'

/**
 * What a client keeps to when its lease has run out and nobody answers: nothing (`pessimistic`), what it last wanted
 * (`optimistic`), or the safe capacity that the server last named, 0 if it never did (`safe`).
 */
export type LeaseMode = 'pessimistic' | 'optimistic' | 'safe'

/** {@link LeaseMode}, every one. */
export const LEASE_MODES: readonly LeaseMode[] = ['pessimistic', 'optimistic', 'safe']

/** How a resource is asked for. */
export interface ResourceTerms {
  readonly mode: LeaseMode
  readonly priority: number
  readonly weight: number | undefined
  /** Least that is asked for when wants are measured. */
  readonly minWants: number
  /** Shortest time between two asks for a resource, in milliseconds. */
  readonly minimumRefreshMs: number
}

/** Those who use a resource's capacity. */
export interface Use {
  /** What they would use, as measured. */
  wants(nowMs: number): number
  /** What they use and cannot let go at once. */
  inUse(): number
  /** What waits for capacity at this moment. */
  waiting(): number
  /** The capacity may have changed. */
  wake(nowMs: number): void
}

/** Both clocks at one moment. */
export interface Moment {
  readonly nowMs: number
  readonly wallMs: number
}

/** As plain JSON. A capacity below 0 is unlimited. */
export interface ResourceSnapshot {
  readonly id: string
  readonly mode: LeaseMode
  readonly priority: number
  /** Kept to at present. */
  readonly capacity: number
  /** What holds the capacity up: a lease, or the mode; `asking` before there was an answer or a failure. */
  readonly by: 'lease' | 'mode' | 'asking'
  readonly leaseEndsInMs: number | undefined
  readonly safeCapacity: number | undefined
  readonly wants: number
  readonly listenerErrors: number
}

const SECOND_MS = 1_000
/**
 * Servers may leave out of their answer what was asked for less than this ago, or less than its refresh interval. Ours
 * answer sooner where demand has moved; with those that do not, that is tried less and less often.
 */
const SERVERS_MINIMUM_MS = 5_000
const EARLY_MS = 500
/** Somebody waits, and there may be more by now. */
const WAITING_MS = 700
/** What servers give beyond the wants; what is more than that is given back without being asked for. */
const HEADROOM = 0.1
/** A change of wants by more than this part of them is not kept for the next refresh. */
const EARLY_CHANGE = 0.2
/** What is measured goes up and down: only this much less of it is told at once. */
const EARLY_DROP = 0.5
/** A refresh comes up to this part of its interval later, so that clients do not come together. */
const JITTER = 0.1

/**
 * One resource as a client knows it: its lease, what holds without one, and when to ask again. No timers, no promises.
 *
 * A lease ends when either clock says so. The steady one counts from the answer, or from the question if the wall clock
 * moved in between, so a wall clock that is set back makes no lease longer; and the wall clock goes on while the
 * machine sleeps, which the steady one may not notice.
 */
export class ClientResource {
  readonly id: string
  readonly terms: ResourceTerms
  /** When to ask for it, at the latest. */
  dueMs: number
  readonly #use: Use
  readonly #wallClock: Clock
  readonly #changed: () => void
  readonly #listeners = new Set<(capacity: number) => void>()
  #given: number | undefined
  #lease: Lease | undefined = undefined
  #endsMs = 0
  #endsWallMs = 0
  #safeCapacity: number | undefined = undefined
  #capacity = 0
  #told = 0
  #asking = true
  /** The last question had no answer. */
  #failing = false
  #earlyMs = EARLY_MS
  #askedMs: number = Number.NEGATIVE_INFINITY
  #askedWants = 0
  #listenerErrors = 0

  /** `changed` is called, from within whatever was called, when there is something to ask or to tell soon. */
  constructor(
    id: string,
    terms: ResourceTerms,
    wants: number | undefined,
    use: Use,
    wallClock: Clock,
    changed: () => void,
    nowMs: number,
  ) {
    this.id = id
    this.terms = terms
    this.dueMs = nowMs
    this.#given = wants
    this.#use = use
    this.#wallClock = wallClock
    this.#changed = changed
  }

  /** True once somebody may hold a record of this client. */
  get asked(): boolean {
    return this.#askedMs !== Number.NEGATIVE_INFINITY
  }

  /** Nobody has answered yet. */
  get isAsking(): boolean {
    return this.#asking
  }

  /** When the lease ends; infinite without one. */
  get endsMs(): number {
    return this.#lease === undefined ? Number.POSITIVE_INFINITY : this.#endsMs
  }

  /** What may be used now; below 0: without limit. Calls nobody but `changed`. */
  capacityAt(nowMs: number): number {
    if (this.#lease !== undefined && (nowMs >= this.#endsMs || this.#wallClock() >= this.#endsWallMs)) {
      this.#lease = undefined
      this.#capacity = this.#without()
      this.#changed()
    }
    return this.#capacity
  }

  wantsAt(nowMs: number): number {
    return this.#given ?? Math.max(this.terms.minWants, this.#use.wants(nowMs))
  }

  /** From now on `wants`, or what is measured. */
  want(wants: number | undefined, nowMs: number): void {
    this.#given = wants
    this.look(nowMs)
  }

  /** Somebody cannot go on without an answer, or uses what the server should know of. */
  get isNeeded(): boolean {
    return this.#use.waiting() > 0 || this.#use.inUse() > 0
  }

  /** Demand may have changed: asks early if it has by much. */
  look(nowMs: number): void {
    if (!this.asked) return
    if (this.#failing && this.isNeeded) this.#changed()
    const wants = this.wantsAt(nowMs)
    if (Math.abs(wants - this.#askedWants) <= EARLY_CHANGE * this.#askedWants) return
    if (this.#given === undefined && !this.#matters(wants, nowMs)) return
    const earlyMs = this.#askedMs + this.#spacingMs()
    if (earlyMs >= this.dueMs) return
    this.dueMs = earlyMs
    this.#changed()
  }

  /** What is measured matters when it is more than there is, or when much less is needed than was asked for. */
  #matters(wants: number, nowMs: number): boolean {
    const capacity = this.capacityAt(nowMs)
    return wants > this.#askedWants ? capacity >= 0 && wants > capacity : wants <= EARLY_DROP * this.#askedWants
  }

  /** What to ask for, sent at `nowMs`. */
  request(nowMs: number): ResourceRequest {
    this.capacityAt(nowMs)
    this.#askedMs = nowMs
    const wantedBefore = this.#askedWants
    this.#askedWants = this.wantsAt(nowMs)
    const { priority, weight } = this.terms
    const request: ResourceRequest = { resourceId: this.id, priority, wants: this.#askedWants }
    if (weight !== undefined) request.weight = weight
    const waiting = this.#use.waiting()
    if (waiting > 0) request.waiting = waiting
    const inUse = this.#use.inUse()
    if (this.#lease !== undefined) {
      if (this.#askedWants < wantedBefore * (1 - EARLY_CHANGE)) this.#giveBack(inUse)
      const { capacity } = this.#lease
      // What is in use beyond a lease that shrank is not free yet: the server is to hold it back for as long.
      request.has = { ...this.#lease, capacity: capacity < 0 ? capacity : Math.max(capacity, inUse) }
    } else if (inUse > 0) request.inUse = inUse
    return request
  }

  /**
   * It wants much less than before: keeps to no more than that from here on, so that the server may give the rest to others at once. Not while
   * nobody answers: then nobody could give it back to us either.
   */
  #giveBack(inUse: number): void {
    const lease = this.#lease!
    const keep = Math.max(inUse, this.#askedWants * (1 + HEADROOM))
    if (this.#failing || lease.capacity <= keep) return
    this.#lease = { ...lease, capacity: keep }
    this.#capacity = keep
  }

  /**
   * An answer, to a question of `sent`. A lease that has ended already, or whose figures are none, is as no answer. The
   * next ask is due after the interval that the server named, and `jitter`, from 0 to 1, of a tenth of it.
   */
  answered({ gets, safeCapacity }: ResourceResponse, sent: Moment, now: Moment, jitter: number): void {
    const { nowMs, wallMs } = now
    this.capacityAt(nowMs)
    // The server counts its minimum interval from its decision, so from the answer we are never too early.
    this.#askedMs = nowMs
    this.#earlyMs = EARLY_MS
    if (safeCapacity !== undefined && Number.isFinite(safeCapacity)) this.#safeCapacity = safeCapacity
    const untilMs = gets.expiryTime * SECOND_MS
    const leftMs = Math.min(untilMs - wallMs, untilMs - sent.wallMs - (nowMs - sent.nowMs))
    const intervalMs = Math.max(SECOND_MS, gets.refreshInterval * SECOND_MS, this.terms.minimumRefreshMs) || SECOND_MS
    if (leftMs > 0 && Number.isFinite(gets.capacity)) {
      this.#lease = gets
      this.#endsMs = nowMs + leftMs
      this.#endsWallMs = untilMs
      this.#capacity = gets.capacity
      this.#asking = false
      this.#failing = false
      const latestMs = Math.max(this.terms.minimumRefreshMs, leftMs - SECOND_MS)
      this.dueMs = nowMs + Math.min(intervalMs * (1 + JITTER * jitter), latestMs)
    } else {
      this.failed()
      this.dueMs = nowMs + intervalMs * (1 + JITTER * jitter)
    }
    if (this.#use.waiting() > 0 && this.#capacity >= 0 && this.#capacity < this.#askedWants) {
      const waitingMs = Math.max(WAITING_MS, this.terms.minimumRefreshMs)
      this.dueMs = Math.min(this.dueMs, nowMs + waitingMs * (1 + JITTER * jitter))
    }
    this.look(nowMs)
  }

  /** The answer left it out: it was asked for too soon, or is no longer configured. */
  leftOut(nowMs: number): void {
    this.failed()
    this.#failing = false
    this.#earlyMs = Math.min(SERVERS_MINIMUM_MS, 2 * this.#earlyMs)
    this.dueMs = Math.max(this.dueMs, nowMs + this.#spacingMs())
  }

  /** No answer. Changes nothing while there is a lease. */
  failed(): void {
    this.#asking = false
    this.#failing = true
    if (this.#lease === undefined) this.#capacity = this.#without()
  }

  /** Has `listener` called with each new capacity. Gives what stops that. */
  onChange(listener: (capacity: number) => void): () => void {
    const own = (capacity: number): void => listener(capacity)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  /** Tells whoever wants to know what has changed since the last time. */
  tell(nowMs: number): void {
    const capacity = this.capacityAt(nowMs)
    if (capacity === this.#told) return
    this.#told = capacity
    this.#use.wake(nowMs)
    for (const listener of [...this.#listeners]) this.shield(() => listener(capacity))
  }

  /** Calls what may throw, from where nobody could catch that. */
  shield(call: () => void): void {
    try {
      call()
    } catch {
      this.#listenerErrors++
    }
  }

  snapshot(nowMs: number): ResourceSnapshot {
    const capacity = this.capacityAt(nowMs)
    const { mode, priority } = this.terms
    const leased = this.#lease !== undefined
    return {
      id: this.id,
      mode,
      priority,
      capacity,
      by: leased ? 'lease' : this.#asking ? 'asking' : 'mode',
      leaseEndsInMs: leased ? this.#endsMs - nowMs : undefined,
      safeCapacity: this.#safeCapacity,
      wants: this.wantsAt(nowMs),
      listenerErrors: this.#listenerErrors,
    }
  }

  /** Capacity without a lease. */
  #without(): number {
    const { mode } = this.terms
    if (mode === 'pessimistic') return 0
    return mode === 'optimistic' ? this.#askedWants : (this.#safeCapacity ?? 0)
  }

  /** Shortest time between two asks that a server still answers. */
  #spacingMs(): number {
    const refreshMs = this.#lease === undefined ? SERVERS_MINIMUM_MS : this.#lease.refreshInterval * SECOND_MS
    return Math.max(this.terms.minimumRefreshMs, Math.min(this.#earlyMs, refreshMs))
  }
}
