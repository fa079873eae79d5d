import type { Budget } from './budget.js'
import type { Group } from './group.js'
import type { Tenant } from './tenants.js'

/** Tags this close are equal. */
const TIE = 1 + 1e-9

/**
 * The tenants that were last refused for a cost above their part of the limit, in this window or the one before, with
 * that cost; in order of their first refusal.
 *
 * Two of them would each wait for the other's claim, whatever is left. So their claims hold nothing back from one of
 * them that comes before them: whose use per weight, with the cost that it asks for, is not above theirs. If its call is
 * admitted only because of that, their claims return as far as they are still free.
 */
export class Lenders {
  readonly #costs: Map<Tenant, number> = new Map()

  /** The cost for which a tenant was refused; 0: it is not one of them. */
  costOf(tenant: Tenant): number {
    return this.#costs.get(tenant) ?? 0
  }

  /** Notes that a tenant was refused for a cost above its part of the limit; or, with 0, that it was not. */
  note(tenant: Tenant, cost: number): void {
    if (cost > 0) this.#costs.set(tenant, cost)
    else this.#costs.delete(tenant)
  }

  /**
   * Those that have a claim, and come after a tenant that asks for `cost`, the latest first, until their claims make up
   * for `lack`, the amount that it misses; none if they do not.
   */
  after(tenant: Tenant, cost: number, lack: number, tau: number): Tenant[] {
    const after: Tenant[] = []
    let most = 0
    for (const [other, otherCost] of [...this.#costs].reverse()) {
      if (other === tenant || other.released > 0 || !isBefore(tenant, cost, other, otherCost)) continue
      other.parent.locate()
      other.guarantee = other.weight * other.parent.level
      const claim = other.ownClaim(tau)
      if (claim > 0) after.push(other)
      most += claim
      if (most >= lack) return after
    }
    return []
  }

  clear(): void {
    this.#costs.clear()
  }
}

function isBefore(one: Tenant, cost: number, two: Tenant, otherCost: number): boolean {
  return (one.passed + cost) / one.weight <= ((two.passed + otherCost) / two.weight) * TIE
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

/** Lets a released claim return as far as it is free on each level. */
export function reclaim(tenant: Tenant, budget: Budget): void {
  tenant.parent.locate()
  tenant.guarantee = tenant.weight * tenant.parent.level
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
