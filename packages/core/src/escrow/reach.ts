import { type Budget, RETRY, TIE } from './budget.js'
import type { Node, Tenant } from './tenants.js'

/** The costs that may be served in the next window, by the one that ends. Larger ones have no precedence. */
export class Reach {
  readonly most: number = Number.POSITIVE_INFINITY
  /** The least cost for which the budget was kept in vain. */
  readonly failed: number = Number.POSITIVE_INFINITY

  constructor(tenants: readonly Tenant[], budget: Budget) {
    if (tenants.length === 0 || budget.isDrawn) return
    const most = mostOf(tenants, budget)
    this.failed = failedOf(tenants, budget, most)
    this.most = Math.min(most, this.failed - 2 * budget.tolerance)
  }

  /** Whether a tenant was last refused for a larger cost. */
  excludes({ exceeds }: Tenant): boolean {
    return exceeds < Number.POSITIVE_INFINITY && exceeds > this.most
  }
}

/** It was refused when it last asked. */
export function wantsMore({ hasAsked, returnMs }: Tenant): boolean {
  return hasAsked && returnMs > 0
}

/**
 * The largest cost that may be served beside the tenants that want no more than their parts: the budget less their use,
 * and their claims when it comes back for the last time.
 */
function mostOf(tenants: readonly Tenant[], { most, reserve, tolerance }: Budget): number {
  let reach = most + tolerance
  for (const tenant of tenants) {
    const { used, due, parent, weight } = tenant
    if (wantsMore(tenant) || used > due * most * TIE) continue
    tenant.guarantee = weight * parent.level
    reach -= Math.min(due * most, used + (reserve === 'strict' ? tenant.ownClaim(0) : due * most * RETRY))
  }
  return reach
}

/**
 * The cost for which the budget was kept in vain: of the first tenant, if more was left than the part of the reach that
 * others got. It stays as long as one asks for as much, and none is served.
 */
function failedOf(tenants: readonly Tenant[], budget: Budget, reach: number): number {
  const { failed, available, left, tolerance } = budget
  let [first, cost] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (const tenant of tenants) {
    const { exceeds } = tenant
    if (!wantsMore(tenant) || exceeds === Number.POSITIVE_INFINITY) continue
    if (exceeds >= failed - tolerance) return failed
    if (left <= reach - left + tolerance) continue
    if (exceeds > available) continue
    let node: Node = tenant
    while (node.parent!.parent !== undefined) node = node.parent!
    const tag = (node.passed + exceeds) / node.weight
    if (tag > first * TIE) continue
    cost = tag * TIE < first ? exceeds : Math.min(cost, exceeds)
    first = Math.min(first, tag)
  }
  return cost
}
