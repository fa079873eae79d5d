import { type After, type Clock, steady } from '../../clock.js'
import { requireNumber, show } from '../../options.js'
import type { Settled } from '../decision.js'
import { Ledger } from '../ledger.js'
import { requireCost, requireTenant, weightFrom } from '../options.js'
import type { PoolTerms } from '../pool/terms.js'
import { PoolAccount, type Wish } from './account.js'
import { type LeasedDecision, type LeasedReason, LeasedTicket, type OnStoreError } from './decision.js'
import type { Demands } from './demands.js'
import type { DrawingSettings } from './options.js'

/** A leased escrow's state, as plain JSON. */
export interface LeasedSnapshot extends PoolTerms {
  /** This process's id, or the region's name, in the pool. */
  readonly member: string
  /** False while there is no window: before the first lease, and after the end of the last. */
  readonly open: boolean
  /** Of this window: credit drawn, what of that was spent, and what the pool keeps for this member beyond it. */
  readonly granted: number
  readonly used: number
  readonly held: number
  /** Active tenants of this member, and the sum of their weights here. */
  readonly tenants: number
  readonly weight: number
  /** Since the escrow was made. */
  readonly allowed: number
  readonly refused: number
  /** Answers that were what is declared for a store that fails. */
  readonly storeErrors: number
  readonly storeCalls: number
}

const NOTHING_SETTLED: Settled = Object.freeze({ settled: false, unpaid: 0 })
const ALL_PAID: Settled = Object.freeze({ settled: true, unpaid: 0 })
/** Credit that nobody has spent from for this share of a window goes back. */
const IDLE = 1 / 10
/** Leases that a check that can be answered at once may draw, so that no store can keep it going. */
const MOST_DRAWS = 4

/** A check that is being answered. */
interface Ask {
  readonly tenant: string
  /** As the user sees it, and as it counts at this member. */
  readonly wholeWeight: number
  readonly cost: number
  draws: number
}

/**
 * What processes and regions have in common: the rule of one process, on what was drawn from a pool and what the pool
 * keeps beyond that, spending only what was drawn.
 */
export class DrawingEscrow {
  readonly #terms: PoolTerms
  readonly #member: string
  readonly #weightOf: ((tenant: string) => number) | undefined
  readonly #maxTenants: number
  readonly #onStoreError: OnStoreError
  readonly #timeoutMs: number
  readonly #clock: Clock
  readonly #after: After
  readonly #ledger: Ledger
  readonly #account: PoolAccount
  readonly #demands: Demands | undefined
  readonly #fuzz: number
  /** Tenants that were admitted in this window, and those that wait for credit, with how many checks each. */
  readonly #active: Set<string> = new Set()
  readonly #arriving: Map<string, { weight: number; checks: number }> = new Map()
  #need = 0
  #lastUseMs = 0
  #cancelIdle: (() => void) | undefined
  #allowed = 0
  #refused = 0
  #storeErrors = 0

  constructor(settings: DrawingSettings, demands?: Demands) {
    const { terms, member, store, weightOf, maxTenants, onStoreError, storeTimeoutMs, clock, after } = settings
    this.#terms = terms
    this.#member = member
    this.#weightOf = weightOf
    this.#maxTenants = maxTenants
    this.#onStoreError = onStoreError
    this.#timeoutMs = storeTimeoutMs
    this.#clock = steady(clock)
    this.#after = after
    this.#demands = demands
    this.#fuzz = Math.min(1e-3, 1e-9 * terms.limit)
    this.#ledger = new Ledger(terms.windowMs, 'paced', maxTenants)
    this.#account = new PoolAccount(terms, member, store, this.#clock, storeTimeoutMs, {
      began: (startMs) => {
        this.#ledger.begin(startMs, 0)
        this.#active.clear()
      },
      answered: (call, answer) => {
        this.#demands?.learn(call, answer.shares)
        this.#ledger.limitTo(this.#account.granted + this.#account.held)
        this.#watchIdle()
      },
    })
  }

  /**
   * Asks for `cost` units for `tenant`, and spends them if it is allowed: at once within the credit of this member, else
   * after a lease was drawn, which takes `storeTimeoutMs` at most. O(log n) of the active tenants.
   *
   * Throws, and leaves no trace, on an empty tenant, a cost that is not above 0 and at most 2^53 − 1, or if `weightOf`
   * throws or gives a bad weight. Never throws because of the store.
   */
  check(tenant: string, cost = 1): LeasedDecision | Promise<LeasedDecision> {
    requireTenant(tenant)
    requireCost(cost)
    const ask: Ask = { tenant, wholeWeight: weightFrom(this.#weightOf, tenant), cost, draws: 0 }
    const nowMs = this.#clock()
    if (this.#demands !== undefined) {
      if (!this.#isOpen(nowMs)) this.#demands.clear()
      this.#demands.count(tenant, ask.wholeWeight, cost)
    }
    const decision = this.#decide(ask, nowMs)
    if (decision !== undefined) return decision
    this.#arrive(ask)
    const answer = this.#drawUntil(
      () => {
        ask.draws++
        return this.#wish(this.#need, 0)
      },
      (atMs) => this.#decide(ask, atMs),
      (atMs) => this.#declared(ask, atMs),
    )
    if (!(answer instanceof Promise)) {
      this.#depart(ask)
      return answer
    }
    return answer.finally(() => this.#depart(ask))
  }

  /**
   * Says what something that was allowed really cost, from 0 on. What it cost less comes back at once; what it cost more
   * is charged to the credit of this member, and then to a lease that is drawn for it; what that does not bring is
   * `unpaid`. Once for each decision, and in its window; otherwise it does nothing, and says so.
   *
   * Throws on a bad cost, or a decision that is not from this escrow's `check`.
   */
  settle(decision: LeasedDecision, actualCost: number): Settled | Promise<Settled> {
    requireNumber('actualCost', actualCost, 0, Number.MAX_SAFE_INTEGER)
    if (!(decision instanceof LeasedTicket) || !decision.isOf(this))
      throw new TypeError(`decision must come from check of this escrow, got ${show(decision)}`)
    const { win } = this.#account
    if (!this.#isOpen(this.#clock()) || !decision.settleIn(win)) return NOTHING_SETTLED
    const { slot } = decision
    let rest = actualCost - decision.cost
    if (rest <= 0) {
      if (rest < 0) this.#ledger.settle(slot, rest)
      this.#watchIdle()
      return ALL_PAID
    }
    const charge = (atMs: number): Settled | undefined => {
      if (win !== this.#account.win || !this.#isOpen(atMs)) return { settled: true, unpaid: rest }
      const part = Math.min(rest, Math.max(0, this.#credit))
      if (part > 0) rest -= part - this.#ledger.settle(slot, part)
      if (rest <= this.#fuzz) return ALL_PAID
      this.#need = rest - Math.min(0, this.#credit)
      return this.#account.waitMs(this.#need, atMs) > 0 ? { settled: true, unpaid: rest } : undefined
    }
    const paid = charge(this.#clock())
    if (paid !== undefined) return paid
    const wish = (): Wish => this.#wish(this.#need, 0)
    return this.#drawUntil(wish, charge, () => ({ settled: true, unpaid: rest }))
  }

  /** Gives all back: nothing ran. As `settle` with a cost of 0. */
  refund(decision: LeasedDecision): Settled | Promise<Settled> {
    return this.settle(decision, 0)
  }

  /** Hands what credit there is back to the pool, for a process that ends. The escrow goes on if it is asked again. */
  close(): void | Promise<void> {
    this.#cancelIdle?.()
    this.#cancelIdle = undefined
    const nowMs = this.#clock()
    return this.#isOpen(nowMs) && this.#credit > 0 ? this.#giveBack(nowMs) : undefined
  }

  /** Settings, sums and counts, as plain JSON. */
  snapshot(): LeasedSnapshot {
    const open = this.#isOpen(this.#clock())
    const { granted, held, calls } = this.#account
    return {
      ...this.#terms,
      member: this.#member,
      open,
      granted: open ? granted : 0,
      used: open ? this.#used : 0,
      held: open ? held : 0,
      tenants: open ? this.#ledger.tenants : 0,
      weight: open ? this.#ledger.weight : 0,
      allowed: this.#allowed,
      refused: this.#refused,
      storeErrors: this.#storeErrors,
      storeCalls: calls,
    }
  }

  get #used(): number {
    return this.#ledger.limit - this.#ledger.left
  }

  /** What was drawn and not spent; below 0 by what was spent of what the pool keeps while the store was away. */
  get #credit(): number {
    return this.#account.granted - this.#used
  }

  #isOpen(nowMs: number): boolean {
    return nowMs < this.#account.usableUntilMs
  }

  /** Decides by the rule; or nothing, if more credit has to be drawn for that, as much as `#need` says. */
  #decide(ask: Ask, nowMs: number): LeasedDecision | undefined {
    const { cost } = ask
    if (cost > this.#terms.limit) return this.#refusal(ask, 'never', Number.POSITIVE_INFINITY, nowMs)
    if (!this.#isOpen(nowMs)) this.#need = cost
    else {
      const ledger = this.#ledger
      const verdict = this.#judge(ask, nowMs)
      const credit = this.#credit
      if (verdict === 'within' || verdict === 'borrows') {
        if (cost <= credit + this.#fuzz) return this.#spend(ask, undefined, nowMs)
        this.#need = cost - credit
      } else if (verdict === 'over-share') {
        // What is here is kept for others here. Only what the pool has for this member beyond that would help.
        if (ask.draws > 0 || this.#account.held >= cost) {
          ledger.refuse()
          return this.#refusal(ask, verdict, ledger.retryMs, nowMs)
        }
        this.#need = cost
      } else this.#need = cost - credit
      if (this.#account.waitMs(this.#need, nowMs) > 0 && verdict !== 'within' && verdict !== 'borrows') ledger.refuse()
    }
    const waitMs = this.#account.waitMs(this.#need, nowMs)
    if (waitMs === 0 && ask.draws < MOST_DRAWS) return undefined
    const reason = this.#account.isExhausted ? 'exhausted' : 'over-share'
    return this.#refusal(ask, reason, Math.max(1, waitMs), nowMs)
  }

  #judge({ tenant, wholeWeight, cost }: Ask, nowMs: number) {
    const ledger = this.#ledger
    const weight = this.#demands?.weightOf(tenant, wholeWeight) ?? wholeWeight
    ledger.advance(nowMs)
    ledger.reweigh(tenant, weight)
    return ledger.judge(tenant, weight, cost)
  }

  /** What was declared for a store that does not answer. */
  #declared(ask: Ask, nowMs: number): LeasedDecision {
    this.#storeErrors++
    if (this.#onStoreError === 'admit') return this.#ticket(ask, true, 'store-error', 0, nowMs)
    if (this.#onStoreError === 'local-share' && this.#isOpen(nowMs)) {
      const verdict = this.#judge(ask, nowMs)
      if (verdict === 'within' || verdict === 'borrows') return this.#spend(ask, 'store-error', nowMs)
    }
    return this.#refusal(ask, 'store-error', Math.max(1, this.#timeoutMs), nowMs)
  }

  #spend(ask: Ask, reason: LeasedReason | undefined, nowMs: number): LeasedDecision {
    const ledger = this.#ledger
    const { tenants } = ledger
    const slot = ledger.spend()
    if (ledger.tenants > tenants) this.#active.add(ask.tenant)
    this.#lastUseMs = nowMs
    return this.#ticket(ask, true, reason, 0, nowMs, slot)
  }

  #refusal(ask: Ask, reason: LeasedReason, retryAfterMs: number, nowMs: number): LeasedDecision {
    return this.#ticket(ask, false, reason, retryAfterMs, nowMs)
  }

  #ticket(
    { tenant, cost }: Ask,
    allowed: boolean,
    reason: LeasedReason | undefined,
    retryAfterMs: number,
    nowMs: number,
    slot = -1,
  ): LeasedDecision {
    if (allowed) this.#allowed++
    else this.#refused++
    const ledger = this.#ledger
    const open = this.#isOpen(nowMs)
    const remaining = open ? ledger.remaining : 0
    const resetAtMs = open ? ledger.startMs + this.#terms.windowMs : nowMs + this.#terms.windowMs
    return new LeasedTicket(
      this,
      {
        allowed,
        tenant,
        cost,
        reason,
        borrowed: slot >= 0 && ledger.verdict === 'borrows',
        limit: open ? ledger.used + remaining : 0,
        remaining,
        guarantee: open ? ledger.guarantee : 0,
        retryAfterMs,
        resetAtMs,
        resetAfterMs: resetAtMs - nowMs,
      },
      slot,
      slot >= 0 ? this.#account.win : -1,
    )
  }

  /** Draws leases until `attempt` has an answer; `giveUp` has one when the store fails, or time is up. */
  #drawUntil<Answer>(
    wish: () => Wish,
    attempt: (nowMs: number) => Answer | undefined,
    giveUp: (nowMs: number) => Answer,
  ): Answer | Promise<Answer> {
    const deadlineMs = this.#clock() + this.#timeoutMs
    for (;;) {
      const nowMs = this.#clock()
      const hadFailed = this.#account.hasFailed(nowMs)
      const lease = this.#account.draw(wish, nowMs)
      // A store that has failed is tried, but nobody waits for it.
      if (lease !== undefined && !hadFailed) return this.#wait(lease, deadlineMs, wish, attempt, giveUp)
      if (lease !== undefined || this.#account.hasFailed(nowMs)) return giveUp(nowMs)
      const answer = attempt(this.#clock())
      if (answer !== undefined) return answer
    }
  }

  async #wait<Answer>(
    lease: Promise<void>,
    deadlineMs: number,
    wish: () => Wish,
    attempt: (nowMs: number) => Answer | undefined,
    giveUp: (nowMs: number) => Answer,
  ): Promise<Answer> {
    for (let next: Promise<void> | undefined = lease; next !== undefined; ) {
      await this.#orUntil(next, deadlineMs)
      const nowMs = this.#clock()
      const answer = attempt(nowMs)
      if (answer !== undefined) return answer
      if (nowMs >= deadlineMs || this.#account.hasFailed(nowMs)) break
      next = this.#account.draw(wish, nowMs)
    }
    return giveUp(this.#clock())
  }

  /** Resolves with the promise, or when it is time. */
  #orUntil(promise: Promise<void>, deadlineMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#after(Math.max(0, deadlineMs - this.#clock()), resolve)
      void promise.then(() => {
        cancel()
        resolve()
      })
    })
  }

  #wish(need: number, back: number): Wish {
    let weight = this.#isOpen(this.#clock()) ? this.#ledger.weight : 0
    for (const [tenant, { weight: own }] of this.#arriving) if (!this.#isActive(tenant)) weight += own
    return { need, back, weight, tenants: this.#demands?.report() }
  }

  /** True if the ledger knows the tenant, or would count it to the one that late ones share. */
  #isActive(tenant: string): boolean {
    return this.#isOpen(this.#clock()) && (this.#active.has(tenant) || this.#ledger.tenants >= this.#maxTenants)
  }

  #arrive({ tenant, wholeWeight: weight }: Ask): void {
    const { checks } = this.#arriving.get(tenant) ?? { checks: 0 }
    this.#arriving.set(tenant, { weight, checks: checks + 1 })
  }

  #depart({ tenant }: Ask): void {
    const arriving = this.#arriving.get(tenant)!
    if (--arriving.checks === 0) this.#arriving.delete(tenant)
  }

  /** Sees to it that credit which nobody spends from goes back, in time for others to use it. */
  #watchIdle(): void {
    if (this.#cancelIdle !== undefined || this.#credit <= 0) return
    const idleMs = this.#terms.windowMs * IDLE
    this.#lastUseMs = this.#clock()
    const look = (): void => {
      this.#cancelIdle = undefined
      const nowMs = this.#clock()
      if (!this.#isOpen(nowMs) || this.#credit <= 0) return
      const restMs = this.#lastUseMs + idleMs - nowMs
      if (restMs > 0) this.#cancelIdle = this.#after(restMs, look)
      else void this.#giveBack(nowMs)
    }
    this.#cancelIdle = this.#after(idleMs, look)
  }

  #giveBack(nowMs: number): void | Promise<void> {
    const done = this.#account.draw(() => this.#wish(0, this.#credit), nowMs)
    this.#ledger.limitTo(this.#account.granted + this.#account.held)
    return done
  }
}
