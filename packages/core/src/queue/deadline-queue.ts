import { type Linked, LinkedList } from '../linked-list.js'

/** A member of a {@link DeadlineQueue}. */
export interface Timed<W> extends Linked<W> {
  readonly startByMs: number
  /** Written only by the queue: the index in the heap, or one of the two constants below. */
  position: number
}

const NOWHERE = -1
const IN_LINE = -2

/**
 * A priority queue by `startByMs`, earliest first: a line of the members that were added in order, and a binary heap of
 * the others. O(1) if all may wait equally long, the usual case; O(log n) for members in the heap.
 */
export class DeadlineQueue<W extends Timed<W>> {
  readonly #line = new LinkedList<W>()
  readonly #heap: W[] = []
  #size = 0

  get size(): number {
    return this.#size
  }

  /** All members, in no order. */
  *[Symbol.iterator](): Generator<W> {
    for (let item = this.#line.first; item !== undefined; item = item.next) yield item
    yield* this.#heap
  }

  /** The earliest; `undefined` if there is none. */
  get first(): W | undefined {
    const { first } = this.#line
    if (this.#heap.length === 0) return first
    const top = this.#heap[0]!
    return first !== undefined && first.startByMs <= top.startByMs ? first : top
  }

  add(item: W): void {
    this.#size++
    const { last } = this.#line
    if (last === undefined || last.startByMs <= item.startByMs) {
      item.position = IN_LINE
      this.#line.push(item)
      return
    }
    this.#heap.push(item)
    this.#rise(item, this.#heap.length - 1)
  }

  /** Does nothing if the item is not there. */
  delete(item: W): void {
    const { position } = item
    if (position === NOWHERE) return
    item.position = NOWHERE
    this.#size--
    if (position === IN_LINE) {
      this.#line.delete(item)
      return
    }
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
