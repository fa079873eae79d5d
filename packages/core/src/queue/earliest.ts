/** What the heap orders: by time, and it writes down where each is, so that any can be taken out. */
export interface Timed {
  readonly startByMs: number
  /** Written by the heap alone; -1 while it is not in one. */
  position: number
}

/**
 * A binary heap by `startByMs`, earliest first. Adding what is later than all others is O(1), the usual case; anything
 * else O(log n).
 */
export class Earliest<W extends Timed> {
  readonly #heap: W[] = []

  get size(): number {
    return this.#heap.length
  }

  /** The earliest; `undefined` if there is none. */
  get first(): W | undefined {
    return this.#heap[0]
  }

  add(item: W): void {
    this.#heap.push(item)
    this.#rise(item, this.#heap.length - 1)
  }

  /** Takes one out; does nothing if it is not there. */
  delete(item: W): void {
    const { position } = item
    if (position < 0) return
    item.position = -1
    const last = this.#heap.pop()!
    if (last === item) return
    this.#sink(last, position)
    if (last.position === position) this.#rise(last, position)
  }

  #rise(item: W, position: number): void {
    while (position > 0) {
      const up = (position - 1) >> 1
      const parent = this.#heap[up]!
      if (parent.startByMs <= item.startByMs) break
      this.#put(parent, position)
      position = up
    }
    this.#put(item, position)
  }

  #sink(item: W, position: number): void {
    for (;;) {
      let child = 2 * position + 1
      if (child >= this.#heap.length) break
      if (child + 1 < this.#heap.length && this.#heap[child + 1]!.startByMs < this.#heap[child]!.startByMs) child++
      if (this.#heap[child]!.startByMs >= item.startByMs) break
      this.#put(this.#heap[child]!, position)
      position = child
    }
    this.#put(item, position)
  }

  #put(item: W, position: number): void {
    this.#heap[position] = item
    item.position = position
  }
}
