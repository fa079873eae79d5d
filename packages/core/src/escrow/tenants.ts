import { ownCopy } from '../path.js'
import { type Budget, TIE } from './budget.js'
import type { EscrowTenant } from './decision.js'
import type { Group } from './group.js'
import type { Judgement } from './judgement.js'

/**
 * A node with a weight in a hierarchy: a `Group`, or a {@link Tenant}. Everything except its place belongs to one
 * window.
 */
export class Node {
  weight: number
  /** Its group; undefined for the root, which represents the budget itself. */
  parent: Group | undefined
  /** Its place among its siblings, groups before tenants; below 0 for a tenant that is not active. */
  slot: number
  active = false
  used = 0
  /** Used, or let pass. */
  passed = 0
  /** Its advantage, in the last window, over siblings that wanted more, compared with one that enters later. */
  ahead = 0
  /** Counts as used because of that; more if guarantees would not fit into each other otherwise. */
  carried = 0
  /** Counts as used because it was used elsewhere. */
  elsewhere = 0
  /** The tenants in here that have released their claims; a tenant: 0 or 1. The node's own claim is released, too. */
  released = 0
  /** The refused cost of a waiting tenant: of the first one, for a group; Infinity if none waits. */
  waitsFor: number = Number.POSITIVE_INFINITY
  /** The same of the tenants that were last refused for more than their part of the limit. */
  exceeds: number = Number.POSITIVE_INFINITY
  /** It was refused more than its part of the limit, all its use included, and has not been content since then. */
  isHungry = false
  /** The lowest finish tag of siblings with a tenant that waits for an available cost, as last computed. */
  rivalTag: number = Number.POSITIVE_INFINITY
  /** The guarantee of its weight, including the part that counts as used before; as last computed. */
  guarantee = 0

  constructor(weight: number, parent: Group | undefined, slot: number) {
    this.weight = weight
    this.parent = parent
    this.slot = slot
  }

  /**
   * Its used or passed amount, when the share `tau` of the window has passed. A tenant that waits for its claim lets
   * nothing pass.
   */
  passedBy(tau: number): number {
    return this.released > 0 ? this.passed : Math.max(this.passed, this.guarantee * tau)
  }

  /** The rest of its own guarantee. */
  ownClaim(tau: number): number {
    return this.released > 0 ? 0 : Math.max(0, this.guarantee - this.passedBy(tau))
  }

  /** The part of the root's budget for its weight; of a newcomer, as if it were active. */
  get due(): number {
    return this.#dueBeside(this.active ? 0 : this.weight)
  }

  /** The same if one more member of its weight were active. */
  get dueBesideOneMore(): number {
    return this.#dueBeside(this.weight)
  }

  #dueBeside(weight: number): number {
    const { parent } = this
    return parent === undefined ? 1 : (parent.due * this.weight) / (parent.activeWeight + weight)
  }

  /** Clears the state of the window. */
  clear(): void {
    this.active = false
    this.used = 0
    this.passed = 0
    this.ahead = 0
    this.carried = 0
    this.elsewhere = 0
    this.released = 0
    this.waitsFor = Number.POSITIVE_INFINITY
    this.exceeds = Number.POSITIVE_INFINITY
    this.isHungry = false
    this.guarantee = 0
  }
}

/** A tenant that asks for costs. The objects are reused in later windows, for other tenants. */
export class Tenant extends Node {
  declare parent: Group
  name = ''
  /** Named in the hierarchy. */
  isNamed = false
  /** It lends its claim. */
  lends = false
  /** Amounts that could not be charged. */
  debt = 0
  /** It has asked for something in this window. */
  hasAsked = false
  /** Time until which it may return if it was refused when it last asked; 0 if it was not. */
  returnMs = 0
  /** When it was last refused, if it waits. */
  waitsSinceMs = 0
  /** Its place among all tenants of the window. */
  readonly place: number
  before: Tenant | undefined
  after: Tenant | undefined

  constructor(group: Group, place: number) {
    super(1, group, -1)
    this.place = place
  }

  get group(): Group {
    return this.parent
  }

  get waits(): boolean {
    return this.waitsFor < Number.POSITIVE_INFINITY
  }

  /** Its weight, if its claim shrinks with time by now, else 0. */
  fading(tau: number): number {
    return this.released === 0 && this.passed < this.guarantee * tau ? this.weight : 0
  }

  /** Becomes another tenant, which is not active. */
  become(name: string, weight: number, group: Group, isNamed: boolean): void {
    this.clear()
    this.name = ownCopy(name)
    this.weight = weight
    this.parent = group
    this.slot = -1
    this.lends = false
    this.isNamed = isNamed
    this.debt = 0
    this.hasAsked = false
    this.returnMs = 0
    this.before = undefined
    this.after = undefined
  }
}

/** The name of the tenant that strangers share once there are too many. No tenant's own name is empty. */
export const SHARED = ''

/**
 * The active tenants of a window, by name and by place. Those that the hierarchy does not name are strangers: there is
 * room for `most`, the last of which all further ones of a group share. The objects are reused in later windows.
 */
export class Roster {
  /** The active ones, and after them those of earlier windows. */
  readonly #tenants: Tenant[]
  readonly #byName: Map<string, Tenant> = new Map()
  /** Tenants that are not active, with room for `most` strangers. */
  readonly absent: Map<string, Absent> = new Map()
  readonly most: number
  #count = 0
  #strangers = 0

  constructor(root: Group, most: number) {
    this.#tenants = [new Tenant(root, 0)]
    this.most = most
  }

  get count(): number {
    return this.#count
  }

  /** True if strangers that are not active have to share. */
  get isFull(): boolean {
    return this.#strangers >= this.most - 1
  }

  /** The active tenant of that name, unchanged. */
  get(name: string): Tenant | undefined {
    return this.#byName.get(name)
  }

  at(place: number): Tenant {
    return this.#tenants[place]!
  }

  active(): Tenant[] {
    return this.#tenants.slice(0, this.#count)
  }

  /** A tenant that is not active; the same one until it is added. */
  prepare(name: string, weight: number, { group, isNamed }: Place): Tenant {
    const tenant = this.#tenants[this.#count]!
    tenant.become(name, weight, group, isNamed)
    tenant.debt = this.absent.get(name)?.debt ?? 0
    return tenant
  }

  /** Adds the tenant that was prepared last. */
  add(tenant: Tenant): void {
    if (++this.#count === this.#tenants.length) this.#tenants.push(new Tenant(tenant.parent, this.#count))
    if (tenant.name === SHARED) {
      tenant.parent.shared = tenant
      return
    }
    this.#byName.set(tenant.name, tenant)
    this.absent.delete(tenant.name)
    if (!tenant.isNamed) this.#strangers++
  }

  /**
   * One that is not active was refused, as `one` states; or it owes an amount, and counts like `one` if it was not
   * refused.
   */
  note(name: string, one: Omit<Absent, 'debt'>, owes = 0): void {
    const known = this.absent.get(name)
    if (known === undefined && !one.isNamed && this.absent.size >= this.most) return
    this.absent.set(ownCopy(name), { ...one, ...(owes > 0 && known), debt: (known?.debt ?? 0) + owes })
  }

  /** The `most` with the largest use. */
  heaviest(most: number): EscrowTenant[] {
    const heaviest = this.active().sort((a, b) => b.used - a.used)
    return heaviest.slice(0, most).map(({ name, weight, used, carried, waits, parent }) => {
      parent.locate()
      return { tenant: name, weight, used, guarantee: Math.max(0, weight * parent.level - carried), waiting: waits }
    })
  }

  clear(): void {
    this.#byName.clear()
    this.absent.clear()
    this.#count = 0
    this.#strangers = 0
  }
}

/** A tenant's place: its group, and whether the hierarchy names it, so that there is always room for it. */
export interface Place {
  readonly group: Group
  readonly isNamed: boolean
}

/** A tenant that is not active, and counts in the next window: it was refused, or has a debt from a past one. */
export interface Absent extends Place {
  readonly weight: number
  /** Time until which it may return. */
  readonly returnMs: number
  /** It was refused more than its part of the limit. */
  readonly isHungry: boolean
  readonly debt: number
}

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
