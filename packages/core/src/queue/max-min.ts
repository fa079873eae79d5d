import type { TurnoverMap } from '../turnover-map.js'

/** Part of the members that may have changed before the level is recomputed. */
const STALE = 1 / 8
/** Most passes over the members at a time. */
const PASSES = 8

/**
 * Max-min shares of an amount, by water-filling: each member is entitled to its part, none gets more than it wants, and
 * unused amounts are divided among the others by their entitlements.
 *
 * It keeps the level, the amount that a member gets per unit of entitlement. Members that want less than the level
 * gives them are full; the level that divides the rest among the others is never too high, for any set that was taken
 * for full, and so it rises from pass to pass until it is right. For up to eight members it is right at each change.
 * For more it may be outdated by changes to an eighth of them, so that a change costs O(1) on average.
 */
export class MaxMin<M> {
  readonly #members: TurnoverMap<M>
  readonly #wants: (member: M) => number
  readonly #due: (member: M) => number
  #level = 0
  #amount = 0
  /** Number of changes at the last computation of the level. */
  #changes = Number.NEGATIVE_INFINITY

  constructor(members: TurnoverMap<M>, wants: (member: M) => number, due: (member: M) => number) {
    this.#members = members
    this.#wants = wants
    this.#due = due
  }

  /**
   * The share of a member of this amount, after this number of arrivals, departures and changes of members. More than
   * it wants if all wants can be met.
   */
  shareOf(member: M, amount: number, changes: number): number {
    const stale = STALE * this.#members.entries.size
    if (changes - this.#changes >= stale || Math.abs(amount - this.#amount) > (stale > 1 ? STALE * this.#amount : 0)) {
      this.#changes = changes
      this.#refresh(amount)
    }
    return this.#level === Number.POSITIVE_INFINITY ? this.#level : this.#level * this.#due(member)
  }

  #refresh(amount: number): void {
    this.#amount = amount
    for (let pass = 0; pass < PASSES; pass++) {
      let [rest, due] = [amount, 0]
      // The levels at which the last of the full members became full, and the next will.
      let [last, next] = [0, Number.POSITIVE_INFINITY]
      for (const member of this.#members.entries.values()) {
        const wants = this.#wants(member)
        const part = this.#due(member)
        const full = wants / part
        if (full <= this.#level) {
          rest -= wants
          last = Math.max(last, full)
        } else {
          due += part
          next = Math.min(next, full)
        }
      }
      const level = due > 0 ? rest / due : rest < 0 ? 0 : Number.POSITIVE_INFINITY
      this.#level = level
      // The same members would be full in another pass.
      if (last <= level && (level < next || due === 0)) return
    }
  }
}
