import type { After, Clock } from '../clock.js'
import { requireNumber } from '../options.js'
import { ClientResource, type ResourceTerms, type Use } from './client-resource.js'
import type { Refresher } from './refresher.js'

/** What a lease gets from its client. */
export interface Owner {
  readonly id: string
  readonly terms: ResourceTerms
  /** `undefined`: measured. */
  readonly wants: number | undefined
  readonly clock: Clock
  readonly wallClock: Clock
  readonly after: After
  readonly refresher: Refresher
  /** The lease has been closed, and holds nothing any more. */
  gone(): void
}

/** A lease's share in its resource: how often it was asked for, and what happens when the last one is done with it. */
export class LeaseHandle {
  readonly resource: ClientResource
  readonly #owner: Owner
  #references = 0
  #registered = false

  constructor(owner: Owner, use: Use) {
    const { id, terms, wants, clock, wallClock, refresher } = owner
    this.#owner = owner
    this.resource = new ClientResource(id, terms, wants, use, wallClock, () => refresher.soon(), clock())
  }

  get open(): boolean {
    return this.#references > 0
  }

  /** One more who uses it. */
  share(): void {
    this.#references++
    if (this.#registered) return
    this.#registered = true
    this.#owner.refresher.add(this.resource)
  }

  /** One less; or, with `all`, none. True if that was the last. */
  leave(all: boolean): boolean {
    if (this.#references === 0) return false
    this.#references = all ? 0 : this.#references - 1
    return this.#references === 0
  }

  /** Gives the capacity back. To be called when nobody uses it any more. */
  release(): void {
    if (!this.#registered) return
    this.#registered = false
    this.#owner.refresher.remove(this.resource)
    this.#owner.gone()
  }

  setWants(wants: number | undefined): void {
    if (wants !== undefined) requireNumber('wants', wants, 0)
    this.resource.want(wants, this.#owner.clock())
  }
}
