import { type Clock, systemClock } from '../../clock.js'
import { fail, requireFunction, requireNumber, requireOptions, requireText } from '../../options.js'
import { randomId, systemRandom } from '../../random.js'
import { andThen } from '../../rejection.js'
import { requireWeight } from '../../weight.js'
import { NOTHING_SETTLED, type Settled, ticketOf } from '../decision.js'
import type { Group } from '../group.js'
import type { Places } from '../hierarchy.js'
import { requireCost, requireLimit, requireTenant } from '../options.js'
import { GroupStore } from './group-store.js'
import {
  type DrawingOptions,
  type DrawingSettings,
  drawingSettings,
  type LeasedDecision,
  type LeasedEscrowOptions,
  type LeasedSnapshot,
  LeasedTicket,
  leasedSettings,
  requireStore,
} from './options.js'
import { PoolMember } from './pool-member.js'
import { type PoolStore, type PoolTerms, poolTerms } from './store.js'
import { MemoryPoolStore } from './stores.js'

/** A group of the tree: its name in the pool above, and this process's part of its own pool. */
interface GroupMember {
  readonly name: string
  readonly member: PoolMember
}

/**
 * Common to processes and regions: a part of a pool; in a tree, of a pool for all, and of one for each group that this
 * process serves.
 */
class DrawingEscrow {
  readonly #settings: DrawingSettings
  readonly #places: Places | undefined
  readonly #root: PoolMember
  /** The groups with requests so far, parents before children. */
  readonly #groups: Map<Group, GroupMember> = new Map()
  readonly #names: Map<Group, string> = new Map()
  #allowed = 0
  #refused = 0

  constructor(settings: DrawingSettings) {
    this.#settings = settings
    this.#places = settings.tree?.plant(settings.groupOf)
    const taken = new Set<string>()
    for (const [group, path] of this.#places?.paths ?? []) {
      let name = path.map((part) => encodeURIComponent(part.replace(/\p{Surrogate}/gu, '\ufffd'))).join('/')
      while (taken.has(name)) name += "'"
      taken.add(name)
      this.#names.set(group, name)
    }
    this.#root = this.#memberOf(settings, this.#places?.root)
  }

  /** Length of a window, in milliseconds. */
  get windowMs(): number {
    return this.#settings.terms.windowMs
  }

  /**
   * Asks for `cost` units for `tenant`, and spends them if it is allowed: synchronously within the credit of this
   * member, otherwise after a lease was drawn; one lease takes `storeTimeoutMs` at most. O(log n) of the active
   * tenants. A tenant without a place in the tree is refused, as `unknown`.
   *
   * Throws, and leaves no trace, on an empty tenant, a cost that is not above 0 and at most 2^53 − 1, or if `weightOf`
   * or `groupOf` throws, or returns a bad weight, or the name of no group. Never throws because of the store.
   */
  check(tenant: string, cost = 1): LeasedDecision | Promise<LeasedDecision> {
    requireTenant(tenant)
    requireCost(cost)
    const group = this.#groupOf(tenant)
    if (group === null) return this.#count(this.#unknown(tenant, cost))
    return andThen(this.#check(group, poolName(tenant), cost, tenant), (decision) => this.#count(decision))
  }

  /**
   * The answer that `check` would give by local knowledge: the credit of this member, and the amount that the pool
   * reserves for it. Makes no call, and changes nothing.
   */
  peek(tenant: string, cost = 1): LeasedDecision {
    requireTenant(tenant)
    requireCost(cost)
    const group = this.#groupOf(tenant)
    if (group === null) return this.#unknown(tenant, cost)
    return (group === undefined ? this.#root : this.#join(group).member).peek(poolName(tenant), cost, tenant)
  }

  /**
   * Reports the actual cost of an allowed decision, from 0 on. A saving is refunded at once; an excess is charged to
   * the credit of this member, and then to a lease that is drawn for it; the rest is `unpaid`. Once for each decision,
   * and in its window; otherwise it does nothing, and returns that.
   *
   * Throws on a bad cost, or a decision that is not from this escrow's `check`; and if `weightOf` throws, with the
   * decision unchanged, so that it can be settled again.
   */
  settle(decision: LeasedDecision, actualCost: number): Settled | Promise<Settled> {
    requireNumber('actualCost', actualCost, 0, Number.MAX_SAFE_INTEGER)
    const ticket = ticketOf(LeasedTicket, this, decision)
    return ticket.member?.settle(ticket, actualCost) ?? NOTHING_SETTLED
  }

  /**
   * Reports the cost so far, before settlement: charged as far as the credit of this member reaches. Makes no call.
   * Throws on a bad cost, or a decision that is not from this escrow's `check`.
   */
  charge(decision: LeasedDecision, costSoFar: number): void {
    requireNumber('costSoFar', costSoFar, 0, Number.MAX_SAFE_INTEGER)
    const ticket = ticketOf(LeasedTicket, this, decision)
    ticket.member?.charge(ticket, costSoFar)
  }

  /** Refunds everything: nothing ran. Equals `settle` with a cost of 0. */
  refund(decision: LeasedDecision): Settled | Promise<Settled> {
    return this.settle(decision, 0)
  }

  /**
   * Sets the limit of the whole pool, and a quantum that is the same part of it, from the next call to the store on.
   * Tell all processes: each draws by the limit that it knows, so all together never spend more than the largest of
   * them. Drawn credit stays drawn. Throws a `RangeError` or `TypeError` on a limit that is not above 0.
   */
  setLimit(limit: number): void {
    requireLimit(limit)
    this.#root.setLimit(limit)
    for (const { member } of this.#groups.values()) member.setLimit(limit)
  }

  /**
   * Sets the weight of a group of the tree, from the next call to the store on. Tell all processes. Throws a
   * `RangeError` or `TypeError` on a bad weight, or a name that is not that of one group with its own weight.
   */
  setWeight(group: string, weight: number): void {
    requireWeight('weight', weight)
    if (this.#places === undefined) throw new TypeError('group must be one of a tree, and there is none')
    this.#places.weighted(group).weight = weight
  }

  /**
   * Returns the remaining credit to the pool, for a process that ends, and reports the use of its tenants, so that they
   * continue with the rest of their shares elsewhere. The escrow can be used again afterwards.
   */
  close(): void | Promise<void> {
    const members = [...this.#groups.values()].map(({ member }) => member).reverse()
    const close = (done: void | Promise<void>, member: PoolMember) => andThen(done, () => member.close())
    return [...members, this.#root].reduce(close, undefined)
  }

  /** Settings, sums and counts, as plain JSON. */
  snapshot(): LeasedSnapshot {
    const all = this.#root.snapshot()
    if (this.#places === undefined) return all
    const groups = [...this.#groups.values()].map(({ member }) => member.snapshot())
    const sum = (of: (one: LeasedSnapshot) => number): number => groups.reduce((total, one) => total + of(one), of(all))
    return {
      ...all,
      allowed: this.#allowed,
      refused: this.#refused,
      storeErrors: sum(({ storeErrors }) => storeErrors),
      storeCalls: sum(({ storeCalls }) => storeCalls),
      groups,
    }
  }

  #count(decision: LeasedDecision): LeasedDecision {
    if (decision.allowed) this.#allowed++
    else this.#refused++
    return decision
  }

  #unknown(tenant: string, cost: number): LeasedTicket {
    const nowMs = this.#settings.clock()
    const resetAtMs = nowMs + this.windowMs
    const request = { tenant, shown: tenant, asked: cost, cost }
    return new LeasedTicket(this, undefined, request, 'unknown', Number.POSITIVE_INFINITY, undefined, resetAtMs, nowMs)
  }

  /** The group of a tenant; undefined: it is one of the root's; null: it has no place. */
  #groupOf(tenant: string): Group | undefined | null {
    if (this.#places === undefined) return undefined
    const place = this.#places.of(tenant)
    if (place === undefined) return null
    return place.group === this.#places.root ? undefined : place.group
  }

  /** If the store fails, the tenant's share is that of its group in the pool above. */
  #check(
    group: Group | undefined,
    tenant: string,
    cost: number,
    shown: string,
  ): LeasedDecision | Promise<LeasedDecision> {
    if (group === undefined) return this.#root.check(tenant, cost, shown)
    const { member, name } = this.#join(group)
    const above = group.parent === this.#places!.root ? undefined : group.parent
    return andThen(member.check(tenant, cost, shown), (decision) =>
      decision.allowed || decision.reason !== 'store-error' ? decision : this.#check(above, name, cost, shown),
    )
  }

  /** This process's part of a group's pool. */
  #join(group: Group): GroupMember {
    const known = this.#groups.get(group)
    if (known !== undefined) return known
    const parent = group.parent!
    const above = parent === this.#places!.root ? this.#root : this.#join(parent).member
    const { store, clock } = this.#settings
    // The present terms: the limit may have been set since the escrow was created.
    const terms = { ...this.#root.terms, name: `${this.#settings.terms.name}/${this.#names.get(group)}` }
    const name = groupName(this.#names.get(group)!)
    const member = this.#memberOf(
      { ...this.#settings, terms, store: new GroupStore(store, above, name, clock), onStoreError: 'refuse' },
      group,
    )
    const joined = { name, member }
    this.#groups.set(group, joined)
    return joined
  }

  #memberOf(settings: DrawingSettings, group: Group | undefined): PoolMember {
    const places = this.#places
    const weightOf = settings.weightOf && ((name: string) => settings.weightOf!(tenantOf(name)))
    if (places === undefined) return new PoolMember(this, { ...settings, weightOf })
    const groups = new Map<string, Group>()
    for (const [child, name] of this.#names) if (child.parent === group) groups.set(groupName(name), child)
    const weight = (tenant: string): number =>
      groups.get(tenant)?.weight ??
      (weightOf === undefined ? (places.of(tenantOf(tenant))?.weight ?? 1) : weightOf(tenant))
    return new PoolMember(this, { ...settings, weightOf: weight })
  }
}

/**
 * The name by which members and their pools know a tenant. Names in one bracket are those of groups, and of the tenant
 * that all others share: a client with such a name must not be mistaken for them.
 */
function poolName(tenant: string): string {
  return tenant.startsWith('(') ? `(${tenant}` : tenant
}

function tenantOf(name: string): string {
  return name.startsWith('((') ? name.slice(1) : name
}

/** The name by which the pool above knows a group: distinct from tenants' names. */
function groupName(path: string): string {
  return `(group ${path})`
}

/**
 * Weighted fair escrow for a fleet: many processes share one budget per window. Each draws credit from a pool in a
 * shared store, a quantum at a time, and divides it between its tenants by the rule of one process. So most checks are
 * answered synchronously, and a few wait for one call to the store.
 *
 * - All processes together never spend more than `limit` in a window of the store's clock, even if processes crash, and
 *   calls are lost or late. A process that crashes takes its credit with it, until the window ends.
 * - Processes get about the weights of their tenants, regardless of how often each asks; unused budget is lent to
 *   others.
 * - Calls to the store: about `limit / quantum` per window for the whole fleet, and a few per process.
 * - Credit that is unused for a tenth of a window is returned, by a timer, the only one.
 *
 * A tenant that is active in several processes counts once: its weight and its use are divided between them by its
 * demand in each.
 *
 * @see S. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995, for quanta
 */
export class LeasedFairEscrow extends DrawingEscrow {
  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: LeasedEscrowOptions) {
    super(leasedSettings(options))
  }
}

/** Options of {@link RegionFairPool}. */
export interface RegionFairPoolOptions {
  /** Budget of all regions together in a window; above 0. */
  limit: number
  /** Length of a window in milliseconds; windows begin at multiples of it. Integer, at least 1. */
  windowMs: number
  /** Credit that a region draws at a time; above 0, at most `limit`. @default limit / 100 */
  quantum?: number
  /** The pool's name in its store. @default 'regions' */
  name?: string
  /** The pool's store. @default in this process */
  store?: PoolStore
  /** Clock of the windows, for a pool in this process, and of its escrows. @default the platform's monotonic clock */
  clock?: Clock
}

/**
 * One budget that regions share: a pool with regions for processes. Each active region may claim the weight of its
 * active tenants, and idle budget is lent. It divides the weight of tenants that are active in several regions.
 */
export class RegionFairPool {
  readonly terms: PoolTerms
  readonly store: PoolStore
  readonly clock: Clock

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: RegionFairPoolOptions) {
    requireOptions('RegionFairPool', options, ['limit', 'windowMs', 'quantum', 'name', 'store', 'clock'])
    const { limit, windowMs, quantum, name = 'regions', clock = systemClock } = options
    requireFunction('clock', clock)
    const { store = new MemoryPoolStore({ clock }) } = options
    requireStore(store)
    this.terms = poolTerms({ name, limit, windowMs, ...(quantum !== undefined && { quantum }) })
    this.store = store
    this.clock = clock
  }
}

export interface FederatedEscrowOptions extends DrawingOptions {
  /** This region's name in the pool. It may have any number of processes. */
  region: string
  pool: RegionFairPool
}

/**
 * Weighted fair escrow across regions: each tenant's global total, over all regions in which it is active, equals its
 * share under one flat escrow over the whole budget, up to a few quanta per region.
 *
 * `weightOf` returns a tenant's whole weight, the same in every region. It is {@link LeasedFairEscrow} with the words of
 * regions; with a pool in this process, `check` answers synchronously.
 *
 * @see A. Parekh, R. Gallager, "A Generalized Processor Sharing Approach to Flow Control", IEEE/ACM ToN 1993, for why
 *   the sum of active weights in each region makes a tree of shares flat
 */
export class FederatedFairEscrow extends DrawingEscrow {
  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: FederatedEscrowOptions) {
    const { region, pool } = options ?? {}
    if (!(pool instanceof RegionFairPool)) fail('pool', 'a RegionFairPool', pool)
    const drawing = drawingSettings('escrow', options, ['region', 'pool'], pool.clock)
    requireText('region', region)
    const { terms, store } = pool
    super({ ...drawing, terms, store, member: `${region}/${randomId(systemRandom)}` })
  }
}
