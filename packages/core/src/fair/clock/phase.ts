import type { Traffic } from './traffic.js'

/** Failures are a shortage if they are more than this share of the latest outcomes. */
const SHORTAGE_SHARE = 0.03
/** The shortage is over when so many requests in a row found the resource full, and so many were let in before them. */
const FULL_IN_A_ROW = 20
const ADMITTED_BEFORE = 30
/** So many let in without a refusal: the fair rate is not what limits the flows. */
const UNLIMITED = 20

/**
 * Open: there is enough, nobody is refused, and the clock only watches. Engaged: there is a shortage.
 *
 * Watching, it already knows who asks most, so that when a shortage comes, heavy flows have no credit left and the
 * others do.
 */
export class Phase {
  open = true
  /** Weight of the flow that was refused last. */
  refusedWeight = 1
  #admittedInARow = 0
  #fullInARow = 0

  refused(weight: number): void {
    this.refusedWeight = weight
    this.#admittedInARow = 0
  }

  admitted(): void {
    this.#admittedInARow++
  }

  /** True if failures have become a shortage. Where nothing is served, there is nothing to share. */
  isShortage({ failureShare, servedPerSecond }: Traffic): boolean {
    return failureShare > SHORTAGE_SHARE && servedPerSecond > 0
  }

  /** A request was let in while engaged, and found the resource full or not. */
  found(full: boolean): void {
    if (full && this.#admittedInARow >= ADMITTED_BEFORE) this.#fullInARow++
    else this.#fullInARow = 0
    if (this.#fullInARow > FULL_IN_A_ROW) {
      this.open = true
      this.#fullInARow = 0
    }
  }

  /** True if nobody has been refused for a while. */
  get unlimited(): boolean {
    return this.#admittedInARow >= UNLIMITED
  }
}
