/**
 * Sums of the blocks of a ranking, by their position: three amounts each, in a binary tree above the positions. Of the
 * first amount, `'least'` keeps the least instead of the sum.
 *
 * A node is always recomputed from the two below it, never corrected by a difference, so rounding errors do not
 * accumulate.
 */
class Totals {
  readonly #kind: 'sum' | 'least'
  readonly #empty: number
  // By node: 1 is the root, the children of n are 2n and 2n + 1, the leaves are the positions.
  #xs: Float64Array = new Float64Array(2)
  #ys: Float64Array = new Float64Array(2)
  #zs: Float64Array = new Float64Array(2)
  #leaves = 1

  /** Sums of the last {@link sumBefore}; with `'least'`, `x` is the least. */
  x = 0
  y = 0
  z = 0

  constructor(kind: 'sum' | 'least') {
    this.#kind = kind
    this.#empty = kind === 'sum' ? 0 : Number.POSITIVE_INFINITY
    this.#xs.fill(this.#empty)
  }

  clear(): void {
    this.#xs.fill(this.#empty)
    this.#ys.fill(0)
    this.#zs.fill(0)
  }

  /** Makes room for `size` positions, a power of 2, and clears them. */
  resize(leaves: number): void {
    this.#leaves = leaves
    this.#xs = new Float64Array(2 * leaves).fill(this.#empty)
    this.#ys = new Float64Array(2 * leaves)
    this.#zs = new Float64Array(2 * leaves)
  }

  /** Sets the values at a position; {@link pull} or {@link pullFrom} has to follow. */
  set(position: number, x: number, y: number, z: number): void {
    this.#xs[this.#leaves + position] = x
    this.#ys[this.#leaves + position] = y
    this.#zs[this.#leaves + position] = z
  }

  /** Empties a position; {@link pullFrom} has to follow. */
  drop(position: number): void {
    this.set(position, this.#empty, 0, 0)
  }

  /** Moves the positions from one up to `count` on to another; {@link pullFrom} has to follow. */
  shift(from: number, to: number, count: number): void {
    for (const amounts of [this.#xs, this.#ys, this.#zs])
      amounts.copyWithin(this.#leaves + to, this.#leaves + from, this.#leaves + count)
  }

  /** Recomputes the nodes above a position. */
  pull(position: number): void {
    for (let node = (this.#leaves + position) >> 1; node > 0; node >>= 1) this.#pull(node)
  }

  /** Recomputes the nodes above the positions from one up to `count`, and the one behind them. */
  pullFrom(position: number, count: number): void {
    let low = (this.#leaves + position) >> 1
    let high = Math.min(this.#leaves + count, 2 * this.#leaves - 1) >> 1
    for (; low > 0; low >>= 1, high >>= 1) for (let node = low; node <= high; node++) this.#pull(node)
  }

  /** Sums up all positions before this one. */
  sumBefore(position: number): void {
    let x = this.#empty
    let y = 0
    let z = 0
    for (let node = this.#leaves + position; node > 1; node >>= 1) {
      if ((node & 1) === 0) continue
      const otherX = this.#xs[node - 1]!
      x = this.#kind === 'sum' ? x + otherX : Math.min(x, otherX)
      y += this.#ys[node - 1]!
      z += this.#zs[node - 1]!
    }
    this.x = x
    this.y = y
    this.z = z
  }

  /** The first position from `from` up to `count` whose least first amount is at most `most`; -1 if there is none. */
  next(from: number, count: number, most: number): number {
    if (from >= count) return -1
    let node = this.#leaves + from
    while (this.#xs[node]! > most) {
      // Up while it is a right child (nothing more to its right in there), then over to the right.
      while ((node & 1) === 1) node >>= 1
      if (node === 0) return -1
      node++
    }
    while (node < this.#leaves) {
      node <<= 1
      if (this.#xs[node]! > most) node++
    }
    return node - this.#leaves
  }

  #pull(node: number): void {
    const left = 2 * node
    const x = this.#xs[left]!
    const otherX = this.#xs[left + 1]!
    this.#xs[node] = this.#kind === 'sum' ? x + otherX : Math.min(x, otherX)
    this.#ys[node] = this.#ys[left]! + this.#ys[left + 1]!
    this.#zs[node] = this.#zs[left]! + this.#zs[left + 1]!
  }
}

/** Entries of a block: few enough to shift and sum quickly, and enough to keep the tree above small. */
const BLOCK = 64

/**
 * Slots in order of a key, each with two amounts `x` and `y`, in flat arrays: provides the sums of the amounts of all
 * slots below a key. A ranking by `'least'` does not sum `x`, but `y` and key·y − x; it finds the least `x` instead,
 * and the first slot whose `x` is at most a bound.
 *
 * Entries stand in blocks in the order of their keys, with {@link Totals} above the blocks; each is recomputed from its
 * entries whenever one changes. O(log n), except for a split or union of two blocks: then all blocks behind them move,
 * a pass over n/64 blocks once in some dozens of changes.
 */
export class Ranking {
  readonly #kind: 'sum' | 'least'
  // By block, BLOCK entries each.
  #keys: Float64Array = new Float64Array(BLOCK)
  #xs: Float64Array = new Float64Array(BLOCK)
  #ys: Float64Array = new Float64Array(BLOCK)
  #slots: Int32Array = new Int32Array(BLOCK)
  #counts: Int32Array = new Int32Array(1)
  #positions: Int32Array = new Int32Array(1)
  // By position, in the order of keys; `order[blocks…]` are the spare ones.
  #order: Int32Array = new Int32Array(1)
  #firsts: Float64Array = new Float64Array(1)
  #blocks = 0
  readonly #totals: Totals
  #blockOf: Int32Array = new Int32Array(64).fill(-1)

  /**
   * Sums below the key of the last {@link sumBelow}: of `x`, or else its least, and of key·y − x as `z`; and of `y`.
   */
  x = 0
  y = 0
  z = 0
  /** The highest key below that key, and the lowest at it or above; infinite if there is none. */
  below: number = Number.NEGATIVE_INFINITY
  above: number = Number.POSITIVE_INFINITY

  constructor(kind: 'sum' | 'least') {
    this.#kind = kind
    this.#totals = new Totals(kind)
  }

  clear(): void {
    for (let p = 0; p < this.#blocks; p++) {
      const at = this.#order[p]! * BLOCK
      for (let i = at; i < at + this.#counts[this.#order[p]!]!; i++) this.#blockOf[this.#slots[i]!] = -1
    }
    this.#blocks = 0
    this.#totals.clear()
  }

  has(slot: number): boolean {
    return slot < this.#blockOf.length && this.#blockOf[slot]! >= 0
  }

  /** The slot with the lowest key; -1 if there is none. */
  get first(): number {
    return this.#blocks > 0 ? this.#slots[this.#order[0]! * BLOCK]! : -1
  }

  /** The key of a slot; negative infinity if it is not in the ranking. */
  keyOf(slot: number): number {
    if (!this.has(slot)) return Number.NEGATIVE_INFINITY
    let at = this.#blockOf[slot]! * BLOCK
    while (this.#slots[at] !== slot) at++
    return this.#keys[at]!
  }

  /** Adds a slot that is not in the ranking. */
  insert(slot: number, key: number, x: number, y: number): void {
    if (this.#blocks === 0) this.#addBlock(0)
    let position = Math.max(0, this.#countOfFirsts(key, true) - 1)
    if (this.#counts[this.#order[position]!] === BLOCK) {
      this.#split(position)
      if (this.#firsts[position + 1]! <= key) position++
    }
    const block = this.#order[position]!
    const start = block * BLOCK
    let at = start + this.#counts[block]!++
    for (; at > start && this.#keys[at - 1]! > key; at--) this.#move(at - 1, at)
    this.#keys[at] = key
    this.#xs[at] = x
    this.#ys[at] = y
    this.#slots[at] = slot
    if (slot >= this.#blockOf.length) this.#blockOf = grown(this.#blockOf, 2 * slot, -1)
    this.#blockOf[slot] = block
    this.#refresh(position)
  }

  /** Adds a slot, or changes its key and amounts. */
  set(slot: number, key: number, x: number, y: number): void {
    if (this.has(slot)) {
      const block = this.#blockOf[slot]!
      const position = this.#positions[block]!
      const isAbove = position === 0 || key >= this.#firsts[position]!
      const isBelow = position + 1 === this.#blocks || key < this.#firsts[position + 1]!
      if (isAbove && isBelow) {
        this.#moveWithin(block, slot, key, x, y)
        this.#refresh(position)
        return
      }
      this.remove(slot)
    }
    this.insert(slot, key, x, y)
  }

  #moveWithin(block: number, slot: number, key: number, x: number, y: number): void {
    const start = block * BLOCK
    const last = start + this.#counts[block]! - 1
    let at = start
    while (this.#slots[at] !== slot) at++
    for (; at < last && this.#keys[at + 1]! <= key; at++) this.#move(at + 1, at)
    for (; at > start && this.#keys[at - 1]! > key; at--) this.#move(at - 1, at)
    this.#keys[at] = key
    this.#xs[at] = x
    this.#ys[at] = y
    this.#slots[at] = slot
  }

  /** Removes a slot that is in the ranking. */
  remove(slot: number): void {
    const block = this.#blockOf[slot]!
    this.#blockOf[slot] = -1
    let at = block * BLOCK
    while (this.#slots[at] !== slot) at++
    const end = block * BLOCK + --this.#counts[block]!
    for (; at < end; at++) this.#move(at + 1, at)
    const position = this.#positions[block]!
    if (!this.#unite(position)) this.#refresh(position)
  }

  /** Sums up all slots whose key is below `key`, into `x` and `y`; `below` and `above` are the keys next to it. */
  sumBelow(key: number): void {
    let x = this.#kind === 'sum' ? 0 : Number.POSITIVE_INFINITY
    let y = 0
    let z = 0
    const position = this.#countOfFirsts(key, false) - 1
    this.below = Number.NEGATIVE_INFINITY
    this.above = position + 1 < this.#blocks ? this.#firsts[position + 1]! : Number.POSITIVE_INFINITY
    if (position >= 0) {
      const totals = this.#totals
      totals.sumBefore(position)
      x = totals.x
      y = totals.y
      z = totals.z
      const block = this.#order[position]!
      const end = block * BLOCK + this.#counts[block]!
      let at = block * BLOCK
      for (; at < end && this.#keys[at]! < key; at++) {
        x = this.#kind === 'sum' ? x + this.#xs[at]! : Math.min(x, this.#xs[at]!)
        y += this.#ys[at]!
        z += this.#keys[at]! * this.#ys[at]! - this.#xs[at]!
      }
      this.below = this.#keys[at - 1]!
      if (at < end) this.above = this.#keys[at]!
    }
    this.x = x
    this.y = y
    this.z = z
  }

  /** The lowest key of a slot, other than `except`, with `x` at most `most`; Infinity if there is none. */
  firstKey(most: number, except: number): number {
    for (
      let position = this.#totals.next(0, this.#blocks, most);
      position >= 0;
      position = this.#totals.next(position + 1, this.#blocks, most)
    ) {
      const block = this.#order[position]!
      const end = block * BLOCK + this.#counts[block]!
      for (let at = block * BLOCK; at < end; at++)
        if (this.#xs[at]! <= most && this.#slots[at] !== except) return this.#keys[at]!
    }
    return Number.POSITIVE_INFINITY
  }

  /** Number of blocks that begin below `key`, or also at it. */
  #countOfFirsts(key: number, orAt: boolean): number {
    let low = 0
    let high = this.#blocks
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#firsts[middle]! < key || (orAt && this.#firsts[middle] === key)) low = middle + 1
      else high = middle
    }
    return low
  }

  #move(from: number, to: number): void {
    this.#keys[to] = this.#keys[from]!
    this.#xs[to] = this.#xs[from]!
    this.#ys[to] = this.#ys[from]!
    this.#slots[to] = this.#slots[from]!
  }

  /** Recomputes the block at `position`, and the tree above it. */
  #refresh(position: number): void {
    this.#sumBlock(position)
    this.#totals.pull(position)
  }

  #sumBlock(position: number): void {
    const block = this.#order[position]!
    const start = block * BLOCK
    const end = start + this.#counts[block]!
    this.#firsts[position] = this.#keys[start]!
    let x = this.#kind === 'sum' ? 0 : Number.POSITIVE_INFINITY
    let y = 0
    let z = 0
    if (this.#kind === 'sum')
      for (let at = start; at < end; at++) {
        x += this.#xs[at]!
        y += this.#ys[at]!
      }
    else
      for (let at = start; at < end; at++) {
        x = Math.min(x, this.#xs[at]!)
        y += this.#ys[at]!
        z += this.#keys[at]! * this.#ys[at]! - this.#xs[at]!
      }
    this.#totals.set(position, x, y, z)
  }

  /** Moves the upper half of a full block into a new one behind it. */
  #split(position: number): void {
    this.#addBlock(position + 1)
    const from = this.#order[position]!
    this.#counts[from] = BLOCK / 2
    this.#append(from * BLOCK + BLOCK / 2, BLOCK / 2, this.#order[position + 1]!)
    this.#sumBlock(position)
    this.#sumBlock(position + 1)
    this.#totals.pullFrom(position, this.#blocks)
  }

  /** Removes the block at `position` if it is empty, or merges its right neighbour into it if both are small. */
  #unite(position: number): boolean {
    const block = this.#order[position]!
    if (this.#counts[block] === 0) this.#dropBlock(position)
    else {
      if (position + 1 >= this.#blocks) return false
      const next = this.#order[position + 1]!
      if (this.#counts[block]! + this.#counts[next]! > BLOCK / 2) return false
      this.#append(next * BLOCK, this.#counts[next]!, block)
      this.#dropBlock(position + 1)
      this.#sumBlock(position)
    }
    this.#totals.pullFrom(position, this.#blocks)
    return true
  }

  /** Copies `count` entries from index `from` to the end of `block`. */
  #append(from: number, count: number, block: number): void {
    let at = block * BLOCK + this.#counts[block]!
    this.#counts[block]! += count
    for (let i = from; i < from + count; i++, at++) {
      this.#move(i, at)
      this.#blockOf[this.#slots[at]!] = block
    }
  }

  /** Inserts an empty block at `position`. */
  #addBlock(position: number): void {
    const capacity = this.#order.length
    if (this.#blocks === capacity) this.#grow(2 * capacity)
    const block = this.#order[this.#blocks]!
    this.#shift(position, position + 1)
    this.#order[position] = block
    this.#counts[block] = 0
    this.#blocks++
    this.#renumber(position)
  }

  #dropBlock(position: number): void {
    const block = this.#order[position]!
    this.#shift(position + 1, position)
    this.#blocks--
    this.#order[this.#blocks] = block
    this.#renumber(position)
    this.#totals.drop(this.#blocks)
  }

  /** Moves all entries from one position on to another; the totals are wrong until they are pulled. */
  #shift(from: number, to: number): void {
    this.#order.copyWithin(to, from, this.#blocks)
    this.#firsts.copyWithin(to, from, this.#blocks)
    this.#totals.shift(from, to, this.#blocks)
  }

  #renumber(from: number): void {
    for (let position = from; position < this.#blocks; position++) this.#positions[this.#order[position]!] = position
  }

  #grow(capacity: number): void {
    const before = this.#order.length
    this.#keys = grown(this.#keys, capacity * BLOCK, 0)
    this.#xs = grown(this.#xs, capacity * BLOCK, 0)
    this.#ys = grown(this.#ys, capacity * BLOCK, 0)
    this.#slots = grown(this.#slots, capacity * BLOCK, 0)
    this.#counts = grown(this.#counts, capacity, 0)
    this.#positions = grown(this.#positions, capacity, 0)
    this.#firsts = grown(this.#firsts, capacity, 0)
    this.#order = grown(this.#order, capacity, 0)
    for (let block = before; block < capacity; block++) this.#order[block] = block
    this.#totals.resize(capacity)
    for (let position = 0; position < this.#blocks; position++) this.#sumBlock(position)
    this.#totals.pullFrom(0, this.#blocks)
  }
}

/** A larger copy, the new part filled with `value`. */
export function grown<A extends Float64Array | Int32Array | Uint8Array>(array: A, length: number, value: number): A {
  const larger = new (array.constructor as new (length: number) => A)(length)
  larger.fill(value, array.length)
  larger.set(array)
  return larger
}
