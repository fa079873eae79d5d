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
