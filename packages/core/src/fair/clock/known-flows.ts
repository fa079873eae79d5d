import { mix32 } from '../../hash.js'
import type { FlowKey } from '../placement.js'

/** Bits of each generation by cell of a level of tags: 128 KiB at 4096 cells. */
const BITS_PER_CELL = 256
/** Places of a flow in each shared structure. */
export const PLACES = 4
/**
 * A generation lasts ten rotations, so that tenants that ask once every few minutes are not newcomers. With one, 24 000
 * of them that ask once in five minutes each got two thirds of their service without FAIR. It ends at the first
 * rotation with an eighth of its bits set: with half, one in eight names invented at ten times the capacity counted as
 * known.
 */
const ROTATIONS = 10
const CROWDED = 1 / 8
/** It ends immediately at this part: rotations may be rare, or never occur. */
const FULL = 1 / 4

/**
 * Flows that were recently served: in this generation, of ten rotations at most, or in the one before. Two Bloom
 * filters, because a tag alone is no evidence: other flows raise the cells of an unused name, and at thousands of
 * invented names a second some of them would count as known.
 *
 * At the default size a new name is distinguished from 30 000 flows in all but one of 7 000 cases; from any number in
 * 99 of 100.
 *
 * @see B. H. Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", Communications of the ACM 13 (1970)
 */
export class KnownFlows {
  readonly #mask: number
  #rotations = 0
  #set = 0
  #now: Int32Array
  #before: Int32Array

  /** `cells`: number on each level of the sketch of tags. */
  constructor(cells: number) {
    const bits = 2 ** Math.ceil(Math.log2(Math.max(32, BITS_PER_CELL * cells)))
    this.#mask = bits - 1
    this.#now = new Int32Array(bits / 32)
    this.#before = new Int32Array(bits / 32)
  }

  has(key: FlowKey): boolean {
    return this.#isIn(this.#now, key) || this.#isIn(this.#before, key)
  }

  add({ a, b }: FlowKey): void {
    for (let probe = 0; probe < PLACES; probe++) {
      const bit = mix32(b + Math.imul(a, 2 * probe + 1)) & this.#mask
      const word = this.#now[bit >>> 5]!
      const more = word | (1 << (bit & 31))
      if (more === word) continue
      this.#now[bit >>> 5] = more
      this.#set++
    }
    if (this.#set > FULL * this.#mask) this.#end(false)
  }

  /** `rotations` have passed. A flow that was not served in two generations is forgotten. */
  rotate(rotations: number): void {
    this.#rotations += rotations
    if (this.#rotations < ROTATIONS && this.#set < CROWDED * this.#mask) return
    this.#end(this.#rotations >= 2 * ROTATIONS)
  }

  /** The generation is over; the one before is forgotten, and if `forget`, both are. */
  #end(forget: boolean): void {
    this.#rotations = this.#set = 0
    const spent = this.#before
    this.#before = this.#now
    this.#now = spent
    spent.fill(0)
    if (forget) this.#before.fill(0)
  }

  #isIn(filter: Int32Array, { a, b }: FlowKey): boolean {
    for (let probe = 0; probe < PLACES; probe++) {
      const bit = mix32(b + Math.imul(a, 2 * probe + 1)) & this.#mask
      if ((filter[bit >>> 5]! & (1 << (bit & 31))) === 0) return false
    }
    return true
  }
}
