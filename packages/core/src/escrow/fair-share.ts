import { type Clock, steady } from '../clock.js'
import { requireNumber, requireOptions, show } from '../options.js'
import { weightFrom } from '../weight.js'
import type { EscrowDecision, Settled } from './decision.js'
import type { Verdict } from './judgement.js'
import { type EscrowOptions, type EscrowSeams, requireCost, requireTenant, settingsOf } from './options.js'
import { reweighed, wholes } from './shares.js'
import { ALL_PAID, NOTHING_SETTLED, Ticket } from './ticket.js'
import { Windows } from './windows.js'

/** How a {@link WeightedFairShare} is made up. */
export type WeightedFairShareOptions = Omit<EscrowOptions, 'reserve' | 'window' | 'estimates' | 'tree' | 'groupOf'>

/** How a {@link FairShare} is made up. */
export type FairShareOptions = Omit<WeightedFairShareOptions, 'weightOf'>

/** A fair share's state, as plain JSON. */
export interface FairShareSnapshot {
  readonly limit: number
  readonly windowMs: number
  /** Of this window. */
  readonly used: number
  readonly remaining: number
  /** Active tenants: those that were admitted in this window. */
  readonly tenants: number
  /** Their weights, summed up. */
  readonly weight: number
  readonly resetAtMs: number
  /** Since it was made. */
  readonly allowed: number
  readonly refused: number
}

/** The name of the tenant that all share for whom there is no room. */
const SHARED = ''

interface Account {
  readonly place: number
  weight: number
  used: number
}

interface Judged {
  readonly ticket: Ticket
  /** By which it is, or will be, known. */
  readonly name: string
  /** Undefined: it is not active. */
  readonly account: Account | undefined
  readonly weight: number
}

/**
 * A strict cap for each tenant: of a budget L per window, max(1, ⌊w·L/W⌋) for a tenant of weight w, W being the weights
 * of all that are active in the window. Within its cap, and while there is something left, whoever comes first is
 * served first.
 *
 * Simpler and cheaper than {@link WeightedFairEscrow}, O(1) whatever there is, and it wastes what some leave: nobody
 * may have it. Nor is anything kept: caps shrink as tenants come, and what those before them used is gone. Choose it
 * where a tenant must never have more than its share, even of an idle service.
 *
 * The same words as the escrow's: `guarantee` is the cap.
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

  /** What `check` would answer. Changes nothing. */
  peek(tenant: string, cost = 1): EscrowDecision {
    return this.#judge(tenant, cost).ticket
  }

  /** As {@link WeightedFairEscrow.settle}. */
  settle(decision: EscrowDecision, actualCost: number): Settled {
    requireNumber('actualCost', actualCost, 0, Number.MAX_SAFE_INTEGER)
    if (!(decision instanceof Ticket) || decision.owner !== this)
      throw new TypeError(`decision must come from check of this share, got ${show(decision)}`)
    this.#catchUp()
    if (decision.settleIn(this.#windows.count) !== 'now') return NOTHING_SETTLED
    const account = this.#accounts[decision.place]!
    const change = actualCost - decision.cost
    const charged = Math.max(-account.used, Math.min(change, Math.max(0, this.#left)))
    account.used += charged
    this.#left = Math.min(this.#limit, this.#left - charged)
    return charged < change ? { settled: true, unpaid: change - charged } : ALL_PAID
  }

  /** Gives all back: nothing ran. As `settle` with a cost of 0. */
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
    const verdict: Verdict =
      cost > this.#limit
        ? 'never'
        : cost > this.#left + close
          ? 'exhausted'
          : cost <= room + close
            ? 'within'
            : 'over-share'
    const spent = verdict === 'within' ? cost : 0
    // Caps do not grow in a window, unless weights change; and what is left, only if somebody gives something back.
    const { endMs } = this.#windows
    const retryMs = verdict === 'within' ? 0 : verdict === 'never' ? Number.POSITIVE_INFINITY : endMs - nowMs
    const remaining = Math.max(0, room - spent)
    const ticket = new Ticket(this, tenant, cost, verdict, used + spent, remaining, cap, retryMs, endMs, nowMs)
    return { ticket, name, account, weight }
  }

  #open(name: string, weight: number): Account {
    const account = { place: this.#accounts.length, weight, used: 0 }
    this.#weight += weight
    this.#accounts.push(account)
    this.#byName.set(name, account)
    return account
  }

  /** The weight of all, if that of an account were so much. */
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

/** {@link WeightedFairShare} in which everybody weighs the same: at most max(1, ⌊L/n⌋) for each of n active tenants. */
export class FairShare extends WeightedFairShare {
  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: FairShareOptions & EscrowSeams) {
    requireOptions('fairShare', options, ['limit', 'windowMs', 'maxTenants', 'clock'])
    super(options)
  }
}
