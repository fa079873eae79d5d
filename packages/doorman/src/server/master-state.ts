import type { Mastership } from '@fairlead/core/doorman'

/** Whether a node is the master, since when, and who is if it is not. Times are seconds since the epoch. */
export class MasterState {
  #isMaster: boolean
  #address: string | undefined
  #until = Number.POSITIVE_INFINITY
  #vanishedAt: number | undefined
  #learnFrom = Number.NEGATIVE_INFINITY

  constructor(isMaster: boolean, address: string | undefined) {
    this.#isMaster = isMaster
    this.#address = address
  }

  /** False from the moment on at which its lock may have run out. */
  isMaster(now: number): boolean {
    return this.#isMaster && now < this.#until
  }

  /** When a predecessor may last have given leases; minus infinity if there was none. */
  get learnFrom(): number {
    return this.#learnFrom
  }

  /** What others are told: nothing while nobody knows. */
  answer(now: number): Mastership {
    const known = this.#address !== undefined && (!this.#isMaster || this.isMaster(now))
    return known ? { masterAddress: this.#address! } : {}
  }

  /** The lock of the present master was seen to vanish. */
  lockVanished(now: number): void {
    this.#vanishedAt = now
    if (!this.#isMaster) this.#address = undefined
  }

  /** `succeeds`: somebody may have held the lock before. */
  won(address: string | undefined, succeeds: boolean, now: number): void {
    this.#learnFrom = succeeds ? (this.#vanishedAt ?? now) : Number.NEGATIVE_INFINITY
    this.#isMaster = true
    this.#address = address
    this.#until = Number.POSITIVE_INFINITY
    this.#vanishedAt = undefined
  }

  /** The lock was renewed, and holds until then. */
  holdsUntil(until: number): void {
    this.#until = until
  }

  /**
   * The clock was corrected by `seconds`. The lock holds only as long as both clocks say: the machine may have
   * been asleep. What a predecessor has left may last as long as either says.
   */
  shift(seconds: number): void {
    this.#until += Math.min(0, seconds)
    if (this.#vanishedAt !== undefined) this.#vanishedAt += Math.max(0, seconds)
    this.#learnFrom += Math.max(0, seconds)
  }

  /** It has lost, or somebody else has won; `address` is who, if anybody knows. */
  follows(address: string | undefined): void {
    this.#isMaster = false
    this.#address = address
    // It was an earlier master's lock.
    this.#vanishedAt = undefined
  }
}
