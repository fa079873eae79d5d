import type { Clock } from '../../clock.js'
import { weightFrom } from '../../weight.js'
import type { Ledger } from '../ledger.js'
import type { PoolAccount, Wish } from './account.js'
import type { ChildGroups } from './child-groups.js'
import type { Refusal, Reports, Request } from './reports.js'
import { MOST_REPORTED, OTHERS, type Stake, type TenantReport } from './store.js'

/** Credit is drawn ahead of need as soon as it will last for this number of round trips, and then for twice that. */
const AHEAD = 2
/**
 * From this part of a window on, each call draws for the beginning of the next one, too: two signs of life at least.
 */
const ENDING = 3 / 4
/** The most that is drawn ahead of need, in quanta. */
const MOST_AHEAD = 5
const NONE: Stake = { weight: 0, used: 0 }

/**
 * What to draw ahead of need, where `amount` will be spent by calls like the one that costs `cost`. A quantum comes with
 * the least that is asked for; a process that asks for more and is refused asks again for the least.
 */
export function needAhead(amount: number, cost: number, quantum: number): number {
  return amount > quantum ? Math.min(amount, MOST_AHEAD * quantum) : Math.min(cost, quantum)
}

/** A member's credit in the present window: what was drawn into its account, what its ledger spent, and how fast. */
export class Credit {
  readonly #ledger: Ledger
  readonly #account: PoolAccount
  readonly #clock: Clock
  readonly #windowMs: number
  readonly #reports: Reports
  readonly #groups: ChildGroups
  /** What was spent when the pace was last looked at. */
  #seen = 0
  #sinceMs = 0
  /** What was spent before that, from the look before on, and in what time. */
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

  /** The time, once a window that is over has been left, where something was drawn ahead for the next one. */
  now(): number {
    const nowMs = this.#clock()
    // What groups spend meanwhile of what they were promised is of their own credit of both windows.
    this.#account.moveTo(nowMs, () => this.left + this.#groups.promised)
    if (this.isOpen(nowMs)) this.fit()
    return nowMs
  }

  /** The account, in the window of the present. */
  standing(): PoolAccount {
    this.now()
    return this.#account
  }

  /** Lets the ledger divide what was drawn, and what the pool keeps beyond that. */
  fit(): void {
    this.#ledger.limitTo(this.#account.granted + this.#account.held)
    if (this.isOpen(this.#clock())) this.#groups.keep()
  }

  get used(): number {
    return Math.max(0, this.#ledger.limit - this.#ledger.left)
  }

  /** What was drawn and not spent; below 0 by what was spent of what the pool keeps while the store was away. */
  get left(): number {
    return this.#account.isDoubted ? Math.min(0, this.unspent) : this.unspent
  }

  /** The same, also while it is not to be spent. */
  get unspent(): number {
    return this.#account.granted - this.used
  }

  isOpen(nowMs: number): boolean {
    return nowMs < this.#account.usableUntilMs
  }

  /** The part of the window that is over; 0 if none is open. */
  elapsed(nowMs: number): number {
    return this.isOpen(nowMs) ? (nowMs - this.#ledger.startMs) / this.#windowMs : 0
  }

  /** The name by which the pool knows a tenant. */
  nameOf(tenant: string): string {
    const isShared = this.isOpen(this.#clock()) && this.#ledger.isShared(tenant)
    return isShared || !this.#reports.hasRoomFor(tenant) ? OTHERS : tenant
  }

  /** What a member that leaves hands back and says: all that groups below do not hold. */
  lastWish(weightOf: ((tenant: string) => number) | undefined): Wish {
    const [back, { promised: ahead }] = [Math.max(0, this.unspent), this.#groups]
    return { need: 0, back, ahead, spent: this.used, quiet: NONE, tenants: this.#lastReports(weightOf) }
  }

  /**
   * What the heaviest tenants have used, for a member that leaves. A weight that is not to be had any more counts as 1.
   */
  #lastReports(weightOf: ((tenant: string) => number) | undefined): TenantReport[] {
    return this.#ledger.heaviest(MOST_REPORTED).map(({ tenant, used }) => {
      let weight = 1
      try {
        if (tenant !== '') weight = weightFrom(weightOf, tenant)
      } catch {
        // The tenant may have been deleted; its credit is to come back all the same.
      }
      return { tenant: tenant || OTHERS, weight, used, rate: 0, ask: 0 }
    })
  }

  /** The pool's refusal that tells that a tenant of this whole weight need not ask it for so much yet. */
  refusalOf({ tenant, weight }: Pick<Request, 'tenant' | 'weight'>, need: number, nowMs: number): Refusal | undefined {
    const share = this.isOpen(nowMs) ? this.#ledger.stakeOf(tenant).share : 0
    return this.#account.refusalOf({ tenant: this.nameOf(tenant), weight, share, need }, nowMs)
  }

  /** The pace counts from now on; `used` is what was spent in the window so far. */
  look(used: number, nowMs: number): void {
    this.#before = { spent: used - this.#seen, ms: nowMs - this.#sinceMs }
    this.#seen = used
    this.#sinceMs = nowMs
  }

  /** Nothing is spent yet of a window that begins; the pace is still that of the last one. */
  begin(startMs: number): void {
    this.#seen = 0
    this.#sinceMs = startMs
  }

  /** What will be spent here until a lease can be there: in no time of which it is unknown in which window it is. */
  spentMeanwhile(nowMs: number): number {
    const { roundTripMs, usableUntilMs, gapMs } = this.#account
    const ms = AHEAD * roundTripMs
    return this.#spentIn(nowMs + 2 * ms < usableUntilMs ? ms : ms + gapMs, nowMs)
  }

  /** What to hold of the next window, so that its first checks, and groups below, find what they spend until a lease is there. */
  wantsAhead(quantum: number, nowMs: number): number {
    const { roundTripMs, gapMs } = this.#account
    const elapsed = this.elapsed(nowMs)
    const { wanted } = this.#groups
    if (roundTripMs <= 0 || elapsed < ENDING || this.used <= 0) return wanted
    const ms = 2 * AHEAD * roundTripMs + gapMs
    const mean = (this.used * ms) / (elapsed * this.#windowMs)
    return Math.max(quantum, mean, this.#spentIn(ms, nowMs)) + wanted
  }

  /** The pace is that of a round trip at least: checks that waited for an answer spend it in one moment. */
  #spentIn(ms: number, nowMs: number): number {
    const spent = this.used - this.#seen
    const sinceMs = Math.max(0, nowMs - this.#sinceMs)
    const { roundTripMs } = this.#account
    if (sinceMs >= roundTripMs) return (spent / Math.max(1, sinceMs)) * ms
    return ((spent + this.#before.spent) / Math.max(1, roundTripMs, sinceMs + this.#before.ms)) * ms
  }
}
