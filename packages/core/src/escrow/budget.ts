import type { Group } from './group.js'

/** How a tenant's claim on its guarantee ages: not at all, or with the window, as an even pace would use it up. */
export type Reserve = 'strict' | 'paced'

/** The budget of one window: what there is, what is left, and for how long. */
export class Budget {
  readonly windowMs: number
  readonly reserve: Reserve
  startMs = 0
  nowMs = 0
  /** From when on claims age: not before those are back, or had time to be, who were refused in the last window. */
  paceFromMs = 0
  /** The share of the time since then that is over, as far as claims age by it: 0 where the reserve is strict. */
  tau = 0
  limit = 0
  /** What the limit may become in this window. */
  most = 0
  /** The limit less all that was used. */
  left = 0
  /** What counts as used by the active, though it was not used here in this window. */
  offset = 0
  /** Sums this close are equal. */
  tolerance = 0

  constructor(windowMs: number, reserve: Reserve) {
    this.windowMs = windowMs
    this.reserve = reserve
  }

  /** How exact a level needs to be: well below the tolerance, and no more exact than sums up to the limit can be. */
  get slack(): number {
    return Math.max(this.tolerance / 1e3, 4 * Number.EPSILON * this.limit)
  }

  /** What all guarantees together come to. */
  get guaranteed(): number {
    return Math.max(0, this.limit + this.offset)
  }

  /** Until the window ends, from now on. */
  get restMs(): number {
    return Math.max(0, this.startMs + this.windowMs - this.nowMs)
  }

  /** How long claims age. */
  get agingMs(): number {
    return this.startMs + this.windowMs - this.paceFromMs
  }

  /** What the children of a group may claim together: what it claims itself; of the root's, what is left. */
  roomOf(group: Group): number {
    return group.parent === undefined ? Math.max(0, this.left) : group.claim(this.tau)
  }

  begin(startMs: number, limit: number, most: number): void {
    this.startMs = startMs
    this.nowMs = startMs
    this.paceFromMs = startMs
    this.tau = 0
    this.limit = 0
    this.left = 0
    this.offset = 0
    this.limitTo(limit, most)
  }

  /** What was used stays used. */
  limitTo(limit: number, most: number): void {
    this.left += limit - this.limit
    this.limit = limit
    this.most = most
    this.tolerance = Math.min(1e-3, 1e-9 * most)
  }

  moveTo(nowMs: number): void {
    if (nowMs <= this.nowMs) return
    this.nowMs = nowMs
    const sinceMs = nowMs - this.paceFromMs
    if (this.reserve === 'paced' && sinceMs > 0) this.tau = Math.min(1, sinceMs / this.agingMs)
  }

  /** Whether `room` is enough for `cost`. What is next to nothing is not covered by nothing. */
  covers(room: number, cost: number): boolean {
    return cost <= room + Math.min(this.tolerance, cost / 2)
  }
}
