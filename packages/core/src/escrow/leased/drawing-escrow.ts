import { type Clock, steady } from '../../clock.js'
import { requireNumber, show } from '../../options.js'
import type { Settled } from '../decision.js'
import type { Judgement, Verdict } from '../judgement.js'
import { Ledger } from '../ledger.js'
import { requireCost, requireTenant, weightFrom } from '../options.js'
import { PoolAccount, type Wish } from './account.js'
import { Arrivals } from './arrivals.js'
import { type LeasedDecision, type LeasedReason, LeasedTicket } from './decision.js'
import type { Demands } from './demands.js'
import { DrawQueue } from './draw-queue.js'
import { IdleWatch } from './idle-watch.js'
import type { DrawingSettings } from './options.js'
import type { LeasedSnapshot } from './snapshot.js'

const NOTHING_SETTLED: Settled = Object.freeze({ settled: false, unpaid: 0 })
const ALL_PAID: Settled = Object.freeze({ settled: true, unpaid: 0 })
/** Credit that nobody has spent from for this share of a window goes back, if it is this part of a quantum at least. */
const IDLE = 1 / 10
const LEAST_BACK = 1 / 10
/** Leases that one check, or one settlement, may draw, so that no store can keep it going. */
const MOST_DRAWS = 4

/** A check that is being answered. */
interface Ask {
  readonly tenant: string
  readonly weight: number
  readonly cost: number
  /** Leases that were drawn for it. */
  draws: number
}

/**
 * What processes and regions have in common: the rule of one process, on what was drawn from a pool and what the pool
 * keeps beyond that, spending only what was drawn.
 */
export class DrawingEscrow {
  readonly #settings: DrawingSettings
  readonly #clock: Clock
  readonly #ledger: Ledger
  readonly #account: PoolAccount
  readonly #arrivals: Arrivals
  readonly #queue: DrawQueue
  readonly #demands: Demands | undefined
  readonly #idle: IdleWatch
  readonly #fuzz: number
  /** What lacks for what was decided last. */
  #need = 0
  #allowed = 0
  #refused = 0
  #storeErrors = 0

  constructor(settings: DrawingSettings, demands?: Demands) {
    const { terms, member, store, maxTenants, storeTimeoutMs, clock, after } = settings
    this.#settings = settings
    this.#clock = steady(clock)
    this.#fuzz = Math.min(1e-3, 1e-9 * terms.limit)
    this.#demands = demands
    this.#ledger = new Ledger(terms.windowMs, 'paced', maxTenants)
    this.#arrivals = new Arrivals(this.#ledger, maxTenants)
    this.#account = new PoolAccount(terms, member, store, this.#clock, storeTimeoutMs, {
      began: (startMs) => {
        this.#ledger.begin(startMs, 0)
        this.#arrivals.begin()
      },
      answered: (call, answer) => {
        this.#demands?.learn(call, answer.shares)
        this.#ledger.limitTo(this.#account.granted + this.#account.held)
        this.#idle.start()
      },
    })
    this.#queue = new DrawQueue(this.#account, this.#clock, after, storeTimeoutMs)
    const hasCredit = (): boolean => this.#isOpen(this.#clock()) && this.#credit >= terms.quantum * LEAST_BACK
    this.#idle = new IdleWatch(terms.windowMs * IDLE, this.#clock, after, hasCredit, () => void this.#giveBack())
  }

  /** Length of a window, in milliseconds. */
  get windowMs(): number {
    return this.#settings.terms.windowMs
  }

  /**
   * Asks for `cost` units for `tenant`, and spends them if it is allowed: at once within the credit of this member,
   * else after a lease was drawn, which takes `storeTimeoutMs` at most. O(log n) of the active tenants.
   *
   * Throws, and leaves no trace, on an empty tenant, a cost that is not above 0 and at most 2^53 − 1, or if `weightOf`
   * throws or gives a bad weight. Never throws because of the store.
   */
  check(tenant: string, cost = 1): LeasedDecision | Promise<LeasedDecision> {
    requireTenant(tenant)
    requireCost(cost)
    const ask: Ask = { tenant, weight: weightFrom(this.#settings.weightOf, tenant), cost, draws: 0 }
    const nowMs = this.#clock()
    if (this.#demands !== undefined) {
      if (!this.#isOpen(nowMs)) this.#demands.clear()
      this.#demands.count(tenant, ask.weight, cost, this.#elapsed(nowMs))
    }
    return this.#decide(ask, nowMs) ?? this.#draw(ask)
  }

  /**
   * Says what something that was allowed really cost, from 0 on. What it cost less comes back at once; what it cost
   * more is charged to the credit of this member, and then to a lease that is drawn for it; what that does not bring is
   * `unpaid`. Once for each decision, and in its window; otherwise it does nothing, and says so.
   *
   * Throws on a bad cost, or a decision that is not from this escrow's `check`.
   */
  settle(decision: LeasedDecision, actualCost: number): Settled | Promise<Settled> {
    requireNumber('actualCost', actualCost, 0, Number.MAX_SAFE_INTEGER)
    if (!(decision instanceof LeasedTicket) || !decision.isOf(this))
      throw new TypeError(`decision must come from check of this escrow, got ${show(decision)}`)
    const nowMs = this.#clock()
    const { win } = this.#account
    if (!this.#isOpen(nowMs) || !decision.settleIn(win)) return NOTHING_SETTLED
    const { slot } = decision
    let rest = actualCost - decision.cost
    let draws = 0
    if (rest <= 0) {
      if (rest < 0) this.#ledger.settle(slot, rest)
      this.#idle.start()
      return ALL_PAID
    }
    const charge = (atMs: number): Settled | undefined => {
      if (win !== this.#account.win || !this.#isOpen(atMs)) return { settled: true, unpaid: rest }
      const part = Math.min(rest, Math.max(0, this.#credit))
      if (part > 0) rest -= part - this.#ledger.settle(slot, part)
      if (rest <= this.#fuzz) return ALL_PAID
      this.#need = rest - Math.min(0, this.#credit)
      const mustWait = this.#account.waitMs(this.#need, this.#arrivals.weight(true), atMs) > 0
      return mustWait || draws >= MOST_DRAWS ? { settled: true, unpaid: rest } : undefined
    }
    const wish = (): Wish => {
      draws++
      return this.#wish(this.#need, 0)
    }
    const giveUp = (): Settled => ({ settled: true, unpaid: rest })
    return charge(nowMs) ?? this.#queue.run({ wish, attempt: charge, giveUp })
  }

  /** Gives all back: nothing ran. As `settle` with a cost of 0. */
  refund(decision: LeasedDecision): Settled | Promise<Settled> {
    return this.settle(decision, 0)
  }

  /** Hands what credit there is back to the pool, for a process that ends. The escrow goes on if it is asked again. */
  close(): void | Promise<void> {
    this.#idle.stop()
    return this.#isOpen(this.#clock()) && this.#credit > 0 ? this.#giveBack() : undefined
  }

  /** Settings, sums and counts, as plain JSON. */
  snapshot(): LeasedSnapshot {
    const open = this.#isOpen(this.#clock())
    const { win, granted, held, calls } = this.#account
    const { terms, member } = this.#settings
    return {
      ...terms,
      member,
      win,
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

  /** The part of the window that is over; 0 if none is open. */
  #elapsed(nowMs: number): number {
    return this.#isOpen(nowMs) ? (nowMs - this.#ledger.startMs) / this.#settings.terms.windowMs : 0
  }

  /** Decides by the rule; or nothing, if more has to be drawn for that, as much as `#need` says. */
  #decide(ask: Ask, nowMs: number): LeasedDecision | undefined {
    const { tenant, weight, cost } = ask
    if (cost > this.#settings.terms.limit) return this.#answer(ask, 'never', Number.POSITIVE_INFINITY, nowMs, undefined)
    const open = this.#isOpen(nowMs)
    const verdict = open ? this.#judge(ask, nowMs) : undefined
    if (verdict === undefined) this.#need = cost
    else if (isRefusal(verdict)) {
      this.#need = verdict === 'over-share' ? cost : cost - this.#credit
      // What is here is kept for others here. Only what the pool has for this member beyond that would help.
      if (verdict === 'over-share' && (ask.draws >= MOST_DRAWS || this.#account.held >= cost))
        return this.#refuse(ask, verdict, this.#ledger.judged.retryMs, nowMs)
    } else {
      if (cost <= this.#credit + this.#fuzz) return this.#spend(ask, undefined, nowMs)
      this.#need = cost - this.#credit
    }
    const waitMs = this.#account.waitMs(this.#need, this.#arrivals.weight(open, tenant, weight), nowMs)
    if (waitMs === 0 && ask.draws < MOST_DRAWS) return undefined
    const reason = this.#account.isExhausted ? 'exhausted' : 'over-share'
    return this.#answer(ask, reason, Math.max(1, waitMs), nowMs, open ? this.#ledger.judged : undefined)
  }

  #judge({ tenant, weight, cost }: Ask, nowMs: number): Verdict {
    this.#ledger.advance(nowMs)
    return this.#ledger.judge(tenant, this.#demands?.weightOf(tenant, weight) ?? weight, cost)
  }

  /** Answers what was just judged and allowed. */
  #spend(ask: Ask, reason: LeasedReason | undefined, nowMs: number): LeasedDecision {
    const ledger = this.#ledger
    const answer = this.#answer(ask, reason, 0, nowMs, ledger.judged)
    const { tenants } = ledger
    answer.book(ledger.spend(), this.#account.win)
    if (ledger.tenants > tenants) this.#arrivals.activate(ask.tenant)
    this.#idle.used(nowMs)
    return answer
  }

  /** Answers what was just judged and refused. */
  #refuse(ask: Ask, reason: LeasedReason, retryAfterMs: number, nowMs: number): LeasedDecision {
    this.#ledger.refuse()
    return this.#answer(ask, reason, Math.max(1, retryAfterMs), nowMs, this.#ledger.judged)
  }

  /** What was declared for a store that does not answer. */
  #declared(ask: Ask, nowMs: number): LeasedDecision {
    const { onStoreError, storeTimeoutMs } = this.#settings
    this.#storeErrors++
    if (onStoreError === 'admit') return this.#answer(ask, 'store-error', 0, nowMs, undefined)
    if (onStoreError === 'local-share' && this.#isOpen(nowMs) && !isRefusal(this.#judge(ask, nowMs)))
      return this.#spend(ask, 'store-error', nowMs)
    return this.#answer(ask, 'store-error', Math.max(1, storeTimeoutMs), nowMs, undefined)
  }

  #answer(
    { tenant, cost }: Ask,
    reason: LeasedReason | undefined,
    retryAfterMs: number,
    nowMs: number,
    judged: Judgement | undefined,
  ): LeasedTicket {
    if (retryAfterMs === 0) this.#allowed++
    else {
      this.#refused++
      this.#demands?.refused(tenant, this.#elapsed(nowMs))
    }
    const resetAtMs = (this.#isOpen(nowMs) ? this.#ledger.startMs : nowMs) + this.#settings.terms.windowMs
    return new LeasedTicket(this, tenant, cost, reason, retryAfterMs, judged, resetAtMs, nowMs)
  }

  #draw(ask: Ask): LeasedDecision | Promise<LeasedDecision> {
    const { tenant, weight } = ask
    this.#arrivals.arrive(tenant, weight)
    const answer = this.#queue.run({
      wish: () => {
        ask.draws++
        return this.#wish(this.#need, 0)
      },
      attempt: (nowMs) => this.#decide(ask, nowMs),
      giveUp: (nowMs) => this.#declared(ask, nowMs),
    })
    if (answer instanceof Promise) return answer.finally(() => this.#arrivals.depart(tenant))
    this.#arrivals.depart(tenant)
    return answer
  }

  #wish(need: number, back: number): Wish {
    const weight = this.#arrivals.weight(this.#isOpen(this.#clock()))
    return { need, back, weight, tenants: this.#demands?.report() }
  }

  #giveBack(): void | Promise<void> {
    const done = this.#account.draw(() => this.#wish(0, Math.max(0, this.#credit)), this.#clock())
    this.#ledger.limitTo(this.#account.granted + this.#account.held)
    return done
  }
}

function isRefusal(verdict: Verdict): boolean {
  return verdict !== 'within' && verdict !== 'borrows'
}
