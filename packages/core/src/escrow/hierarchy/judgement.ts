import type { Budget } from '../budget.js'
import { LEAST_RETRY_MS, RETRY, TIE, type Verdict, worth } from '../judgement.js'
import type { Group } from './group.js'
import type { Tenant } from './tenant.js'

/** A level this near to the highest has not sunk. */
const SAME = 1 - 1e-12

/** A cost of a tenant in a hierarchy, and what becomes of it. One object is used again and again. */
export class TreeJudgement {
  cost = 0
  /** Of who is not active: what becomes active with it, from the tenant up to here. */
  branch: Group | Tenant | undefined
  /** The level of the group above that branch, as a part of the highest. */
  part = 1
  #level = 0
  verdict: Verdict = 'never'
  /** The most that may be asked for next and is admitted; within the guarantee, a little more may be. */
  remaining = 0
  /** In how long it is worth asking again: 0 if allowed, Infinity if never. */
  retryMs = 0
  /** What is left and nobody else claims, on any level of the way up. */
  #free = 0
  /** Whether it comes first among those who wait, on every level, */
  #isTurn = true
  /** and up to which cost it would; and which it would next, after this one. */
  #turn = 0
  #nextTurn = 0

  get allowed(): boolean {
    return this.verdict === 'within' || this.verdict === 'borrows'
  }

  /**
   * Judges `cost`; nobody becomes active by it. Leaves guarantees on the way up as they are, for a newcomer as they
   * will be. O(depth) within an active tenant's guarantee, else O(depth·log n).
   */
  decide(tenant: Tenant, cost: number, budget: Budget): void {
    this.cost = cost
    if (tenant.active) this.#find(tenant)
    else this.#introduce(tenant, budget)
    const { left, tau } = budget
    const claim = tenant.ownClaim(tau)
    const fits = cost <= budget.limit && budget.covers(left, cost)
    if (fits && budget.covers(claim, cost)) {
      this.#allow('within', worth(Math.min(claim, left) - cost, budget))
      return
    }
    this.#measureFree(tenant, budget)
    this.#measureTurn(tenant, budget)
    // A newcomer may borrow only if nobody's level had to sink for it.
    const free = this.part >= SAME ? this.#free : 0
    if (fits && this.#isTurn && budget.covers(free, cost)) {
      this.#allow('borrows', worth(Math.min(left - cost, free - cost, this.#nextTurn), budget))
      return
    }
    this.verdict = cost > budget.limit ? 'never' : fits ? 'over-share' : 'exhausted'
    // Who waits for what its guarantee would cover releases its claim; a newcomer does not wait.
    const keepsClaim = this.verdict === 'never' || !tenant.active || !this.wouldCover(tenant, budget)
    this.remaining = worth(Math.min(left, Math.max(keepsClaim ? claim : 0, Math.min(free, this.#turn))), budget)
    this.retryMs = Math.max(LEAST_RETRY_MS, this.#wait(tenant, budget))
  }

  /** Whether the tenant's whole guarantee would have been enough. */
  wouldCover(tenant: Tenant, budget: Budget): boolean {
    return this.cost <= tenant.guarantee + budget.tolerance
  }

  #allow(verdict: Verdict, remaining: number): void {
    this.verdict = verdict
    this.remaining = remaining
    this.retryMs = 0
  }

  #find(tenant: Tenant): void {
    this.branch = undefined
    this.part = 1
    tenant.parent.locate()
    tenant.guarantee = tenant.weight * tenant.parent.level
  }

  /**
   * A newcomer is judged as if it had let its share pass. It lowers the level of the lowest group that is active, until
   * all claims in there come to what the group claimed before, or to what is left.
   */
  #introduce(tenant: Tenant, budget: Budget): void {
    const { tau, slack, left } = budget
    let branch: Group | Tenant = tenant
    while (branch.parent?.active === false) branch = branch.parent
    const group = branch.parent!
    group.locate()
    const ceiling = group.guarantee / (group.activeWeight + branch.weight)
    const room = group.parent === undefined ? Math.max(0, left) : group.claim(tau)
    const level = group.highest(ceiling, tau, room, branch.weight, slack)
    this.branch = branch
    this.part = ceiling > 0 ? level / ceiling : 1
    this.#level = level
    for (let node: Group | Tenant = tenant; node !== group; node = node.parent!) {
      node.guarantee = branch.weight * level
      node.passed = node.guarantee * tau
    }
  }

  #measureFree(tenant: Tenant, { left, tau }: Budget): void {
    let free = left
    let node: Group | Tenant = tenant
    if (this.branch !== undefined) {
      node = this.branch.parent!
      free -= node.total(this.#level, tau)
    }
    for (; node.parent !== undefined; node = node.parent) free -= node.parent.othersClaim(node, tau)
    this.#free = Math.max(0, free)
  }

  #measureTurn(tenant: Tenant, { left, tau, tolerance }: Budget): void {
    const { cost } = this
    this.#isTurn = true
    this.#turn = Number.POSITIVE_INFINITY
    this.#nextTurn = Number.POSITIVE_INFINITY
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
      const { passed, weight } = node
      const least = node.parent.leastTag(node, left + tolerance)
      if ((passed + cost) / weight > least * TIE) this.#isTurn = false
      this.#turn = Math.min(this.#turn, least * weight - passed)
      this.#nextTurn = Math.min(this.#nextTurn, least * weight - node.passedBy(tau) - cost)
    }
  }

  /** If it is only for others' claims, until they have faded enough, as they do now. */
  #wait(tenant: Tenant, budget: Budget): number {
    const { left, tau, restMs, windowMs } = budget
    if (this.verdict === 'never') return Number.POSITIVE_INFINITY
    if (left <= budget.tolerance) return restMs
    const waitMs = Math.min(restMs, windowMs * RETRY)
    if (this.verdict === 'exhausted' || !this.#isTurn || budget.reserve === 'strict' || !tenant.active) return waitMs
    let fade = 0
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent)
      fade += node.parent.othersFade(node, tau)
    return fade > 0 ? Math.min(waitMs, ((this.cost - this.#free) / fade) * windowMs) : waitMs
  }
}
