import { NEWCOMER } from './accounts.js'
import type { Budget } from './budget.js'
import type { Claims } from './claims.js'
import { type Debtor, type Line, mostWithin } from './line.js'
import type { Waits } from './waits.js'

/** What becomes of a cost: allowed within the guarantee or by borrowing; or refused. */
export type Verdict = 'within' | 'borrows' | 'never' | 'exhausted' | 'over-share'

/** Who is refused is told to come back within this share of the window: before its wait ends, which is twice that. */
export const RETRY: number = 1 / 20
export const LEAST_RETRY_MS = 1

/**
 * One cost, and what becomes of it. One object is used again and again: a check allocates nothing here.
 *
 * Whoever judges says first who asks: `name`, `slot`, `cost`, `weight`; the `level` it is judged at; what it has
 * `used`, and used or let `passed`, and whether its claim is `released`.
 */
export class Judgement implements Debtor {
  name = ''
  /** Negative for who is not active. */
  slot: number = NEWCOMER
  cost = 0
  weight = 0
  level = 0
  used = 0
  passed = 0
  /** What of that is carried over from the last window. */
  carried = 0
  released = false

  verdict: Verdict = 'never'
  /** What the tenant's weight guarantees it. */
  guarantee = 0
  /** The most that may be asked for next and is admitted; within the guarantee, a little more may be. */
  remaining = 0
  /** In how long it is worth asking again: 0 if allowed, Infinity if never. */
  retryMs = 0
  slope = 0
  #line: Line | undefined
  /** The cost that it waits for; Infinity if it does not. */
  #waitsFor: number = Number.POSITIVE_INFINITY
  /** The lowest tag of others who wait for what there is. */
  #leastTag: number = Number.POSITIVE_INFINITY
  /** What it has used or let pass, before a cost. */
  #before = 0

  get allowed(): boolean {
    return this.verdict === 'within' || this.verdict === 'borrows'
  }

  /** What the tenant has used, with what was allowed. */
  get usedAfter(): number {
    return this.allowed ? this.used + this.cost : this.used
  }

  /** Whether the whole guarantee would have been enough. */
  wouldCover(tolerance: number): boolean {
    return this.cost <= this.guarantee - this.carried + tolerance
  }

  /** Judges. O(1) within the guarantee, else O(log n). */
  decide(budget: Budget, claims: Claims, waits: Waits): void {
    const { cost, weight, level, passed, released } = this
    const { left, tau } = budget
    const guarantee = weight * level
    // Who waits for its claim lets nothing pass.
    const before = released ? passed : Math.max(passed, guarantee * tau)
    const claim = released ? 0 : Math.max(0, guarantee - before)
    this.guarantee = guarantee
    const fits = budget.covers(left, cost)
    if (fits && budget.covers(claim, cost)) {
      this.#allow('within', worth(Math.min(claim, left) - cost, budget))
      return
    }
    const own = this.slot === NEWCOMER ? 0 : claim
    const free = Math.max(0, left - (claims.total(level, tau) - own))
    this.#line = waits.line
    this.#waitsFor = waits.cost(this.slot)
    this.#leastTag = waits.line.leastTag(left + budget.tolerance, this.slot)
    this.#before = passed
    const owed = this.owed(cost)
    if (fits && budget.covers(free - owed, cost)) {
      this.#before = before
      this.#allow('borrows', worth(this.#most(Math.min(left, free)) - cost, budget))
      return
    }
    this.verdict = fits ? 'over-share' : budget.covers(budget.limit, cost) ? 'exhausted' : 'never'
    // Who waits for what its guarantee would cover releases its claim; a newcomer does not wait.
    const keepsClaim = this.verdict === 'never' || this.slot === NEWCOMER || !this.wouldCover(budget.tolerance)
    const most = this.#most(Math.min(left, free))
    this.remaining = worth(Math.min(left, Math.max(keepsClaim ? claim : 0, most)), budget)
    this.retryMs = Math.max(LEAST_RETRY_MS, this.#wait(budget, claims, cost + owed))
  }

  owed(cost: number): number {
    const { weight } = this
    const before = this.#before
    const line = this.#line!
    const owed = line.owed((before + cost) / weight, this.#leastTag, weight, before, this.#waitsFor)
    this.slope = line.weight / weight
    return owed
  }

  #allow(verdict: Verdict, remaining: number): void {
    this.verdict = verdict
    this.remaining = remaining
    this.retryMs = 0
  }

  /** The most that may be borrowed of `room`. */
  #most(room: number): number {
    const turn = this.#leastTag * this.weight - this.#before
    return turn >= room ? room : Math.max(0, turn, mostWithin(room, this))
  }

  /** Until `amount` will be free, if others only keep silent. */
  #wait(budget: Budget, claims: Claims, amount: number): number {
    const { left, tau, restMs, windowMs } = budget
    if (this.verdict === 'never') return Number.POSITIVE_INFINITY
    if (left <= budget.tolerance) return restMs
    const waitMs = Math.min(restMs, windowMs * RETRY)
    if (this.verdict === 'exhausted' || budget.reserve === 'strict') return waitMs
    const ageMs = budget.startMs + windowMs - budget.paceFromMs
    const latest = Math.min(1, tau + (windowMs * RETRY) / ageMs)
    const weight = this.slot === NEWCOMER || this.released ? 0 : this.weight
    const at = claims.fadedBy(this.level, tau, latest, left - amount, weight, this.passed)
    return at < latest ? Math.min(waitMs, budget.paceFromMs + at * ageMs - budget.nowMs) : waitMs
  }
}

/** What remains, if it is more than rounding may leave. */
export function worth(remaining: number, budget: Budget): number {
  return remaining > budget.tolerance ? remaining : 0
}
