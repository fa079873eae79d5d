import { grown } from './ordered-sums.js'

/** Numbers of a slot: its key in the heap and in the ranking, and its new amounts. */
const WIDTH = 4
const FROM = 0
const KEY = 1
const WEIGHT = 2
const PASSED = 3

/** Bits of a slot's state. */
const IN_HEAP = 1
const IS_LATE = 2

/**
 * Tenants beyond the level, which claim nothing: new amounts that their ranking does not know yet, and a heap by the
 * keys that it knows, to find those that a higher level may reach. Keys only rise here, so no other one is reached.
 */
export class Beyond {
  #amounts: Float64Array = new Float64Array(0)
  #states: Uint8Array = new Uint8Array(0)
  /** Slots, by the key with which they came: once each, also if their amounts are known again. */
  #heap: Int32Array = new Int32Array(0)
  #size = 0

  /** The last one taken. */
  slot = -1
  weight = 0
  passed = 0

  has(slot: number): boolean {
    return slot < this.#states.length && (this.#states[slot]! & IS_LATE) !== 0
  }

  /** Its key in the ranking. */
  keyOf(slot: number): number {
    return this.#amounts[slot * WIDTH + KEY]!
  }

  /**
   * Notes the new amounts of a slot with that key in the ranking. False if it is not possible: it was here before, by a
   * higher key.
   */
  put(slot: number, key: number, weight: number, passed: number): boolean {
    if (slot >= this.#states.length) this.#grow(2 * (slot + 1))
    const at = slot * WIDTH
    const state = this.#states[slot]!
    if (state === 0) {
      this.#amounts[at + FROM] = key
      this.#push(slot)
    } else if (key < this.#amounts[at + FROM]!) return false
    this.#states[slot] = IN_HEAP | IS_LATE
    this.#amounts[at + KEY] = key
    this.#amounts[at + WEIGHT] = weight
    this.#amounts[at + PASSED] = passed
    return true
  }

  /** The ranking knows its amounts. */
  drop(slot: number): void {
    if (this.has(slot)) this.#states[slot] = IN_HEAP
  }

  /** Takes one whose key is below `level`, if there is one, into {@link slot}, {@link weight} and {@link passed}. */
  takeBelow(level: number): boolean {
    while (this.#size > 0 && this.#from(this.#heap[0]!) < level) {
      const slot = this.#pop()
      const isLate = this.has(slot)
      this.#states[slot] = 0
      if (!isLate) continue
      this.slot = slot
      this.weight = this.#amounts[slot * WIDTH + WEIGHT]!
      this.passed = this.#amounts[slot * WIDTH + PASSED]!
      return true
    }
    return false
  }

  clear(): void {
    for (let i = 0; i < this.#size; i++) this.#states[this.#heap[i]!] = 0
    this.#size = 0
  }

  #from(slot: number): number {
    return this.#amounts[slot * WIDTH + FROM]!
  }

  #push(slot: number): void {
    const heap = this.#heap
    const key = this.#from(slot)
    let at = this.#size++
    for (let up = (at - 1) >> 1; at > 0 && this.#from(heap[up]!) > key; at = up, up = (at - 1) >> 1)
      heap[at] = heap[up]!
    heap[at] = slot
  }

  #pop(): number {
    const heap = this.#heap
    const first = heap[0]!
    const slot = heap[--this.#size]!
    const key = this.#from(slot)
    let at = 0
    for (let down = 1; down < this.#size; down = 2 * at + 1) {
      if (down + 1 < this.#size && this.#from(heap[down + 1]!) < this.#from(heap[down]!)) down++
      if (this.#from(heap[down]!) >= key) break
      heap[at] = heap[down]!
      at = down
    }
    heap[at] = slot
    return first
  }

  #grow(slots: number): void {
    this.#amounts = grown(this.#amounts, slots * WIDTH, 0)
    this.#states = grown(this.#states, slots, 0)
    this.#heap = grown(this.#heap, slots, 0)
  }
}
