import { type Clock, steady } from '../../clock.js'
import { requireNumber, requireOptions, show } from '../../options.js'
import type { EscrowDecision, Settled } from '../decision.js'
import { type EscrowOptions, type EscrowSeams, requireCost, requireTenant, settingsOf } from '../options.js'
import { ALL_PAID, NOTHING_SETTLED, Ticket } from '../ticket.js'
import { Windows } from '../windows.js'
import { TreeLedger } from './ledger.js'
import type { Tenant } from './tenant.js'
import { Hierarchy } from './tree.js'

/** How a {@link HierarchicalFairEscrow} is made up. */
export interface HierarchicalEscrowOptions extends Omit<EscrowOptions, 'weightOf' | 'maxTenants' | 'estimates'> {
  /** Who shares with whom, by which weights; made by `hierarchy`. */
  tree: Hierarchy
}

/** A hierarchical escrow's state, as plain JSON. */
export interface HierarchicalEscrowSnapshot {
  readonly limit: number
  readonly windowMs: number
  /** Of this window. */
  readonly used: number
  readonly remaining: number
  /** Of what remains, what is kept for guarantees. */
  readonly reserved: number
  /** Active tenants: those that were admitted in this window. */
  readonly tenants: number
  /** Tenants that were refused within the last tenth of a window. */
  readonly waiting: number
  readonly resetAtMs: number
  /** Since the escrow was made. */
  readonly allowed: number
  readonly borrowed: number
  readonly refused: number
}

/**
 * Weighted fair escrow over a hierarchy of weights: an organisation's teams share what the organisation is guaranteed,
 * and what one of them leaves goes to the others of the same organisation first. `TreeLedger` has the rule.
 *
 * `retryAfterMs` reckons that others' claims go on fading as they do now; later on they may fade faster.
 *
 * A hierarchy in which only tenants have weights is a {@link WeightedFairEscrow}, decision for decision. A check takes
 * O(depth·log n) of its active tenants on average; `Group` says when it may take longer.
 */
export class HierarchicalFairEscrow {
  readonly #limit: number
  readonly #windows: Windows
  readonly #clock: Clock
  readonly #tenants: ReadonlyMap<string, Tenant>
  readonly #ledger: TreeLedger
  #allowed = 0
  #borrowed = 0
  #refused = 0

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor({ tree, ...options }: HierarchicalEscrowOptions & EscrowSeams) {
    requireOptions('escrow', options, ['limit', 'windowMs', 'reserve', 'clock'])
    const { limit, windowMs, reserve, clock } = settingsOf(options)
    if (!(tree instanceof Hierarchy)) throw new TypeError(`tree must be made by hierarchy, got ${show(tree)}`)
    const { root, tenants } = tree.plant()
    this.#limit = limit
    this.#windows = new Windows(windowMs)
    this.#clock = steady(clock)
    this.#tenants = tenants
    this.#ledger = new TreeLedger(root, windowMs, reserve)
  }

  /** Length of a window, in milliseconds. */
  get windowMs(): number {
    return this.#windows.lengthMs
  }

  /**
   * Asks for `cost` units for `tenant`, and spends them if it is allowed. A tenant that is not in the hierarchy is
   * refused, as `unknown`. Throws, and leaves no trace, on an empty tenant, or a cost that is not above 0 and at most
   * 2^53 − 1.
   */
  check(tenant: string, cost = 1): EscrowDecision {
    requireTenant(tenant)
    requireCost(cost)
    const node = this.#tenants.get(tenant)
    const ticket = this.#judge(tenant, node, cost)
    if (node === undefined) this.#refused++
    else if (ticket.allowed) {
      this.#allowed++
      if (ticket.borrowed) this.#borrowed++
      this.#ledger.spend(node)
      ticket.admit(0, this.#windows.count)
    } else {
      this.#refused++
      this.#ledger.refuse(node)
    }
    return ticket
  }

  /** What `check` would answer. Changes nothing. */
  peek(tenant: string, cost = 1): EscrowDecision {
    requireTenant(tenant)
    requireCost(cost)
    return this.#judge(tenant, this.#tenants.get(tenant), cost)
  }

  /** As {@link WeightedFairEscrow.settle}. */
  settle(decision: EscrowDecision, actualCost: number): Settled {
    requireNumber('actualCost', actualCost, 0, Number.MAX_SAFE_INTEGER)
    if (!(decision instanceof Ticket) || decision.owner !== this)
      throw new TypeError(`decision must come from check of this escrow, got ${show(decision)}`)
    this.#catchUp()
    if (decision.settleIn(this.#windows.count) !== 'now') return NOTHING_SETTLED
    const change = actualCost - decision.cost
    if (change === 0) return ALL_PAID
    const unpaid = this.#ledger.settle(this.#tenants.get(decision.tenant)!, change)
    return unpaid > 0 ? { settled: true, unpaid } : ALL_PAID
  }

  /** Gives all back: nothing ran. As `settle` with a cost of 0. */
  refund(decision: EscrowDecision): Settled {
    return this.settle(decision, 0)
  }

  /** Settings, sums and counts, as plain JSON. */
  snapshot(): HierarchicalEscrowSnapshot {
    this.#catchUp()
    const { left, claimed, tenants, waiting } = this.#ledger
    return {
      limit: this.#limit,
      windowMs: this.#windows.lengthMs,
      used: this.#limit - left,
      remaining: left,
      reserved: claimed,
      tenants,
      waiting,
      resetAtMs: this.#windows.endMs,
      allowed: this.#allowed,
      borrowed: this.#borrowed,
      refused: this.#refused,
    }
  }

  #judge(tenant: string, node: Tenant | undefined, cost: number): Ticket {
    const nowMs = this.#catchUp()
    const { endMs } = this.#windows
    if (node === undefined)
      return new Ticket(this, tenant, cost, 'unknown', 0, 0, 0, Number.POSITIVE_INFINITY, endMs, nowMs)
    this.#ledger.judge(node, cost)
    const { allowed, verdict, remaining, retryMs } = this.#ledger.judged
    const used = allowed ? node.used + cost : node.used
    return new Ticket(this, tenant, cost, verdict, used, remaining, node.guarantee, retryMs, endMs, nowMs)
  }

  #catchUp(): number {
    const nowMs = this.#clock()
    if (this.#windows.begins(nowMs)) this.#ledger.begin(this.#windows.startMs, this.#limit)
    this.#ledger.advance(nowMs)
    return nowMs
  }
}
