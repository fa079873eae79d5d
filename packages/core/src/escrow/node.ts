import type { Group } from './group.js'

/** A node with a weight in a hierarchy: a `Group`, or a {@link Tenant}. All of it but its place is about one window. */
export class Node {
  weight: number
  /** The group that it is in; undefined for the root, which stands for the budget itself. */
  parent: Group | undefined
  /** Its place among its siblings, groups before tenants; below 0 for a tenant that is not active. */
  slot: number
  active = false
  used = 0
  /** Used, or let pass. */
  passed = 0
  /** By how much it was ahead, in the last window, of siblings that wanted more. */
  ahead = 0
  /** What counts as used because of that; more if guarantees would not fit into each other otherwise. */
  carried = 0
  /** What counts as used because it was used elsewhere. */
  elsewhere = 0
  /** The tenants in here that have released their claims; a tenant: 0 or 1. The node's own claim is released, too. */
  released = 0
  /** The least cost that somebody in here was refused lately; Infinity if nobody waits. */
  waitsFor: number = Number.POSITIVE_INFINITY
  /** The lowest finish tag of siblings in which somebody waits for what there is, when that was last looked for. */
  rivalTag: number = Number.POSITIVE_INFINITY
  /** What its weight guarantees it, with what of that counts as used before; as it was last worked out. */
  guarantee = 0

  constructor(weight: number, parent: Group | undefined, slot: number) {
    this.weight = weight
    this.parent = parent
    this.slot = slot
  }

  /**
   * What it has used or let pass, when the share `tau` of the window is over. Who waits for its claim lets nothing
   * pass.
   */
  passedBy(tau: number): number {
    return this.released > 0 ? this.passed : Math.max(this.passed, this.guarantee * tau)
  }

  /** What is left of its own guarantee. */
  ownClaim(tau: number): number {
    return this.released > 0 ? 0 : Math.max(0, this.guarantee - this.passedBy(tau))
  }

  /** Forgets the window. */
  clear(): void {
    this.active = false
    this.used = 0
    this.passed = 0
    this.ahead = 0
    this.carried = 0
    this.elsewhere = 0
    this.released = 0
    this.waitsFor = Number.POSITIVE_INFINITY
    this.guarantee = 0
  }
}

/** One that asks for costs. Tenants are used again in later windows, for others. */
export class Tenant extends Node {
  declare parent: Group
  name = ''
  /** Named in the hierarchy. */
  isNamed = false
  /** What could not be charged. */
  debt = 0
  /** It has asked for something in this window. */
  hasAsked = false
  /** Until when it may be back that was refused when it last asked; 0 if it was not. */
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

  get waits(): boolean {
    return this.waitsFor < Number.POSITIVE_INFINITY
  }

  /** Its weight, if its claim shrinks with time by now, else 0. */
  fading(tau: number): number {
    return this.released === 0 && this.passed < this.guarantee * tau ? this.weight : 0
  }

  /** Becomes another one, which is not active. */
  become(name: string, weight: number, group: Group, isNamed: boolean): void {
    this.clear()
    this.name = name
    this.weight = weight
    this.parent = group
    this.slot = -1
    this.isNamed = isNamed
    this.debt = 0
    this.hasAsked = false
    this.returnMs = 0
    this.before = undefined
    this.after = undefined
  }
}

/** Tenants that wait, in order of refusal. */
export class WaitingList {
  #first: Tenant | undefined
  #last: Tenant | undefined
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Who was refused longest ago. */
  get first(): Tenant | undefined {
    return this.#first
  }

  /** Puts a tenant at the end. */
  add(tenant: Tenant): void {
    tenant.before = this.#last
    if (this.#last === undefined) this.#first = tenant
    else this.#last.after = tenant
    this.#last = tenant
    this.#count++
  }

  /** Takes out a tenant that is in. */
  remove(tenant: Tenant): void {
    const { before, after } = tenant
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    tenant.before = undefined
    tenant.after = undefined
    this.#count--
  }

  /** Forgets all; the tenants themselves are to be told. */
  clear(): void {
    this.#first = undefined
    this.#last = undefined
    this.#count = 0
  }
}
