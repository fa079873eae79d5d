import { Budget, type Reserve } from '../budget.js'
import type { Verdict } from '../judgement.js'
import type { Node } from './node.js'

const WAIT = 1 / 10
const RETRY = 1 / 20
const LEAST_RETRY_MS = 1
const SAME = 1 - 1e-12
/** Halvings that bring a level to within rounding. */
const HALVINGS = 60

/** What becomes of a cost, and the numbers behind it. */
export interface TreeJudgement {
  readonly verdict: Verdict
  readonly remaining: number
  readonly guarantee: number
  readonly retryMs: number
}

/** A tenant that has become active, for the time being. */
interface Arrival {
  /** What became active with it, from the tenant up. */
  readonly path: readonly Node[]
  /** The lowest group that was active before, as it was. */
  readonly group: Node
  readonly ratio: number
  readonly activeWeight: number
}

/**
 * Weighted fair escrow over a tree of weights: the rule of the flat ledger, with a level for each group.
 *
 * What is free for a tenant is what is left less all that the siblings of its ancestors, and its own, claim: so it
 * borrows in its team first, then in its organisation, then anywhere. It has to come first among its siblings, and each
 * of its ancestors among theirs. What it spends counts for them, too. A newcomer lowers the level of one group, the
 * lowest that was active before: those outside lose nothing.
 *
 * A check within the guarantee is O(depth); any other looks at the whole tree, O(nodes).
 */
export class TreeLedger {
  readonly #root: Node
  readonly #budget: Budget
  /** In order of refusal. */
  readonly #waiting = new Set<Node>()
  #active = 0

  constructor(root: Node, windowMs: number, reserve: Reserve) {
    this.#root = root
    this.#budget = new Budget(windowMs, reserve)
  }

  get left(): number {
    return this.#budget.left
  }

  get claimed(): number {
    return this.#root.childrenClaim(this.#budget.tau, undefined)
  }

  /** Active tenants. */
  get tenants(): number {
    return this.#active
  }

  get waiting(): number {
    return this.#waiting.size
  }

  begin(startMs: number, limit: number): void {
    this.#root.clear()
    this.#root.active = true
    this.#root.guarantee = limit
    this.#waiting.clear()
    this.#active = 0
    this.#budget.begin(startMs, limit)
  }

  /** Moves on to `nowMs`. Waits end on the way, each at its time. */
  advance(nowMs: number): void {
    for (const tenant of this.#waiting) {
      const endMs = tenant.waitsSinceMs + this.#budget.windowMs * WAIT
      if (endMs > nowMs) break
      this.#budget.moveTo(endMs)
      this.#endWait(tenant)
    }
    this.#budget.moveTo(nowMs)
  }

  /** Judges, and spends or lets the tenant wait. */
  check(tenant: Node, cost: number): TreeJudgement {
    const arrival = tenant.active ? undefined : this.#enter(tenant)
    const judgement = this.#judge(tenant, cost, arrival)
    const { verdict } = judgement
    if (verdict === 'within' || verdict === 'borrows') {
      if (arrival !== undefined) this.#active++
      this.#budget.left -= cost
      for (const node of pathOf(tenant)) node.spend(cost, this.#budget.tau)
    } else if (arrival !== undefined) this.#undo(arrival)
    else if (verdict !== 'never') this.#wait(tenant, cost)
    return judgement
  }

  /** Judges, and changes nothing. */
  peek(tenant: Node, cost: number): TreeJudgement {
    const arrival = tenant.active ? undefined : this.#enter(tenant)
    const judgement = this.#judge(tenant, cost, arrival)
    if (arrival !== undefined) this.#undo(arrival)
    return judgement
  }

  /** Charges more, or less, than was spent; returns what could not be charged. */
  settle(tenant: Node, change: number): number {
    const charged = Math.max(-tenant.used, Math.min(change, Math.max(0, this.left)))
    this.#budget.left -= charged
    for (const node of pathOf(tenant)) {
      node.used += charged
      node.passed = Math.max(0, node.passed + charged)
    }
    this.#fit(this.#root, this.left)
    return change - charged
  }

  #judge(tenant: Node, cost: number, arrival: Arrival | undefined): TreeJudgement {
    const budget = this.#budget
    const { left, tau, restMs, windowMs } = budget
    const { guarantee } = tenant
    const claim = Math.min(left, tenant.ownClaim(tau))
    const fits = cost <= budget.limit && budget.covers(left, cost)
    if (fits && budget.covers(claim, cost))
      return { verdict: 'within', remaining: this.#worth(claim - cost), guarantee, retryMs: 0 }
    // A newcomer may borrow only if nobody's level had to sink for it.
    const mayBorrow = arrival === undefined || arrival.group.ratio >= SAME
    const free = this.#freeFor(tenant)
    if (fits && mayBorrow && budget.covers(free, cost) && pathOf(tenant).every((node) => node.comesFirst(cost, left)))
      return { verdict: 'borrows', remaining: 0, guarantee, retryMs: 0 }
    const verdict = cost > budget.limit ? 'never' : fits ? 'over-share' : 'exhausted'
    const keepsClaim = verdict === 'never' || arrival !== undefined || cost > guarantee + budget.tolerance
    const waitMs = left <= budget.tolerance ? restMs : Math.min(restMs, windowMs * RETRY)
    const retryMs = verdict === 'never' ? Number.POSITIVE_INFINITY : Math.max(LEAST_RETRY_MS, waitMs)
    return { verdict, remaining: keepsClaim ? this.#worth(claim) : 0, guarantee, retryMs }
  }

  #worth(remaining: number): number {
    return remaining > this.#budget.tolerance ? remaining : 0
  }

  /** What is left and nobody else claims, on any level of the tenant's path from `node` up. */
  #freeFor(tenant: Node): number {
    let free = this.left
    for (const node of pathOf(tenant)) free -= node.parent!.childrenClaim(this.#budget.tau, node)
    return Math.max(0, free)
  }

  /** Makes a tenant active as if it had let its share pass. */
  #enter(tenant: Node): Arrival {
    const path = pathOf(tenant).filter((node) => !node.active)
    const group = path.at(-1)!.parent!
    const { ratio, activeWeight } = group
    const room = group === this.#root ? this.left : group.claim(this.#budget.tau)
    for (const node of path) {
      node.active = true
      node.parent!.activeWeight += node.weight
    }
    this.#fit(group, room)
    for (const node of path) node.passed = node.guarantee * this.#budget.tau
    return { path, group, ratio, activeWeight }
  }

  #undo({ path, group, ratio, activeWeight }: Arrival): void {
    for (const node of path) node.clear()
    group.activeWeight = activeWeight
    group.setRatio(ratio)
  }

  /** Sets the highest level of a group at which all that its children claim fits into `room`. */
  #fit(group: Node, room: number): void {
    const { tau, slack } = this.#budget
    const fits = (ratio: number): boolean => {
      group.setRatio(ratio)
      return group.childrenClaim(tau, undefined) <= Math.max(0, room) + slack
    }
    if (fits(1)) return
    let low = 0
    let high = 1
    for (let step = 0; step < HALVINGS; step++) {
      const middle = (low + high) / 2
      if (fits(middle)) low = middle
      else high = middle
    }
    group.setRatio(low)
  }

  #wait(tenant: Node, cost: number): void {
    tenant.waitingFor = cost
    tenant.waitsSinceMs = this.#budget.nowMs
    this.#waiting.delete(tenant)
    this.#waiting.add(tenant)
    if (tenant.released > 0 || cost > tenant.guarantee + this.#budget.tolerance) return
    for (const node of pathOf(tenant)) node.released++
  }

  #endWait(tenant: Node): void {
    this.#waiting.delete(tenant)
    tenant.waitingFor = Number.POSITIVE_INFINITY
    if (tenant.released === 0) return
    const { tau } = this.#budget
    // From the top down: what comes back above is not free below.
    let free = this.left
    for (const node of pathOf(tenant).reverse()) {
      free = Math.max(0, free - node.parent!.childrenClaim(tau, node))
      node.released--
      if (node.ownClaim(tau) > free) node.passed = node.guarantee - free
    }
  }
}

/** A tenant and the groups that it is in, but for the root. */
function pathOf(tenant: Node): Node[] {
  const path: Node[] = []
  for (let node: Node | undefined = tenant; node?.parent !== undefined; node = node.parent) path.push(node)
  return path
}
