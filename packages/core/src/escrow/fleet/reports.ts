import { ownCopy } from '../../path.js'
import { mostReported, OTHERS, type Stake, type TenantReport } from './store.js'

/** A tenant's prospective request to the pool. */
export interface CreditRequest {
  readonly tenant: string
  /** The tenant's whole weight. */
  readonly weight: number
  /** Its known use per weight, over all members. */
  readonly share: number
  readonly need: number
}

/** A refusal of the pool. */
export interface RefusedRequest extends CreditRequest {
  /** The stated time of return. */
  readonly untilMs: number
  /** The total remainder was less than the need. */
  readonly isExhausted: boolean
}

/** Number of remembered refusals, so that a check inspects few. */
const MOST_KEPT = 32

/**
 * The pool's refusals, until their stated time of return. A refusal applies to its own tenant, and to tenants that have
 * used more per weight, weigh no more and need no less: their claims are smaller, and they come later in line. It says
 * nothing about others. A need above the whole remainder is refused for every tenant.
 */
export class Refusals {
  #refusals: RefusedRequest[] = []

  /** The longest-lasting refusal that applies to a request; undefined, if the pool may be asked. */
  of(request: CreditRequest, nowMs: number): RefusedRequest | undefined {
    let longest: RefusedRequest | undefined
    for (const refusal of this.#refusals)
      if (refusal.untilMs > (longest?.untilMs ?? nowMs) && tellsOf(refusal, request)) longest = refusal
    return longest
  }

  add(refusal: RefusedRequest, nowMs: number): void {
    this.#refusals = this.#refusals.filter(({ tenant, untilMs }) => untilMs > nowMs && tenant !== refusal.tenant)
    if (this.#refusals.length >= MOST_KEPT) this.#refusals.shift()
    this.#refusals.push(refusal)
  }

  /** The total remainder, by the pool's last answer. */
  leave(left: number): void {
    this.#refusals = this.#refusals.filter(({ isExhausted, need }) => !isExhausted || need > left)
  }

  clear(): void {
    this.#refusals = []
  }
}

function tellsOf(refusal: RefusedRequest, { tenant, weight, share, need }: CreditRequest): boolean {
  if (need < refusal.need) return false
  if (refusal.isExhausted || tenant === refusal.tenant) return true
  return weight <= refusal.weight && share >= refusal.share * (1 - 1e-9)
}

/** State of a tenant of this member. */
interface Known {
  /** The tenant's whole weight. */
  weight: number
  /** Its refused cost, if the pool does not know of that yet. */
  ask: number
  /** Its demand, per window. */
  rate: number
  isFrozen: boolean
  /** Part of the tenant's weight that is this member's, by the pool's last answer. */
  share: number
  /** Granted for it in this window, less its spending since; and the part that was told to be its use. */
  granted: number
  kept: number
  /** Its last reported weight and use here; undefined before it was named. */
  told: Stake | undefined
}

/** The local ledger's record of a tenant: its weight and its use here. */
type StakeOf = (tenant: string) => Stake

/** A call's report of this member's tenants. */
export interface Report {
  readonly quiet: Stake
  readonly tenants: TenantReport[]
  /** Credit that counts as used, because it was granted for a tenant that has not spent it yet. */
  readonly kept: number
}

/** Demand in the first part of a window is measured as if it took this long. */
const FIRST_LOOK = 0.01

/**
 * A member's reports of its tenants to the pool: each that has asked is named in one of the next calls, first those
 * that were refused, and then those that have spent since they were last named. So the pool knows the total use of
 * each, and the cost for which it waits.
 *
 * Credit that was granted for a tenant of several members, and is still here, counts as its use: otherwise the others
 * would be granted as much for it again.
 *
 * The pool divides a tenant's weight by its demand at its members. A refused tenant asks again, at an unknown rate. So
 * from its first refusal on, a tenant counts as if it went on asking at its earlier rate: otherwise demand would seem
 * highest at the member that refuses most.
 */
export class Reports {
  readonly #most: number
  #tenants: Map<string, Known> = new Map()
  /** Those that asked in the last window, and not yet in this one. */
  #before: Map<string, Known> = new Map()
  readonly #stakeOf: StakeOf
  /**
   * The tenants to name: those that were refused, and those that have spent. Those that have waited longest come first.
   */
  readonly #refused: Set<string> = new Set()
  readonly #spent: Set<string> = new Set()
  /** Sums of the reported amounts. */
  #toldWeight = 0
  #toldUsed = 0
  #kept = 0

  constructor(maxTenants: number, stakeOf: StakeOf) {
    // One more represents all tenants beyond the limit.
    this.#most = maxTenants + 1
    this.#stakeOf = stakeOf
  }

  /**
   * Notes that a tenant of this whole weight, which has used `used`, lacks credit for a cost, or is refused, when the
   * part `elapsed` of the window has passed.
   */
  note(tenant: string, weight: number, used: number, cost: number, elapsed: number, isRefused: boolean): void {
    const known = this.#know(tenant)
    if (known === undefined) return
    known.weight = weight
    if (!known.isFrozen) known.rate = (used + cost) / Math.max(elapsed, FIRST_LOOK)
    known.isFrozen ||= isRefused
    if (!isRefused) return
    known.ask = cost
    this.#refused.add(tenant)
  }

  /** Notes that a tenant of this whole weight has spent `cost`. */
  spend(tenant: string, weight: number, cost: number): void {
    const known = this.#know(tenant)
    if (known === undefined) return
    known.weight = weight
    known.granted = Math.max(0, known.granted - cost)
    this.#spent.add(tenant)
  }

  /**
   * Whether a tenant can be named in this window; one that cannot is part of the shared tenant, for which there is
   * always room.
   */
  hasRoomFor(tenant: string): boolean {
    if (tenant === OTHERS || this.#tenants.has(tenant)) return true
    return this.#tenants.size + (this.#tenants.has(OTHERS) ? 0 : 1) < this.#most
  }

  /**
   * The amount that the tenant may spend of the credit here, regardless of reservations: the pool granted it for this
   * one.
   */
  grantedTo(tenant: string): number {
    return this.#tenants.get(tenant)?.granted ?? 0
  }

  /** The part of its weight that the tenant has here. */
  shareOf(tenant: string): number {
    return (this.#tenants.get(tenant) ?? this.#before.get(tenant))?.share ?? 1
  }

  /**
   * The report of all tenants, with the sum `all` and the unspent credit `idle`, when the part `elapsed` of the window
   * has passed: up to the number of names allowed in a pool of `members` members, first the one that asks.
   */
  report(asker: string | undefined, members: number, all: Stake, idle: number, elapsed: number): Report {
    const most = mostReported(members)
    const tenants: TenantReport[] = []
    const keeping: string[] = []
    const name = (tenant: string): void => {
      const known = this.#tenants.get(tenant)
      if (known === undefined) return
      const stake = this.#stakeOf(tenant)
      this.#toldWeight += stake.weight - (known.told?.weight ?? 0)
      this.#toldUsed += stake.used - (known.told?.used ?? 0)
      known.told = stake
      this.#kept -= known.kept
      known.kept = known.share < 1 ? Math.max(0, Math.min(known.granted, idle - this.#kept)) : 0
      this.#kept += known.kept
      if (!known.isFrozen && stake.used > 0 && tenant !== asker) known.rate = stake.used / Math.max(elapsed, FIRST_LOOK)
      const { ask } = known
      known.ask = 0
      tenants.push({ tenant, weight: known.weight, used: stake.used + known.kept, rate: known.rate, ask })
      this.#refused.delete(tenant)
      this.#spent.delete(tenant)
      if (known.kept > 0) keeping.push(tenant)
    }
    if (asker !== undefined) name(asker)
    for (const waiting of [this.#refused, this.#spent])
      for (const tenant of waiting) {
        if (tenants.length >= most) break
        name(tenant)
      }
    // Its grant counts as used there until the next call states its use.
    if (asker !== undefined) this.#spent.add(asker)
    for (const tenant of keeping) this.#spent.add(tenant)
    const quiet = {
      weight: positive(all.weight - this.#toldWeight, all.weight),
      used: positive(all.used - this.#toldUsed, all.used),
    }
    return { quiet, tenants, kept: Math.max(0, Math.min(this.#kept, idle)) }
  }

  /** The pool may have forgotten the named tenants: all count as not named yet. */
  nameAnew(): void {
    this.#toldWeight = 0
    this.#toldUsed = 0
    this.#kept = 0
    for (const known of this.#tenants.values()) {
      known.told = undefined
      known.kept = 0
    }
  }

  /**
   * Applies the pool's answer to a report, and its grant to the first tenant of it. Its spending since the report is a
   * part of the grant: the pool does not know of that yet.
   */
  learn(tenants: readonly TenantReport[], shares: readonly number[], grant: number): void {
    for (const [at, { tenant, used }] of tenants.entries()) {
      const known = this.#tenants.get(tenant)
      const share = shares[at]
      if (known === undefined) continue
      if (share !== undefined && share > 0) known.share = share
      if (at === 0 && grant > 0) known.granted = Math.max(0, grant - Math.max(0, this.#stakeOf(tenant).used - used))
    }
  }

  /** A window begins without requests. A tenant that did not ask in the last one either is forgotten. */
  begin(): void {
    this.#before = this.#tenants
    this.#tenants = new Map()
    this.#refused.clear()
    this.#spent.clear()
    this.#toldWeight = 0
    this.#toldUsed = 0
    this.#kept = 0
  }

  #know(tenant: string): Known | undefined {
    let known = this.#tenants.get(tenant)
    if (known !== undefined) return known
    if (!this.hasRoomFor(tenant)) return undefined
    const share = this.#before.get(tenant)?.share ?? 1
    this.#before.delete(tenant)
    known = { weight: 1, ask: 0, rate: 0, isFrozen: false, share, granted: 0, kept: 0, told: undefined }
    this.#tenants.set(ownCopy(tenant), known)
    return known
  }
}

/** More than the rounding error of a sum. */
function positive(rest: number, sum: number): number {
  return rest > 1e-9 * sum ? rest : 0
}
