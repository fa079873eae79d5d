import { type Clock, steady } from '../clock.js'
import { fail, requireNumber, requireOptions } from '../options.js'
import { requireWeight, weightFrom } from '../weight.js'
import { Windows } from './budget.js'
import {
  ALL_PAID,
  type EscrowDecision,
  type EscrowReason,
  EscrowTicket,
  NOTHING_SETTLED,
  type Settled,
  ticketOf,
} from './decision.js'
import { LEAST_RETRY_MS } from './judgement.js'
import { type EscrowOptions, type EscrowSeams, requireCost, requireTenant, settingsOf } from './options.js'

/**
 * Divides `limit` so that no share exceeds its demand, and no share per weight could be raised without lowering one
 * that is not above it: weighted max-min fairness, by water-filling.
 *
 * If `limit` and all demands are whole numbers, so are the shares: the rest of rounding down is distributed one by one
 * to the least share per weight then (the first of equals), never above a demand. O(n log n).
 *
 * Throws a `RangeError` or `TypeError` that names the fault: demands and `limit` are finite and at least 0, weights
 * finite and above 0, and there is one weight for each demand.
 *
 * @see D. Bertsekas, R. Gallager, "Data Networks", 1992, §6.5.2
 */
export function weightedMaxMin(demands: readonly number[], weights: readonly number[], limit: number): number[] {
  requireSplit(demands, weights, limit)
  const byNeed = demands.map((_, i) => i).sort((i, j) => demands[i]! / weights[i]! - demands[j]! / weights[j]!)
  const shares = demands.map(() => 0)
  // Sums from the back, rather than one sum that is reduced: rounding errors do not accumulate.
  const weightFrom = new Float64Array(byNeed.length + 1)
  for (let k = byNeed.length - 1; k >= 0; k--) weightFrom[k] = weightFrom[k + 1]! + weights[byNeed[k]!]!
  let left = limit
  for (const [k, i] of byNeed.entries()) {
    const share = Math.min(demands[i]!, (weights[i]! / weightFrom[k]!) * left)
    shares[i] = share
    left = Math.max(0, left - share)
  }
  return Number.isInteger(limit) && demands.every(Number.isInteger) ? inWholes(shares, demands, weights, limit) : shares
}

/** Rounds shares down, and distributes the rest one by one to the least share per weight. */
function inWholes(
  exact: readonly number[],
  demands: readonly number[],
  weights: readonly number[],
  limit: number,
): number[] {
  const shares = exact.map(wholes)
  const wanted = demands.reduce((sum, demand) => sum + demand, 0)
  let left = Math.min(limit, wanted) - shares.reduce((sum, share) => sum + share, 0)
  while (left > 0) {
    const hungry = shares.flatMap((share, i) => (share < demands[i]! ? [i] : []))
    hungry.sort((i, j) => shares[i]! / weights[i]! - shares[j]! / weights[j]!)
    // Rounding took less than one from each, and one more lifts any to the common level: none gets two. (The loop is
    // for shares whose whole part was rounded as well.)
    for (const i of hungry.slice(0, left)) shares[i]!++
    left -= Math.min(left, hungry.length)
  }
  return shares
}

/** Relative and absolute rounding error by which a whole share may be too low. */
const ROUNDING = 1e-12
const MOST_ROUNDING = 1e-9

/** A share rounded down; one that is whole up to rounding stays whole. */
function wholes(share: number): number {
  return Math.floor(share + Math.min(MOST_ROUNDING, share * ROUNDING))
}

function requireSplit(demands: readonly number[], weights: readonly number[], limit: number): void {
  requireNumber('limit', limit, 0)
  if (!Array.isArray(demands)) fail('demands', 'an array', demands)
  if (!Array.isArray(weights)) fail('weights', 'an array', weights)
  if (weights.length !== demands.length)
    throw new RangeError(`weights must be as many as demands, got ${weights.length} for ${demands.length}`)
  for (const [i, demand] of demands.entries()) requireNumber(`demands[${i}]`, demand, 0)
  for (const [i, weight] of weights.entries()) requireWeight(`weights[${i}]`, weight)
}

/** A part of a sum this small is hardly more than its rounding error. */
const CRUMB = 1e-6

/**
 * A sum of weights, once one of them has changed from `before` to `after`; 0: it was, or is, not among them. Weights
 * may be so unlike that the `others` are within the rounding error: then those are summed anew.
 */
export function reweighed(sum: number, before: number, after: number, others: () => number): number {
  const next = sum + (after - before)
  return next > CRUMB * sum ? next : others() + after
}

/** Options of a {@link WeightedFairShare}. */
export type WeightedFairShareOptions = Omit<EscrowOptions, 'reserve' | 'window' | 'estimates' | 'tree' | 'groupOf'>

/** Options of a {@link FairShare}. */
export type FairShareOptions = Omit<WeightedFairShareOptions, 'weightOf'>

/** A fair share's state, as plain JSON. */
export interface FairShareSnapshot {
  readonly limit: number
  readonly windowMs: number
  /** In this window. */
  readonly used: number
  readonly remaining: number
  /** Active tenants: those that were admitted in this window. */
  readonly tenants: number
  /** The sum of their weights. */
  readonly weight: number
  readonly resetAtMs: number
  /** Since it was created. */
  readonly allowed: number
  readonly refused: number
}

/** The name of the tenant that all tenants beyond the limit share. */
const SHARED = ''

interface Account {
  readonly place: number
  weight: number
  used: number
}

interface Judged {
  readonly ticket: EscrowTicket
  /** Its present or future name. */
  readonly name: string
  /** Undefined: it is not active. */
  readonly account: Account | undefined
  readonly weight: number
}

/**
 * A strict cap for each tenant: of a budget L per window, max(1, ⌊w·L/W⌋) for a tenant of weight w, W being the weights
 * of all that are active in the window. Within its cap, and while budget is left, tenants are served first come, first
 * served.
 *
 * Simpler and cheaper than {@link WeightedFairEscrow}, O(1) in all cases, but unused caps are wasted: no other tenant
 * may use them. Nor is anything reserved: caps shrink as tenants arrive, and earlier use is gone. Choose it if a tenant
 * must never have more than its share, even of an idle service.
 *
 * The terms are the escrow's: `guarantee` is the cap.
 */
export class WeightedFairShare {
  readonly #limit: number
  readonly #windows: Windows
  readonly #weightOf: ((tenant: string) => number) | undefined
  readonly #clock: Clock
  readonly #maxTenants: number
  readonly #byName: Map<string, Account> = new Map()
  #accounts: Account[] = []
  #left = 0
  #weight = 0
  #allowed = 0
  #refused = 0

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: WeightedFairShareOptions & EscrowSeams) {
    requireOptions('fairShare', options, ['limit', 'windowMs', 'weightOf', 'maxTenants', 'clock'])
    const { limit, windowMs, weightOf, maxTenants, clock } = settingsOf(options)
    this.#limit = limit
    this.#windows = new Windows(windowMs)
    this.#weightOf = weightOf
    this.#clock = steady(clock)
    this.#maxTenants = maxTenants
  }

  /** Length of a window, in milliseconds. */
  get windowMs(): number {
    return this.#windows.lengthMs
  }

  /** As {@link WeightedFairEscrow.check}. */
  check(tenant: string, cost = 1): EscrowDecision {
    const { ticket, name, account, weight } = this.#judge(tenant, cost)
    if (account !== undefined) {
      this.#weight = this.#weightWith(account, weight)
      account.weight = weight
    }
    if (!ticket.allowed) {
      this.#refused++
      return ticket
    }
    const { place } = account ?? this.#open(name, weight)
    this.#allowed++
    this.#accounts[place]!.used += cost
    this.#left -= cost
    ticket.admit(place, this.#windows.count)
    return ticket
  }

  /** The answer that `check` would give. Changes nothing. */
  peek(tenant: string, cost = 1): EscrowDecision {
    return this.#judge(tenant, cost).ticket
  }

  /** As {@link WeightedFairEscrow.settle}. */
  settle(decision: EscrowDecision, actualCost: number): Settled {
    requireNumber('actualCost', actualCost, 0, Number.MAX_SAFE_INTEGER)
    const ticket = ticketOf(EscrowTicket, this, decision)
    this.#catchUp()
    if (ticket.settleIn(this.#windows.count) !== 'now') return NOTHING_SETTLED
    const account = this.#accounts[ticket.place]!
    const change = actualCost - ticket.cost
    const charged = Math.max(-account.used, Math.min(change, Math.max(0, this.#left)))
    account.used += charged
    this.#left = Math.min(this.#limit, this.#left - charged)
    return charged < change ? { settled: true, unpaid: change - charged } : ALL_PAID
  }

  /** Refunds everything: nothing ran. Equals `settle` with a cost of 0. */
  refund(decision: EscrowDecision): Settled {
    return this.settle(decision, 0)
  }

  /** Settings, sums and counts, as plain JSON. */
  snapshot(): FairShareSnapshot {
    this.#catchUp()
    return {
      limit: this.#limit,
      windowMs: this.#windows.lengthMs,
      used: this.#limit - this.#left,
      remaining: this.#left,
      tenants: this.#accounts.length,
      weight: this.#weight,
      resetAtMs: this.#windows.endMs,
      allowed: this.#allowed,
      refused: this.#refused,
    }
  }

  /** Answers without a change. A newcomer is judged as if it were active. */
  #judge(tenant: string, cost: number): Judged {
    requireTenant(tenant)
    requireCost(cost)
    let weight = weightFrom(this.#weightOf, tenant)
    const nowMs = this.#catchUp()
    let account = this.#byName.get(tenant)
    let name = tenant
    const own = this.#accounts.length - (this.#byName.has(SHARED) ? 1 : 0)
    if (account === undefined && own >= this.#maxTenants - 1) {
      name = SHARED
      account = this.#byName.get(SHARED)
      weight = 1
    }
    const used = account?.used ?? 0
    const share = (weight * this.#limit) / this.#weightWith(account, weight)
    const cap = Math.max(1, wholes(share))
    const room = Math.max(0, Math.min(cap - used, this.#left))
    const close = Math.min(1e-3, 1e-9 * this.#limit, cost / 2)
    const verdict: 'within' | EscrowReason =
      cost > this.#limit
        ? 'never'
        : cost > this.#left + close
          ? 'exhausted'
          : cost <= room + close
            ? 'within'
            : 'over-share'
    const spent = verdict === 'within' ? cost : 0
    // Caps do not grow in a window, unless weights change; and the remainder grows only by refunds.
    const { endMs } = this.#windows
    const retryMs =
      verdict === 'within'
        ? 0
        : verdict === 'never'
          ? Number.POSITIVE_INFINITY
          : Math.max(LEAST_RETRY_MS, endMs - nowMs)
    const remaining = Math.max(0, room - spent)
    const reason = verdict === 'within' ? undefined : verdict
    const ticket = new EscrowTicket(
      this,
      tenant,
      cost,
      reason,
      false,
      used + spent,
      remaining,
      cap,
      retryMs,
      endMs,
      nowMs,
    )
    return { ticket, name, account, weight }
  }

  #open(name: string, weight: number): Account {
    const account = { place: this.#accounts.length, weight, used: 0 }
    this.#weight += weight
    this.#accounts.push(account)
    this.#byName.set(name, account)
    return account
  }

  /** The total weight, if an account had this weight. */
  #weightWith(account: Account | undefined, weight: number): number {
    const others = (): number =>
      this.#accounts.reduce((sum, other) => (other === account ? sum : sum + other.weight), 0)
    return reweighed(this.#weight, account?.weight ?? 0, weight, others)
  }

  #catchUp(): number {
    const nowMs = this.#clock()
    if (this.#windows.begins(nowMs)) {
      this.#accounts = []
      this.#byName.clear()
      this.#left = this.#limit
      this.#weight = 0
    }
    return nowMs
  }
}

/** {@link WeightedFairShare} with equal weights: at most max(1, ⌊L/n⌋) for each of n active tenants. */
export class FairShare extends WeightedFairShare {
  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: FairShareOptions & EscrowSeams) {
    requireOptions('fairShare', options, ['limit', 'windowMs', 'maxTenants', 'clock'])
    super(options)
  }
}
