import { type Clock, steady } from '../clock.js'
import { requireNumber, show } from '../options.js'
import type { Reserve } from './budget.js'
import type { EscrowDecision, Settled } from './decision.js'
import { Estimates } from './estimates.js'
import { LEAST_RETRY_MS, RETRY } from './judgement.js'
import { Ledger } from './ledger.js'
import { type EscrowOptions, type EscrowSeams, requireCost, requireTenant, settingsOf, weightFrom } from './options.js'
import type { EscrowSnapshot } from './snapshot.js'
import { ALL_PAID, NOTHING_SETTLED, Ticket } from './ticket.js'
import { Windows } from './windows.js'

const HEAVIEST = 20
/** How much of what settlements give back a new one tells. */
const LEARNING = 1 / 10

/**
 * Splits one budget per window between tenants by weight, lends what some leave to those who want more, and never
 * gives out more than the budget: weighted fair escrow in one process. `Ledger` has the rule.
 *
 * - The sum of what is used never exceeds `limit`, whatever is settled, whoever comes, whatever the clock does.
 * - What a tenant may still claim of its guarantee is admitted at once, whatever others ask for.
 * - If those who still ask are refused, less is left than the largest cost they ask for, and what is kept for others.
 * - Tenants that keep asking get about the same per weight, however often each of them asks.
 *
 * Nothing happens between calls; what is due happens at the next one. A check takes O(log n) of the active tenants,
 * allocates its decision, and no more. A clock that jumps back counts as no time passed.
 *
 * @see A. Demers, S. Keshav, S. Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", SIGCOMM 1989
 * @see M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995
 * @see I. Stoica, S. Shenker, H. Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998
 */
export class WeightedFairEscrow {
  readonly #limit: number
  readonly #windows: Windows
  readonly #reserve: Reserve
  readonly #weightOf: ((tenant: string) => number) | undefined
  readonly #clock: Clock
  readonly #ledger: Ledger
  readonly #estimates: Estimates | undefined
  /** Admitted in this window and not settled yet; what part of the cost settlements gave back lately, and after how long. */
  #open = 0
  #returned = 0
  #tookMs = 0
  #allowed = 0
  #borrowed = 0
  #refused = 0

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: EscrowOptions & EscrowSeams) {
    const { limit, windowMs, weightOf, maxTenants, reserve, estimates, clock } = settingsOf(options)
    this.#limit = limit
    this.#windows = new Windows(windowMs)
    this.#reserve = reserve
    this.#weightOf = weightOf
    this.#clock = steady(clock)
    this.#ledger = new Ledger(windowMs, reserve, maxTenants)
    this.#estimates = estimates === 'learned' ? new Estimates(maxTenants) : undefined
  }

  /** Length of a window, in milliseconds. */
  get windowMs(): number {
    return this.#windows.lengthMs
  }

  /**
   * Asks for `cost` units for `tenant`, and spends them if it is allowed.
   *
   * Throws, and leaves no trace, on an empty tenant, a cost that is not above 0 and at most 2^53 − 1, or if `weightOf`
   * throws or gives a bad weight.
   */
  check(tenant: string, cost = 1): EscrowDecision {
    requireTenant(tenant)
    requireCost(cost)
    const weight = weightFrom(this.#weightOf, tenant)
    const nowMs = this.#catchUp()
    const ledger = this.#ledger
    const reserved = this.#estimates?.reserve(tenant, cost, this.#limit) ?? cost
    const verdict = ledger.judge(tenant, weight, reserved)
    const decision = this.#ticketOf(tenant, cost, nowMs)
    if (decision.allowed) {
      this.#allowed++
      if (verdict === 'borrows') this.#borrowed++
      decision.admit(ledger.spend(), this.#windows.count)
      this.#estimates?.admit(tenant)
      this.#open += reserved
    } else {
      this.#refused++
      ledger.refuse()
    }
    return decision
  }

  /** What `check` would answer. Changes nothing. Throws as `check` does. */
  peek(tenant: string, cost = 1): EscrowDecision {
    requireTenant(tenant)
    requireCost(cost)
    const weight = weightFrom(this.#weightOf, tenant)
    const nowMs = this.#catchUp()
    this.#ledger.peek(tenant, weight, this.#estimates?.reserve(tenant, cost, this.#limit) ?? cost)
    return this.#ticketOf(tenant, cost, nowMs)
  }

  /**
   * Says what something that was allowed really cost, from 0 on: the difference is given back or charged, as far as
   * there is something left. Once for each decision, and in its window; otherwise it does nothing, and says so.
   * Throws on a bad cost, or a decision that is not from this escrow's `check`.
   */
  settle(decision: EscrowDecision, actualCost: number): Settled {
    requireNumber('actualCost', actualCost, 0, Number.MAX_SAFE_INTEGER)
    if (!(decision instanceof Ticket) || decision.owner !== this)
      throw new TypeError(`decision must come from check of this escrow, got ${show(decision)}`)
    const nowMs = this.#catchUp()
    const when = decision.settleIn(this.#windows.count)
    if (when === 'never') return NOTHING_SETTLED
    const { tenant, cost, reserved } = decision
    this.#estimates?.settle(tenant, cost, actualCost)
    const change = actualCost - reserved
    if (when === 'late') {
      if (change <= 0) return NOTHING_SETTLED
      this.#ledger.owe(tenant, weightFrom(this.#weightOf, tenant), change)
      return { settled: true, unpaid: change }
    }
    this.#open -= reserved
    this.#tookMs += (nowMs - (decision.resetAtMs - decision.resetAfterMs) - this.#tookMs) * LEARNING
    this.#returned += (Math.max(0, -change) / reserved - this.#returned) * LEARNING
    if (change === 0) return ALL_PAID
    const unpaid = this.#ledger.settle(decision.slot, change)
    return unpaid > 0 ? { settled: true, unpaid } : ALL_PAID
  }

  /** Gives all back: nothing ran. As `settle` with a cost of 0. */
  refund(decision: EscrowDecision): Settled {
    return this.settle(decision, 0)
  }

  /**
   * What `tenant` has used in this window is not held against it any more: it has a share like one that has used
   * nothing. What is left for all stays what it is.
   */
  forget(tenant: string): void {
    requireTenant(tenant)
    this.#catchUp()
    this.#ledger.countElsewhere(tenant, Number.NEGATIVE_INFINITY)
  }

  /** Settings, sums and counts, as plain JSON. O(n) of the active tenants. */
  snapshot(): EscrowSnapshot {
    this.#catchUp()
    const ledger = this.#ledger
    const heaviest = ledger
      .entries()
      .sort((a, b) => b.used - a.used)
      .slice(0, HEAVIEST)
    return {
      limit: this.#limit,
      windowMs: this.#windows.lengthMs,
      reserve: this.#reserve,
      used: this.#limit - ledger.left,
      remaining: ledger.left,
      reserved: ledger.claimed,
      level: ledger.level,
      tenants: ledger.tenants,
      weight: ledger.weight,
      waiting: ledger.waiting,
      resetAtMs: this.#windows.endMs,
      allowed: this.#allowed,
      borrowed: this.#borrowed,
      refused: this.#refused,
      heaviest,
    }
  }

  /** Reads the clock, begins a window if it is time, and does what is due. */
  #catchUp(): number {
    const nowMs = this.#clock()
    if (this.#windows.begins(nowMs)) {
      this.#ledger.begin(this.#windows.startMs, this.#limit)
      this.#open = 0
    }
    this.#ledger.advance(nowMs)
    return nowMs
  }

  /** Of what was judged; its name may be that of the tenant that many share. */
  #ticketOf(tenant: string, asked: number, nowMs: number): Ticket {
    const { cost, verdict, usedAfter, remaining, guarantee, carried, retryMs } = this.#ledger.judged
    const { endMs, lengthMs } = this.#windows
    // Settlements of what is on its way will bring something back, evenly over the time they take.
    const coming = this.#open * this.#returned
    const isComing =
      this.#estimates !== undefined && coming >= cost && (verdict === 'exhausted' || verdict === 'over-share')
    const soonMs = isComing ? Math.min(lengthMs * RETRY, (this.#tookMs * cost) / coming) : retryMs
    const waitMs = isComing ? Math.max(LEAST_RETRY_MS, Math.min(retryMs, soonMs)) : retryMs
    const own = Math.max(0, guarantee - carried)
    const left = cost === asked ? remaining : (remaining * asked) / cost
    return new Ticket(this, tenant, asked, verdict, usedAfter, left, own, waitMs, endMs, nowMs, cost)
  }
}
