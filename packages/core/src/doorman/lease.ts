import type { AvailabilityListeners } from '../capacity/capacity.js'
import { Alarm, type Clock } from '../clock.js'
import { requireFunction, requireNumber } from '../options.js'
import { unlisten } from '../signals.js'
import { ClientResource, type ClientSettings, type LeaseTerms, type ResourceSnapshot } from './client-resource.js'
import type { Refresher } from './refresher.js'

/** The parts of a client that a lease uses. */
export interface Owner {
  readonly id: string
  readonly terms: LeaseTerms
  readonly settings: ClientSettings
  readonly refresher: Refresher
  /** The lease was closed and holds nothing. */
  gone(): void
}

/** Shortest time between two checks for a change of demand, in milliseconds. */
export const LOOK_MS = 100
/** A queue whose attempt failed at most this long ago is short of capacity; in milliseconds. */
const PRESSED_MS = 2_000

/**
 * Common to leases of a rate and of a concurrency: the users, the callers that wait in line, and the demand. The last
 * user that closes it gives the capacity back.
 */
export abstract class CapacityLease {
  readonly id: string
  readonly maximum: number = Number.POSITIVE_INFINITY
  protected readonly clock: Clock
  protected readonly resource: ClientResource
  protected readonly line: LeaseLine = new LeaseLine()
  /** Queues in which requests wait. */
  protected readonly listeners: AvailabilityListeners
  protected readonly alarm: Alarm
  /** Time of the next check for a change of demand. */
  protected lookMs: number = Number.NEGATIVE_INFINITY
  /** Time of the last failed attempt of a queue. */
  protected pressedMs: number = Number.NEGATIVE_INFINITY
  readonly #owner: Owner
  #users = 0
  #isRegistered = false

  protected constructor(owner: Owner, listeners: AvailabilityListeners) {
    const { id, terms, settings, refresher } = owner
    const { clock, wallClock, after } = settings
    this.id = id
    this.clock = clock
    this.listeners = listeners
    this.#owner = owner
    this.alarm = new Alarm(after, () => this.ring(this.clock()))
    const use = {
      wants: (nowMs: number) => this.#wants(nowMs),
      inUse: () => this.inUse,
      waiting: () => this.line.cost + this.queued,
      wake: (nowMs: number) => this.serve(nowMs),
    }
    this.resource = new ClientResource(id, terms, use, wallClock, () => refresher.soon(), clock())
  }

  /** Present capacity; below 0: no limit. */
  get capacity(): number {
    return this.resource.capacityAt(this.clock())
  }

  /** True once the lease was closed: it grants nothing more. */
  get closed(): boolean {
    return this.#users === 0
  }

  /** The same for a queue, where unlimited is a very large number. */
  get limit(): number {
    return limitOf(this.capacity)
  }

  /** The waiting callers. */
  get waiting(): number {
    return this.line.length
  }

  /**
   * @internal Waits in line until `end` is called, when the cost has been taken, or until the returned function is
   * called.
   */
  join(cost: number, end: (error?: Error) => void): () => void {
    const leave = this.line.join(cost, end)
    this.joined()
    return () => {
      leave()
      this.serve(this.clock())
    }
  }

  onAvailable(listener: () => void, waiting?: () => number): () => void {
    return this.listeners.onAvailable(listener, waiting)
  }

  /** Calls `listener` with each new {@link capacity}. Returns a function that removes it. */
  onChange(listener: (capacity: number) => void): () => void {
    requireFunction('listener', listener)
    return this.resource.onChange(listener)
  }

  /** Asks for `wants` from now on; without `wants`, for the measured demand. */
  setWants(wants?: number): void {
    if (wants !== undefined) requireNumber('wants', wants, 0)
    this.resource.want(wants, this.clock())
  }

  /** Removes one user. The last one rejects the waiting callers, and gives the capacity back once none is in use. */
  close(): void {
    if (this.#users === 1) this.closeAll()
    else if (this.#users > 0) this.#users--
  }

  /** @internal One more user. */
  share(): void {
    this.#users++
    if (this.#isRegistered) return
    this.#isRegistered = true
    this.#owner.refresher.add(this.resource)
  }

  /** @internal Removes all users. */
  closeAll(): void {
    if (this.#users === 0) return
    this.#users = 0
    this.alarm.set(undefined, 0)
    this.line.close(new LeaseClosedError(this.id))
    if (this.inUse === 0) this.giveBack()
  }

  /** The amount in use that cannot be given up immediately. */
  protected abstract get inUse(): number
  /** The measured demand, with the requests that queues report. */
  protected abstract measured(nowMs: number): number
  /** A caller waits in line. */
  protected abstract joined(): void
  /** The alarm rings. */
  protected abstract ring(nowMs: number): void
  /** Serves those that wait. */
  protected abstract serve(nowMs: number): void

  /** Requests that wait in queues, as far as the queues report them. */
  protected get queued(): number {
    return this.listeners.waiting ?? 0
  }

  /** Gives the capacity of a closed lease back. */
  protected giveBack(): void {
    if (!this.#isRegistered) return
    this.#isRegistered = false
    this.#owner.refresher.remove(this.resource)
    this.#owner.gone()
  }

  /** The common part of a snapshot. */
  protected state(nowMs: number): ResourceSnapshot & { closed: boolean; waiting: number } {
    return { ...this.resource.snapshot(nowMs), closed: this.closed, waiting: this.waiting }
  }

  #wants(nowMs: number): number {
    const measured = this.measured(nowMs)
    if (this.listeners.waiting !== undefined) return measured
    if (!this.listeners.awaited && nowMs - this.pressedMs > PRESSED_MS) return measured
    return Math.max(measured, 2 * this.resource.capacityAt(nowMs))
  }
}

/** A capacity for a queue, where unlimited is a very large number. */
export function limitOf(capacity: number): number {
  return capacity < 0 ? Number.MAX_SAFE_INTEGER : capacity
}

/** Rejects callers that wait for a closed lease, or ask a closed lease for more. */
export class LeaseClosedError extends Error {
  override readonly name: string = 'LeaseClosedError'
  /** The resource. */
  readonly resourceId: string

  constructor(resourceId: string) {
    super(`the lease of ${resourceId} is closed`)
    this.resourceId = resourceId
  }
}

/** A waiting caller. */
interface Waiter {
  readonly cost: number
  /** Called when the caller is served, or with the error that rejects it. */
  end(error?: Error): void
}

/** The callers that wait for one lease, in order of arrival. O(1). */
export class LeaseLine {
  readonly #waiters = new Set<Waiter>()
  #cost = 0

  get length(): number {
    return this.#waiters.size
  }

  /** Sum of the costs for which they wait. */
  get cost(): number {
    return this.#cost
  }

  /** Cost for which the first one waits. */
  get first(): number | undefined {
    for (const { cost } of this.#waiters) return cost
    return undefined
  }

  /**
   * Waits for `cost`. `end` is called once, unless the returned function is called before; that returns false if `end`
   * was called.
   */
  join(cost: number, end: (error?: Error) => void): () => boolean {
    const waiter: Waiter = { cost, end }
    this.#waiters.add(waiter)
    this.#cost += cost
    return () => this.#remove(waiter)
  }

  /** Serves callers from the front as long as `take` succeeds. `end` may call any method of this line. */
  serve(take: (cost: number, nowMs: number) => boolean, nowMs: number): void {
    for (const waiter of this.#waiters) {
      if (!take(waiter.cost, nowMs)) return
      this.#remove(waiter)
      waiter.end()
    }
  }

  /** Rejects all waiting callers. */
  close(error: Error): void {
    for (const waiter of this.#waiters) {
      this.#remove(waiter)
      waiter.end(error)
    }
  }

  #remove(waiter: Waiter): boolean {
    if (!this.#waiters.delete(waiter)) return false
    this.#cost = this.#waiters.size === 0 ? 0 : this.#cost - waiter.cost
    return true
  }
}

/**
 * A promise that is fulfilled when the caller is served, and rejected when `signal` fires, with its reason, or when the
 * lease is closed.
 */
export function waiting(
  line: LeaseLine,
  cost: number,
  signal: AbortSignal | undefined,
  left: () => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = line.join(cost, (error) => {
      unlisten(signal, abort)
      if (error === undefined) resolve()
      else reject(error)
    })
    const abort = (): void => {
      if (!leave()) return
      left()
      reject(signal?.reason)
    }
    try {
      signal?.addEventListener('abort', abort, { once: true })
    } catch (error) {
      // On Workers, a signal of another request: nothing would ever remove this caller from the line.
      leave()
      throw error
    }
  })
}
