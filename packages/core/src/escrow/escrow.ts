import { type Clock, steady } from '../clock.js'
import { requireNumber, requireText, show } from '../options.js'
import { requireWeight, weightFrom } from '../weight.js'
import { RETRY, type Reserve, Sliding, Windows } from './budget.js'
import {
  ALL_PAID,
  type EscrowDecision,
  type EscrowSnapshot,
  EscrowTicket,
  NOTHING_SETTLED,
  type Settled,
  ticketOf,
} from './decision.js'
import { type Estimate, Estimates } from './estimates.js'
import type { Places, WeightedPlace } from './hierarchy.js'
import { isRefusal, LEAST_RETRY_MS } from './judgement.js'
import { Ledger } from './ledger.js'
import {
  type EscrowOptions,
  type EscrowSeams,
  requireCost,
  requireLimit,
  requireTenant,
  settingsOf,
} from './options.js'

const HEAVIEST = 20
/** Weight of a new settlement in the average part that settlements return. */
const NEW_PART = 1 / 10

/**
 * Divides one budget per window between tenants by weight, lends unused shares to tenants that want more, and never
 * admits more than the budget: weighted fair escrow in one process. `Ledger` has the rule.
 *
 * - Total use never exceeds `limit` in a window, for any settlements, tenants and clock; with sliding windows, in no
 *   span of `windowMs`.
 * - A tenant's claim on its guarantee is admitted at once, regardless of others' demand.
 * - If the tenants that still ask are refused, the remainder is less than their largest cost, plus the amount reserved
 *   for others.
 * - Tenants that keep asking get about the same per weight, regardless of how often each of them asks.
 *
 * With a `tree`, weights form a hierarchy: an organisation's teams share its guarantee, and unused budget of a team
 * goes to the others of the same organisation first. There, `retryAfterMs` assumes that others' claims go on fading as
 * they do now; later on they may fade faster.
 *
 * Nothing happens between calls; due work happens at the next one. A check takes O(depth·log n) of the active tenants
 * on average, allocates its decision, and no more. If the clock jumps back, no time counts as passed.
 *
 * @see A. Demers, S. Keshav, S. Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", SIGCOMM 1989
 * @see M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995
 * @see I. Stoica, S. Shenker, H. Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998
 */
export class WeightedFairEscrow {
  #limit: number
  readonly #windows: Windows
  readonly #sliding: Sliding | undefined
  readonly #reserve: Reserve
  readonly #weightOf: ((tenant: string) => number) | undefined
  readonly #clock: Clock
  /** Undefined: all tenants are in one group. */
  readonly #places: Places | undefined
  readonly #ledger: Ledger
  readonly #estimates: Estimates | undefined
  /** That of the tenant that was judged last. */
  #estimate: Estimate | undefined
  /**
   * Admitted in this window and not settled yet; the average part of the cost that settlements return, and after what
   * time.
   */
  #open = 0
  #returned = 0
  #tookMs = 0
  #allowed = 0
  #borrowed = 0
  #refused = 0

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: EscrowOptions & EscrowSeams) {
    const { limit, windowMs, window, weightOf, maxTenants, reserve, estimates, tree, groupOf, clock } =
      settingsOf(options)
    this.#limit = limit
    this.#windows = new Windows(windowMs)
    this.#sliding = window === 'sliding' ? new Sliding(windowMs) : undefined
    this.#reserve = reserve
    this.#weightOf = weightOf
    this.#clock = steady(clock)
    this.#places = tree?.plant(groupOf)
    this.#ledger = new Ledger(windowMs, reserve, maxTenants, this.#places?.root)
    this.#estimates = estimates === 'learned' ? new Estimates(maxTenants) : undefined
  }

  /** Length of a window, in milliseconds. */
  get windowMs(): number {
    return this.#windows.lengthMs
  }

  /**
   * Asks for `cost` units for `tenant`, and spends them if it is allowed. A tenant without a place in the tree is
   * refused, as `unknown`.
   *
   * Throws, and leaves no trace, on an empty tenant, a cost that is not above 0 and at most 2^53 − 1, or if `weightOf`
   * or `groupOf` throws, or returns a bad weight, or the name of no group.
   */
  check(tenant: string, cost = 1): EscrowDecision {
    const decision = this.#judge(tenant, cost, false)
    const ledger = this.#ledger
    if (decision.allowed) {
      this.#allowed++
      if (decision.borrowed) this.#borrowed++
      const { left } = ledger
      decision.admit(ledger.spend(), this.#windows.count)
      this.#sliding?.note(decision.atMs, left - ledger.left)
      this.#estimate?.admit()
      this.#open += decision.reserved
    } else {
      this.#refused++
      if (decision.reason !== 'unknown') ledger.refuse()
    }
    return decision
  }

  /** The answer that `check` would give. Changes nothing. Throws as `check` does. */
  peek(tenant: string, cost = 1): EscrowDecision {
    return this.#judge(tenant, cost, true)
  }

  /**
   * Reports the actual cost of an allowed decision, from 0 on: the difference is refunded, or charged as far as a call
   * for it would be admitted. Once for each decision, and in its window; otherwise it does nothing, and returns that. Throws on a bad
   * cost, or a decision that is not from this escrow's `check`; and if `weightOf` or `groupOf` throws, which are called
   * for a charge to a past window, with the decision unchanged.
   */
  settle(decision: EscrowDecision, actualCost: number): Settled {
    requireNumber('actualCost', actualCost, 0, Number.MAX_SAFE_INTEGER)
    const ticket = ticketOf(EscrowTicket, this, decision)
    const nowMs = this.#catchUp()
    const { tenant, cost, reserved, atMs } = ticket
    const change = actualCost - reserved
    const owe = this.#debtOf(ticket, change)
    const when = ticket.settleIn(this.#windows.count)
    if (when === 'never') return NOTHING_SETTLED
    this.#estimates?.settle(tenant, cost, actualCost)
    if (when === 'late') return owe?.() ?? NOTHING_SETTLED
    this.#open -= reserved
    this.#tookMs += (nowMs - atMs - this.#tookMs) * NEW_PART
    this.#returned += (Math.max(0, -change) / reserved - this.#returned) * NEW_PART
    return change === 0 ? ALL_PAID : this.#change(ticket, change, change < 0 ? atMs : nowMs)
  }

  /**
   * Reports the cost so far of an allowed decision that is not settled yet: the excess over the amount spent for it is
   * charged, as `settle` does. Throws on a bad cost, or a decision that is not from this escrow's `check`.
   */
  charge(decision: EscrowDecision, costSoFar: number): Settled {
    requireNumber('costSoFar', costSoFar, 0, Number.MAX_SAFE_INTEGER)
    const ticket = ticketOf(EscrowTicket, this, decision)
    const nowMs = this.#catchUp()
    const change = costSoFar - ticket.reserved
    if (change <= 0) return NOTHING_SETTLED
    const owe = this.#debtOf(ticket, change)
    ticket.charge(change)
    if (ticket.timeIn(this.#windows.count) === 'never') return NOTHING_SETTLED
    if (owe !== undefined) return owe()
    this.#open += change
    return this.#change(ticket, change, nowMs)
  }

  /** Refunds everything: nothing ran. Equals `settle` with a cost of 0. */
  refund(decision: EscrowDecision): Settled {
    return this.settle(decision, 0)
  }

  /**
   * Clears the use of `tenant` in this window: its share is that of a tenant without use. The remaining budget does not
   * change.
   */
  forget(tenant: string): void {
    requireTenant(tenant)
    this.#catchUp()
    this.#ledger.countElsewhere(tenant, Number.NEGATIVE_INFINITY)
  }

  /**
   * Sets the limit from now on. Use in this window stays: if it exceeds the limit, nothing is admitted until the next
   * window begins. Throws a `RangeError` or `TypeError` on a limit that is not above 0.
   */
  setLimit(limit: number): void {
    requireLimit(limit)
    const nowMs = this.#catchUp()
    this.#limit = limit
    this.#refit(nowMs)
  }

  /**
   * Sets the weight of a group of the tree from now on. (Tenants' weights come from `weightOf`.) Throws a `RangeError`
   * or `TypeError` on a bad weight, or a name that is not that of one group with its own weight.
   */
  setWeight(group: string, weight: number): void {
    requireText('group', group)
    requireWeight('weight', weight)
    if (this.#places === undefined)
      throw new TypeError(`group must be one of a tree, got ${show(group)} without a tree`)
    const node = this.#places.weighted(group)
    this.#catchUp()
    this.#ledger.reweighGroup(node, weight)
  }

  /** Settings, sums and counts, as plain JSON. O(n) of the active tenants. */
  snapshot(): EscrowSnapshot {
    const nowMs = this.#catchUp()
    const ledger = this.#ledger
    return {
      limit: this.#limit,
      windowMs: this.#windows.lengthMs,
      reserve: this.#reserve,
      used: this.#released(nowMs) - ledger.left,
      remaining: Math.max(0, ledger.left),
      reserved: ledger.claimed,
      level: ledger.level,
      tenants: ledger.tenants,
      weight: ledger.weight,
      waiting: ledger.waiting,
      resetAtMs: this.#windows.endMs,
      allowed: this.#allowed,
      borrowed: this.#borrowed,
      refused: this.#refused,
      heaviest: ledger.heaviest(HEAVIEST),
    }
  }

  #change({ place }: EscrowTicket, change: number, atMs: number): Settled {
    const unpaid = this.#ledger.settle(place, change)
    this.#sliding?.note(atMs, change - unpaid)
    if (unpaid <= 0) return ALL_PAID
    this.#ledger.owe(place, unpaid)
    return { settled: true, unpaid }
  }

  /**
   * Prepares a charge to a past window, if it is one. Calls that may throw come first: the ticket is unchanged then.
   */
  #debtOf(ticket: EscrowTicket, amount: number): (() => Settled) | undefined {
    if (amount <= 0 || ticket.timeIn(this.#windows.count) !== 'late') return undefined
    const { tenant } = ticket
    const place = this.#placeOf(tenant)
    const weight = place === null ? 0 : this.#weightIn(place, tenant)
    return () =>
      place === null ? { settled: true, unpaid: amount } : this.#ledger.oweLate(tenant, weight, amount, place)
  }

  /** Judges, and changes nothing except, unless it is a `peek`, an active tenant's weight. */
  #judge(tenant: string, cost: number, isPeek: boolean): EscrowTicket {
    requireTenant(tenant)
    requireCost(cost)
    const place = this.#placeOf(tenant)
    const weight = this.#weightIn(place, tenant)
    const nowMs = this.#catchUp()
    const { endMs } = this.#windows
    if (place === null)
      return new EscrowTicket(this, tenant, cost, 'unknown', false, 0, 0, 0, Number.POSITIVE_INFINITY, endMs, nowMs)
    const ledger = this.#ledger
    this.#estimate = this.#estimates?.of(tenant)
    const reserved = this.#estimate?.reserve(cost, this.#limit) ?? cost
    if (isPeek) ledger.peek(tenant, weight, reserved, place)
    else ledger.judge(tenant, weight, reserved, place)
    return this.#ticketOf(tenant, cost, reserved, nowMs)
  }

  /** Null: it has none. */
  #placeOf(tenant: string): WeightedPlace | undefined | null {
    return this.#places === undefined ? undefined : (this.#places.of(tenant) ?? null)
  }

  #weightIn(place: WeightedPlace | undefined | null, tenant: string): number {
    return this.#weightOf === undefined ? (place?.weight ?? 1) : weightFrom(this.#weightOf, tenant)
  }

  /** Reads the clock, begins a window if it is time, and does due work. */
  #catchUp(): number {
    const nowMs = this.#clock()
    const begins = this.#windows.begins(nowMs)
    if (begins) {
      this.#sliding?.begin(this.#windows.startMs)
      this.#open = 0
      this.#ledger.begin(this.#windows.startMs, this.#released(nowMs), this.#limit)
    }
    this.#ledger.advance(nowMs)
    if (this.#sliding !== undefined) this.#refit(nowMs)
    return nowMs
  }

  /** Lets the ledger divide what may be used until now. */
  #refit(nowMs: number): void {
    const paid = this.#ledger.limitTo(this.#released(nowMs), this.#limit)
    if (paid > 0) this.#sliding?.note(nowMs, paid)
  }

  /** The part of the limit that may be used in this window until now. */
  #released(nowMs: number): number {
    return this.#sliding === undefined ? this.#limit : Math.max(0, this.#limit - this.#sliding.counting(nowMs))
  }

  /** For the last judgement; its name may be that of the shared tenant. */
  #ticketOf(tenant: string, asked: number, reserved: number, nowMs: number): EscrowTicket {
    const { judged, left } = this.#ledger
    const { cost, verdict, usedAfter, remaining, guarantee } = judged
    const { endMs, lengthMs } = this.#windows
    if (this.#sliding !== undefined && verdict === 'exhausted')
      judged.retryMs = Math.max(LEAST_RETRY_MS, Math.min(lengthMs * RETRY, this.#sliding.releaseMs(cost - left, nowMs)))
    const { retryMs } = judged
    // Settlements of open decisions will return some budget, evenly over their usual time.
    const coming = this.#open * this.#returned
    const isComing =
      this.#estimates !== undefined && coming >= cost && (verdict === 'exhausted' || verdict === 'over-share')
    const soonMs = isComing ? Math.min(lengthMs * RETRY, (this.#tookMs * cost) / coming) : retryMs
    const waitMs = isComing ? Math.max(LEAST_RETRY_MS, Math.min(retryMs, soonMs)) : retryMs
    const most = this.#estimate?.askable(remaining, this.#limit) ?? remaining
    const reason = isRefusal(verdict) ? verdict : undefined
    const borrowed = verdict === 'borrows'
    return new EscrowTicket(
      this,
      tenant,
      asked,
      reason,
      borrowed,
      usedAfter,
      most,
      guarantee,
      waitMs,
      endMs,
      nowMs,
      reserved,
    )
  }
}
