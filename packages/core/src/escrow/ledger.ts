import { Budget, type Reserve } from './budget.js'
import type { EscrowTenant, Settled } from './decision.js'
import { enter, Group } from './group.js'
import { type EscrowVerdict, Judgement } from './judgement.js'
import { Memory } from './memory.js'
import {
  borrowFromLenders,
  lend,
  type Place,
  pay,
  payDebts,
  Roster,
  reclaim,
  recount,
  release,
  SHARED,
  type Tenant,
  takeFromLenders,
  unlend,
  WaitingTenants,
} from './tenants.js'

/** Duration of a wait after the refusal, as a share of the window. */
const WAIT = 1 / 10
/** A refused tenant may come this much later than told: HTTP states whole seconds, and up to half more at random. */
const LATE = 1.5
const LATE_MS = 1_000

/**
 * Weighted fair escrow: the rule, in plain numbers. It has no clock; times are passed in, and never run backwards.
 *
 * One budget, the limit L, is divided in one window of time between the children of a root: tenants, and groups of
 * further ones. Each active child has a weight w, its use, and v: the use plus the amount that it let pass. In each
 * group, W is the sum of the active weights, and G the group's own guarantee; that of the root is L. `left` is L less
 * all use, τ the elapsed share of the window (0 with a strict reserve).
 *
 * - A group's *level* λ is the guarantee of weight 1 in it: G/W, or less, if claims would not fit. It sinks when a
 *   child becomes active: until the children's claims fit into the group's claim, or for the root into the remainder.
 *   It is recomputed when a weight changes, a cost is settled or, for the root, the limit changes.
 * - A child's guarantee is g = w·λ, its *claim* the rest of that: g − max(v, g·τ), if above 0. A group claims that, or
 *   the sum of its children's claims, if that is more. The *free* amount for a tenant is the remainder less all claims
 *   of the siblings of its ancestors, and its own: so it borrows in its group first, and then outside.
 * - A refused tenant *waits*, for a tenth of a window from its last refusal on, with the refused cost and the finish
 *   tag (v + cost)/w. If the guarantee would cover that cost, the claim is too small to be of use: it is released to
 *   others until the wait ends. Then it comes back as far as it is still free. Another admission meanwhile ends no
 *   wait: a tenant that takes turns with others is still in line for more.
 * - Claims of tenants that lend do not hold back the first of them: {@link borrowFromLenders}.
 * - A cost within the claim is allowed. More is allowed, as borrowed, if it is free together with the amount owed to
 *   those in line, among the tenant's siblings and among those of each of its ancestors: nothing if no other tenant
 *   that waits for an available cost has a lower tag; otherwise as much as brings those with a lower one as far, per
 *   weight.
 *
 * A tenant's spending also counts for its ancestors. {@link Memory} has the amounts that count in the next window.
 *
 * To use it: {@link begin} a window, {@link advance} to the present, {@link judge}, and then {@link spend} or {@link
 * refuse} with nothing in between. The limit may change within a window ({@link limitTo}), for a caller that draws it
 * from elsewhere bit by bit. All is O(depth·log n) of the active tenants on average; {@link Group} has the reasons.
 */
export class Ledger {
  /** The last judgement. */
  readonly judged: Judgement = new Judgement()
  readonly #root: Group
  readonly #anywhere: Place
  readonly #budget: Budget
  readonly #waiting: WaitingTenants = new WaitingTenants()
  readonly #roster: Roster
  /** Groups with active tenants. */
  #groups: Group[] = []
  /** Active tenants that owe something. */
  readonly #debtors: Set<Tenant> = new Set()
  /** Number of tenants that are expected back. */
  #expected = 0
  /** The last one that was judged as part of a shared tenant. */
  #stranger = { name: SHARED, weight: 1 }

  /** `root` is a group's root without active children; without one, all tenants are in one group. */
  constructor(windowMs: number, reserve: Reserve, maxStrangers: number, root: Group = new Group(1, undefined, 0)) {
    this.#root = root
    this.#anywhere = { group: root, isNamed: false }
    this.#budget = new Budget(windowMs, reserve)
    this.#roster = new Roster(root, maxStrangers)
  }

  get startMs(): number {
    return this.#budget.startMs
  }

  get limit(): number {
    return this.#budget.limit
  }

  /** The limit less all use. */
  get left(): number {
    return this.#budget.left
  }

  /** The sum of the weights of the root's active children. */
  get weight(): number {
    return this.#root.activeWeight
  }

  /** The guarantee of weight 1 among the root's children; 0 while no tenant is active. */
  get level(): number {
    this.#root.locate()
    return this.#root.level
  }

  /** Number of active tenants, including shared ones. */
  get tenants(): number {
    return this.#roster.count
  }

  get waiting(): number {
    return this.#waiting.count
  }

  /** All claims now: the remainder that is not free. */
  get claimed(): number {
    return this.#root.total(this.level, this.#budget.tau)
  }

  /**
   * Starts a window. Tenants that asked in the one before are active from the beginning; all others are forgotten, and
   * all are if none has asked for a whole window. `most` is the largest limit in it.
   */
  begin(startMs: number, limit: number, most: number = limit): void {
    const budget = this.#budget
    const isNext = startMs - budget.startMs < 1.5 * budget.windowMs
    for (const group of this.#groups) group.locate()
    const memory = isNext ? new Memory(this.#roster, budget) : undefined
    for (const group of this.#groups) group.clear()
    this.#groups = []
    this.#waiting.clear()
    this.#debtors.clear()
    this.#roster.clear()
    this.#expected = 0
    budget.begin(startMs, limit, most)
    budget.reach = memory?.reach ?? Number.POSITIVE_INFINITY
    budget.failed = memory?.failed ?? Number.POSITIVE_INFINITY
    this.#root.active = true
    this.#root.guarantee = limit
    this.#root.part = 1
    if (memory === undefined) return
    if (memory.kept.length > 0) this.#bringBack(memory)
    for (const [name, one] of memory.left) this.#roster.absent.set(name, one)
  }

  #bringBack(memory: Memory): void {
    const budget = this.#budget
    let untilMs = budget.startMs
    for (const kept of memory.kept) {
      const tenant = this.#roster.prepare(kept.name, kept.weight, kept)
      this.#open(tenant)
      tenant.debt = kept.debt
      if (tenant.debt > 0) this.#debtors.add(tenant)
      tenant.exceeds = kept.exceeds
      if (kept.returnMs > budget.startMs) {
        tenant.returnMs = kept.returnMs
        this.#expected++
        untilMs = Math.max(untilMs, kept.returnMs)
      }
    }
    const tenants = this.#roster.active()
    // If the limit is drawn from a pool, the pool knows the carried amounts.
    if (budget.most) budget.offset = memory.carry(this.#root, tenants, budget)
    // A debt is paid from the tenant's own share, which leaves that of one that comes later.
    for (const tenant of tenants) pay(tenant, budget.limit * tenant.dueBesideOneMore, budget)
    for (const group of this.#groups) group.passed = group.carried + group.used
    for (const tenant of tenants) tenant.passed = tenant.carried + tenant.used
    this.#root.guarantee = budget.guaranteed
    for (const tenant of tenants) recount(tenant, this.#budget.tau)
    budget.waitUntil(untilMs)
    this.#refit(this.#root)
    for (const tenant of tenants) if (tenant.exceeds < Number.POSITIVE_INFINITY) lend(tenant, budget.tau)
  }

  /** Advances to `nowMs`, inside the window, never back. Waits end on the way, each at its time. */
  advance(nowMs: number): void {
    for (let first = this.#waiting.first; first !== undefined; first = this.#waiting.first) {
      const endMs = first.waitsSinceMs + this.#budget.windowMs * WAIT
      if (endMs > nowMs) break
      this.#budget.moveTo(endMs)
      this.#endWait(first)
    }
    this.#budget.moveTo(nowMs)
  }

  /**
   * Sets another limit for the rest of the window. Past use stays: a lower limit leaves nothing. As budget comes back in
   * a sliding window, debtors pay from their claims; returns the sum.
   */
  limitTo(limit: number, most: number = limit): number {
    const budget = this.#budget
    // The same limit is no event: levels stay, and so do the promises based on them.
    if (budget.keeps(limit, most)) return 0
    const { isWhole } = budget
    budget.limitTo(limit, most)
    this.#root.guarantee = budget.guaranteed
    this.#refit(this.#root)
    return isWhole ? 0 : payDebts(this.#debtors, budget)
  }

  /** Sets a group's weight from now on. */
  reweighGroup(group: Group, weight: number): void {
    if (group.active) this.#reweigh(group, weight)
    else group.weight = weight
  }

  /** Like {@link judge}, but changes nothing. */
  peek(name: string, weight: number, cost: number, place: Place = this.#anywhere): EscrowVerdict {
    const tenant = this.#roster.get(name)
    if (tenant === undefined || tenant.weight === weight) return this.judge(name, weight, cost, place)
    const { parent: group, weight: before, ahead, carried, passed } = tenant
    const { activeWeight, part } = group
    const verdict = this.judge(name, weight, cost, place)
    this.#offset(group, carried - tenant.carried)
    Object.assign(tenant, { weight: before, ahead, carried, passed })
    group.activeWeight = activeWeight
    recount(tenant, this.#budget.tau)
    this.#setPart(group, part)
    return verdict
  }

  /**
   * Judges a `cost` of a tenant; {@link judged} has the numbers. The only change is that an active tenant has `weight`
   * from now on. One that is not active is judged as if it were; a stranger beyond the limit is judged as part of the
   * tenant that all further ones of its group share, of weight 1.
   */
  judge(name: string, weight: number, cost: number, place: Place = this.#anywhere): EscrowVerdict {
    let tenant = this.#roster.get(name)
    if (tenant !== undefined) {
      if (tenant.weight !== weight) this.#reweigh(tenant, weight)
    } else if (place.isNamed || !this.#roster.isFull) tenant = this.#roster.prepare(name, weight, place)
    else {
      tenant = place.group.shared ?? this.#roster.prepare(SHARED, 1, place)
      this.#stranger = { name, weight }
    }
    // It pays its debt first.
    this.#decide(tenant, cost + tenant.debt, cost)
    if (this.judged.exceeds && this.judged.verdict === 'over-share') borrowFromLenders(this.judged, this.#budget)
    return this.judged.verdict
  }

  /** Spends the last judgement, which allowed; returns the tenant's place, which is its own until the next window. */
  spend(): number {
    const { cost, tenant, branch, part } = this.judged
    if (branch !== undefined) {
      this.#open(tenant)
      branch.parent!.part = part
      enter(branch, tenant)
      this.#offset(branch.parent!, branch.carried)
    }
    this.#return(tenant)
    tenant.returnMs = 0
    tenant.exceeds = Number.POSITIVE_INFINITY
    if (cost >= this.#budget.failed) this.#budget.failed = Number.POSITIVE_INFINITY
    unlend(tenant, this.#budget.tau)
    if (this.judged.isLent) takeFromLenders(this.judged, this.#budget)
    tenant.debt = 0
    this.#budget.charge(tenant, cost)
    recount(tenant, this.#budget.tau)
    return tenant.place
  }

  /** Notes that the last judgement refused: an active tenant waits, unless its cost is above the limit. */
  refuse(): void {
    const { tenant, cost, verdict } = this.judged
    if (verdict === 'never') return
    this.turnAway()
    if (!tenant.active) return
    const exceeds = this.judged.exceeds ? cost : Number.POSITIVE_INFINITY
    // A tenant that asks for the same again keeps its place in line.
    const isInLine = tenant.waitsFor === cost && tenant.exceeds === exceeds
    tenant.exceeds = exceeds
    const { tau, tolerance, nowMs } = this.#budget
    if (this.judged.exceeds && tenant.ownClaim(tau) > tolerance) lend(tenant, tau)
    else unlend(tenant, tau)
    this.#waiting.add(tenant, nowMs)
    tenant.waitsFor = cost
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent)
      node.isHungry ||= this.#budget.exceedsPart(node, cost)
    if (tenant.released === 0 && this.judged.wouldCover(tolerance)) release(tenant, 1, tau)
    else if (!isInLine) {
      let node: Group | Tenant = tenant
      while (node.parent?.rank(node)) node = node.parent
    }
  }

  /** Notes that the tenant of the last judgement returns in `retryMs`: claims of the next window wait for it. */
  turnAway(retryMs: number = this.judged.retryMs): void {
    const { tenant, cost } = this.judged
    const returnMs = this.#budget.nowMs + retryMs * LATE + LATE_MS
    const isShared = tenant.name === SHARED
    if (isShared || !tenant.active) {
      const { parent: group, isNamed, due } = tenant
      const { name, weight } = isShared ? this.#stranger : tenant
      const isHungry = this.#budget.exceedsPart({ used: 0, elsewhere: 0, due }, cost)
      this.#roster.note(name, { weight, group, isNamed, returnMs, isHungry })
    }
    if (!tenant.active) return
    this.#return(tenant)
    tenant.returnMs = returnMs
  }

  /**
   * Charges the tenant at `place` more than its admitted cost, as far as a call for that would be admitted, or has been
   * `granted`; or less, if below 0, down to no use at all. Returns the amount that could not be charged.
   */
  settle(place: number, change: number, granted = 0): number {
    const tenant = this.#roster.at(place)
    let charged = change
    if (change > 0) {
      this.#decide(tenant, change)
      if (!this.judged.allowed) charged = Math.min(change, Math.max(this.judged.most, granted))
    } else {
      // A refund pays the tenant's debt first.
      const paid = Math.min(tenant.debt, -change)
      tenant.debt -= paid
      charged = Math.max(-tenant.used, change + paid)
    }
    this.#budget.charge(tenant, charged)
    recount(tenant, this.#budget.tau)
    this.#refitPath(tenant.parent)
    return change - charged
  }

  /** Notes that the tenant at `place` owes an amount: it is paid before its next call is admitted. */
  owe(place: number, amount: number): void {
    const tenant = this.#roster.at(place)
    tenant.debt += amount
    this.#debtors.add(tenant)
  }

  /** The active tenant of that name. */
  find(name: string): Tenant | undefined {
    return this.#roster.get(name)
  }

  /** Notes that a tenant owes an amount for a past window. */
  oweLate(name: string, weight: number, amount: number, place: Place = this.#anywhere): Settled {
    const tenant = this.#roster.get(name)
    if (tenant === undefined) this.#roster.note(name, { ...place, weight, returnMs: 0, isHungry: false }, amount)
    else this.owe(tenant.place, amount)
    return { settled: true, unpaid: amount }
  }

  /**
   * Weight of a tenant here, and its use; and its use per weight, including amounts that count as used elsewhere. Those
   * of the shared tenant if it is part of that.
   */
  stakeOf(name: string): { weight: number; used: number; share: number } {
    const tenant: Partial<Tenant> | undefined = this.isShared(name) ? this.#root.shared : this.#roster.get(name)
    const { weight = 0, used = 0, elsewhere = 0 } = tenant ?? {}
    return { weight, used, share: (used + elsewhere) / (weight || 1) }
  }

  /**
   * Adds `amount` for an active tenant: the excess of its use elsewhere over its weight's equivalent here; negative if
   * it has used less. Does not change the remainder.
   */
  countElsewhere(name: string, amount: number): void {
    const tenant = this.#roster.get(name)
    if (tenant === undefined) return
    const change = Math.max(-tenant.used, amount) - tenant.elsewhere
    if (Math.abs(change) <= this.#budget.tolerance) return
    this.#offset(this.#root, change)
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
      node.elsewhere += change
      node.passed = Math.max(0, node.passed + change)
    }
    recount(tenant, this.#budget.tau)
    this.#refit(this.#root)
  }

  /** Whether a stranger is, or would be, part of the tenant that all strangers beyond the limit share. */
  isShared(name: string): boolean {
    return name === SHARED || (this.#roster.isFull && this.#roster.get(name) === undefined)
  }

  /** The `most` active tenants with the largest use. For people: allocates. */
  heaviest(most: number): EscrowTenant[] {
    return this.#roster.heaviest(most)
  }

  /** Makes the last prepared tenant active, and the groups in which it is the first. */
  #open(tenant: Tenant): void {
    this.#roster.add(tenant)
    let node: Group | Tenant = tenant
    for (; node.parent !== undefined && !node.active; node = node.parent) {
      if (node.parent.activeWeight === 0) this.#groups.push(node.parent)
      node.parent.open(node)
    }
  }

  /** The children of a group carry more. Those of the root do so beside the limit. */
  #offset(group: Group, change: number): void {
    if (group.parent !== undefined || change === 0) return
    this.#budget.offset += change
    group.guarantee = this.#budget.guaranteed
  }

  /** A tenant asks: it is back, if it was expected. When all are, claims age from now on. */
  #return(tenant: Tenant): void {
    if (tenant.hasAsked) return
    tenant.hasAsked = true
    if (tenant.returnMs > 0 && --this.#expected === 0) this.#budget.endWait()
    tenant.returnMs = 0
  }

  #decide(tenant: Tenant, cost: number, asked: number = cost): void {
    this.judged.decide(tenant, cost, asked, this.#budget, this.#roster.count === (tenant.active ? 1 : 0))
  }

  /** Recomputes the level of a group: the highest at which all claims in it fit into its room. */
  #refit(group: Group, room?: number): void {
    if (group.activeWeight <= 0) return
    group.locate()
    const ceiling = group.ceiling(0, 0)
    const { tau, slack } = this.#budget
    const level = group.highest(ceiling, tau, room ?? this.#budget.roomOf(group), 0, 0, slack)
    this.#setPart(group, ceiling > 0 ? level / ceiling : 1)
  }

  /** From the root down: refunded budget of a group raises its level again, up to its own claim. */
  #refitPath(group: Group): void {
    if (group.parent !== undefined) this.#refitPath(group.parent)
    if (group.parent === undefined || group.part < 1) this.#refit(group)
  }

  #setPart(group: Group, part: number): void {
    if (group.part === part) return
    group.part = part
    recount(group, this.#budget.tau)
  }

  #reweigh(child: Group | Tenant, weight: number): void {
    const group = child.parent!
    group.locate()
    const room = this.#budget.roomOf(group)
    this.#offset(group, group.reweigh(child, weight))
    recount(child, this.#budget.tau)
    this.#refit(group, room)
  }

  #endWait(tenant: Tenant): void {
    this.#waiting.remove(tenant)
    if (tenant.released > 0) reclaim(tenant, this.#budget)
    else recount(tenant, this.#budget.tau)
  }
}
