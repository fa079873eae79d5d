/** The links of a member of a {@link LinkedList}: its neighbours. Only the list writes them. */
export interface Linked<N> {
  next: N | undefined
  previous: N | undefined
}

/** The ends of a list whose links lie in its members. */
export interface Ends<N> {
  first: N | undefined
  last: N | undefined
}

/** Adds a member at the end of a list. */
export function append<N extends Linked<N>>(list: Ends<N>, node: N): void {
  node.previous = list.last
  if (list.last === undefined) list.first = node
  else list.last.next = node
  list.last = node
}

/** Deletes a member of a list from anywhere. */
export function unlink<N extends Linked<N>>(list: Ends<N>, node: N): void {
  if (node.previous === undefined) list.first = node.next
  else node.previous.next = node.next
  if (node.next === undefined) list.last = node.previous
  else node.next.previous = node.previous
  node.next = undefined
  node.previous = undefined
}

/**
 * A doubly linked list whose links lie in its members: adding at the end and deleting anywhere are O(1), and allocate
 * nothing.
 *
 * Records that are made all the time should not extend it, but be {@link Ends}: engines call the constructors of a
 * derived class out of line.
 */
export class LinkedList<N extends Linked<N>> implements Ends<N> {
  first: N | undefined = undefined
  last: N | undefined = undefined

  push(node: N): void {
    append(this, node)
  }

  delete(node: N): void {
    unlink(this, node)
  }
}

/** Entries that may be added, beside four for each present one, before the `Map` is replaced. */
const TURNOVER = 1_024

/**
 * A map whose entries come and go all the time, as flows do.
 *
 * A `Map` in which entries are deleted and added in turn is rehashed again and again, and each discarded table refers
 * to the next one. Once one of them is old, every scavenge keeps all later tables with their entries, until the next
 * full collection. Here they are left behind together: from time to time, the entries move to a new `Map`. O(1)
 * amortised; iterates in order of insertion.
 */
export class TurnoverMap<V> {
  #entries = new Map<string, V>()
  #added = 0

  get entries(): ReadonlyMap<string, V> {
    return this.#entries
  }

  set(key: string, value: V): void {
    if (++this.#added > TURNOVER + 4 * this.#entries.size) {
      this.#added = 0
      this.#entries = new Map(this.#entries)
    }
    this.#entries.set(key, value)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }
}

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
