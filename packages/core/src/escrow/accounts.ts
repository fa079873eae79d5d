import { grown } from '../grown.js'

/** The name of the tenant that all newcomers share once there are too many. No tenant's own name is empty. */
export const OVERFLOW = ''
/** Stands for the slot of a tenant that is not active. */
export const NEWCOMER: number = -1

/** The active tenants of a window, by name and by slot; a slot is a place in each of the columns. */
export class Accounts {
  readonly #slots: Map<string, number> = new Map()
  readonly #most: number
  #weights: Float64Array = new Float64Array(16)
  #used: Float64Array = new Float64Array(16)
  #passed: Float64Array = new Float64Array(16)
  #elsewhere: Float64Array = new Float64Array(16)
  #carried: Float64Array = new Float64Array(16)
  #debts: Float64Array = new Float64Array(16)
  #asked: Uint8Array = new Uint8Array(16)
  #returnMs: Float64Array = new Float64Array(16)
  #released: Uint8Array = new Uint8Array(16)

  /** `most` is how many there may be; the last of them is shared by all that come later. */
  constructor(most: number) {
    this.#most = most
  }

  get count(): number {
    return this.#slots.size
  }

  get weights(): Float64Array {
    return this.#weights
  }

  /** All weights but that of a slot, summed up. O(n). */
  weightBeside(slot: number): number {
    let sum = 0
    for (let other = 0; other < this.count; other++) if (other !== slot) sum += this.#weights[other]!
    return sum
  }

  /** What each used. */
  get used(): Float64Array {
    return this.#used
  }

  /** What each used or let pass. */
  get passed(): Float64Array {
    return this.#passed
  }

  /** What counts as used because it was used elsewhere. */
  get elsewhere(): Float64Array {
    return this.#elsewhere
  }

  /** What counts as used because others of the last window are owed as much, per weight. */
  get carried(): Float64Array {
    return this.#carried
  }

  /** What could not be charged. */
  get debts(): Float64Array {
    return this.#debts
  }

  /** 1 if the tenant has asked for something in this window. */
  get asked(): Uint8Array {
    return this.#asked
  }

  /** Until when a tenant may be back that was refused when it last asked; 0 if it was not. */
  get returnMs(): Float64Array {
    return this.#returnMs
  }

  /** 1 if the tenant's claim is released, else 0. */
  get released(): Uint8Array {
    return this.#released
  }

  clear(): void {
    this.#slots.clear()
  }

  /** The slot of a name, as it is; undefined if it has none. */
  slot(name: string): number | undefined {
    return this.#slots.get(name)
  }

  /** True if a tenant without a slot would have to share. */
  get full(): boolean {
    return (
      this.#slots.size >= this.#most - 1 && this.#slots.size - (this.#slots.has(OVERFLOW) ? 1 : 0) >= this.#most - 1
    )
  }

  open(name: string, weight: number): number {
    const slot = this.#slots.size
    if (slot === this.#weights.length) this.#grow(2 * slot)
    this.#slots.set(name, slot)
    this.#weights[slot] = weight
    this.#used[slot] = 0
    this.#passed[slot] = 0
    this.#elsewhere[slot] = 0
    this.#carried[slot] = 0
    this.#debts[slot] = 0
    this.#asked[slot] = 0
    this.#returnMs[slot] = 0
    this.#released[slot] = 0
    return slot
  }

  entries(): IterableIterator<[string, number]> {
    return this.#slots.entries()
  }

  #grow(length: number): void {
    this.#weights = grown(this.#weights, length, 0)
    this.#used = grown(this.#used, length, 0)
    this.#passed = grown(this.#passed, length, 0)
    this.#elsewhere = grown(this.#elsewhere, length, 0)
    this.#carried = grown(this.#carried, length, 0)
    this.#debts = grown(this.#debts, length, 0)
    this.#asked = grown(this.#asked, length, 0)
    this.#returnMs = grown(this.#returnMs, length, 0)
    this.#released = grown(this.#released, length, 0)
  }
}
