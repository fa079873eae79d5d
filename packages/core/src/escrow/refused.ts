import { type Budget, TIE } from './budget.js'
import type { Group } from './group.js'
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
 * Judges again, with the claims of lenders.
 *
 * A tenant with a claim that was last refused for a cost above its part of the limit, in this window or the one before,
 * lends it. Two of them would each wait for the other's claim, whatever is left. So their claims hold nothing back from
 * the first of them: the one that its call brings least far, per weight. In a tree it has to be first among its
 * siblings, and so its group among those of the group, and so on: up to the group in which that ends, the others lend.
 * If its call is admitted only because of that, they let as much pass as it lacked: those nearest first, and of these
 * those refused longest ago. A tenant that has lent its whole claim lends no more until it is refused again.
 */
export function borrowFromLenders(judged: Judgement, { available, tau, tolerance }: Budget): void {
  const { tenant, cost, lack } = judged
  const scope = scopeOf(tenant, cost, available)
  if (scope === undefined) return
  const own = tenant.lends ? tenant.ownClaim(tau) : 0
  if (scope.lendable(tau) - own >= lack - tolerance) judged.borrowFromLenders()
}

/** Lenders let pass the amount that an allowed cost lacks. */
export function takeFromLenders({ tenant, lack }: Judgement, { tau, tolerance }: Budget): void {
  let missing = lack
  for (let node: Group | Tenant = tenant; node.parent !== undefined && missing > tolerance; node = node.parent)
    for (const lender of node.parent.lenders(node)) {
      locate(lender)
      const claim = lender.ownClaim(tau)
      const lent = Math.min(claim, missing)
      for (let one: Node = lender; one !== node.parent; one = one.parent!) one.passed = one.passedBy(tau) + lent
      recount(lender, tau)
      if (claim - lent <= tolerance) unlend(lender, tau)
      missing -= lent
      if (missing <= tolerance) return
    }
}

/** A tenant lends its claim. It was refused last. */
export function lend(tenant: Tenant, tau: number): void {
  tenant.lends = true
  tenant.parent.lend(tenant, tau)
}

/** A tenant lends its claim no more. */
export function unlend(tenant: Tenant, tau: number): void {
  if (!tenant.lends) return
  tenant.lends = false
  tenant.parent.unlend(tenant, tau)
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

/** Debtors pay from their claims, so that others lose nothing. Returns the sum. */
export function payDebts(debtors: Iterable<Tenant>, budget: Budget): number {
  const before = budget.left
  for (const tenant of debtors) {
    locate(tenant)
    pay(tenant, Math.min(tenant.ownClaim(budget.tau), Math.max(0, budget.left)), budget)
    recount(tenant, budget.tau)
  }
  return before - budget.left
}

/** A debtor pays, up to `most`. */
export function pay(tenant: Tenant, most: number, budget: Budget): void {
  const paid = Math.min(tenant.debt, most)
  tenant.debt -= paid
  budget.charge(tenant, paid)
}

/** Releases a tenant's claim, or with -1 ends that. */
export function release(tenant: Tenant, count: 1 | -1, tau: number): void {
  for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) node.released += count
  recount(tenant, tau)
}

/** Lets a released claim return as far as it is free on each level. */
export function reclaim(tenant: Tenant, budget: Budget): void {
  locate(tenant)
  reclaimFrom(tenant, budget)
  recount(tenant, budget.tau)
}

/** Returns the free part. */
function reclaimFrom(node: Group | Tenant, budget: Budget): number {
  if (node.parent === undefined) return budget.left
  const others = node.parent.othersClaim(node, budget.tau)
  const free = Math.max(0, reclaimFrom(node.parent, budget) - others)
  node.released--
  if (node.ownClaim(budget.tau) > free) node.passed = node.guarantee - free
  return free
}

/** Computes a tenant's guarantee. */
function locate(tenant: Tenant): void {
  tenant.parent.locate()
  tenant.guarantee = tenant.weight * tenant.parent.level
}
