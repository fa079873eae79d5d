import type { Clock } from '../../clock.js'
import { weightFrom } from '../../weight.js'
import { ALL_PAID, NOTHING_SETTLED, type Settled } from '../decision.js'
import { Estimates } from '../estimates.js'
import { type EscrowVerdict, isRefusal, type Judgement } from '../judgement.js'
import { Ledger } from '../ledger.js'
import { PoolAccount, type Wish } from './account.js'
import { Credit, DrawQueue, type Errand, needAhead } from './credit.js'
import { ChildGroups } from './group-store.js'
import {
  type DrawingSettings,
  type LeasedDecision,
  type LeasedReason,
  type LeasedSnapshot,
  LeasedTicket,
  type MemberRequest,
} from './options.js'
import { Reports } from './reports.js'
import { fuzzOf, OTHERS, type PoolTerms, type StoreFailure, tellOf } from './store.js'
import { Pulse, watched } from './timing.js'

/** Idle credit of at least this part of a quantum is returned. */
const LEAST_BACK = 0.1
/** Most leases drawn by one check, or one settlement, so that no store can keep it going. */
const MOST_DRAWS = 4
const NO_WINDOW = { granted: 0, used: 0, held: 0, tenants: 0, weight: 0 }

/** A check in progress. */
interface DrawRequest extends MemberRequest {
  readonly weight: number
  /** Number of leases drawn for it. */
  draws: number
  /** It is within its tenant's guarantee, as far as is known here. */
  isDue: boolean
}

/**
 * A process's part of one pool: the rule of one process, on the credit drawn from the pool and the amount that the pool
 * reserves beyond that, spending only drawn credit.
 */
export class PoolMember {
  readonly #owner: object
  readonly #settings: DrawingSettings
  readonly #clock: Clock
  readonly #ledger: Ledger
  readonly #account: PoolAccount
  readonly #credit: Credit
  readonly #queue: DrawQueue
  readonly #reports: Reports
  readonly #estimates: Estimates | undefined
  readonly #pulse: Pulse
  /** The groups below, which draw their budget from here. */
  readonly groups: ChildGroups = new ChildGroups(
    () => this.#credit.standing(),
    (group, amount) => this.#begin(group, amount),
  )
  /** The terms of the next call to the store. */
  terms: PoolTerms
  #fuzz: number
  /** The amount that was missing in the last decision. */
  #need = 0
  #usedAtMs: number = Number.NEGATIVE_INFINITY
  #isClosed = false
  #allowed = 0
  #refused = 0
  #storeErrors = 0

  /** `owner` is the escrow that makes these decisions. */
  constructor(owner: object, settings: DrawingSettings) {
    this.#owner = owner
    const { terms, maxTenants, onStoreFailure } = settings
    this.#clock = watched(settings.clock, settings.wallClock, () => this.#account.doubt())
    this.#settings = { ...settings, clock: this.#clock }
    this.terms = terms
    this.#fuzz = fuzzOf(terms.limit)
    this.#ledger = new Ledger(terms.windowMs, 'paced', maxTenants)
    this.#reports = new Reports(maxTenants, (name) => this.#ledger.stakeOf(name === OTHERS ? '' : name))
    this.#estimates = settings.estimates === 'learned' ? new Estimates(maxTenants) : undefined
    this.#account = new PoolAccount(this.#settings, {
      began: (startMs) => {
        this.#ledger.begin(startMs, 0)
        this.#reports.begin()
        this.groups.begin(this.#account.win)
        this.#credit.begin(startMs)
      },
      answered: (call, answer) => {
        const { need, win } = call
        const { shares, used, grant, room } = answer
        const tenants = call.tenants.map((report) => (win === answer.win ? report : { ...report, used: 0 }))
        // Without room, a part of it comes from the claims of others here, which it is for.
        this.#reports.learn(tenants, shares, room > 0 ? grant : Math.min(need, grant))
        if (shares[0]! > 0) this.groups.hear(tenants[0]!, answer)
        // A tenant's use elsewhere counts here, too.
        for (const [at, report] of tenants.entries())
          if (shares[at]! > 0) this.#ledger.countElsewhere(report.tenant, used[at]! - report.used)
        this.#credit.fit()
        const nowMs = this.#clock()
        this.#credit.look(this.#credit.used, nowMs)
        if (grant > 0) this.#usedAtMs = nowMs
        this.#pulse.start(nowMs)
      },
      failed: (failure) => tellOf(failure, onStoreFailure),
    })
    this.#credit = new Credit(this.#ledger, this.#account, this.#clock, terms.windowMs, this.#reports, this.groups)
    this.#queue = new DrawQueue(this.#account, this.#settings)
    this.#pulse = new Pulse(this.#settings, {
      lastUseMs: () => this.#usedAtMs,
      lastSignMs: () => this.#account.sentMs,
      isOpen: () => !this.#isClosed && this.#credit.isOpen(this.#credit.now()),
      sign: (isIdle) => {
        const { left } = this.#credit
        void this.tell(undefined, isIdle && left >= this.terms.quantum * LEAST_BACK ? left : 0)
      },
    })
  }

  /** Like an escrow's, for a checked tenant and cost; `shown` is the tenant's name in the answer. */
  check(tenant: string, cost: number, shown: string = tenant): LeasedDecision | Promise<LeasedDecision> {
    const ask = this.#askOf(tenant, cost, shown)
    const nowMs = this.#credit.now()
    this.#usedAtMs = nowMs
    this.#isClosed = false
    if (this.#account.hasFailed) this.#makeDo(nowMs)
    const decision = this.#decide(ask, nowMs) ?? this.#queue.run(this.#errandOf(ask))
    this.#pulse.start(nowMs)
    if (!(decision instanceof Promise) && decision.allowed) this.#drawAhead(ask, decision.remaining, nowMs)
    return decision
  }

  /** By local knowledge. */
  peek(tenant: string, cost: number, shown: string): LeasedDecision {
    const ask = this.#askOf(tenant, cost, shown)
    const nowMs = this.#credit.now()
    const { limit, windowMs } = this.terms
    const open = this.#credit.isOpen(nowMs)
    const resetAtMs = (open ? this.#ledger.startMs : nowMs) + windowMs
    const answer = (reason: LeasedReason | undefined, retryMs: number, judged?: Judgement): LeasedDecision =>
      this.#ticket(ask, reason, retryMs, judged, resetAtMs, nowMs)
    if (cost > limit) return answer('never', Number.POSITIVE_INFINITY)
    if (!open) return answer(undefined, 0)
    const verdict = this.#judge(ask, nowMs, true)
    const { judged } = this.#ledger
    return isRefusal(verdict) ? answer(verdict, Math.max(1, judged.retryMs), judged) : answer(undefined, 0, judged)
  }

  /** An excess is charged to the credit here, and then to a lease that is drawn for it. */
  settle(ticket: LeasedTicket, actualCost: number): Settled | Promise<Settled> {
    const nowMs = this.#credit.now()
    const [{ win }, { place: slot, payer: tenant, isOfGroup }] = [this.#account, ticket]
    // Calls that may throw come first: afterwards the ticket is used up.
    const weight = weightFrom(this.#settings.weightOf, tenant)
    let [rest, draws] = [actualCost - ticket.reserved, 0]
    const when = ticket.settleIn(win)
    if (when === 'never') return NOTHING_SETTLED
    // A group's spending for one of its own tenants is no evidence about the group's costs, nor a debt of the group.
    if (!isOfGroup) this.#estimates?.settle(tenant, ticket.cost, actualCost)
    const owe = (): Settled =>
      isOfGroup ? { settled: true, unpaid: rest } : this.#ledger.oweLate(tenant, weight, rest)
    if (when === 'late' || !this.#credit.isOpen(nowMs)) return rest > 0 ? owe() : NOTHING_SETTLED
    if (rest <= 0) {
      if (rest < 0) this.#ledger.settle(slot, rest)
      this.#pulse.start(nowMs)
      return ALL_PAID
    }
    const attempt = (atMs: number = this.#credit.now()): Settled | undefined => {
      if (win !== this.#account.win || !this.#credit.isOpen(atMs)) return owe()
      const part = Math.min(rest, Math.max(0, this.#credit.left))
      const charged = part > 0 ? part - this.#ledger.settle(slot, part, this.#credit.grantedTo(tenant)) : 0
      if (charged > 0) this.#credit.noteSpent(tenant, weight, charged)
      rest -= charged
      if (rest <= this.#fuzz) return ALL_PAID
      this.#need = rest - Math.min(0, this.#credit.left)
      const mustWait = this.#credit.refusalOf({ tenant, weight }, this.#need, atMs) !== undefined
      return mustWait || draws >= MOST_DRAWS ? owe() : undefined
    }
    const wish = (): Wish => {
      draws++
      this.note(tenant, rest, false, weight)
      return this.#wish(this.#need, 0, tenant)
    }
    return attempt(nowMs) ?? this.#queue.run({ cost: rest, isDue: () => true, wish, attempt, giveUp: owe })
  }

  /** Charged as far as the credit here reaches. */
  charge(ticket: LeasedTicket, costSoFar: number): void {
    const part = Math.min(costSoFar - ticket.reserved, this.#credit.left)
    if (part <= 0 || !this.#credit.isOpen(this.#credit.now()) || ticket.timeIn(this.#account.win) !== 'now') return
    ticket.charge(part - this.#ledger.settle(ticket.place, part))
  }

  /** A part of the allowed amount is not needed. Unlike a settlement, this may be called several times. */
  giveBack(ticket: LeasedTicket, amount: number): void {
    if (!this.#credit.isOpen(this.#credit.now()) || ticket.timeIn(this.#account.win) !== 'now') return
    this.#ledger.settle(ticket.place, -amount)
    this.#pulse.start(this.#credit.now())
  }

  #askOf(tenant: string, asked: number, shown: string = tenant): DrawRequest {
    const weight = weightFrom(this.#settings.weightOf, tenant)
    const cost = this.#estimates?.of(tenant)?.reserve(asked, this.terms.limit) ?? asked
    return { tenant, shown, weight, asked, cost, draws: 0, isDue: true }
  }

  #ticket(
    ask: DrawRequest,
    reason: LeasedReason | undefined,
    retryMs: number,
    judged: Judgement | undefined,
    resetAtMs: number,
    nowMs: number,
  ): LeasedTicket {
    const left = judged?.remaining ?? 0
    const remaining = this.#estimates?.of(ask.tenant)?.askable(left, this.terms.limit) ?? left
    return new LeasedTicket(this.#owner, this, ask, reason, retryMs, judged, resetAtMs, nowMs, remaining)
  }

  /** The pool's window of the last answer. */
  get win(): number {
    return this.#account.win
  }

  /** The credit that will be left when a lease can arrive. */
  get besides(): number {
    const spare = this.#credit.isOpen(this.#credit.now()) ? Math.max(0, this.#credit.left) : 0
    return spare - this.#credit.spentMeanwhile(this.#clock())
  }

  /** The store's last failure. */
  get failure(): StoreFailure | undefined {
    return this.#account.failure
  }

  /** Notes a tenant's request; one that `isRefused` is in line. The pool learns of it with the next call. */
  note(
    tenant: string,
    cost: number,
    isRefused: boolean,
    weight: number = weightFrom(this.#settings.weightOf, tenant),
    nowMs: number = this.#credit.now(),
  ): void {
    this.#credit.note(tenant, weight, cost, isRefused, nowMs)
  }

  /** Reports the state here to the pool, first of all of this tenant, and returns some credit. */
  tell(tenant?: string, back = 0): void | Promise<void> {
    const done = this.#account.draw(() => this.#wish(0, back, tenant), this.#credit.now())
    this.#credit.fit()
    return done
  }

  /** From the next call to the store on, with a quantum that is the same part of it. */
  setLimit(limit: number): void {
    const { limit: before, quantum } = this.terms
    this.terms = { ...this.terms, limit, quantum: Math.min(limit, (quantum / before) * limit) }
    this.#fuzz = fuzzOf(limit)
    this.#account.changeTerms(this.terms)
  }

  /** Returns the remaining credit, and reports the use of tenants. It can be used again afterwards. */
  close(): void | Promise<void> {
    this.#isClosed = true
    this.#pulse.stop()
    if (!this.#credit.isOpen(this.#credit.now())) return undefined
    const leave = (): Wish => this.#credit.lastWish(this.#settings.weightOf)
    const done = this.#queue.drawOwn(leave, () => this.#credit.now(), MOST_DRAWS)
    this.#credit.fit()
    return done
  }

  /** Settings, sums and counts, as plain JSON. */
  snapshot(): LeasedSnapshot {
    const open = this.#credit.isOpen(this.#credit.now())
    const { win, granted, held, calls: storeCalls, share, failure } = this.#account
    return {
      ...this.terms,
      ...{ member: this.#settings.member, win, open, share },
      ...(open
        ? { granted, used: this.#credit.used, held, tenants: this.#ledger.tenants, weight: this.#ledger.weight }
        : NO_WINDOW),
      ...{ allowed: this.#allowed, refused: this.#refused, storeErrors: this.#storeErrors, storeCalls },
      lastStoreFailure: failure === undefined ? undefined : { kind: failure.kind, message: failure.message },
    }
  }

  /** Decides by the rule; or returns undefined, if more has to be drawn for that, the amount `#need`. */
  #decide(ask: DrawRequest, nowMs: number): LeasedDecision | undefined {
    const { cost } = ask
    if (cost > this.terms.limit) return this.#answer(ask, 'never', Number.POSITIVE_INFINITY, nowMs, undefined)
    const open = this.#credit.isOpen(nowMs)
    const debt = open ? this.#credit.pay(ask.tenant) : 0
    const verdict = open ? this.#judge(ask, nowMs) : undefined
    ask.isDue = verdict === undefined || verdict === 'within'
    if (verdict === undefined) this.#need = cost
    else if (isRefusal(verdict)) {
      // A debt is paid of the amount that the pool keeps for this member.
      this.#need =
        verdict === 'over-share' ? Math.max(cost, Math.min(cost + debt, this.#account.held)) : cost - this.#credit.left
      // The credit here is reserved for others here. Only further credit from the pool would help.
      if (verdict === 'over-share' && (ask.draws >= MOST_DRAWS || this.#account.hasFailed))
        return this.#refuse(ask, verdict, this.#ledger.judged.retryMs, nowMs)
    } else {
      const { cost: all } = this.#ledger.judged
      if (all <= this.#credit.left + this.#fuzz)
        return this.#spend(ask, this.#account.isLent ? 'store-error' : undefined, nowMs)
      this.#need = all - this.#credit.left
    }
    const refusal = this.#credit.refusalOf(ask, this.#need, nowMs)
    if (refusal === undefined && ask.draws < MOST_DRAWS) return undefined
    const waitMs = refusal === undefined ? 0 : refusal.untilMs - nowMs
    const reason = refusal?.isExhausted === true ? 'exhausted' : 'over-share'
    if (verdict !== undefined && isRefusal(verdict)) return this.#refuse(ask, reason, waitMs, nowMs)
    return this.#answer(ask, reason, Math.max(1, waitMs), nowMs, open ? this.#ledger.judged : undefined)
  }

  #judge({ tenant, weight, cost: asked }: DrawRequest, nowMs: number, isPeek = false): EscrowVerdict {
    this.#ledger.advance(nowMs)
    const { judged } = this.#ledger
    this.#ledger[isPeek ? 'peek' : 'judge'](tenant, weight * this.#reports.shareOf(tenant), asked)
    const { cost } = judged
    // Beyond that, it is the turn of tenants elsewhere.
    const room = Math.max(0, (this.#account.turn - this.#ledger.stakeOf(tenant).share) * weight) + this.#fuzz
    if (!isRefusal(judged.verdict) && cost > room) judged.verdict = 'over-share'
    judged.remaining = Math.min(judged.remaining, isRefusal(judged.verdict) ? room : room - cost)
    // A grant of the pool for a tenant was judged by the knowledge of all members.
    const granted = Math.min(this.#credit.left, this.#credit.grantedTo(tenant))
    if (isRefusal(judged.verdict) && cost <= granted + this.#fuzz) {
      judged.verdict = 'borrows'
      judged.remaining = Math.max(0, granted - cost)
    }
    return judged.verdict
  }

  /** Spends a group's holding of a window that begins. */
  #begin(group: string, amount: number): LeasedTicket {
    const ask = { ...this.#askOf(group, amount), cost: amount }
    this.#judge(ask, this.#clock())
    return this.#spend(ask, undefined, this.#clock())
  }

  /** The answer to the last judgement, which allowed. */
  #spend(ask: DrawRequest, reason: LeasedReason | undefined, nowMs: number): LeasedTicket {
    const answer = this.#answer(ask, reason, 0, nowMs, this.#ledger.judged)
    answer.admit(this.#ledger.spend(), this.#account.win)
    this.#estimates?.of(ask.tenant)?.admit()
    this.#credit.noteSpent(ask.tenant, ask.weight, this.#ledger.judged.cost)
    return answer
  }

  /** The answer to the last judgement, which refused. */
  #refuse(ask: DrawRequest, reason: LeasedReason, retryAfterMs: number, nowMs: number): LeasedDecision {
    this.#ledger.refuse()
    return this.#answer(ask, reason, Math.max(1, retryAfterMs), nowMs, this.#ledger.judged)
  }

  /** The store is away: continues in windows of its own, if so declared, and tests whether it is back. */
  #makeDo(nowMs: number): void {
    if (this.#settings.onStoreError !== 'last-share') return
    this.#account.lend(nowMs)
    this.#credit.fit()
    if (this.#account.isLent) void this.tell()
  }

  /**
   * The declared answer for a store that does not answer. Where it does, but too late for the check's turn, nothing is
   * admitted: its answers served those before it in line.
   */
  #declared(ask: DrawRequest, nowMs: number): LeasedDecision {
    const { onStoreError, storeTimeoutMs } = this.#settings
    const retryMs = Math.max(1, storeTimeoutMs)
    if (!this.#account.hasFailed) return this.#answer(ask, 'over-share', retryMs, nowMs, undefined)
    this.#storeErrors++
    if (onStoreError === 'admit') return this.#answer(ask, 'store-error', 0, nowMs, undefined)
    if (onStoreError === 'last-share') {
      this.#account.lend(nowMs)
      const ofHeld = ask.cost - Math.max(0, this.#credit.left)
      const isThere = ofHeld <= this.#account.heldAt(nowMs) + this.#fuzz
      if (this.#credit.isOpen(nowMs) && isThere && !isRefusal(this.#judge(ask, nowMs))) {
        this.#account.spendHeld(Math.max(0, ofHeld), nowMs)
        return this.#spend(ask, 'store-error', nowMs)
      }
    }
    return this.#answer(ask, 'store-error', retryMs, nowMs, undefined)
  }

  #answer(
    ask: DrawRequest,
    reason: LeasedReason | undefined,
    retryAfterMs: number,
    nowMs: number,
    judged: Judgement | undefined,
  ): LeasedTicket {
    if (retryAfterMs === 0) this.#allowed++
    else {
      this.#refused++
      if (reason !== 'never') this.note(ask.tenant, ask.cost, true, ask.weight, nowMs)
      if (judged !== undefined) this.#ledger.turnAway(retryAfterMs)
    }
    const resetAtMs = (this.#credit.isOpen(nowMs) ? this.#ledger.startMs : nowMs) + this.terms.windowMs
    return this.#ticket(ask, reason, retryAfterMs, judged, resetAtMs, nowMs)
  }

  #errandOf(ask: DrawRequest): Errand<LeasedDecision> {
    return {
      cost: ask.cost,
      isDue: () => ask.isDue,
      wish: (behind) => {
        const nowMs = this.#credit.now()
        ask.draws++
        this.note(ask.tenant, ask.cost, false, ask.weight, nowMs)
        // Credit here that is not for this tenant is returned, except the amount that others will ask for until there
        // is more.
        const isMeant = this.#need < ask.cost || !this.#credit.isOpen(nowMs)
        const back = isMeant ? 0 : Math.max(0, this.#credit.left - 2 * this.#credit.spentMeanwhile(nowMs))
        // One lease for all waiting calls: a quantum for each round trip may be less than the demand in it.
        const amount = this.#need + behind + 2 * this.#credit.spentMeanwhile(nowMs)
        const { quantum } = this.terms
        const forAll = amount > quantum ? Math.max(this.#need, needAhead(amount, ask.cost, quantum)) : this.#need
        const isTooMuch = back > 0 || this.#credit.refusalOf(ask, forAll, nowMs) !== undefined
        return this.#wish(isTooMuch ? this.#need : forAll, back, ask.tenant)
      },
      attempt: () => this.#decide(ask, this.#credit.now()),
      giveUp: () => this.#declared(ask, this.#credit.now()),
    }
  }

  /** Draws the expected spending until a lease can arrive; `remaining` is left for the asking tenant. */
  #drawAhead(ask: DrawRequest, remaining: number, nowMs: number): void {
    const { roundTripMs, hasFailed, isCalling } = this.#account
    if (roundTripMs <= 0 || hasFailed || isCalling || !this.#credit.isOpen(nowMs)) return
    const mark = this.#credit.spentMeanwhile(nowMs)
    // In a tree, the remainder of a tenant depends on the pools above.
    if (Math.min(this.#credit.left, this.#settings.tree === undefined ? remaining : Number.MAX_VALUE) >= mark) return
    const need = needAhead(2 * mark, ask.cost, this.terms.quantum)
    if (this.#credit.refusalOf(ask, need, nowMs) !== undefined) return
    this.note(ask.tenant, ask.cost, false, ask.weight, nowMs)
    void this.#account.draw(() => this.#wish(need, 0, ask.tenant), nowMs)
  }

  #wish(need: number, back: number, tenant: string | undefined): Wish {
    const nowMs = this.#credit.now()
    const name = tenant === undefined ? undefined : this.#credit.nameOf(tenant)
    const all = { weight: this.#ledger.weight, used: this.#credit.used }
    // Usually, it is the first call of the next window, in which no tenant has been named.
    const isOver = !this.#credit.isOpen(nowMs)
    if (isOver) this.#reports.nameAnew()
    const [elapsed, idle] = isOver ? [1, 0] : [this.#credit.elapsed(nowMs), Math.max(0, this.#credit.unspent - back)]
    const { kept, ...report } = this.#reports.report(name, this.#account.members, all, idle, elapsed)
    return { need, back, ahead: this.#credit.wantsAhead(this.terms.quantum, nowMs), spent: all.used + kept, ...report }
  }
}
