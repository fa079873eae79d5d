import { grown } from './grown.js'
import { Ranking } from './ranking.js'

const NONE = -1

/**
 * Who waits: tenants that were refused lately, in order of refusal, and ranked by the finish tag of what they asked
 * for: what they would have used or let pass, per weight, with it.
 */
export class Waits {
  readonly #byTag: Ranking = new Ranking('least')
  #costs: Float64Array = new Float64Array(16)
  #sinceMs: Float64Array = new Float64Array(16)
  #before: Int32Array = new Int32Array(16)
  #after: Int32Array = new Int32Array(16)
  #first = NONE
  #last = NONE
  #count = 0

  get count(): number {
    return this.#count
  }

  /** Who was refused longest ago; -1 if nobody waits. */
  get first(): number {
    return this.#first
  }

  has(slot: number): boolean {
    return this.#byTag.has(slot)
  }

  /** The cost that a waiting tenant was refused. */
  cost(slot: number): number {
    return this.#costs[slot]!
  }

  /** When that was, on the ledger's time. */
  sinceMs(slot: number): number {
    return this.#sinceMs[slot]!
  }

  /** The lowest tag of those other than `slot` whose cost is at most `most`; Infinity if there is none. */
  leastTag(most: number, slot: number): number {
    return this.#count === 0 ? Number.POSITIVE_INFINITY : this.#byTag.firstKey(most, slot)
  }

  /** Lets a tenant wait from `nowMs` on, or wait anew. */
  add(slot: number, tag: number, cost: number, nowMs: number): void {
    if (slot >= this.#costs.length) this.#grow(2 * slot)
    if (this.has(slot)) this.end(slot)
    this.#costs[slot] = cost
    this.#sinceMs[slot] = nowMs
    this.#byTag.insert(slot, tag, cost, 0)
    this.#before[slot] = this.#last
    this.#after[slot] = NONE
    if (this.#last === NONE) this.#first = slot
    else this.#after[this.#last] = slot
    this.#last = slot
    this.#count++
  }

  /** Gives a waiting tenant another tag, and leaves its place in the order. */
  retag(slot: number, tag: number): void {
    this.#byTag.remove(slot)
    this.#byTag.insert(slot, tag, this.#costs[slot]!, 0)
  }

  /** Lets a tenant wait no more. */
  end(slot: number): void {
    this.#byTag.remove(slot)
    const before = this.#before[slot]!
    const after = this.#after[slot]!
    if (before === NONE) this.#first = after
    else this.#after[before] = after
    if (after === NONE) this.#last = before
    else this.#before[after] = before
    this.#count--
  }

  clear(): void {
    this.#byTag.clear()
    this.#first = NONE
    this.#last = NONE
    this.#count = 0
  }

  #grow(length: number): void {
    this.#costs = grown(this.#costs, length, 0)
    this.#sinceMs = grown(this.#sinceMs, length, 0)
    this.#before = grown(this.#before, length, 0)
    this.#after = grown(this.#after, length, 0)
  }
}
