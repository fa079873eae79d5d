import { BLOCK_SIZE, Block } from './block.js'
import { SumTree } from './sum-tree.js'

/** Below this mean number of entries the blocks are filled anew, to this number. */
const SPARSE = BLOCK_SIZE / 4
const PACKED = (BLOCK_SIZE * 3) / 4

/** Somebody's wish: its number in the blocks. */
export interface Placed {
  place: number
}

/**
 * What children want, sorted by wants per mass, so that the exact max-min level is found in O(log n) while one of them
 * changes per request: blocks of sorted entries, and a tree of sums over them.
 *
 * `wants` is finite and at least 0, `mass` above 0.
 */
export class SortedBlocks<E extends Placed> {
  #blocks: Block[] = [new Block()]
  readonly #tree = new SumTree()
  /** By number of the entry. */
  readonly #entries: (E | undefined)[] = []
  readonly #blockOf: Block[] = []
  readonly #freed: number[] = []
  #size = 0
  #foundWants = 0
  #foundMass = 0

  get size(): number {
    return this.#size
  }

  /** Sum over all entries. */
  get wants(): number {
    return this.#tree.wants[1]!
  }

  /** Sum over all entries. */
  get mass(): number {
    return this.#tree.mass[1]!
  }

  /** O(log n). */
  add(entry: E, wants: number, mass: number): void {
    entry.place = this.#freed.pop() ?? this.#entries.length
    this.#entries[entry.place] = entry
    this.#insert(entry.place, wants, mass)
  }

  /** O(log n). */
  remove(entry: E): void {
    this.#takeOut(entry.place)
    this.#entries[entry.place] = undefined
    this.#freed.push(entry.place)
    this.#packIfSparse()
  }

  /** The same entry now wants this. O(log n). */
  change(entry: E, wants: number, mass: number): void {
    this.#takeOut(entry.place)
    this.#insert(entry.place, wants, mass)
    this.#packIfSparse()
  }

  #insert(place: number, wants: number, mass: number): void {
    const ratio = wants / mass
    let position = this.#firstAbove(ratio)
    if (this.#blocks[position]!.full) {
      this.#split(position)
      if (this.#tree.last[position]! <= ratio) position++
    }
    const block = this.#blocks[position]!
    block.insert(place, wants, mass)
    this.#blockOf[place] = block
    this.#size++
    this.#tree.update(block)
  }

  #takeOut(place: number): void {
    const block = this.#blockOf[place]!
    block.remove(place)
    this.#size--
    this.#tree.update(block)
  }

  #packIfSparse(): void {
    if (this.#blocks.length > 1 && this.#size < this.#blocks.length * SPARSE) this.#pack()
  }

  /**
   * The λ at which the sum of min(wants, λ · mass) is `capacity`; infinite if all that is wanted fits. O(log n): a
   * descent in the tree, and a scan of one block.
   */
  level(capacity: number): number {
    const { last, leaves, wants: wantsBy, mass: massBy } = this.#tree
    if (wantsBy[1]! <= capacity) return Number.POSITIVE_INFINITY
    if (capacity <= 0) return 0
    const total = massBy[1]!
    let wants = 0
    let mass = 0
    let node = 1
    let position = 0
    for (let half = leaves >> 1; half >= 1; half >>= 1) {
      node *= 2
      const end = position + half - 1
      const upToEnd = wants + wantsBy[node]!
      const massToEnd = mass + massBy[node]!
      if (end >= this.#blocks.length - 1 || upToEnd + last[end]! * (total - massToEnd) >= capacity) continue
      wants = upToEnd
      mass = massToEnd
      node++
      position += half
    }
    const { ratios, wantsOf, massOf, size } = this.#blocks[position]!
    for (let at = 0; at < size; at++) {
      const above = total - mass
      if (wants + ratios[at]! * above >= capacity) return (capacity - wants) / above
      wants += wantsOf[at]!
      mass += massOf[at]!
    }
    // Only where rounding hides the level: hardly any mass is above the largest ratio.
    return last[position]!
  }

  /** Adds up the entries whose ratio is at most `ratio`, for `foundWants` and `foundMass`. O(log n). */
  find(ratio: number): void {
    const { leaves, wants: wantsBy, mass: massBy } = this.#tree
    const position = this.#firstAbove(ratio)
    let wants = 0
    let mass = 0
    for (let node = leaves + position; node > 1; node >>= 1) {
      if ((node & 1) === 0) continue
      wants += wantsBy[node - 1]!
      mass += massBy[node - 1]!
    }
    const { ratios, wantsOf, massOf, size } = this.#blocks[position]!
    for (let at = 0; at < size && ratios[at]! <= ratio; at++) {
      wants += wantsOf[at]!
      mass += massOf[at]!
    }
    this.#foundWants = wants
    this.#foundMass = mass
  }

  /** What the entries of the last {@link find} want together. */
  get foundWants(): number {
    return this.#foundWants
  }

  /** Their mass. */
  get foundMass(): number {
    return this.#foundMass
  }

  /** Calls `visit` with every entry, in the order of the ratios. */
  forEach(visit: (entry: E, wants: number, mass: number) => void): void {
    for (const { entries, wantsOf, massOf, size } of this.#blocks)
      for (let at = 0; at < size; at++) visit(this.#entries[entries[at]!]!, wantsOf[at]!, massOf[at]!)
  }

  /** The first position whose largest ratio is above `ratio`, else the last one. */
  #firstAbove(ratio: number): number {
    const { last } = this.#tree
    let low = 0
    let high = this.#blocks.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (last[middle]! > ratio) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Halves a full block; the upper half comes after it. */
  #split(position: number): void {
    const full = this.#blocks[position]!
    const upper = new Block()
    upper.take(full, BLOCK_SIZE / 2, BLOCK_SIZE / 2)
    full.keep(BLOCK_SIZE / 2)
    this.#settle(upper)
    this.#blocks.splice(position + 1, 0, upper)
    this.#tree.rebuild(this.#blocks)
  }

  /** Fills blocks evenly again, after most of what was in them has gone. */
  #pack(): void {
    const packed: Block[] = [new Block()]
    for (const block of this.#blocks)
      for (let from = 0; from < block.size; ) {
        if (packed.at(-1)!.size === PACKED) packed.push(new Block())
        const into = packed.at(-1)!
        const count = Math.min(block.size - from, PACKED - into.size)
        into.take(block, from, count)
        from += count
      }
    this.#blocks = packed
    for (const block of packed) this.#settle(block)
    this.#tree.rebuild(packed)
  }

  /** Its entries are in this block now. */
  #settle(block: Block): void {
    for (let at = 0; at < block.size; at++) this.#blockOf[block.entries[at]!] = block
  }
}
