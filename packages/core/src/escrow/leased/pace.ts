/** The most that is drawn ahead of need, in quanta. */
const MOST_AHEAD = 5

/** How fast credit is spent, since it was last looked at. */
export class Pace {
  #used = 0
  #sinceMs = 0

  /** From now on; `used` is what was spent in the window so far. */
  restart(used: number, nowMs: number): void {
    this.#used = used
    this.#sinceMs = nowMs
  }

  /** What will be spent in `ms` at this pace; `used` is what was spent in the window until now. */
  spentIn(ms: number, used: number, nowMs: number): number {
    return ((used - this.#used) / Math.max(1, nowMs - this.#sinceMs)) * ms
  }
}

/**
 * What to draw ahead of need, where `amount` will be spent by calls like the one that costs `cost`. A quantum comes with
 * the least that is asked for; and who asks for more, and is refused, asks again for the least.
 */
export function needAhead(amount: number, cost: number, quantum: number): number {
  return amount > quantum ? Math.min(amount, MOST_AHEAD * quantum) : Math.min(cost, quantum)
}
