import type { Budget } from './budget.js'
import { type Group, TIE } from './group.js'
import type { Judgement } from './judgement.js'
import type { Node, Tenant } from './tenants.js'

/** Tenants that wait, in order of refusal. */
export class WaitingTenants {
  #first: Tenant | undefined
  #last: Tenant | undefined
  #count = 0

  get count(): number {
    return this.#count
  }

  /** The tenant that was refused longest ago. */
  get first(): Tenant | undefined {
    return this.#first
  }

  /** Puts a tenant at the end. */
  add(tenant: Tenant, nowMs: number): void {
    if (tenant.waits) this.remove(tenant)
    tenant.waitsSinceMs = nowMs
    tenant.before = this.#last
    if (this.#last === undefined) this.#first = tenant
    else this.#last.after = tenant
    this.#last = tenant
    this.#count++
  }

  /** Removes a tenant. */
  remove(tenant: Tenant): void {
    const { before, after } = tenant
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    tenant.before = undefined
    tenant.after = undefined
    tenant.waitsFor = Number.POSITIVE_INFINITY
    this.#count--
  }

  /** Clears the list; the tenants themselves must be updated. */
  clear(): void {
    this.#first = undefined
    this.#last = undefined
    this.#count = 0
  }
}

/**
 * The tenants with claims that were last refused for a cost above their part of the limit, in this window or the one
 * before. Those refused longest ago come first.
 *
 * Two of them would each wait for the other's claim, whatever is left. So their claims hold nothing back from the first
 * of them: the one that its call brings least far, per weight. In a tree it has to be first among its siblings, and so
 * its group among those of the group, and so on: up to the group in which that ends, the others lend. If its call is
 * admitted only because of that, their claims return as far as they are still free. A tenant that has lent its whole
 * claim lends no more until it is refused again.
 */
export class Lenders {
  readonly #tenants: Set<Tenant> = new Set()
  /** Those that lend to the last judged tenant, as far as they are known. */
  #chosen: Tenant[] | undefined

  /** It was refused last. */
  add(tenant: Tenant): void {
    this.#tenants.delete(tenant)
    this.#tenants.add(tenant)
    tenant.lends = true
    tenant.parent.lend(tenant)
  }

  /**
   * Judges again, without the claims of as many of them as are needed; `decide` judges. O(log n) if a tenant's own group
   * is all that may lend to it, and has no groups in it; otherwise O(n·log n), as far as there may be enough.
   */
  help(judged: Judgement, { left, tau, tolerance }: Budget, decide: () => void): void {
    const { tenant, cost, lack } = judged
    const scope = scopeOf(tenant, cost, left + tolerance)
    if (scope === undefined) return
    const own = tenant.lends ? tenant.ownClaim(tau) : 0
    if (scope.mostLent(tau) - own < lack - tolerance) return
    this.#chosen = undefined
    if (scope.isFlat) {
      judged.borrowFromLenders()
      return
    }
    const chosen: Tenant[] = []
    let most = 0
    for (const lender of this.#to(tenant, scope, tau)) {
      for (let node: Node = lender; node.parent !== undefined; node = node.parent) most += node.ownClaim(tau)
      release(lender, 1, tau)
      chosen.push(lender)
      if (most < lack - tolerance) continue
      decide()
      if (judged.allowed) break
    }
    const { allowed } = judged
    for (const lender of chosen) release(lender, -1, tau)
    if (!allowed) decide()
    else {
      judged.borrowFromLenders()
      this.#chosen = chosen
    }
  }

  /** The tenants that lend to the judged one. */
  to({ tenant, lack, isLent }: Judgement, { tau, tolerance }: Budget): readonly Tenant[] {
    if (!isLent) return NOBODY
    if (this.#chosen !== undefined) return this.#chosen
    const chosen: Tenant[] = []
    let lent = 0
    for (const lender of this.#to(tenant, tenant.parent, tau)) {
      if (lent >= lack - tolerance) break
      lent += lender.ownClaim(tau)
      chosen.push(lender)
    }
    return chosen
  }

  /** Those in a group that have a claim to lend to a tenant. */
  *#to(tenant: Tenant, scope: Group, tau: number): Iterable<Tenant> {
    for (const lender of this.#tenants) {
      if (lender === tenant || lender.released > 0 || !isIn(lender, scope)) continue
      lender.parent.locate()
      lender.guarantee = lender.weight * lender.parent.level
      if (lender.ownClaim(tau) > 0) yield lender
    }
  }

  /** It has lent all. */
  drop(tenant: Tenant): void {
    if (!tenant.lends) return
    this.#tenants.delete(tenant)
    tenant.lends = false
    tenant.parent.lend(tenant)
  }

  clear(): void {
    this.#tenants.clear()
  }
}

const NOBODY: readonly Tenant[] = []

function isIn(tenant: Tenant, scope: Group): boolean {
  let node: Group | Tenant = tenant
  while (node.parent !== undefined && node !== scope) node = node.parent
  return node === scope
}

/** The highest group up to which it is a tenant's turn among those; undefined if it is not the first in its own. */
function scopeOf(tenant: Tenant, cost: number, most: number): Group | undefined {
  let scope: Group | undefined
  for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
    if ((node.passed + cost) / node.weight > node.parent.leastLargeTag(node, most) * TIE) break
    scope = node.parent
  }
  return scope
}
/** Updates the groups of a node about it. */
export function recount(from: Group | Tenant, tau: number): void {
  from.parent?.locate()
  for (let node = from; node.parent !== undefined; node = node.parent) {
    node.parent.change(node, tau)
    node.parent.rank(node)
  }
}

/** Releases a tenant's claim, or with -1 ends that. */
export function release(tenant: Tenant, count: 1 | -1, tau: number): void {
  for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) node.released += count
  recount(tenant, tau)
}

/** Lets a released claim return as far as it is free on each level, which is nowhere if not `mayBeFree`; returns the free part. */
export function reclaim(tenant: Tenant, budget: Budget, mayBeFree = true): number {
  tenant.parent.locate()
  tenant.guarantee = tenant.weight * tenant.parent.level
  const free = reclaimFrom(tenant, budget, mayBeFree)
  recount(tenant, budget.tau)
  return free
}

/** Returns the free part. */
function reclaimFrom(node: Group | Tenant, budget: Budget, mayBeFree: boolean): number {
  if (node.parent === undefined) return budget.left
  const others = mayBeFree ? node.parent.othersClaim(node, budget.tau) : Number.POSITIVE_INFINITY
  const free = Math.max(0, reclaimFrom(node.parent, budget, mayBeFree) - others)
  node.released--
  if (node.ownClaim(budget.tau) > free) node.passed = node.guarantee - free
  return free
}
