import { ownCopy } from '../path.js'
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
  /** The least cost that a tenant in here was refused lately; Infinity if none waits. */
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
   * What it has used or let pass, when the share `tau` of the window is over. A tenant that waits for its claim lets nothing
   * pass.
   */
  passedBy(tau: number): number {
    return this.released > 0 ? this.passed : Math.max(this.passed, this.guarantee * tau)
  }

  /** What is left of its own guarantee. */
  ownClaim(tau: number): number {
    return this.released > 0 ? 0 : Math.max(0, this.guarantee - this.passedBy(tau))
  }

  /** The part of the root's budget that its weight is due. */
  get due(): number {
    return this.parent === undefined ? 1 : (this.parent.due * this.weight) / this.parent.activeWeight
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
    this.name = ownCopy(name)
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

  /** The tenant that was refused longest ago. */
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

/** The name of the tenant that strangers share once there are too many. No tenant's own name is empty. */
export const SHARED = ''

/**
 * The active tenants of a window, by name and by place. Those that the hierarchy does not name are strangers: there is
 * room for `most`, the last of which all further ones of a group share. Tenants are used again in later windows.
 */
export class Roster {
  /** The active ones, and after them those of earlier windows. */
  readonly #tenants: Tenant[]
  readonly #byName: Map<string, Tenant> = new Map()
  readonly #most: number
  #count = 0
  #strangers = 0

  constructor(root: Group, most: number) {
    this.#tenants = [new Tenant(root, 0)]
    this.#most = most
  }

  get count(): number {
    return this.#count
  }

  /** True if strangers that are not active have to share. */
  get isFull(): boolean {
    return this.#strangers >= this.#most - 1
  }

  /** An active tenant of that name, as it is. */
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
    if (!tenant.isNamed) this.#strangers++
  }

  clear(): void {
    this.#byName.clear()
    this.#count = 0
    this.#strangers = 0
  }
}

/** Where a tenant belongs: its group, and whether the hierarchy names it, so that there is always room for it. */
export interface Place {
  readonly group: Group
  readonly isNamed: boolean
}

/** A tenant that was refused, and not admitted before. */
export interface TurnedAway extends Place {
  readonly weight: number
  readonly returnMs: number
}

/** What a tenant owes from a window that is over. */
export interface LateDebt extends Place {
  readonly weight: number
  amount: number
}

/** A tenant of the last window that counts in this one. */
export interface Kept extends Place {
  readonly name: string
  readonly weight: number
  readonly debt: number
  readonly returnMs: number
  /** By how much it is ahead of those of its group that got least. */
  readonly ahead: number
}

/** What those got in a group, per weight, that wanted more: the least of it, and the most that may be made up for. */
interface Standing {
  least: number
  most: number
}

/**
 * Who asked in a window, and what of it counts in the next one. Of two siblings that want more, the one that got more
 * per weight comes after the other until that has caught up: by a window's guarantee at most, or by what it takes to
 * admit the largest cost that was refused. A group wants more if somebody in it does.
 */
export class Memory {
  readonly kept: Kept[] = []
  readonly #standings: Map<Group, Standing> = new Map()
  readonly #groups: Map<Group, number> = new Map()

  /**
   * Looks at the active tenants of a window, and at those that asked in vain. `room` is how many tenants may be kept
   * that the hierarchy does not name.
   */
  constructor(
    tenants: readonly Tenant[],
    turnedAway: ReadonlyMap<string, TurnedAway>,
    lateDebts: ReadonlyMap<string, LateDebt>,
    room: number,
  ) {
    for (const tenant of tenants) if (tenant.hasAsked && tenant.returnMs > 0) this.#note(tenant)
    const keep = (
      name: string,
      of: Place & { weight: number },
      share: number,
      debt: number,
      returnMs: number,
    ): void => {
      const { weight, group, isNamed } = of
      if (!isNamed && this.kept.length >= room) return
      const ahead = this.#ahead(group, share) * weight
      this.kept.push({ name, weight, group, isNamed, debt, returnMs, ahead })
      for (let node = group; node.parent !== undefined && !this.#groups.has(node); node = node.parent) {
        const shareOfGroup = node.active ? shareOf(node) : node.parent.level
        this.#groups.set(node, this.#ahead(node.parent, shareOfGroup) * node.weight)
      }
    }
    const lateDebt = (name: string): number => lateDebts.get(name)?.amount ?? 0
    for (const tenant of tenants) {
      const { name, weight, parent: group, isNamed, hasAsked, returnMs } = tenant
      const debt = tenant.debt + lateDebt(name)
      if (tenant !== group.shared && (hasAsked || debt > 0))
        keep(name, { weight, group, isNamed }, shareOf(tenant), debt, returnMs)
    }
    if (turnedAway.size === 0 && lateDebts.size === 0) return
    const known = new Set(tenants.map(({ name }) => name))
    for (const [name, one] of turnedAway)
      if (!known.has(name)) keep(name, one, one.group.level, lateDebt(name), one.returnMs)
    for (const [name, one] of lateDebts)
      if (!known.has(name) && !turnedAway.has(name)) keep(name, one, one.group.level, one.amount, 0)
  }

  /** A tenant wants more, and so do the groups that it is in. */
  #note(tenant: Tenant): void {
    for (let node: Group | Tenant = tenant; node.parent !== undefined; node = node.parent) {
      const { parent, waitsFor, weight } = node
      const standing = this.#standings.get(parent) ?? { least: Number.POSITIVE_INFINITY, most: parent.level }
      this.#standings.set(parent, standing)
      standing.least = Math.min(standing.least, shareOf(node))
      if (waitsFor < Number.POSITIVE_INFINITY) standing.most = Math.max(standing.most, waitsFor / weight)
    }
  }

  /** By how much one with this share is ahead in a group, per weight. */
  #ahead(group: Group, share: number): number {
    const standing = this.#standings.get(group)
    return standing === undefined ? 0 : Math.max(0, Math.min(standing.most, share - standing.least))
  }

  /**
   * Lets those that are kept, `tenants` by now and in the same order, carry what they are ahead by. So that guarantees
   * stay parts of those above, what the children of a group carry comes to what the group carries. So that nobody has
   * to carry less than nothing, the root's children carry more, all the same per weight, a window's guarantee at most.
   * Returns what those carry together.
   */
  carry(root: Group, tenants: readonly Tenant[], limit: number): number {
    const children = new Map<Group, Node[]>()
    const add = (child: Node): void => {
      const siblings = children.get(child.parent!)
      if (siblings === undefined) children.set(child.parent!, [child])
      else siblings.push(child)
    }
    for (const [at, tenant] of tenants.entries()) {
      tenant.ahead = this.kept[at]!.ahead
      add(tenant)
    }
    for (const [group, ahead] of this.#groups) {
      group.ahead = ahead
      add(group)
    }
    const evenly = (group: Group): number =>
      children.get(group)!.reduce((sum, { ahead }) => sum + ahead, 0) / group.activeWeight
    const isGroup = (child: Node): child is Group => children.has(child as Group)
    /** What the children of a group have to carry on average, per weight, so that nobody carries less than nothing. */
    const needed = (group: Group): number => {
      const even = evenly(group)
      let most = 0
      for (const child of children.get(group)!) {
        const own = isGroup(child) ? needed(child) * child.activeWeight : 0
        most = Math.max(most, even + (own - child.ahead) / child.weight)
      }
      return most
    }
    const give = (group: Group, perWeight: number): void => {
      const more = perWeight - evenly(group)
      for (const child of children.get(group)!) {
        child.carried = Math.max(0, child.ahead + child.weight * more)
        if (isGroup(child)) give(child, child.carried / child.activeWeight)
      }
    }
    if (tenants.length === 0) return 0
    const even = evenly(root)
    give(root, Math.min(Math.max(even, needed(root)), even + limit / root.activeWeight))
    return children.get(root)!.reduce((sum, { carried }) => sum + carried, 0)
  }
}

/** What a node got per weight, as far as it counts. */
function shareOf({ used, ahead, elsewhere, weight }: Node): number {
  return (used + ahead + elsewhere) / weight
}
