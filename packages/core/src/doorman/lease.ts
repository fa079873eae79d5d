import type { After, Clock } from '../clock.js'
import { requireNumber } from '../options.js'
import { unlisten } from '../signals.js'
import { ClientResource, type ResourceTerms, type Use } from './client-resource.js'
import type { Refresher } from './refresher.js'

/** What a lease gets from its client. */
export interface Owner {
  readonly id: string
  readonly terms: ResourceTerms
  /** `undefined`: measured. */
  readonly wants: number | undefined
  readonly clock: Clock
  readonly wallClock: Clock
  readonly after: After
  readonly refresher: Refresher
  /** The lease has been closed, and holds nothing any more. */
  gone(): void
}

/** A lease's share in its resource: how often it was asked for, and what happens when the last one is done with it. */
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

  /** One more who uses it. */
  share(): void {
    this.#references++
    if (this.#registered) return
    this.#registered = true
    this.#owner.refresher.add(this.resource)
  }

  /** One less; or, with `all`, none. True if that was the last. */
  leave(all: boolean): boolean {
    if (this.#references === 0) return false
    this.#references = all ? 0 : this.#references - 1
    return this.#references === 0
  }

  /** Gives the capacity back. To be called when nobody uses it any more. */
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

/** Turns away whoever waits for a lease that is closed, or asks one for more. */
export class LeaseClosedError extends Error {
  override readonly name: string = 'LeaseClosedError'
  /** The resource. */
  readonly resourceId: string

  constructor(resourceId: string) {
    super(`the lease of ${resourceId} is closed`)
    this.resourceId = resourceId
  }
}

/** Someone who waits. */
interface Waiter {
  readonly cost: number
  /** Served, or turned away with an error. */
  end(error?: Error): void
}

/** Those who wait for one lease: first come, first served. O(1). */
export class LeaseLine {
  readonly #waiters = new Set<Waiter>()
  #cost = 0

  get length(): number {
    return this.#waiters.size
  }

  /** Sum of what they wait for. */
  get cost(): number {
    return this.#cost
  }

  /** What the first one waits for. */
  get first(): number | undefined {
    for (const { cost } of this.#waiters) return cost
    return undefined
  }

  /** Waits for `cost`. `end` is called once, unless what this returns is called before: that gives false if it was. */
  join(cost: number, end: (error?: Error) => void): () => boolean {
    const waiter: Waiter = { cost, end }
    this.#waiters.add(waiter)
    this.#cost += cost
    return () => this.#remove(waiter)
  }

  /** Serves from the front for as long as `take` says that there is enough. `end` may call anything here. */
  serve(take: (cost: number) => boolean): void {
    for (const waiter of this.#waiters) {
      if (!take(waiter.cost)) return
      this.#remove(waiter)
      waiter.end()
    }
  }

  /** Turns everybody away. */
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

/** The promise of being served: rejected when `signal` fires, with its reason, or when the lease is closed. */
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
      // A signal of another request, in Workers: nobody would ever take this waiter out of the line.
      leave()
      throw error
    }
  })
}
