import { type Budget, RETRY } from './budget.js'
import { type Debtor, type Group, mostWithin } from './group.js'
import type { Node, Tenant } from './tenants.js'

/** Verdict on a cost: allowed within the guarantee or by borrowing; or refused. */
export type EscrowVerdict = 'within' | 'borrows' | 'never' | 'exhausted' | 'over-share'

export function isRefusal(verdict: EscrowVerdict): verdict is Exclude<EscrowVerdict, 'within' | 'borrows'> {
  return verdict !== 'within' && verdict !== 'borrows'
}

export const LEAST_RETRY_MS = 1

/** A level within this factor of the highest has not sunk. */
const SAME = 1 - 1e-12

/** One cost and its verdict. One object is reused: a check allocates nothing here. */
export class Judgement implements Debtor {
  cost = 0
  verdict: EscrowVerdict = 'never'
  /** The guarantee of the tenant's weight. */
  guarantee = 0
  /** At least this is admitted next; within the guarantee, more may be borrowed. */
  remaining = 0
  /** Retry delay: 0 if allowed, Infinity if never. */
  retryMs = 0
  /**
   * An active tenant is refused a cost above its guarantee, and above the part of the limit that its weight is worth,
   * less what it carries: so a tenant that carries something either releases its claim or lends it.
   */
  exceeds = false
  /** If it is refused: the amount that is missing, and the largest that would be allowed. */
  lack = 0
  most = 0
  /** If it is allowed only because others lend their claims to it. */
  isLent = false
  /** For a tenant that is not active: the highest node that becomes active with it. */
  branch: Group | Tenant | undefined
  /** The level of the group above that branch, as a part of the highest. */
  part = 1
  slope = 0
  #level = 0
  /** The unclaimed remainder, on any level of the way up. */
  #free = 0
  /** The largest cost for which no other tenant has precedence, on any level. */
  #turn = 0
  #tenant: Tenant | undefined
  /** The elapsed share of the window, if time counts as passed by now. */
  #tau: number | undefined

  /** The tenant that asks. */
  get tenant(): Tenant {
    return this.#tenant!
  }

  get allowed(): boolean {
    return !isRefusal(this.verdict)
  }

  /** The tenant's use, including an allowed cost. */
  get usedAfter(): number {
    return this.allowed ? this.tenant.used + this.cost : this.tenant.used
  }

  /** Whether the whole guarantee would cover the cost. */
  wouldCover(tolerance: number): boolean {
    return this.cost <= this.tenant.guarantee - this.tenant.carried + tolerance
  }

  /**
   * Judges `cost`; no tenant becomes active by it. Leaves guarantees on the way up unchanged, or for a newcomer as they
   * will be. `isAlone`: no other tenant is active. O(depth) within an active tenant's guarantee, otherwise O(depth·log
   * n). Of it, `asked` is a call's, and the rest a debt.
   */
  decide(tenant: Tenant, cost: number, asked: number, budget: Budget, isAlone: boolean): void {
    this.#tenant = tenant
    this.cost = cost
    this.isLent = false
    this.exceeds = false
    this.#tau = undefined
    if (tenant.active) this.#find(tenant)
    else this.#introduce(tenant, budget)
    this.guarantee = Math.max(0, tenant.guarantee - tenant.carried)
    const { left, tau } = budget
    const claim = tenant.ownClaim(tau)
    const fits = budget.covers(left, cost)
    if (fits && budget.covers(claim, cost)) {
      this.#allow('within', worth((isAlone ? left : Math.min(claim, left)) - cost, budget))
      return
    }
    this.#measureFree(tenant, budget)
    this.#measureTurn(tenant, budget)
    // A newcomer may borrow only if no level had to sink for it.
    const free = this.part >= SAME ? this.#free : 0
    const room = Math.min(left, free)
    const owed = this.owed(cost)
    if (fits && budget.covers(free - owed, cost)) {
      this.#tau = tau
      this.#measureTurn(tenant, budget)
      this.#allow('borrows', worth(this.#most(room) - cost, budget))
      return
    }
    this.verdict =
      fits || budget.covers(left, asked) ? 'over-share' : budget.covers(budget.most, asked) ? 'exhausted' : 'never'
    // A tenant that waits for a cost within its guarantee releases its claim; a newcomer does not wait.
    const keepsClaim = this.verdict === 'never' || !tenant.active || !this.wouldCover(budget.tolerance)
    const isLarge = cost > tenant.due * budget.most - tenant.carried + budget.tolerance
    this.exceeds = this.verdict !== 'never' && tenant.active && keepsClaim && isLarge
    const loan = this.#most(room)
    this.most = Math.min(left, Math.max(claim, loan))
    this.remaining = worth((keepsClaim ? this.most : loan) - tenant.debt, budget)
    this.lack = cost + owed - free
    this.retryMs = Math.max(LEAST_RETRY_MS, this.#wait(tenant, budget, cost + owed))
  }

  /** The cost is allowed because others lend their claims. Smaller costs need not be. */
  borrowFromLenders(): void {
    this.#allow('borrows', 0)
    this.isLent = true
  }

  #allow(verdict: EscrowVerdict, remaining: number): void {
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
   * A newcomer is judged as if it had let its share pass. It lowers the level of the lowest active group, until the sum
   * of all claims in it equals the group's earlier claim, or the remainder. It carries what the group demands of those
   * that enter.
   */
  #introduce(tenant: Tenant, budget: Budget): void {
    const { tau, slack } = budget
    let branch: Group | Tenant = tenant
    while (branch.parent?.active === false) branch = branch.parent
    const group = branch.parent!
    group.locate()
    const carried = branch.weight * group.entryCarried
    const ceiling = group.ceiling(branch.weight, carried)
    const level = group.highest(ceiling, tau, budget.roomOf(group), branch.weight, carried, slack)
    this.branch = branch
    this.part = ceiling > 0 ? level / ceiling : 1
    this.#level = level
    for (let node: Group | Tenant = tenant; node !== group; node = node.parent!) {
      node.guarantee = branch.weight * level
      node.carried = carried
      node.passed = Math.max(carried, node.guarantee * tau)
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

  #measureTurn(tenant: Tenant, { available }: Budget): void {
    this.#turn = Number.POSITIVE_INFINITY
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
      node.rivalTag = node.parent.leastTag(node, available)
      this.#turn = Math.min(this.#turn, node.rivalTag * node.weight - this.#before(node))
    }
  }

  #before(node: Node): number {
    return this.#tau === undefined ? node.passed : node.passedBy(this.#tau)
  }

  /** The amount owed to nodes with precedence, on all levels together. */
  owed(cost: number): number {
    let owed = 0
    this.slope = 0
    for (let node: Group | Tenant = this.tenant; node.parent !== undefined; node = node.parent) {
      owed += node.parent.owed(node, this.#before(node), cost)
      this.slope += node.parent.slopeOwed(node)
    }
    return owed
  }

  /** The largest amount that may be borrowed of `room`. */
  #most(room: number): number {
    return this.#turn >= room ? room : Math.max(0, this.#turn, mostWithin(room, this))
  }

  /**
   * Time until `amount` will be free, if others stay silent: exact in an undivided budget, otherwise as claims fade
   * now.
   */
  #wait(tenant: Tenant, budget: Budget, amount: number): number {
    const { left, tau, restMs, windowMs } = budget
    if (this.verdict === 'never') return Number.POSITIVE_INFINITY
    if (left <= budget.tolerance) return restMs
    const waitMs = Math.min(restMs, windowMs * RETRY)
    if (this.verdict === 'exhausted' || budget.reserve === 'strict') return waitMs
    const { claims } = tenant.parent
    if (tenant.parent.parent === undefined && claims !== undefined) {
      const latest = Math.min(budget.mostTau, tau + (windowMs * RETRY) / budget.agingMs)
      const weight = !tenant.active || tenant.released > 0 ? 0 : tenant.weight
      const level = tenant.active ? tenant.parent.level : this.#level
      const at = claims.fadedBy(level, tau, latest, left - amount, weight, tenant.passed)
      return at < latest ? Math.min(waitMs, budget.paceFromMs + at * budget.agingMs - budget.nowMs) : waitMs
    }
    if (this.part < SAME) return waitMs
    let fade = 0
    let node: Group | Tenant = tenant
    if (this.branch !== undefined) {
      node = this.branch.parent!
      fade = node.fade(this.#level, tau)
    }
    for (; node.parent !== undefined; node = node.parent) fade += node.parent.othersFade(node, tau)
    return fade > 0 ? Math.min(waitMs, ((amount - this.#free) / fade) * budget.agingMs) : waitMs
  }
}

/** The remainder, if it exceeds the rounding error. */
function worth(remaining: number, budget: Budget): number {
  return remaining > budget.tolerance ? remaining : 0
}
