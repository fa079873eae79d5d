import type { Visit } from './permit.js'

/**
 * Ends permits whose time is up, where nobody may ever say how their requests ended: a handler that never settles, a
 * runtime that does not tell when a client has left.
 *
 * Permits are given one time for all, so they end in the order in which they were given. O(1) each; no timer.
 */
export class PermitTimeouts {
  readonly #timeoutMs: number
  readonly #open = new Set<Visit>()

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  add(visit: Visit): void {
    this.#open.add(visit)
  }

  remove(visit: Visit): void {
    this.#open.delete(visit)
  }

  /** Ends, as `ignored`, those that were admitted `permitTimeoutMs` ago or longer. Returns how many. */
  expire(nowMs: number): number {
    let expired = 0
    for (const visit of this.#open) {
      if (nowMs - visit.nowMs < this.#timeoutMs) break
      visit.finish('ignored')
      expired++
    }
    return expired
  }
}
