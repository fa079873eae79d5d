import type { After, Clock } from '../clock.js'
import type { Random } from '../random.js'
import { onRejection } from '../rejection.js'
import type { Lease, ResourceRequest, ResourceResponse } from './protocol.js'
import type { Transport } from './transport.js'

/**
 * The limit of a client after its lease has ended, while no server answers: nothing (`pessimistic`), its last wants
 * (`optimistic`), or the last safe capacity that the server named, 0 if it named none (`safe`).
 */
export type LeaseMode = 'pessimistic' | 'optimistic' | 'safe'

/** All values of {@link LeaseMode}. */
export const LEASE_MODES: readonly LeaseMode[] = ['pessimistic', 'optimistic', 'safe']

/** Checked options of a client. */
export interface ClientSettings {
  readonly id: string
  readonly transport: Transport
  readonly mode: LeaseMode
  readonly minimumRefreshMs: number
  readonly deadlineMs: number
  readonly clock: Clock
  readonly wallClock: Clock
  readonly random: Random
  readonly after: After
}

/** Checked options of a lease. */
export interface LeaseTerms {
  /** `undefined`: measured. */
  readonly wants?: number | undefined
  /** Smallest measured wants. */
  readonly minWants: number
  readonly priority: number
  readonly weight?: number | undefined
  readonly mode: LeaseMode
  readonly smooth: boolean
  /** Shortest time between two requests for a resource, in milliseconds. */
  readonly minimumRefreshMs: number
}

/** The user of a resource's capacity. */
export interface Use {
  /** The measured demand. */
  wants(nowMs: number): number
  /** The amount in use that cannot be given up immediately. */
  inUse(): number
  /** The amount that waits for capacity now. */
  waiting(): number
  /** The capacity may have changed. */
  wake(nowMs: number): void
}

/** Readings of both clocks at one moment. */
export interface Moment {
  readonly nowMs: number
  readonly wallMs: number
}

/** As plain JSON. A capacity below 0 is unlimited. */
export interface ResourceSnapshot {
  readonly id: string
  readonly mode: LeaseMode
  readonly priority: number
  /** The present limit. */
  readonly capacity: number
  /** The source of the capacity: a lease, or the mode; `asking` before the first answer or failure. */
  readonly by: 'lease' | 'mode' | 'asking'
  readonly leaseEndsInMs: number | undefined
  readonly safeCapacity: number | undefined
  readonly wants: number
  readonly listenerErrors: number
}

const SECOND_MS = 1_000
/**
 * Servers may leave a resource out of an answer if they were asked about it less than this time ago, or less than its
 * refresh interval. Our servers answer sooner if demand has moved; the client asks other servers early less and less
 * often.
 */
const SERVERS_MINIMUM_MS = 5_000
const EARLY_MS = 500
/** Time between requests while a caller waits. */
const WAITING_MS = 700
/** Surplus that servers grant beyond the wants; the client gives back any more than that by itself. */
const HEADROOM = 0.1
/** A change of wants by more than this part of them does not wait for the next refresh. */
const EARLY_CHANGE = 0.2
/** Measured wants fluctuate: only a fall to this part of them is reported immediately. */
const EARLY_DROP = 0.5
/** A refresh is delayed by up to this part of its interval, so that clients do not ask together. */
const JITTER = 0.1

/**
 * A client's view of one resource: its lease, the limit without one, and the time of the next request. No timers, no
 * promises.
 *
 * A lease ends when either clock says so. The steady one counts from the answer, or from the question if the wall clock
 * moved in between, so a wall clock that is set back makes no lease longer; and the wall clock goes on while the
 * machine sleeps, which the steady one may not notice.
 */
export class ClientResource {
  readonly id: string
  readonly terms: LeaseTerms
  /** Latest time of the next request for it. */
  dueMs: number
  readonly #use: Use
  readonly #wallClock: Clock
  readonly #changed: () => void
  readonly #listeners = new Set<(capacity: number) => unknown>()
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

  /** `changed` is called synchronously when a request or a notification is due soon. */
  constructor(id: string, terms: LeaseTerms, use: Use, wallClock: Clock, changed: () => void, nowMs: number) {
    this.id = id
    this.terms = terms
    this.dueMs = nowMs
    this.#given = terms.wants
    this.#use = use
    this.#wallClock = wallClock
    this.#changed = changed
  }

  /** True once a server may have a record of this client. */
  get asked(): boolean {
    return this.#askedMs !== Number.NEGATIVE_INFINITY
  }

  /** True until the first answer. */
  get isAsking(): boolean {
    return this.#asking
  }

  /** The end of the lease; infinite without one. */
  get endsMs(): number {
    return this.#lease === undefined ? Number.POSITIVE_INFINITY : this.#endsMs
  }

  /** The capacity that may be used now; below 0: no limit. Calls only `changed`. */
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

  /** Uses `wants` from now on, or the measured demand. */
  want(wants: number | undefined, nowMs: number): void {
    this.#given = wants
    this.look(nowMs)
  }

  /** A caller needs an answer to go on, or holds slots of which the server should know. */
  get isNeeded(): boolean {
    return this.#use.waiting() > 0 || this.#use.inUse() > 0
  }

  /** Demand may have changed: asks early if it has changed much. */
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

  /** Measured demand matters if it exceeds the capacity, or is much smaller than the last request. */
  #matters(wants: number, nowMs: number): boolean {
    const capacity = this.capacityAt(nowMs)
    return wants > this.#askedWants ? capacity >= 0 && wants > capacity : wants <= EARLY_DROP * this.#askedWants
  }

  /** The request to send at `nowMs`. */
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
      // Slots in use beyond a shrunken lease are not free yet: the server must not grant them to others.
      request.has = { ...this.#lease, capacity: capacity < 0 ? capacity : Math.max(capacity, inUse) }
    } else if (inUse > 0) request.inUse = inUse
    return request
  }

  /**
   * Demand has fallen far: lowers the limit to it from now on, so that the server may grant the rest to others
   * immediately. Not while no server answers: then no server could give it back either.
   */
  #giveBack(inUse: number): void {
    const lease = this.#lease!
    const keep = Math.max(inUse, this.#askedWants * (1 + HEADROOM))
    if (this.#failing || lease.capacity <= keep) return
    this.#lease = { ...lease, capacity: keep }
    this.#capacity = keep
  }

  /**
   * An answer to a question sent at `sent`. A lease that has ended already, or has invalid figures, counts as no
   * answer. The next request is due after the interval that the server named, plus `jitter`, from 0 to 1, times a tenth
   * of it.
   */
  answered({ gets, safeCapacity }: ResourceResponse, sent: Moment, now: Moment, jitter: number): void {
    const { nowMs, wallMs } = now
    this.capacityAt(nowMs)
    // The server counts its minimum interval from its decision, so an interval counted from the answer is never too
    // short.
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

  /** The answer left the resource out: the request came too soon, or the resource is no longer configured. */
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

  /** Calls `listener` with each new capacity. Returns a function that removes it. */
  onChange(listener: (capacity: number) => void): () => void {
    const own = (capacity: number): unknown => listener(capacity)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  /** Notifies listeners of changes since the last notification. */
  tell(nowMs: number): void {
    const capacity = this.capacityAt(nowMs)
    if (capacity === this.#told) return
    this.#told = capacity
    this.#use.wake(nowMs)
    for (const listener of [...this.#listeners]) this.shield(() => listener(capacity))
  }

  /** Calls a function that may throw or reject, in a place where no caller could catch the error. */
  shield(call: () => unknown): void {
    const failed = (): void => {
      this.#listenerErrors++
    }
    try {
      onRejection(call(), failed)
    } catch {
      failed()
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

  /** Shortest time between two requests that the server answers. */
  #spacingMs(): number {
    const refreshMs = this.#lease === undefined ? SERVERS_MINIMUM_MS : this.#lease.refreshInterval * SECOND_MS
    return Math.max(this.terms.minimumRefreshMs, Math.min(this.#earlyMs, refreshMs))
  }
}
