import type { Corrections } from './resource-world.js'

/**
 * What a predecessor may have left with children that have not come yet: it is kept back until they bring it, or until
 * no lease of the predecessor can be alive. Times are seconds since the epoch.
 */
export class HandoverReserve {
  readonly #corrections: Corrections
  /** Less what had set the clock forward: a correction lets it end no sooner, by the old clock or the new. */
  #until: number
  #left: number
  #known: boolean

  /** `inherited` is what the predecessor had to give; `undefined` while nobody has said. */
  constructor(until: number, inherited: number | undefined, corrections: Corrections) {
    this.#corrections = corrections
    this.#until = until - corrections.forward
    this.#left = inherited ?? 0
    this.#known = inherited !== undefined
  }

  /** When it ends. */
  get until(): number {
    return this.#until + this.#corrections.forward
  }

  /** What is still kept back. */
  at(now: number): number {
    return now < this.until ? this.#left : 0
  }

  learning(now: number): boolean {
    return now < this.until
  }

  /** Whether what an unknown child says it has is believed. */
  believes(now: number): boolean {
    return now < this.until && (this.#left > 0 || !this.#known)
  }

  /** A child has come and brought this much. Answers what of it is believed: no more than can be. */
  claim(amount: number): number {
    const believed = this.#known ? Math.min(amount, this.#left) : amount
    this.#left = Math.max(0, this.#left - believed)
    return believed
  }

  /**
   * The parent has said what a predecessor had, and children have brought `held` of it so far. If the parent could
   * not tell, that is `lease`, and children that bring more are believed too.
   */
  inherit(inherited: number | undefined, lease: number, held: number): void {
    if (this.#known) return
    this.#left = Math.max(0, (inherited ?? lease) - held)
    this.#known = inherited !== undefined
    if (inherited === 0) this.#until = Number.NEGATIVE_INFINITY
  }
}
