import { MOST_REPORTED, type Stake, type TenantReport } from '../pool/store.js'

interface Want {
  /** The tenant's whole weight. */
  weight: number
  /** It wants more until then, unless it is short of credit again. */
  untilMs: number
  /** What it asks for, per window. */
  rate: number
  isFrozen: boolean
  /** Part of the tenant's weight that is this member's, by the pool's last word. */
  share: number
  wasReported: boolean
}

/** What the local ledger says of a tenant: what it weighs here, and has used here. */
export type StakeOf = (tenant: string) => Stake

/** What a call to the pool says of this member's tenants. */
export interface Report {
  readonly quiet: Stake
  readonly wants: Stake
  readonly tenants: TenantReport[]
}

/** Who was short of credit, or refused, wants more for this part of a window. */
const WANTING = 1 / 10
/** What is asked for in the first part of a window counts as if it took that long. */
const FIRST_LOOK = 1 / 100

/**
 * The tenants of a member that want more than they have: those for which credit lacked, or that were refused, within
 * the last tenth of a window.
 *
 * The pool splits a tenant's weight by the rates at which it asks at its members. Whoever is refused asks again, nobody
 * knows how often. So from its first refusal on a tenant counts as if it went on asking at the rate it had before:
 * otherwise the member that refuses it more would seem to be where it needs more.
 */
export class Wants {
  readonly #wantingMs: number
  readonly #most: number
  /** Those that were short last come last. */
  readonly #tenants: Map<string, Want> = new Map()

  constructor(windowMs: number, maxTenants: number) {
    this.#wantingMs = windowMs * WANTING
    this.#most = maxTenants
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
    let want = this.#tenants.get(tenant)
    if (want === undefined) {
      if (this.#tenants.size >= this.#most) return
      want = { weight, untilMs: 0, rate: 0, isFrozen: false, share: 1, wasReported: false }
    } else this.#tenants.delete(tenant)
    this.#tenants.set(tenant, want)
    want.weight = weight
    want.untilMs = nowMs + this.#wantingMs
    if (!want.isFrozen) want.rate = (used + cost) / Math.max(elapsed, FIRST_LOOK)
    want.isFrozen ||= isRefused
  }

  /** The part of its weight that the tenant has here. */
  shareOf(tenant: string): number {
    return this.#tenants.get(tenant)?.share ?? 1
  }

  /**
   * What to say of all tenants, of which `all` is the sum: those that want more by name, first the one that asks; as
   * many as a call may name. O(those that want more).
   */
  report(asker: string | undefined, all: Stake, stakeOf: StakeOf, nowMs: number): Report {
    const tenants: TenantReport[] = []
    const quiet = { ...all }
    const wants = { weight: 0, used: 0 }
    const add = (tenant: string, want: Want): void => {
      const wantsMore = want.untilMs > nowMs || tenant === asker
      const { weight, used } = stakeOf(tenant)
      if (wantsMore) {
        quiet.weight -= weight
        quiet.used -= used
      }
      if (tenants.length < MOST_REPORTED) {
        if (wantsMore || want.wasReported)
          tenants.push({ tenant, weight: want.weight, used, rate: wantsMore ? want.rate : 0 })
        want.wasReported = true
        if (!wantsMore) this.#tenants.delete(tenant)
      } else if (wantsMore) {
        wants.weight += want.weight
        wants.used += used
      }
    }
    const first = asker === undefined ? undefined : this.#tenants.get(asker)
    if (asker !== undefined && first !== undefined) add(asker, first)
    for (const [tenant, want] of this.#tenants) if (want !== first) add(tenant, want)
    return { quiet: { weight: Math.max(0, quiet.weight), used: Math.max(0, quiet.used) }, wants, tenants }
  }

  /** Takes in what the pool answered to a report. */
  learn(tenants: readonly TenantReport[], shares: readonly number[]): void {
    for (const [at, { tenant }] of tenants.entries()) {
      const want = this.#tenants.get(tenant)
      const share = shares[at]
      if (want !== undefined && share !== undefined && share > 0) want.share = share
    }
  }

  /** A window begins: nobody was refused in it. */
  begin(): void {
    for (const want of this.#tenants.values()) {
      want.isFrozen = false
      want.wasReported = false
    }
  }
}
