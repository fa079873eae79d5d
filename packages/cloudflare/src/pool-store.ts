import { type LeaseAnswer, type LeaseCall, type PoolStore, PoolStoreError, requireLease } from '@fairlead/core/escrow'
import { requireFunction, requireOptions } from '@fairlead/core/internal'

/** The methods of a Durable Object binding that this store calls. */
export interface DurableObjectNamespaceLike<Id = unknown> {
  /** The id of the object of that name. */
  idFromName(name: string): Id
  /** The object with that id. */
  get(id: Id): DurableObjectLike
}

/** The method of a Durable Object stub that this store calls. */
export interface DurableObjectLike {
  /** Sends a request to the object. */
  fetch(url: string, init: { method: string; body: string }): Promise<FetchedResponse>
}

interface FetchedResponse {
  readonly ok: boolean
  readonly status: number
  json(): Promise<unknown>
  text(): Promise<string>
}

/** Options of {@link DurableObjectPoolStore}. */
export interface DurableObjectPoolStoreOptions {
  /** The binding of the class {@link EscrowPool}. */
  namespace: DurableObjectNamespaceLike
  /**
   * Receives the promise of each lease call. In a worker, `waitUntil` of `cloudflare:workers`: an escrow that outlives
   * a request may wait during the next request for a lease that this one started, and the lease must not be cancelled
   * with this request.
   */
  waitUntil?: (lease: Promise<unknown>) => void
}

/**
 * Pools in Durable Objects, for workers everywhere: one object per pool, one request per lease, by the object's own
 * clock.
 *
 * Rejects with a `PoolStoreError`: of the kind `out-of-memory` if the object is overloaded, `network` if it cannot be
 * reached. It sets no deadline; the caller does.
 */
export class DurableObjectPoolStore implements PoolStore {
  readonly #namespace: DurableObjectNamespaceLike
  readonly #waitUntil: ((lease: Promise<unknown>) => void) | undefined

  constructor(options: DurableObjectPoolStoreOptions) {
    requireOptions('DurableObjectPoolStore', options, ['namespace', 'waitUntil'])
    const { namespace, waitUntil } = options
    requireFunction('namespace.idFromName', namespace?.idFromName)
    if (waitUntil !== undefined) requireFunction('waitUntil', waitUntil)
    this.#namespace = namespace
    this.#waitUntil = waitUntil
  }

  lease(call: LeaseCall): Promise<LeaseAnswer> {
    const lease = this.#lease(call)
    this.#waitUntil?.(lease.catch(() => {}))
    return lease
  }

  async #lease(call: LeaseCall): Promise<LeaseAnswer> {
    requireLease(call)
    const { name, windowMs } = call.pool
    const response = await this.#fetch(JSON.stringify([name, windowMs]), JSON.stringify(call))
    if (!response.ok)
      throw new PoolStoreError('other', `the object answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as LeaseAnswer
  }

  async #fetch(name: string, body: string): Promise<FetchedResponse> {
    try {
      const object = this.#namespace.get(this.#namespace.idFromName(name))
      return await object.fetch('https://escrow-pool/', { method: 'POST', body })
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const isFull = error instanceof Error && Reflect.get(error, 'overloaded') === true
      throw new PoolStoreError(isFull ? 'out-of-memory' : 'network', message, { cause: error })
    }
  }
}
