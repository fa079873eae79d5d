import type { Clock } from '@fairlead/core'
import type { LeaseAnswer, LeaseCall, PoolStore } from '@fairlead/core/escrow'

/**
 * A pool as published: one counter per window, from which each caller gets a quantum while one is left. It has no
 * weights and reserves nothing. A model, for comparison with ours.
 */
export class CounterStore implements PoolStore {
  readonly #clock: Clock
  #win = -1
  #left = 0
  /** Last call of each member, and its holding after it: a repeated call gets the same answer. */
  readonly #answered: Map<string, { readonly seq: number; readonly grant: number; readonly holds: number }> = new Map()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  lease({ pool, member, seq, win: callWin, holds, need, tenants }: LeaseCall): LeaseAnswer {
    const nowMs = this.#clock()
    const win = Math.floor(nowMs / pool.windowMs)
    const leftMs = (win + 1) * pool.windowMs - nowMs
    if (win > this.#win) {
      this.#win = win
      this.#left = pool.limit
      this.#answered.clear()
    }
    let last = this.#answered.get(member)
    if (last?.seq !== seq) {
      const held = callWin === win ? holds : 0
      this.#left += (last?.holds ?? 0) - held
      const grant = need > 0 && need <= this.#left ? Math.min(Math.max(need, pool.quantum), this.#left) : 0
      last = { seq, grant, holds: held + grant }
      this.#left -= grant
      this.#answered.set(member, last)
    }
    const waitMs = last.grant > 0 || need === 0 ? 0 : leftMs
    const mark = { epoch: 1, rev: 1, total: pool.limit - this.#left, ahead: 0, members: this.#answered.size }
    const [shares, used] = [tenants.map(() => 1), tenants.map((tenant) => tenant.used)]
    return {
      win,
      leftMs,
      mark,
      grant: last.grant,
      ahead: 0,
      held: 0,
      part: 1,
      turn: Number.MAX_VALUE,
      room: 0,
      waitMs,
      shares,
      used,
    }
  }
}
