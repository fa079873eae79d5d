import type { Budget } from '../budget.js'
import { LEAST_RETRY_MS, RETRY, type Verdict, worth } from '../judgement.js'
import { type Debtor, mostWithin } from '../line.js'
import type { Group } from './group.js'
import type { Node } from './node.js'
import type { Tenant } from './tenant.js'

/** A level this near to the highest has not sunk. */
const SAME = 1 - 1e-12

/** A cost of a tenant in a hierarchy, and what becomes of it. One object is used again and again. */
export class TreeJudgement implements Debtor {
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
  /** Up to which cost nobody comes first, on any level. */
  #turn = 0
  #tenant: Tenant | undefined
  /** The share of the window that is over, if time counts as passed by now. */
  #tau: number | undefined
  slope = 0

  get allowed(): boolean {
    return this.verdict === 'within' || this.verdict === 'borrows'
  }

  /**
   * Judges `cost`; nobody becomes active by it. Leaves guarantees on the way up as they are, for a newcomer as they
   * will be. O(depth) within an active tenant's guarantee, else O(depth·log n).
   */
  decide(tenant: Tenant, cost: number, budget: Budget): void {
    this.cost = cost
    this.#tau = undefined
    if (tenant.active) this.#find(tenant)
    else this.#introduce(tenant, budget)
    const { left, tau } = budget
    const claim = tenant.ownClaim(tau)
    const fits = budget.covers(left, cost)
    if (fits && budget.covers(claim, cost)) {
      this.#allow('within', worth(Math.min(claim, left) - cost, budget))
      return
    }
    this.#measureFree(tenant, budget)
    this.#measureTurn(tenant, budget)
    // A newcomer may borrow only if nobody's level had to sink for it.
    const free = this.part >= SAME ? this.#free : 0
    const room = Math.min(left, free)
    const owed = this.owed(cost)
    if (fits && budget.covers(free - owed, cost)) {
      this.#tau = tau
      this.#measureTurn(tenant, budget)
      this.#allow('borrows', worth(this.#most(room) - cost, budget))
      return
    }
    this.verdict = fits ? 'over-share' : budget.covers(budget.limit, cost) ? 'exhausted' : 'never'
    // Who waits for what its guarantee would cover releases its claim; a newcomer does not wait.
    const keepsClaim = this.verdict === 'never' || !tenant.active || !this.wouldCover(tenant, budget)
    this.remaining = worth(Math.min(left, Math.max(keepsClaim ? claim : 0, this.#most(room))), budget)
    this.retryMs = Math.max(LEAST_RETRY_MS, this.#wait(tenant, budget, cost + owed))
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

  #measureTurn(tenant: Tenant, { left, tolerance }: Budget): void {
    this.#tenant = tenant
    this.#turn = Number.POSITIVE_INFINITY
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
      node.rivalTag = node.parent.leastTag(node, left + tolerance)
      this.#turn = Math.min(this.#turn, node.rivalTag * node.weight - this.#before(node))
    }
  }

  #before(node: Node): number {
    return this.#tau === undefined ? node.passed : node.passedBy(this.#tau)
  }

  /** What is owed to those who come first, on all levels together. */
  owed(cost: number): number {
    let owed = 0
    this.slope = 0
    for (let node: Group | Tenant = this.#tenant!; node.parent !== undefined; node = node.parent) {
      owed += node.parent.owed(node, this.#before(node), cost)
      this.slope += node.parent.slopeOwed(node)
    }
    return owed
  }

  /** The most that may be borrowed of `room`. */
  #most(room: number): number {
    return this.#turn >= room ? room : Math.max(0, this.#turn, mostWithin(room, this))
  }

  /** Until others' claims have faded enough, as they do now. */
  #wait(tenant: Tenant, budget: Budget, amount: number): number {
    const { left, tau, restMs, windowMs } = budget
    if (this.verdict === 'never') return Number.POSITIVE_INFINITY
    if (left <= budget.tolerance) return restMs
    const waitMs = Math.min(restMs, windowMs * RETRY)
    if (this.verdict === 'exhausted' || budget.reserve === 'strict' || this.part < SAME) return waitMs
    let fade = 0
    let node: Group | Tenant = tenant
    if (this.branch !== undefined) {
      node = this.branch.parent!
      fade = node.fade(this.#level, tau)
    }
    for (; node.parent !== undefined; node = node.parent) fade += node.parent.othersFade(node, tau)
    return fade > 0 ? Math.min(waitMs, ((amount - this.#free) / fade) * windowMs) : waitMs
  }
}
