import { grown } from '../grown.js'
import { Line } from './line.js'

const NONE = -1

/** Who waits: tenants that were refused lately, in order of refusal, and in line. */
export class Waits {
  readonly line: Line = new Line()
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
    return this.line.has(slot)
  }

  /** The cost that a tenant was refused, if it waits; else Infinity. */
  cost(slot: number): number {
    return this.has(slot) ? this.#costs[slot]! : Number.POSITIVE_INFINITY
  }

  /** When that was, on the ledger's time. */
  sinceMs(slot: number): number {
    return this.#sinceMs[slot]!
  }

  /** Lets a tenant wait from `nowMs` on, or wait anew. */
  add(slot: number, weight: number, passed: number, cost: number, nowMs: number): void {
    if (slot >= this.#costs.length) this.#grow(2 * slot)
    const waits = this.has(slot)
    if (waits) this.#unlink(slot)
    // Who asks for the same again keeps its place in line.
    if (!waits || this.#costs[slot] !== cost) {
      if (waits) this.line.remove(slot)
      this.#costs[slot] = cost
      this.line.insert(slot, weight, passed, cost)
    }
    this.#sinceMs[slot] = nowMs
    this.#before[slot] = this.#last
    this.#after[slot] = NONE
    if (this.#last === NONE) this.#first = slot
    else this.#after[this.#last] = slot
    this.#last = slot
    this.#count++
  }

  /** Notes what a waiting tenant has used or let pass by now, and its weight; it keeps its place in the order. */
  recount(slot: number, weight: number, passed: number): void {
    this.line.remove(slot)
    this.line.insert(slot, weight, passed, this.#costs[slot]!)
  }

  /** Lets a tenant wait no more. */
  end(slot: number): void {
    this.line.remove(slot)
    this.#unlink(slot)
  }

  clear(): void {
    this.line.clear()
    this.#first = NONE
    this.#last = NONE
    this.#count = 0
  }

  #unlink(slot: number): void {
    const before = this.#before[slot]!
    const after = this.#after[slot]!
    if (before === NONE) this.#first = after
    else this.#after[before] = after
    if (after === NONE) this.#last = before
    else this.#before[after] = before
    this.#count--
  }

  #grow(length: number): void {
    this.#costs = grown(this.#costs, length, 0)
    this.#sinceMs = grown(this.#sinceMs, length, 0)
    this.#before = grown(this.#before, length, 0)
    this.#after = grown(this.#after, length, 0)
  }
}
