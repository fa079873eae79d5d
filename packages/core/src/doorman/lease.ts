import type { After, Clock } from '../clock.js'
import { requireNumber } from '../options.js'
import { unlisten } from '../signals.js'
import { ClientResource, type ResourceTerms, type Use } from './client-resource.js'
import type { Refresher } from './refresher.js'

/** The parts of a client that a lease uses. */
export interface Owner {
  readonly id: string
  readonly terms: ResourceTerms
  /** `undefined`: measured. */
  readonly wants: number | undefined
  readonly clock: Clock
  readonly wallClock: Clock
  readonly after: After
  readonly refresher: Refresher
  /** The lease was closed and holds nothing. */
  gone(): void
}

/** Counts the users of a lease, and gives the capacity back after the last one has closed it. */
export class LeaseHandle {
  readonly resource: ClientResource
  readonly #owner: Owner
  #references = 0
  #registered = false

  constructor(owner: Owner, use: Use) {
    const { id, terms, wants, clock, wallClock, refresher } = owner
    this.#owner = owner
    this.resource = new ClientResource(id, terms, wants, use, wallClock, () => refresher.soon(), clock())
  }

  get open(): boolean {
    return this.#references > 0
  }

  /** Adds a user. */
  share(): void {
    this.#references++
    if (this.#registered) return
    this.#registered = true
    this.#owner.refresher.add(this.resource)
  }

  /** Removes one user, or, with `all`, every user. True if it was the last. */
  leave(all: boolean): boolean {
    if (this.#references === 0) return false
    this.#references = all ? 0 : this.#references - 1
    return this.#references === 0
  }

  /** Gives the capacity back. Call it when there are no users left. */
  release(): void {
    if (!this.#registered) return
    this.#registered = false
    this.#owner.refresher.remove(this.resource)
    this.#owner.gone()
  }

  setWants(wants: number | undefined): void {
    if (wants !== undefined) requireNumber('wants', wants, 0)
    this.resource.want(wants, this.#owner.clock())
  }
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
  serve(take: (cost: number) => boolean): void {
    for (const waiter of this.#waiters) {
      if (!take(waiter.cost)) return
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
