/** A binary heap: the entry with the least key comes first. O(log n) to push and to pop. */
export class Heap<T> {
  readonly #keys: number[] = []
  readonly #items: T[] = []

  get size(): number {
    return this.#keys.length
  }

  /** The least key; Infinity if the heap is empty. */
  get least(): number {
    return this.#keys[0] ?? Number.POSITIVE_INFINITY
  }

  /** The entry with the least key; undefined if the heap is empty. */
  get first(): T | undefined {
    return this.#items[0]
  }

  push(key: number, item: T): void {
    const keys = this.#keys
    const items = this.#items
    let at = keys.length
    keys.push(key)
    items.push(item)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (keys[parent]! <= key) break
      keys[at] = keys[parent]!
      items[at] = items[parent]!
      at = parent
    }
    keys[at] = key
    items[at] = item
  }

  /** Removes and returns the entry with the least key; the heap must not be empty. */
  pop(): T {
    const keys = this.#keys
    const items = this.#items
    const first = items[0]!
    const key = keys.pop()!
    const item = items.pop()!
    const size = keys.length
    if (size === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= size) break
      if (child + 1 < size && keys[child + 1]! < keys[child]!) child++
      if (keys[child]! >= key) break
      keys[at] = keys[child]!
      items[at] = items[child]!
      at = child
    }
    keys[at] = key
    items[at] = item
    return first
  }
}
