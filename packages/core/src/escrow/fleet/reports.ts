import { ownCopy } from '../../path.js'
import type { Settled } from '../decision.js'
import { mostReported, OTHERS, type Stake, type TenantReport } from './store.js'

/** What a tenant would ask the pool for. */
export interface Request {
  readonly tenant: string
  /** The tenant's whole weight. */
  readonly weight: number
  /** What it has used per weight, everywhere together, as far as is known. */
  readonly share: number
  readonly need: number
}

/** What the pool refused. */
export interface Refusal extends Request {
  /** When it said to come back. */
  readonly untilMs: number
  /** Less than that was left in all. */
  readonly isExhausted: boolean
}

/** Refusals that are remembered, so that a check looks at few. */
const MOST_KEPT = 32

/**
 * What the pool has refused, until it said to come back. It tells of the tenant that it was refused to, and of those
 * that have used more per weight, weigh no more and need no less: their claims are smaller, and they come later in
 * line. It tells nothing of others. What exceeds all that is left is refused to everybody.
 */
export class Refusals {
  #refusals: Refusal[] = []

  /** The refusal that holds longest for a request; nothing, if the pool may be asked. */
  of(request: Request, nowMs: number): Refusal | undefined {
    let longest: Refusal | undefined
    for (const refusal of this.#refusals)
      if (refusal.untilMs > (longest?.untilMs ?? nowMs) && tellsOf(refusal, request)) longest = refusal
    return longest
  }

  add(refusal: Refusal, nowMs: number): void {
    this.#refusals = this.#refusals.filter(({ tenant, untilMs }) => untilMs > nowMs && tenant !== refusal.tenant)
    if (this.#refusals.length >= MOST_KEPT) this.#refusals.shift()
    this.#refusals.push(refusal)
  }

  /** So much is left in all, by the pool's last word. */
  leave(left: number): void {
    this.#refusals = this.#refusals.filter(({ isExhausted, need }) => !isExhausted || need > left)
  }

  clear(): void {
    this.#refusals = []
  }
}

function tellsOf(refusal: Refusal, { tenant, weight, share, need }: Request): boolean {
  if (need < refusal.need) return false
  if (refusal.isExhausted || tenant === refusal.tenant) return true
  return weight <= refusal.weight && share >= refusal.share * (1 - 1e-9)
}

/** What is known of a tenant of this member. */
interface Known {
  /** The tenant's whole weight. */
  weight: number
  /** The cost it was refused, and until when it is in line with that. */
  ask: number
  untilMs: number
  /** What it asks for, per window. */
  rate: number
  isFrozen: boolean
  /** Part of the tenant's weight that is this member's, by the pool's last word. */
  share: number
  /** What was granted for it in this window, less what it has spent since. */
  granted: number
  /** What the pool was told last that it weighs and has used here; nothing before it was named. */
  told: Stake | undefined
}

/** What the local ledger says of a tenant: what it weighs here, and has used here. */
type StakeOf = (tenant: string) => Stake

/** What a call to the pool says of this member's tenants. */
export interface Report {
  readonly quiet: Stake
  readonly tenants: TenantReport[]
}

/** A refused tenant is in line for this part of a window. */
const WANTING = 1 / 10
/** What is asked for in the first part of a window counts as if it took that long. */
const FIRST_LOOK = 1 / 100

/**
 * What a member tells the pool of its tenants: each that has asked is named by one of the next calls, those first that
 * were refused, and then those that have spent something since they were named last. So the pool knows what each has
 * used in all, and what it waits for.
 *
 * The pool splits a tenant's weight by the rates at which it asks at its members. A refused tenant asks again, nobody
 * knows how often. So from its first refusal on a tenant counts as if it went on asking at the rate it had before:
 * otherwise the member that refuses it more would seem to be where it needs more.
 */
export class Reports {
  readonly #wantingMs: number
  readonly #most: number
  #tenants: Map<string, Known> = new Map()
  /** Those that asked in the last window, and not yet in this one. */
  #before: Map<string, Known> = new Map()
  /**
   * The tenants to name: those that were refused, and those that have spent. Those that have waited longest come first.
   */
  readonly #refused: Set<string> = new Set()
  readonly #spent: Set<string> = new Set()
  /** Sums of what the pool was told. */
  #toldWeight = 0
  #toldUsed = 0

  constructor(windowMs: number, maxTenants: number) {
    this.#wantingMs = windowMs * WANTING
    // One more is all those for whom there is no room.
    this.#most = maxTenants + 1
  }

  /**
   * Notes that a tenant of this whole weight, which has used `used`, lacks credit for a cost, or is refused, when the
   * part `elapsed` of the window is over.
   */
  note(
    tenant: string,
    weight: number,
    used: number,
    cost: number,
    elapsed: number,
    nowMs: number,
    isRefused: boolean,
  ): void {
    const known = this.#know(tenant)
    if (known === undefined) return
    known.weight = weight
    if (!known.isFrozen) known.rate = (used + cost) / Math.max(elapsed, FIRST_LOOK)
    known.isFrozen ||= isRefused
    if (!isRefused) return
    known.ask = cost
    known.untilMs = nowMs + this.#wantingMs
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

  /** Whether a tenant can be named in this window; one that cannot is among the others, for whom there always is room. */
  hasRoomFor(tenant: string): boolean {
    if (tenant === OTHERS || this.#tenants.has(tenant)) return true
    return this.#tenants.size + (this.#tenants.has(OTHERS) ? 0 : 1) < this.#most
  }

  /** What the tenant may spend of the credit here, whatever is kept for others: the pool granted it for this one. */
  grantedTo(tenant: string): number {
    return this.#tenants.get(tenant)?.granted ?? 0
  }

  /** The part of its weight that the tenant has here. */
  shareOf(tenant: string): number {
    return (this.#tenants.get(tenant) ?? this.#before.get(tenant))?.share ?? 1
  }

  /**
   * What to say of all tenants, of which `all` is the sum, when the part `elapsed` of the window is over: as many by
   * name as a call may name in a pool of `members` members, first the one that asks.
   */
  report(
    asker: string | undefined,
    members: number,
    all: Stake,
    stakeOf: StakeOf,
    elapsed: number,
    nowMs: number,
  ): Report {
    const most = mostReported(members)
    const tenants: TenantReport[] = []
    const name = (tenant: string): void => {
      const known = this.#tenants.get(tenant)
      if (known === undefined) return
      const stake = stakeOf(tenant)
      this.#toldWeight += stake.weight - (known.told?.weight ?? 0)
      this.#toldUsed += stake.used - (known.told?.used ?? 0)
      known.told = stake
      if (!known.isFrozen && stake.used > 0 && tenant !== asker) known.rate = stake.used / Math.max(elapsed, FIRST_LOOK)
      const ask = known.untilMs > nowMs ? known.ask : 0
      known.ask = 0
      tenants.push({ tenant, weight: known.weight, used: stake.used, rate: known.rate, ask })
      this.#refused.delete(tenant)
      this.#spent.delete(tenant)
    }
    if (asker !== undefined) name(asker)
    for (const waiting of [this.#refused, this.#spent])
      for (const tenant of waiting) {
        if (tenants.length >= most) break
        name(tenant)
      }
    // What it is granted counts as used there until the next call says what was.
    if (asker !== undefined) this.#spent.add(asker)
    const quiet = {
      weight: positive(all.weight - this.#toldWeight, all.weight),
      used: positive(all.used - this.#toldUsed, all.used),
    }
    return { quiet, tenants }
  }

  /** The pool may have forgotten whom it was told of: all count as not named yet. */
  nameAnew(): void {
    this.#toldWeight = 0
    this.#toldUsed = 0
    for (const known of this.#tenants.values()) known.told = undefined
  }

  /** Takes in what the pool answered to a report, and granted the first tenant of it. */
  learn(tenants: readonly TenantReport[], shares: readonly number[], grant: number): void {
    for (const [at, { tenant }] of tenants.entries()) {
      const known = this.#tenants.get(tenant)
      const share = shares[at]
      if (known === undefined) continue
      if (share !== undefined && share > 0) known.share = share
      if (at === 0 && grant > 0) known.granted = grant
    }
  }

  /** A window begins: nobody has asked in it. A tenant that did not ask in the last one either is forgotten. */
  begin(): void {
    this.#before = this.#tenants
    this.#tenants = new Map()
    this.#refused.clear()
    this.#spent.clear()
    this.#toldWeight = 0
    this.#toldUsed = 0
  }

  #know(tenant: string): Known | undefined {
    let known = this.#tenants.get(tenant)
    if (known !== undefined) return known
    if (!this.hasRoomFor(tenant)) return undefined
    const share = this.#before.get(tenant)?.share ?? 1
    this.#before.delete(tenant)
    known = { weight: 1, ask: 0, untilMs: 0, rate: 0, isFrozen: false, share, granted: 0, told: undefined }
    this.#tenants.set(ownCopy(tenant), known)
    return known
  }
}

/** More than rounding leaves of a sum. */
function positive(rest: number, sum: number): number {
  return rest > 1e-9 * sum ? rest : 0
}

/** What tenants owe: costs that were known too late, or that there was no credit for. */
export class Debts {
  readonly #owed: Map<string, number> = new Map()
  readonly #most: number

  constructor(maxTenants: number) {
    this.#most = maxTenants
  }

  add(tenant: string, amount: number): Settled {
    if (this.#owed.size < this.#most || this.#owed.has(tenant))
      this.#owed.set(tenant, (this.#owed.get(tenant) ?? 0) + amount)
    return { settled: true, unpaid: amount }
  }

  /** Has `charge` take as much of what a tenant owes as there is of `credit`; it says how much it took. */
  pay(tenant: string, credit: number, charge: (amount: number) => number): void {
    const owed = this.#owed.size > 0 ? this.#owed.get(tenant) : undefined
    if (owed === undefined || credit <= 0) return
    const rest = owed - charge(Math.min(owed, credit))
    if (rest > 0) this.#owed.set(tenant, rest)
    else this.#owed.delete(tenant)
  }
}
