import { Budget, type Reserve } from '../budget.js'
import { WAIT } from '../ledger.js'
import type { Group } from './group.js'
import { TreeJudgement } from './judgement.js'
import type { Tenant } from './tenant.js'
import { WaitingList } from './waiting-list.js'

/**
 * Weighted fair escrow over a tree of weights: the rule of the flat ledger, with a level for each group.
 *
 * What is free for a tenant is what is left less all that the siblings of its ancestors, and its own, claim: so it
 * borrows in its team first, then in its organisation, then anywhere. Of that it leaves what brings those who come
 * first as far, among its siblings and among those of each of its ancestors. What it spends counts for them, too. A
 * newcomer lowers the level of one group, the lowest that was active before: those outside lose nothing.
 *
 * To use it: {@link begin} a window, {@link advance} to the present, {@link judge}, and then {@link spend} or
 * {@link refuse} with nothing in between. A check is O(depth·log n); {@link Group} has the reasons.
 */
export class TreeLedger {
  readonly judged: TreeJudgement = new TreeJudgement()
  readonly #root: Group
  readonly #budget: Budget
  readonly #waiting: WaitingList = new WaitingList()
  #tenants = 0
  #windows = 0

  constructor(root: Group, windowMs: number, reserve: Reserve) {
    this.#root = root
    this.#budget = new Budget(windowMs, reserve)
  }

  get left(): number {
    return this.#budget.left
  }

  /** All claims now: what is left and not free. */
  get claimed(): number {
    this.#root.locate()
    return this.#root.total(this.#root.level, this.#budget.tau)
  }

  /** Active tenants. */
  get tenants(): number {
    return this.#tenants
  }

  get waiting(): number {
    return this.#waiting.count
  }

  /** Begins a window, in which nobody is active. O(children of the root). */
  begin(startMs: number, limit: number): void {
    this.#windows++
    this.#waiting.clear()
    this.#tenants = 0
    this.#renew(this.#root)
    this.#root.active = true
    this.#root.guarantee = limit
    this.#budget.begin(startMs, limit)
  }

  /** Moves on to `nowMs`. Waits end on the way, each at its time. */
  advance(nowMs: number): void {
    for (let first = this.#waiting.first; first !== undefined; first = this.#waiting.first) {
      const endMs = first.waitsSinceMs + this.#budget.windowMs * WAIT
      if (endMs > nowMs) break
      this.#budget.moveTo(endMs)
      this.#endWait(first)
    }
    this.#budget.moveTo(nowMs)
  }

  /** Judges a cost, into {@link judged}, and changes nothing. */
  judge(tenant: Tenant, cost: number): void {
    this.#renew(tenant)
    this.judged.decide(tenant, cost, this.#budget)
  }

  /** Spends what `tenant` was just allowed. */
  spend(tenant: Tenant): void {
    const { cost, branch, part } = this.judged
    if (branch !== undefined) this.#open(tenant, branch, part)
    const { tau } = this.#budget
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent)
      node.passed = node.passedBy(tau) + cost
    tenant.used += cost
    this.#budget.left -= cost
    this.#recount(tenant)
  }

  /** Notes that `tenant` was just refused: if it is active it waits, unless its cost is above the limit. */
  refuse(tenant: Tenant): void {
    const { cost, verdict } = this.judged
    if (!tenant.active || verdict === 'never') return
    // Who asks for the same again keeps its place in line.
    const isInLine = tenant.waitsFor === cost
    tenant.waitsFor = cost
    tenant.waitsSinceMs = this.#budget.nowMs
    this.#waiting.add(tenant)
    if (tenant.released === 0 && this.judged.wouldCover(tenant, this.#budget)) {
      for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) node.released++
      this.#recount(tenant)
    } else if (!isInLine) {
      let node: Group | Tenant = tenant
      while (node.parent?.rank(node)) node = node.parent
    }
  }

  /** Charges more, or less, than was spent; returns what could not be charged. */
  settle(tenant: Tenant, change: number): number {
    const { limit, left, tau, slack } = this.#budget
    const charged = Math.max(-tenant.used, Math.min(change, Math.max(0, left)))
    tenant.used += charged
    this.#budget.left = Math.min(limit, left - charged)
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent)
      node.passed = Math.max(0, node.passed + charged)
    this.#recount(tenant)
    const root = this.#root
    const ceiling = limit / root.activeWeight
    root.part = root.highest(ceiling, tau, Math.max(0, this.left), 0, slack) / ceiling
    return change - charged
  }

  /** Lets nodes forget the window in which they were last asked for, each when it is asked for in a new one. */
  #renew(from: Group | Tenant): void {
    for (let node: Group | Tenant = from; node.window !== this.#windows; node = node.parent) {
      node.clear()
      node.window = this.#windows
      if (node.parent === undefined) return
    }
  }

  /** Makes a newcomer active, and the groups that it is the first in. */
  #open(tenant: Tenant, branch: Group | Tenant, part: number): void {
    for (let node: Group | Tenant = tenant; ; node = node.parent!) {
      node.active = true
      node.parent!.activeWeight += node.weight
      if (node === branch) break
    }
    branch.parent!.part = part
    this.#tenants++
  }

  /** Brings what the groups of a tenant know about it up to date. */
  #recount(tenant: Tenant): void {
    const { tau } = this.#budget
    tenant.parent.locate()
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
      node.parent.change(node, tau)
      node.parent.rank(node)
    }
  }

  #endWait(tenant: Tenant): void {
    this.#waiting.remove(tenant)
    tenant.waitsFor = Number.POSITIVE_INFINITY
    if (tenant.released > 0) {
      tenant.parent.locate()
      tenant.guarantee = tenant.weight * tenant.parent.level
      this.#reclaim(tenant)
    }
    this.#recount(tenant)
  }

  /** Lets a claim come back as far as it is free on each level; returns how far that is. */
  #reclaim(node: Group | Tenant): number {
    if (node.parent === undefined) return this.left
    const { tau } = this.#budget
    const others = node.parent.othersClaim(node, tau)
    const free = Math.max(0, this.#reclaim(node.parent) - others)
    node.released--
    if (node.ownClaim(tau) > free) node.passed = node.guarantee - free
    return free
  }
}
