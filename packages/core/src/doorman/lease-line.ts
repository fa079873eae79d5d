import { unlisten } from '../signals.js'

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
