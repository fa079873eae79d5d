import { Accounts, NEWCOMER, OVERFLOW } from './accounts.js'
import { Budget, type Reserve } from './budget.js'
import { Claims } from './claims.js'
import { Judgement, type Verdict } from './judgement.js'
import { reweighed } from './shares.js'
import type { EscrowTenant } from './snapshot.js'
import { Waits } from './waits.js'

/**
 * Who is refused may take this much longer than it was told to come back: HTTP tells whole seconds, and up to half more
 * by chance. It is not waited for any longer than PATIENCE of a window.
 */
const LATE = 1.5
const LATE_MS = 1_000
const PATIENCE = 0.6
/** The part of the places for tenants that those of the last window may take. */
const KEPT = 1 / 2

/** A tenant of the last window that counts in this one. */
interface Kept {
  readonly name: string
  readonly weight: number
  readonly carried: number
  readonly debt: number
  readonly returnMs: number
}

/** A wait ends this share of the window after the refusal. */
export const WAIT: number = 1 / 10

/**
 * Weighted fair escrow: the rule, in plain numbers. It knows no clock; times are handed in, and never run backwards.
 *
 * One budget, the limit L, is split in one window of time. Each active tenant has a weight w, what it used, and v: that
 * and what it let pass. W is the sum of weights, `left` is L less all that was used, τ the share of the window that is
 * over (0 where the reserve is strict).
 *
 * - The *level* λ is the highest, up to L/W, at which all claims fit into what is left. It is worked out when a tenant
 *   becomes active, when a weight or the limit changes, and when a cost is settled, and holds until then.
 * - A tenant's guarantee is g = w·λ, its *claim* what is left of that: g − max(v, g·τ), if above 0. What others may
 *   not touch is the sum of claims; the rest of `left` is free.
 * - Who is refused *waits*, for a tenth of a window from its last refusal on, with the cost it was refused and the
 *   finish tag (v + cost)/w. If the guarantee would cover that cost, the claim is too small to be of use: it is
 *   released to others until the wait ends. Then it comes back as far as it is still free. Being allowed something
 *   else meanwhile ends no wait: who takes turns with others is still in line for more.
 * - A cost within the claim is allowed. More is allowed, as borrowed, if it is free, and so is what is owed to those in
 *   line: nothing if no one else who waits for what is there has a lower tag; otherwise as much as brings those with a
 *   lower one as far, per weight.
 *
 * To use it: {@link begin} a window, {@link advance} to the present, {@link judge}, and then {@link spend} or
 * {@link refuse} with nothing in between. The limit may change within a window ({@link limitTo}), for whoever draws it
 * from somewhere else bit by bit. All is O(log n) of the active tenants.
 *
 * Sums are compared to within a billionth of the limit (or a thousandth, if that is less); whole numbers are exact.
 */
export class Ledger {
  /** What was judged last. */
  readonly judged: Judgement = new Judgement()
  readonly #budget: Budget
  readonly #accounts: Accounts
  readonly #claims: Claims = new Claims()
  readonly #waits: Waits = new Waits()
  readonly #maxTenants: number
  /** Those that were refused and are not active. */
  readonly #turnedAway: Map<string, { weight: number; returnMs: number }> = new Map()
  /** What was said too late to be charged, and cannot be charged any more. */
  readonly #lateDebts: Map<string, { weight: number; amount: number }> = new Map()
  /** Tenants that are expected back. */
  #expected = 0

  constructor(windowMs: number, reserve: Reserve, maxTenants: number) {
    this.#budget = new Budget(windowMs, reserve)
    this.#accounts = new Accounts(maxTenants)
    this.#maxTenants = maxTenants
  }

  get startMs(): number {
    return this.#budget.startMs
  }

  get limit(): number {
    return this.#budget.limit
  }

  /** The limit less all that was used. */
  get left(): number {
    return this.#budget.left
  }

  /** The sum of the weights of the active. */
  get weight(): number {
    return this.#budget.weight
  }

  /** What a weight of 1 is guaranteed; 0 while nobody is active. */
  get level(): number {
    return this.#budget.level
  }

  /** Active tenants, the shared one among them. */
  get tenants(): number {
    return this.#accounts.count
  }

  get waiting(): number {
    return this.#waits.count
  }

  /** All claims now: what is left and not free. */
  get claimed(): number {
    return this.#claims.total(this.#budget.level, this.#budget.tau)
  }

  /**
   * Starts a window. Those that asked in the one before are active from the beginning; all others are forgotten, and
   * everybody is if nobody has asked for a whole window.
   */
  begin(startMs: number, limit: number): void {
    const isNext = startMs - this.#budget.startMs < 1.5 * this.#budget.windowMs
    const kept = isNext ? this.#keep() : []
    this.#accounts.clear()
    this.#claims.clear()
    this.#waits.clear()
    this.#turnedAway.clear()
    this.#lateDebts.clear()
    this.#budget.begin(startMs, limit)
    this.#expected = 0
    if (kept.length > 0) this.#bringBack(kept)
  }

  /**
   * Who asked in this window, and what of it counts in the next one. Of two that want more, the one that got more per
   * weight comes after the other, until that has caught up: by a window's guarantee at most, or by what it takes to
   * admit the largest cost that was refused.
   */
  #keep(): Kept[] {
    const { weights, used, carried, elsewhere, debts, asked, returnMs } = this.#accounts
    const shareAt = (slot: number): number => (used[slot]! + carried[slot]! + elsewhere[slot]!) / weights[slot]!
    let least = Number.POSITIVE_INFINITY
    let most = this.level
    for (const [, slot] of this.#accounts.entries()) {
      if (asked[slot] === 0 || returnMs[slot] === 0) continue
      least = Math.min(least, shareAt(slot))
      if (this.#waits.has(slot)) most = Math.max(most, this.#waits.cost(slot) / weights[slot]!)
    }
    const kept: Kept[] = []
    const room = Math.floor(this.#maxTenants * KEPT)
    const debtOf = (name: string): number => this.#lateDebts.get(name)?.amount ?? 0
    const ahead = (share: number): number => Math.max(0, Math.min(most, share - least))
    for (const [name, slot] of this.#accounts.entries()) {
      const debt = debts[slot]! + debtOf(name)
      if ((asked[slot] === 0 && debt === 0) || name === OVERFLOW || kept.length >= room) continue
      const weight = weights[slot]!
      kept.push({ name, weight, carried: ahead(shareAt(slot)) * weight, debt, returnMs: returnMs[slot]! })
    }
    for (const [name, { weight, returnMs: until }] of this.#turnedAway) {
      if (kept.length >= room) break
      if (this.#accounts.slot(name) === undefined)
        kept.push({ name, weight, carried: ahead(this.level) * weight, debt: debtOf(name), returnMs: until })
    }
    const names = new Set(kept.map(({ name }) => name))
    for (const [name, { weight, amount }] of this.#lateDebts)
      if (!names.has(name) && kept.length < room)
        kept.push({ name, weight, carried: ahead(this.level) * weight, debt: amount, returnMs: 0 })
    return kept
  }

  #bringBack(kept: readonly Kept[]): void {
    const budget = this.#budget
    let untilMs = budget.startMs
    let weights = 0
    for (const { weight } of kept) weights += weight
    for (const { name, weight, carried, debt, returnMs } of kept) {
      const slot = this.#accounts.open(name, weight)
      // A debt is paid out of one's own share.
      const charged = Math.min(debt, (budget.limit * weight) / weights)
      this.#accounts.carried[slot] = carried
      this.#accounts.debts[slot] = debt - charged
      this.#accounts.used[slot] = charged
      this.#accounts.passed[slot] = carried + charged
      budget.weight += weight
      budget.offset += carried
      budget.left -= charged
      if (returnMs > budget.startMs) {
        this.#accounts.returnMs[slot] = returnMs
        this.#expected++
        untilMs = Math.max(untilMs, returnMs)
      }
      this.#recount(slot)
    }
    budget.paceFromMs = Math.min(untilMs, budget.startMs + budget.windowMs * PATIENCE)
    this.#refit()
  }

  /** A tenant asks: it is back, if it was expected. When all are, claims age from now on. */
  #return(slot: number): void {
    const { asked, returnMs } = this.#accounts
    if (asked[slot] === 1) return
    asked[slot] = 1
    if (returnMs[slot]! > 0 && --this.#expected === 0)
      this.#budget.paceFromMs = Math.min(this.#budget.paceFromMs, Math.max(this.#budget.nowMs, this.#budget.startMs))
    returnMs[slot] = 0
  }

  /**
   * Moves on to `nowMs`, inside the window; an earlier time changes nothing. Waits end on the way, each at its time.
   */
  advance(nowMs: number): void {
    const waits = this.#waits
    while (waits.count > 0) {
      const endMs = waits.sinceMs(waits.first) + this.#budget.windowMs * WAIT
      if (endMs > nowMs) break
      this.#budget.moveTo(endMs)
      this.#endWait(waits.first)
    }
    this.#budget.moveTo(nowMs)
  }

  /** Sets another limit for the rest of the window. What was used stays used: less than that leaves nothing. */
  limitTo(limit: number): void {
    // The same limit is no event: levels stay, and so do promises made at them.
    if (Math.abs(limit - this.#budget.limit) <= this.#budget.tolerance) return
    this.#budget.limitTo(limit)
    this.#refit()
  }

  /** As {@link judge}, and changes nothing. */
  peek(tenant: string, weight: number, cost: number): Verdict {
    const { level, weight: total } = this.#budget
    const slot = this.#accounts.slot(tenant)
    const before = slot === undefined ? weight : this.#accounts.weights[slot]!
    this.judge(tenant, weight, cost)
    if (slot !== undefined && before !== weight) {
      this.#setWeight(slot, before)
      this.#budget.weight = total
      this.#budget.level = level
    }
    return this.judged.verdict
  }

  /**
   * Judges a `cost` of `tenant`; {@link judged} has the numbers. The only change is that an active tenant has `weight`
   * from now on. One that is not active is judged as if it were; once there are as many as may be, as part of the
   * tenant that all further ones share, of weight 1.
   */
  judge(tenant: string, weight: number, cost: number): Verdict {
    const judged = this.judged
    judged.name = tenant
    judged.cost = cost
    let slot = this.#accounts.slot(tenant)
    if (slot !== undefined) this.#reweigh(slot, weight)
    else if (this.#accounts.full) {
      judged.name = OVERFLOW
      slot = this.#accounts.slot(OVERFLOW)
      weight = 1
    }
    if (slot === undefined) this.#introduce(weight)
    else this.#present(slot)
    judged.decide(this.#budget, this.#claims, this.#waits)
    return judged.verdict
  }

  /** Spends what was just judged and allowed; returns the tenant's slot, which is its own until the next window. */
  spend(): number {
    const { cost, guarantee } = this.judged
    const slot = this.judged.slot === NEWCOMER ? this.#open() : this.judged.slot
    this.#return(slot)
    const { used, passed, released } = this.#accounts
    this.#accounts.returnMs[slot] = 0
    // Who waits for its claim lets nothing pass.
    if (released[slot] === 0) passed[slot] = Math.max(passed[slot]!, guarantee * this.#budget.tau)
    passed[slot]! += cost
    used[slot]! += cost
    this.#budget.left -= cost
    this.#recount(slot)
    return slot
  }

  /** Notes that what was just judged was refused: an active tenant waits, unless its cost is above the limit. */
  refuse(): void {
    const { slot, cost, verdict, name, weight, retryMs } = this.judged
    if (verdict === 'never') return
    const returnMs = this.#budget.nowMs + retryMs * LATE + LATE_MS
    if (slot === NEWCOMER) {
      if (name !== OVERFLOW && this.#turnedAway.size < this.#maxTenants)
        this.#turnedAway.set(name, { weight, returnMs })
      return
    }
    this.#return(slot)
    this.#accounts.returnMs[slot] = returnMs
    const { weights, passed, released } = this.#accounts
    this.#waits.add(slot, weights[slot]!, passed[slot]!, cost, this.#budget.nowMs)
    if (released[slot] === 1 || !this.judged.wouldCover(this.#budget.tolerance)) return
    released[slot] = 1
    this.#claims.drop(slot)
  }

  /**
   * Charges the tenant at `slot` more (or less, if below 0) than it was admitted with. Returns what could not be
   * charged because nothing is left. It never takes off more than was used.
   */
  settle(slot: number, change: number): number {
    const { used, passed } = this.#accounts
    const charged = Math.max(-used[slot]!, Math.min(change, Math.max(0, this.#budget.left)))
    used[slot]! += charged
    this.#budget.left = Math.min(this.#budget.limit, this.#budget.left - charged)
    this.#setPassed(slot, Math.max(0, passed[slot]! + charged))
    this.#refit()
    this.#accounts.debts[slot]! += Math.max(0, change - charged)
    return change - charged
  }

  /** Notes that a tenant owes an amount that belongs to a window which is over. */
  owe(tenant: string, weight: number, amount: number): void {
    const debt = this.#lateDebts.get(tenant)
    if (debt !== undefined) debt.amount += amount
    else if (this.#lateDebts.size < this.#maxTenants) this.#lateDebts.set(tenant, { weight, amount })
  }

  /** What a tenant weighs here, and has used; that of the shared one if it is known as part of that. */
  stakeOf(tenant: string): { weight: number; used: number } {
    const slot = this.#accounts.slot(this.isShared(tenant) ? OVERFLOW : tenant)
    if (slot === undefined) return { weight: 0, used: 0 }
    return { weight: this.#accounts.weights[slot]!, used: this.#accounts.used[slot]! }
  }

  /** What a tenant has used per weight, with what counts as used elsewhere. */
  shareOf(tenant: string): number {
    const slot = this.#accounts.slot(this.isShared(tenant) ? OVERFLOW : tenant)
    const { used, elsewhere, weights } = this.#accounts
    return slot === undefined ? 0 : (used[slot]! + elsewhere[slot]!) / weights[slot]!
  }

  /**
   * Counts for an active tenant that what it has used elsewhere exceeds by `amount` what its weight here stands for;
   * negative if it has used less. Changes nothing of what is left.
   */
  countElsewhere(tenant: string, amount: number): void {
    const slot = this.#accounts.slot(tenant)
    if (slot === undefined) return
    const { elsewhere, passed, used } = this.#accounts
    const change = Math.max(-used[slot]!, amount) - elsewhere[slot]!
    if (Math.abs(change) <= this.#budget.tolerance) return
    elsewhere[slot]! += change
    this.#budget.offset += change
    this.#setPassed(slot, Math.max(0, passed[slot]! + change))
    this.#refit()
  }

  /** Whether a tenant is, or would be, part of the one that all share for whom there is no room. */
  isShared(tenant: string): boolean {
    return tenant === OVERFLOW || (this.#accounts.full && this.#accounts.slot(tenant) === undefined)
  }

  /** The `most` active tenants that used most. For people: allocates. */
  heaviest(most: number): EscrowTenant[] {
    return this.entries()
      .sort((a, b) => b.used - a.used)
      .slice(0, most)
  }

  /** The active tenants, in no order. For people: allocates. */
  entries(): EscrowTenant[] {
    const { weights, used } = this.#accounts
    return Array.from(this.#accounts.entries(), ([tenant, slot]) => ({
      tenant,
      weight: weights[slot]!,
      used: used[slot]!,
      guarantee: Math.max(0, weights[slot]! * this.level - this.#accounts.carried[slot]!),
      waiting: this.#waits.has(slot),
    }))
  }

  /** Puts an active tenant before the judge. */
  #present(slot: number): void {
    const judged = this.judged
    judged.slot = slot
    judged.weight = this.#accounts.weights[slot]!
    judged.level = this.#budget.level
    judged.used = this.#accounts.used[slot]!
    judged.passed = this.#accounts.passed[slot]!
    judged.carried = this.#accounts.carried[slot]!
    judged.released = this.#accounts.released[slot] === 1
  }

  /**
   * Puts a newcomer before the judge, as if it were active since the window began and had let its share pass. If all
   * guarantees have to sink for it, nothing is free any more: then it cannot borrow.
   */
  #introduce(weight: number): void {
    const judged = this.judged
    const { tau, left, slack } = this.#budget
    const full = this.#budget.ceiling(weight)
    judged.slot = NEWCOMER
    judged.weight = weight
    judged.level = this.#claims.highest(full, tau, Math.max(0, left), weight, slack)
    judged.used = 0
    judged.passed = weight * judged.level * tau
    judged.carried = 0
    judged.released = false
  }

  /** Makes the newcomer that was judged active. */
  #open(): number {
    this.#budget.weight += this.judged.weight
    this.#budget.level = this.judged.level
    return this.#accounts.open(this.judged.name, this.judged.weight)
  }

  /** Works the level out anew. */
  #refit(): void {
    const { weight, tau, left, slack } = this.#budget
    if (weight > 0) this.#budget.level = this.#claims.highest(this.#budget.ceiling(0), tau, Math.max(0, left), 0, slack)
  }

  #endWait(slot: number): void {
    const { weights, passed, released } = this.#accounts
    this.#waits.end(slot)
    if (released[slot] === 0) return
    released[slot] = 0
    const free = Math.max(0, this.left - this.claimed)
    const guarantee = weights[slot]! * this.level
    if (guarantee - Math.max(passed[slot]!, guarantee * this.#budget.tau) > free) passed[slot] = guarantee - free
    this.#claims.set(slot, weights[slot]!, passed[slot]!)
  }

  #reweigh(slot: number, weight: number): void {
    if (this.#accounts.weights[slot] === weight) return
    this.#setWeight(slot, weight)
    this.#refit()
  }

  #setWeight(slot: number, weight: number): void {
    const accounts = this.#accounts
    const before = accounts.weights[slot]!
    this.#budget.weight = reweighed(this.#budget.weight, before, weight, () => accounts.weightBeside(slot))
    accounts.weights[slot] = weight
    this.#setPassed(slot, this.#accounts.passed[slot]!)
  }

  #setPassed(slot: number, passed: number): void {
    this.#accounts.passed[slot] = passed
    this.#recount(slot)
  }

  /** Brings the rankings up to date with what a tenant has used or let pass, and with its weight. */
  #recount(slot: number): void {
    const weight = this.#accounts.weights[slot]!
    const passed = this.#accounts.passed[slot]!
    if (this.#accounts.released[slot] === 0) this.#claims.set(slot, weight, passed)
    if (this.#waits.has(slot)) this.#waits.recount(slot, weight, passed)
  }
}
