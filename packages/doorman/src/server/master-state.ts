import type { Mastership } from '@fairlead/core/doorman'

/** A predecessor's leases: the latest end of one of a resource, if the last grant was at `grantedAt`. */
interface Leases {
  endOf(resourceId: string, grantedAt: number): number
}

/**
 * The mastership of a node: whether it is the master, since when, or else which server is. Times are seconds since the
 * epoch.
 */
export class MasterState {
  #isMaster: boolean
  #address: string | undefined
  #until = Number.POSITIVE_INFINITY
  #vanishedAt: number | undefined
  #learnFrom = Number.NEGATIVE_INFINITY
  /** The predecessor's leases, and the forward corrections of the clock since it was succeeded. */
  #leases: Leases | undefined
  #forward = 0

  constructor(isMaster: boolean, address: string | undefined) {
    this.#isMaster = isMaster
    this.#address = address
  }

  /** False from the time on at which its lock may have expired. */
  isMaster(now: number): boolean {
    return this.#isMaster && now < this.#until
  }

  /** Latest time at which a predecessor may have granted leases; minus infinity without a predecessor. */
  get learnFrom(): number {
    return this.#learnFrom
  }

  /** The latest end of a predecessor's lease of that resource, as it recorded; minus infinity if there is none. */
  leasesEnd(resourceId: string): number {
    if (this.#leases === undefined) return Number.NEGATIVE_INFINITY
    return this.#leases.endOf(resourceId, this.#learnFrom - this.#forward) + this.#forward
  }

  /** The mastership to report; empty while unknown. */
  answer(now: number): Mastership {
    const known = this.#address !== undefined && (!this.#isMaster || this.isMaster(now))
    return known ? { masterAddress: this.#address! } : {}
  }

  /** The present master's lock was seen to vanish. */
  lockVanished(now: number): void {
    this.#vanishedAt = now
    if (!this.#isMaster) this.#address = undefined
  }

  /** `succeeds`: another server may have held the lock before; `leases` is its record, if known. */
  won(address: string | undefined, succeeds: boolean, now: number, leases?: Leases): void {
    this.#leases = succeeds ? leases : undefined
    this.#forward = 0
    this.#learnFrom = succeeds ? (this.#vanishedAt ?? now) : Number.NEGATIVE_INFINITY
    this.#isMaster = true
    this.#address = address
    this.#until = Number.POSITIVE_INFINITY
    this.#vanishedAt = undefined
  }

  /** The lock was renewed, and holds until that time. */
  holdsUntil(until: number): void {
    this.#until = until
  }

  /**
   * The clock was corrected by `seconds`. The lock holds only as long as both clocks say: the machine may have been
   * suspended. A predecessor's grants may last as long as either says.
   */
  shift(seconds: number): void {
    this.#until += Math.min(0, seconds)
    if (this.#vanishedAt !== undefined) this.#vanishedAt += Math.max(0, seconds)
    this.#learnFrom += Math.max(0, seconds)
    this.#forward += Math.max(0, seconds)
  }

  /** It lost the election, or another server won; `address` is the other server's, if known. */
  follows(address: string | undefined): void {
    this.#isMaster = false
    this.#address = address
    // The time belongs to an earlier master's lock.
    this.#vanishedAt = undefined
  }
}
