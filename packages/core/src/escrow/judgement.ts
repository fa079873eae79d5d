import { NEWCOMER } from './accounts.js'
import type { Budget } from './budget.js'
import type { Claims } from './claims.js'
import type { Waits } from './waits.js'

/** What becomes of a cost: allowed within the guarantee or by borrowing; or refused. */
export type Verdict = 'within' | 'borrows' | 'never' | 'exhausted' | 'over-share'

/** Who is refused is told to come back within this share of the window: before its wait ends, which is twice that. */
export const RETRY: number = 1 / 20
/**
 * The same, for whoever is refused for the turn alone: whoever is ahead may come at any moment, and then it is the
 * next one's turn. Told a twentieth, all that obey would make some twenty rounds in a window, however small the costs.
 */
const RETRY_TURN: number = 1 / 1000
export const LEAST_RETRY_MS = 1
/** Tags this close are equal. */
export const TIE: number = 1 + 1e-9

/**
 * One cost, and what becomes of it. One object is used again and again: a check allocates nothing here.
 *
 * Whoever judges says first who asks: `name`, `slot`, `cost`, `weight`; the `level` it is judged at; what it has
 * `used`, and used or let `passed`, and whether its claim is `released`.
 */
export class Judgement {
  name = ''
  /** Negative for who is not active. */
  slot: number = NEWCOMER
  cost = 0
  weight = 0
  level = 0
  used = 0
  passed = 0
  released = false

  verdict: Verdict = 'never'
  guarantee = 0
  /** The most that may be asked for next and is admitted; within the guarantee, a little more may be. */
  remaining = 0
  /** In how long it is worth asking again: 0 if allowed, Infinity if never. */
  retryMs = 0

  get allowed(): boolean {
    return this.verdict === 'within' || this.verdict === 'borrows'
  }

  /** Whether the whole guarantee would have been enough. */
  wouldCover(tolerance: number): boolean {
    return this.cost <= this.guarantee + tolerance
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
    const fits = cost <= budget.limit && budget.covers(left, cost)
    if (fits && budget.covers(claim, cost)) {
      this.#allow('within', worth(Math.min(claim, left) - cost, budget))
      return
    }
    const own = this.slot === NEWCOMER ? 0 : claim
    const free = Math.max(0, left - (claims.total(level, tau) - own))
    const leastTag = waits.leastTag(left + budget.tolerance, this.slot)
    const isTurn = (passed + cost) / weight <= leastTag * TIE
    const borrowable = Math.max(0, Math.min(free, leastTag * weight - passed))
    if (fits && isTurn && budget.covers(free, cost)) {
      const turnsLeft = leastTag * weight - before
      this.#allow('borrows', worth(Math.min(left, free, turnsLeft) - cost, budget))
      return
    }
    this.verdict = cost > budget.limit ? 'never' : fits ? 'over-share' : 'exhausted'
    // Who waits for what its guarantee would cover releases its claim; a newcomer does not wait.
    const keepsClaim = this.verdict === 'never' || this.slot === NEWCOMER || !this.wouldCover(budget.tolerance)
    this.remaining = worth(Math.min(left, Math.max(keepsClaim ? claim : 0, borrowable)), budget)
    this.retryMs = Math.max(LEAST_RETRY_MS, this.#wait(budget, claims, isTurn))
  }

  #allow(verdict: Verdict, remaining: number): void {
    this.verdict = verdict
    this.remaining = remaining
    this.retryMs = 0
  }

  #wait(budget: Budget, claims: Claims, isTurn: boolean): number {
    const { left, tau, restMs, windowMs } = budget
    if (this.verdict === 'never') return Number.POSITIVE_INFINITY
    if (left <= budget.tolerance) return restMs
    if (this.verdict === 'over-share' && !isTurn) return Math.min(restMs, windowMs * RETRY_TURN)
    const waitMs = Math.min(restMs, windowMs * RETRY)
    if (this.verdict === 'exhausted' || budget.reserve === 'strict') return waitMs
    const latest = Math.min(1, tau + RETRY)
    const weight = this.slot === NEWCOMER || this.released ? 0 : this.weight
    const at = claims.fadedBy(this.level, tau, latest, left - this.cost, weight, this.passed)
    return at < latest ? Math.min(waitMs, budget.startMs + at * windowMs - budget.nowMs) : waitMs
  }
}

/** What remains, if it is more than rounding may leave. */
export function worth(remaining: number, budget: Budget): number {
  return remaining > budget.tolerance ? remaining : 0
}
