import type { After, Clock } from '../../clock.js'
import type { PoolAccount, Wish } from './account.js'

/** What somebody draws for, and how it ends. */
export interface Errand<Result> {
  /** What the next lease is to bring. */
  wish(): Wish
  /** The result, once there is enough; nothing, if more has to be drawn. */
  attempt(nowMs: number): Result | undefined
  /** The result if the store fails, or time is up. */
  giveUp(nowMs: number): Result
}

/** Draws leases until the errand is done: at once where the store answers at once, else within `timeoutMs`. */
export function drawUntil<Result>(
  account: PoolAccount,
  errand: Errand<Result>,
  clock: Clock,
  after: After,
  timeoutMs: number,
): Result | Promise<Result> {
  const deadlineMs = clock() + timeoutMs
  for (;;) {
    const nowMs = clock()
    const hadFailed = account.hasFailed(nowMs)
    const lease = account.draw(() => errand.wish(), nowMs)
    // A store that has failed is tried, but nobody waits for it.
    if (lease !== undefined && !hadFailed) return wait(account, errand, lease, clock, after, deadlineMs)
    if (lease !== undefined || account.hasFailed(nowMs)) return errand.giveUp(nowMs)
    const result = errand.attempt(clock())
    if (result !== undefined) return result
  }
}

async function wait<Result>(
  account: PoolAccount,
  errand: Errand<Result>,
  lease: Promise<void>,
  clock: Clock,
  after: After,
  deadlineMs: number,
): Promise<Result> {
  for (let next: Promise<void> | undefined = lease; next !== undefined; ) {
    await orUntil(next, deadlineMs - clock(), after)
    const nowMs = clock()
    const result = errand.attempt(nowMs)
    if (result !== undefined) return result
    if (nowMs >= deadlineMs || account.hasFailed(nowMs)) break
    next = account.draw(() => errand.wish(), nowMs)
  }
  return errand.giveUp(clock())
}

/** Resolves with the promise, or after so many milliseconds. */
function orUntil(promise: Promise<void>, ms: number, after: After): Promise<void> {
  return new Promise((resolve) => {
    const cancel = after(Math.max(0, ms), resolve)
    void promise.then(() => {
      cancel()
      resolve()
    })
  })
}
