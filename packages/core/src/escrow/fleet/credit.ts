import type { Clock } from '../../clock.js'
import { andThen } from '../../rejection.js'
import { weightFrom } from '../../weight.js'
import type { Ledger } from '../ledger.js'
import type { PoolAccount, Wish } from './account.js'
import type { ChildGroups } from './group-store.js'
import type { DrawingSettings } from './options.js'
import type { CreditRequest, RefusedRequest, Reports } from './reports.js'
import { MOST_REPORTED, OTHERS, type Stake, type TenantReport } from './store.js'
import { countdown } from './timing.js'

/** Credit is drawn ahead of need when it lasts for less than this number of round trips, for twice that number. */
const AHEAD = 2
/** From this part of a window on, each call also draws for the beginning of the next one: at least two heartbeats. */
const ENDING = 0.75
/** Most credit drawn ahead of need, in quanta. */
const MOST_AHEAD = 5
const NONE: Stake = { weight: 0, used: 0 }

/**
 * The amount to draw ahead of need, if `amount` will be spent by calls like the one that costs `cost`. A quantum is
 * granted even for the smallest request; a process that asks for more and is refused asks again for the smallest.
 */
export function needAhead(amount: number, cost: number, quantum: number): number {
  return amount > quantum ? Math.min(amount, MOST_AHEAD * quantum) : Math.min(cost, quantum)
}

/** A member's credit in the present window: drawn into its account, spent by its ledger, and the rate of spending. */
export class Credit {
  readonly #ledger: Ledger
  readonly #account: PoolAccount
  readonly #clock: Clock
  readonly #windowMs: number
  readonly #reports: Reports
  readonly #groups: ChildGroups
  /** Total spent at the last measurement of the rate. */
  #seen = 0
  #sinceMs = 0
  /** Spending between the two measurements before, and its duration. */
  #before = { spent: 0, ms: 0 }

  constructor(
    ledger: Ledger,
    account: PoolAccount,
    clock: Clock,
    windowMs: number,
    reports: Reports,
    groups: ChildGroups,
  ) {
    this.#ledger = ledger
    this.#account = account
    this.#clock = clock
    this.#windowMs = windowMs
    this.#reports = reports
    this.#groups = groups
  }

  /** The present time, after leaving a window that is over if credit was drawn ahead for the next one. */
  now(): number {
    const nowMs = this.#clock()
    // Groups meanwhile spend promises from their own credit of both windows.
    this.#account.moveTo(nowMs, () => this.left + this.#groups.promised)
    if (this.isOpen(nowMs)) this.fit()
    return nowMs
  }

  /** The account, moved to the present window. */
  standing(): PoolAccount {
    this.now()
    return this.#account
  }

  /** Lets the ledger divide the drawn credit, and the amount that the pool reserves beyond that. */
  fit(): void {
    this.#ledger.limitTo(this.#account.granted + this.#account.held)
    if (this.isOpen(this.#clock())) this.#groups.keep()
  }

  get used(): number {
    return Math.max(0, this.#ledger.limit - this.#ledger.left)
  }

  /** Drawn credit that is not spent; negative by the reserved amount that was spent while the store was away. */
  get left(): number {
    return this.#account.isDoubted ? Math.min(0, this.unspent) : this.unspent
  }

  /** The same, even while it must not be spent. */
  get unspent(): number {
    return this.#account.granted - this.used
  }

  isOpen(nowMs: number): boolean {
    return nowMs < this.#account.usableUntilMs
  }

  /** The elapsed part of the window; 0 if none is open. */
  elapsed(nowMs: number): number {
    return this.isOpen(nowMs) ? (nowMs - this.#ledger.startMs) / this.#windowMs : 0
  }

  /** The pool's name of a tenant. */
  nameOf(tenant: string): string {
    const isShared = this.isOpen(this.#clock()) && this.#ledger.isShared(tenant)
    return isShared || !this.#reports.hasRoomFor(tenant) ? OTHERS : tenant
  }

  /** Notes that a tenant of this whole weight lacks credit for a cost, or is refused. */
  note(tenant: string, weight: number, cost: number, isRefused: boolean, nowMs: number): void {
    const used = this.isOpen(nowMs) ? this.#ledger.stakeOf(tenant).used : 0
    const name = this.nameOf(tenant)
    this.#reports.note(name, name === OTHERS ? 1 : weight, used, cost, this.elapsed(nowMs), isRefused)
  }

  /** Notes that it has spent an amount. */
  noteSpent(tenant: string, weight: number, amount: number): void {
    const name = this.nameOf(tenant)
    this.#reports.spend(name, name === OTHERS ? 1 : weight, amount)
  }

  /** The amount that the pool granted for a tenant, and that it has not spent. */
  grantedTo(tenant: string): number {
    return this.#reports.grantedTo(this.nameOf(tenant))
  }

  /** Charges a tenant's debt as a settlement, as far as there is credit here. Returns the rest. */
  pay(name: string): number {
    const tenant = this.#ledger.find(name)
    if (tenant === undefined || tenant.debt === 0) return 0
    const part = Math.min(tenant.debt, this.left)
    if (part > 0) tenant.debt -= part - this.#ledger.settle(tenant.place, part, this.grantedTo(name))
    return tenant.debt
  }

  /** Final return and report of a member that leaves: everything except the holdings of groups below. */
  lastWish(weightOf: ((tenant: string) => number) | undefined): Wish {
    const [back, { promised: ahead }] = [Math.max(0, this.unspent), this.#groups]
    return { need: 0, back, ahead, spent: this.used, quiet: NONE, tenants: this.#lastReports(weightOf) }
  }

  /** Use of the heaviest tenants, for a member that leaves. A weight that is no longer available counts as 1. */
  #lastReports(weightOf: ((tenant: string) => number) | undefined): TenantReport[] {
    return this.#ledger.heaviest(MOST_REPORTED).map(({ tenant, used }) => {
      let weight = 1
      try {
        if (tenant !== '') weight = weightFrom(weightOf, tenant)
      } catch {
        // The tenant may have been deleted; its credit is returned nevertheless.
      }
      return { tenant: tenant || OTHERS, weight, used, rate: 0, ask: 0 }
    })
  }

  /** The pool's refusal that shows that a tenant of this whole weight need not ask it for this amount yet. */
  refusalOf(
    { tenant, weight }: Pick<CreditRequest, 'tenant' | 'weight'>,
    need: number,
    nowMs: number,
  ): RefusedRequest | undefined {
    const share = this.isOpen(nowMs) ? this.#ledger.stakeOf(tenant).share : 0
    return this.#account.refusalOf({ tenant: this.nameOf(tenant), weight, share, need }, nowMs)
  }

  /** Measures the rate from now on; `used` is the amount spent in the window so far. */
  look(used: number, nowMs: number): void {
    this.#before = { spent: Math.max(0, used - this.#seen), ms: nowMs - this.#sinceMs }
    this.#seen = used
    this.#sinceMs = nowMs
  }

  /** Nothing is spent yet of a new window; the rate is still that of the last one. */
  begin(startMs: number): void {
    this.#seen = 0
    this.#sinceMs = startMs
  }

  /** Expected spending here until a lease can arrive; excludes the time in which the present window is unknown. */
  spentMeanwhile(nowMs: number): number {
    const { roundTripMs, usableUntilMs, gapMs } = this.#account
    const ms = AHEAD * roundTripMs
    return this.#spentIn(nowMs + 2 * ms < usableUntilMs ? ms : ms + gapMs, nowMs)
  }

  /**
   * The amount to hold of the next window, so that its first checks, and groups below, find their spending until a
   * lease arrives.
   */
  wantsAhead(quantum: number, nowMs: number): number {
    const { roundTripMs, gapMs } = this.#account
    const elapsed = this.elapsed(nowMs)
    const { wanted } = this.#groups
    if (roundTripMs <= 0 || elapsed < ENDING || this.used <= 0) return wanted
    const ms = 2 * AHEAD * roundTripMs + gapMs
    const mean = (this.used * ms) / (elapsed * this.#windowMs)
    return Math.max(quantum, mean, this.#spentIn(ms, nowMs)) + wanted
  }

  /**
   * The rate is measured over at least a round trip: checks that waited for an answer spend it in one moment. Refunds of
   * more than that are no rate.
   */
  #spentIn(ms: number, nowMs: number): number {
    const spent = Math.max(0, this.used - this.#seen)
    const sinceMs = Math.max(0, nowMs - this.#sinceMs)
    const { roundTripMs } = this.#account
    if (sinceMs >= roundTripMs) return (spent / Math.max(1, sinceMs)) * ms
    return ((spent + this.#before.spent) / Math.max(1, roundTripMs, sinceMs + this.#before.ms)) * ms
  }
}

/** The purpose of a lease, and its result. */
export interface Errand<Result> {
  /** The cost of its check or settlement. */
  readonly cost: number
  /** Whether it is within its tenant's guarantee, by the last attempt. */
  isDue(): boolean
  /** The wish for the next lease; others wait behind this one, for `behind` together. */
  wish(behind: number): Wish
  /** The result, once there is enough credit; undefined if more has to be drawn. */
  attempt(): Result | undefined
  /** The result if the store fails. */
  giveUp(): Result
}

/** One lease in this number is drawn for the first in line, though others are within their guarantees. */
const TURN = 4

/** Most that are tried for each answer of the store, if more draws are needed: each try costs some microseconds. */
const MOST_TRIED = 256

/** A check or a settlement that waits for a lease. */
interface WaitingErrand {
  readonly errand: Errand<unknown>
  finish(result: unknown): void
}

/**
 * The checks and settlements that wait for credit. When a lease is answered, all for which there is enough are served,
 * first come, first served; of the others, the first within its tenant's guarantee draws another lease, or else the
 * first. So one that needs more than there is, or that will be refused, holds up nobody, and a tenant that asks often
 * does not keep the store busy.
 *
 * None waits longer than two calls may take, nor for a store that has failed; the next check tries it again.
 */
export class DrawQueue {
  readonly #account: PoolAccount
  readonly #settings: DrawingSettings
  readonly #waiters: Set<WaitingErrand> = new Set()
  #served = 0

  constructor(account: PoolAccount, settings: DrawingSettings) {
    this.#account = account
    this.#settings = settings
  }

  /** Draws leases until the errand is done: synchronously if the store answers synchronously. */
  run<Result>(errand: Errand<Result>): Result | Promise<Result> {
    for (;;) {
      const nowMs = this.#settings.clock()
      const hadFailed = this.#account.hasFailed
      // The errands in front have caused the line to be served.
      if (this.#waiters.size > 0 && !hadFailed) return this.#wait(errand)
      const lease = this.#account.draw(() => errand.wish(0), nowMs)
      if (lease !== undefined && !hadFailed) {
        const result = this.#wait(errand)
        this.#serveAfter(lease)
        return result
      }
      // An errand that retries a failed store does not wait for it.
      if (this.#account.hasFailed) return errand.giveUp()
      const result = errand.attempt()
      if (result !== undefined) return result
    }
  }

  /**
   * Draws one lease with this wish, after a pending or unanswered call, and after those that others draw meanwhile;
   * gives up after `most` calls, or when the store fails. A store that has just failed is tried once more.
   */
  drawOwn(wish: () => Wish, now: () => number, most: number): void | Promise<void> {
    let isDrawn = false
    const own = (): Wish => {
      isDrawn = true
      return wish()
    }
    const wasCalling = this.#account.isCalling
    const done = this.#account.draw(own, now(), true)
    if (isDrawn || most <= 1) return done
    const again = (): void | Promise<void> =>
      this.#account.hasFailed && !wasCalling ? undefined : this.drawOwn(wish, now, most - 1)
    return andThen<void, void>(done, again)
  }

  #wait<Result>(errand: Errand<Result>): Promise<Result> {
    const { storeTimeoutMs, clock, after } = this.#settings
    return new Promise((resolve) => {
      const finish = (result: unknown): void => {
        cancel()
        this.#waiters.delete(waiter)
        resolve(result as Result)
      }
      const waiter: WaitingErrand = { errand, finish }
      // For the pending call and its own, each of which may take that long.
      const cancel = countdown(2 * storeTimeoutMs, clock, after, () => finish(errand.attempt() ?? errand.giveUp()))
      this.#waiters.add(waiter)
    })
  }

  /** The need of the first in line, with the needs of those behind it. */
  #wishOf(errand: Errand<unknown>): Wish {
    let behind = -errand.cost
    for (const waiter of this.#waiters) behind += waiter.errand.cost
    return errand.wish(Math.max(0, behind))
  }

  #serveAfter(lease: Promise<void>): void {
    void lease.then(() => this.#serve())
  }

  #serve(): void {
    for (;;) {
      const next = this.#tryAll()
      if (next === undefined) return
      const lease = this.#account.hasFailed
        ? undefined
        : this.#account.draw(() => this.#wishOf(next), this.#settings.clock())
      if (lease !== undefined) {
        this.#serveAfter(lease)
        return
      }
    }
  }

  /** Serves those that can be; returns the one that draws next. */
  #tryAll(): Errand<unknown> | undefined {
    let next: Errand<unknown> | undefined
    let left = MOST_TRIED
    const isTurn = ++this.#served % TURN === 0
    for (const waiter of this.#waiters) {
      const { errand } = waiter
      const result = errand.attempt() ?? (this.#account.hasFailed ? errand.giveUp() : undefined)
      if (result !== undefined) waiter.finish(result)
      else if (next === undefined || (!isTurn && !next.isDue() && errand.isDue())) next = errand
      if (next !== undefined && --left <= 0) break
    }
    return next
  }
}
