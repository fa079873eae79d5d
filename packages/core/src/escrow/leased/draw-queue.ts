import type { After, Clock } from '../../clock.js'
import type { PoolAccount, Wish } from './account.js'
import { countdown } from './countdown.js'

/** What somebody draws for, and how it ends. */
export interface Errand<Result> {
  /** What the next lease is to bring. */
  wish(): Wish
  /** The result, once there is enough; nothing, if more has to be drawn. */
  attempt(nowMs: number): Result | undefined
  /** The result if the store fails. */
  giveUp(nowMs: number): Result
}

/** Somebody who waits for a lease. */
interface Waiter {
  readonly errand: Errand<unknown>
  /** Tries to be done; false if more has to be drawn. */
  attempt(nowMs: number): boolean
  giveUp(nowMs: number): void
}

/**
 * Those who wait for credit, first come, first served: whenever a lease is answered, one after the other is served,
 * until one needs another lease, and everybody behind it waits for that. So each waits once, however many there are.
 *
 * Nobody waits longer than `timeoutMs`, nor for a store that has failed; trying that again is left to whoever asks next.
 */
export class DrawQueue {
  readonly #account: PoolAccount
  readonly #clock: Clock
  readonly #after: After
  readonly #timeoutMs: number
  readonly #waiters: Set<Waiter> = new Set()

  constructor(account: PoolAccount, clock: Clock, after: After, timeoutMs: number) {
    this.#account = account
    this.#clock = clock
    this.#after = after
    this.#timeoutMs = timeoutMs
  }

  /** Draws leases until the errand is done: at once where the store answers at once. */
  run<Result>(errand: Errand<Result>): Result | Promise<Result> {
    for (;;) {
      const nowMs = this.#clock()
      const hadFailed = this.#account.hasFailed
      // Those in front have seen to it that the line is served.
      if (this.#waiters.size > 0 && !hadFailed) return this.#wait(errand)
      const lease = this.#account.draw(() => errand.wish(), nowMs)
      if (lease !== undefined && !hadFailed) {
        const result = this.#wait(errand)
        this.#serveAfter(lease)
        return result
      }
      // Whoever tries a store again that has failed does not wait for it.
      if (this.#account.hasFailed) return errand.giveUp(nowMs)
      const result = errand.attempt(this.#clock())
      if (result !== undefined) return result
    }
  }

  #wait<Result>(errand: Errand<Result>): Promise<Result> {
    return new Promise((resolve) => {
      const finish = (result: Result): void => {
        cancel()
        this.#waiters.delete(waiter)
        resolve(result)
      }
      const waiter: Waiter = {
        errand,
        attempt: (nowMs) => {
          const result = errand.attempt(nowMs)
          if (result === undefined) return false
          finish(result)
          return true
        },
        giveUp: (nowMs) => finish(errand.giveUp(nowMs)),
      }
      const cancel = countdown(this.#timeoutMs, this.#clock, this.#after, () => {
        const nowMs = this.#clock()
        if (!waiter.attempt(nowMs)) waiter.giveUp(nowMs)
      })
      this.#waiters.add(waiter)
    })
  }

  #serveAfter(lease: Promise<void>): void {
    void lease.then(() => this.#serve())
  }

  #serve(): void {
    for (const waiter of this.#waiters)
      while (!waiter.attempt(this.#clock())) {
        const nowMs = this.#clock()
        const { errand } = waiter
        const lease = this.#account.hasFailed ? undefined : this.#account.draw(() => errand.wish(), nowMs)
        if (lease !== undefined) {
          this.#serveAfter(lease)
          return
        }
        if (this.#account.hasFailed) {
          waiter.giveUp(nowMs)
          break
        }
      }
  }
}
