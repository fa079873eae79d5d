import { type Clock, steady } from '../clock.js'
import { requireNumber, requireText, show } from '../options.js'
import { requireWeight, weightFrom } from '../weight.js'
import { type Reserve, Sliding, Windows } from './budget.js'
import {
  ALL_PAID,
  type EscrowDecision,
  type EscrowSnapshot,
  NOTHING_SETTLED,
  type Settled,
  Ticket,
} from './decision.js'
import { Estimates } from './estimates.js'
import type { Places, WeightedPlace } from './hierarchy.js'
import { isRefusal, LEAST_RETRY_MS, RETRY } from './judgement.js'
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
/** How much of what settlements give back a new one tells. */
const NEW_PART = 1 / 10

/**
 * Splits one budget per window between tenants by weight, lends what some leave to those who want more, and never
 * gives out more than the budget: weighted fair escrow in one process. `Ledger` has the rule.
 *
 * - The sum of what is used never exceeds `limit` in a window, whatever is settled, whoever comes, whatever the clock
 *   does; where windows slide, in no span of `windowMs`.
 * - What a tenant may still claim of its guarantee is admitted at once, whatever others ask for.
 * - If those who still ask are refused, less is left than the largest cost they ask for, and what is kept for others.
 * - Tenants that keep asking get about the same per weight, however often each of them asks.
 *
 * With a `tree`, weights form a hierarchy: an organisation's teams share what the organisation is guaranteed, and what
 * one of them leaves goes to the others of the same organisation first. There, `retryAfterMs` reckons that others'
 * claims go on fading as they do now; later on they may fade faster.
 *
 * Nothing happens between calls; what is due happens at the next one. A check takes O(depth·log n) of the active
 * tenants on average, allocates its decision, and no more. A clock that jumps back counts as no time passed.
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
  /** Admitted in this window and not settled yet; what part of the cost settlements gave back lately, and after how long. */
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
   * Asks for `cost` units for `tenant`, and spends them if it is allowed. A tenant that has no place in the tree is
   * refused, as `unknown`.
   *
   * Throws, and leaves no trace, on an empty tenant, a cost that is not above 0 and at most 2^53 − 1, or if `weightOf`
   * or `groupOf` throw, or give a bad weight, or a name of no group.
   */
  check(tenant: string, cost = 1): EscrowDecision {
    const decision = this.#judge(tenant, cost, false)
    const ledger = this.#ledger
    if (decision.allowed) {
      this.#allowed++
      if (decision.borrowed) this.#borrowed++
      decision.admit(ledger.spend(), this.#windows.count)
      this.#sliding?.note(decision.atMs, decision.reserved)
      this.#estimates?.admit(tenant)
      this.#open += decision.reserved
    } else {
      this.#refused++
      if (decision.reason !== 'unknown') ledger.refuse()
    }
    return decision
  }

  /** What `check` would answer. Changes nothing. Throws as `check` does. */
  peek(tenant: string, cost = 1): EscrowDecision {
    return this.#judge(tenant, cost, true)
  }

  /**
   * Says what something that was allowed really cost, from 0 on: the difference is given back or charged, as far as
   * there is something left. Once for each decision, and in its window; otherwise it does nothing, and says so.
   * Throws on a bad cost, or a decision that is not from this escrow's `check`; and if `weightOf` or `groupOf` do, which
   * are asked about a charge for a window that is over, with the decision as it was.
   */
  settle(decision: EscrowDecision, actualCost: number): Settled {
    requireNumber('actualCost', actualCost, 0, Number.MAX_SAFE_INTEGER)
    const ticket = this.#own(decision)
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
    if (change === 0) return ALL_PAID
    const unpaid = this.#ledger.settle(ticket.place, change)
    this.#sliding?.note(change < 0 ? atMs : nowMs, change - unpaid)
    return unpaid > 0 ? { settled: true, unpaid } : ALL_PAID
  }

  /**
   * Says what something that was allowed, and is not settled yet, has cost so far: what that is more than was spent for
   * it is charged, as `settle` does. Throws on a bad cost, or a decision that is not from this escrow's `check`.
   */
  charge(decision: EscrowDecision, costSoFar: number): Settled {
    requireNumber('costSoFar', costSoFar, 0, Number.MAX_SAFE_INTEGER)
    const ticket = this.#own(decision)
    const nowMs = this.#catchUp()
    const change = costSoFar - ticket.reserved
    if (change <= 0) return NOTHING_SETTLED
    const owe = this.#debtOf(ticket, change)
    ticket.charge(change)
    if (ticket.timeIn(this.#windows.count) === 'never') return NOTHING_SETTLED
    if (owe !== undefined) return owe()
    this.#open += change
    const unpaid = this.#ledger.settle(ticket.place, change)
    this.#sliding?.note(nowMs, change - unpaid)
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

  /**
   * Sets another limit, from now on. What was used in this window stays used: if that is more, nothing is admitted
   * until the next one begins. Throws a `RangeError` or `TypeError` on a limit that is not above 0.
   */
  setLimit(limit: number): void {
    requireLimit(limit)
    const nowMs = this.#catchUp()
    this.#limit = limit
    this.#ledger.limitTo(this.#released(nowMs), limit)
  }

  /**
   * Gives a group of the tree another weight, from now on. (Tenants' weights are asked for by `weightOf`.) Throws a
   * `RangeError` or `TypeError` on a bad weight, or a name that is not that of one group with a weight of its own.
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
      heaviest: ledger.heaviest(HEAVIEST),
    }
  }

  #own(decision: EscrowDecision): Ticket {
    if (decision instanceof Ticket && decision.owner === this) return decision
    throw new TypeError(`decision must come from check of this escrow, got ${show(decision)}`)
  }

  /** Makes a charge for a window that is over, if it is one. What may throw is done first: the ticket is as it was. */
  #debtOf(ticket: Ticket, amount: number): (() => Settled) | undefined {
    if (amount <= 0 || ticket.timeIn(this.#windows.count) !== 'late') return undefined
    const { tenant } = ticket
    const place = this.#placeOf(tenant)
    const weight = place === null ? 0 : this.#weightIn(place, tenant)
    return () => {
      if (place !== null) this.#ledger.owe(tenant, weight, amount, place)
      return { settled: true, unpaid: amount }
    }
  }

  /** Judges, and changes nothing but, unless it is a `peek`, an active tenant's weight. */
  #judge(tenant: string, cost: number, isPeek: boolean): Ticket {
    requireTenant(tenant)
    requireCost(cost)
    const place = this.#placeOf(tenant)
    const weight = this.#weightIn(place, tenant)
    const nowMs = this.#catchUp()
    const { endMs } = this.#windows
    if (place === null)
      return new Ticket(this, tenant, cost, 'unknown', false, 0, 0, 0, Number.POSITIVE_INFINITY, endMs, nowMs)
    const reserved = this.#estimates?.reserve(tenant, cost, this.#limit) ?? cost
    const ledger = this.#ledger
    if (isPeek) ledger.peek(tenant, weight, reserved, place)
    else ledger.judge(tenant, weight, reserved, place)
    return this.#ticketOf(tenant, cost, nowMs)
  }

  /** Null: it has none. */
  #placeOf(tenant: string): WeightedPlace | undefined | null {
    return this.#places === undefined ? undefined : (this.#places.of(tenant) ?? null)
  }

  #weightIn(place: WeightedPlace | undefined | null, tenant: string): number {
    return this.#weightOf === undefined ? (place?.weight ?? 1) : weightFrom(this.#weightOf, tenant)
  }

  /** Reads the clock, begins a window if it is time, and does what is due. */
  #catchUp(): number {
    const nowMs = this.#clock()
    const begins = this.#windows.begins(nowMs)
    if (begins) {
      this.#sliding?.begin(this.#windows.startMs)
      this.#open = 0
      this.#ledger.begin(this.#windows.startMs, this.#released(nowMs), this.#limit)
    }
    this.#ledger.advance(nowMs)
    if (this.#sliding !== undefined) this.#ledger.limitTo(this.#released(nowMs), this.#limit)
    return nowMs
  }

  /** What may be used in this window until now, of the limit. */
  #released(nowMs: number): number {
    return this.#sliding === undefined ? this.#limit : Math.max(0, this.#limit - this.#sliding.counting(nowMs))
  }

  /** Of what was judged; its name may be that of the tenant that many share. */
  #ticketOf(tenant: string, asked: number, nowMs: number): Ticket {
    const { judged, left } = this.#ledger
    const { cost, verdict, usedAfter, remaining, guarantee } = judged
    const { endMs, lengthMs } = this.#windows
    if (this.#sliding !== undefined && verdict === 'exhausted')
      judged.retryMs = Math.max(LEAST_RETRY_MS, this.#sliding.releaseMs(cost - left, nowMs))
    const { retryMs } = judged
    // Settlements of what is on its way will bring something back, evenly over the time they take.
    const coming = this.#open * this.#returned
    const isComing =
      this.#estimates !== undefined && coming >= cost && (verdict === 'exhausted' || verdict === 'over-share')
    const soonMs = isComing ? Math.min(lengthMs * RETRY, (this.#tookMs * cost) / coming) : retryMs
    const waitMs = isComing ? Math.max(LEAST_RETRY_MS, Math.min(retryMs, soonMs)) : retryMs
    const most = this.#estimates?.askable(tenant, remaining, this.#limit) ?? remaining
    const reason = isRefusal(verdict) ? verdict : undefined
    const borrowed = verdict === 'borrows'
    return new Ticket(this, tenant, asked, reason, borrowed, usedAfter, most, guarantee, waitMs, endMs, nowMs, cost)
  }
}
