import type { Lease, ServerCapacityResourceResponse } from '@fairlead/core/doorman'
import type { Corrections } from './resource-world.js'

/** Wants that moved by this part since the parent was asked are worth a question of their own. */
const MOVED = 0.2

/** What a node says of itself when it asks. */
export interface NodeDemand {
  /** What its children may be using, and its reserve. */
  outstanding: number
  wants: number
  /** It has children. */
  alive: boolean
}

/**
 * A node's own lease of a resource from its parent, and when to ask for it again. Times are seconds since the epoch.
 *
 * What it says to be outstanding is a promise: from then on, until an answer comes, it hands out no more than that.
 */
export class Upstream {
  readonly #corrections: Corrections
  #lease: Lease | undefined
  /** What had set the clock back when the lease was last looked at. */
  #back = 0
  #target = Number.POSITIVE_INFINITY
  #promise = Number.POSITIVE_INFINITY
  /** Both by the clock without its corrections. */
  #askedAt = Number.NEGATIVE_INFINITY
  #nextAt = Number.POSITIVE_INFINITY
  #wantsAsked = 0
  #minimumSeconds = 0

  constructor(corrections: Corrections) {
    this.#corrections = corrections
  }

  /** When to ask. */
  get nextAt(): number {
    return this.#nextAt + this.#corrections.total
  }

  /** The lease while it is good; one that either clock says has ended is not. */
  lease(now: number): Lease | undefined {
    const { back } = this.#corrections
    if (this.#lease !== undefined && back !== this.#back)
      this.#lease = { ...this.#lease, expiryTime: Math.floor(this.#lease.expiryTime + back - this.#back) }
    this.#back = back
    return this.#lease !== undefined && this.#lease.expiryTime > now ? this.#lease : undefined
  }

  /** What may be handed out. */
  capacity(now: number): number {
    return Math.min(this.lease(now)?.capacity ?? 0, this.#promise)
  }

  /** What should be handed out in the end. */
  target(now: number): number {
    return Math.min(this.lease(now)?.capacity ?? 0, this.#target)
  }

  /** It asks, and promises. */
  asked(standing: NodeDemand, minimumSeconds: number, now: number): void {
    this.#promise = standing.outstanding
    this.#askedAt = now - this.#corrections.total
    this.#wantsAsked = standing.wants
    this.#minimumSeconds = minimumSeconds
    this.#nextAt = Number.POSITIVE_INFINITY
  }

  /** The parent has answered. */
  answered({ gets, target }: ServerCapacityResourceResponse, alive: boolean, now: number): void {
    this.#lease = gets
    this.#back = this.#corrections.back
    this.#target = target ?? Number.POSITIVE_INFINITY
    this.#promise = Number.POSITIVE_INFINITY
    this.#nextAt = alive ? now - this.#corrections.total + Math.max(1, gets.refreshInterval) : Number.POSITIVE_INFINITY
  }

  /** No answer: the promise stays, and the question is put again, not before `againAt`. */
  unanswered(againAt: number): void {
    this.#nextAt = Math.max(againAt - this.#corrections.total, this.#askedAt + this.#minimumSeconds)
  }

  /** Whether there is reason to ask before the time, as soon as the parent would listen. */
  consider(standing: NodeDemand, now: number): void {
    // While a question is under way there is nothing to add.
    if (this.#promise !== Number.POSITIVE_INFINITY && this.#nextAt === Number.POSITIVE_INFINITY) return
    const lease = this.lease(now)?.capacity ?? 0
    const first =
      this.#askedAt === Number.NEGATIVE_INFINITY || (this.#nextAt === Number.POSITIVE_INFINITY && standing.alive)
    const moved = Math.abs(standing.wants - this.#wantsAsked) > MOVED * this.#wantsAsked
    const shrunk = lease > this.#target && standing.outstanding < lease
    if (first || moved || shrunk)
      this.#nextAt = Math.min(
        this.#nextAt,
        Math.max(now - this.#corrections.total, this.#askedAt + this.#minimumSeconds),
      )
  }
}
