import type { Corrections } from './resource-world.js'

/**
 * Reserves the capacity that a predecessor may have granted to children that have not asked yet, until they show it, or
 * until no lease of the predecessor can be valid. Times are seconds since the epoch.
 */
export class HandoverReserve {
  readonly #corrections: Corrections
  /** Without forward corrections of the clock: a correction ends it no sooner, by the old clock or the new. */
  #until: number
  #left: number
  #known: boolean

  /** `inherited` is the capacity that the predecessor could grant; `undefined` while unknown. */
  constructor(until: number, inherited: number | undefined, corrections: Corrections) {
    this.#corrections = corrections
    this.#until = until - corrections.forward
    this.#left = inherited ?? 0
    this.#known = inherited !== undefined
  }

  /** The end of the reserve. */
  get until(): number {
    return this.#until + this.#corrections.forward
  }

  /** The amount still reserved. */
  at(now: number): number {
    return now < this.until ? this.#left : 0
  }

  learning(now: number): boolean {
    return now < this.until
  }

  /** A predecessor's lease ends at that time: while the reserve lasts, it ends no sooner. */
  extend(until: number, now: number): void {
    if (this.learning(now)) this.#until = Math.max(this.#until, until - this.#corrections.forward)
  }

  /** Whether the claim of an unknown child is believed. */
  believes(now: number): boolean {
    return now < this.until && (this.#left > 0 || !this.#known)
  }

  /** A child has shown this amount. Returns the part that is believed: at most the possible one. */
  claim(amount: number): number {
    const believed = this.#known ? Math.min(amount, this.#left) : amount
    this.#left = Math.max(0, this.#left - believed)
    return believed
  }

  /**
   * The parent has reported the predecessor's capacity, of which children have shown `held` so far. If the parent did
   * not know it, it is `lease`, and children that show more are believed too.
   */
  inherit(inherited: number | undefined, lease: number, held: number): void {
    if (this.#known) return
    this.#left = Math.max(0, (inherited ?? lease) - held)
    this.#known = inherited !== undefined
    if (inherited === 0) this.#until = Number.NEGATIVE_INFINITY
  }
}
