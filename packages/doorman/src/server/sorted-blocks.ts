import { BLOCK_SIZE, Blocks } from './blocks.js'

/** A block with fewer entries joins its neighbour, where both together have no more than this. */
const SPARSE = BLOCK_SIZE / 4
const PACKED = (BLOCK_SIZE * 3) / 4

/** Somebody's wish: its number in the blocks. */
export interface Placed {
  place: number
}

/**
 * What children want, by wants per mass, so that the exact max-min level is found in O(log n) while one of them changes
 * per request: a row of blocks, each for the ratios up to its bound, and a tree of sums over them.
 *
 * `wants` is finite and at least 0, `mass` above 0.
 */
export class SortedBlocks<E extends Placed> {
  /** Where the blocks have an entry, by its number. */
  readonly #cellOf: number[] = []
  readonly #blocks = new Blocks(this.#cellOf)
  /** The blocks by position. */
  readonly #row: number[] = [this.#blocks.create()]
  /** By position: the largest ratio that may be in there. It stays when that entry goes, and the last one is infinite. */
  readonly #bounds: number[] = [Number.POSITIVE_INFINITY]
  /** By block. */
  readonly #positions: number[] = [0]
  readonly #tree = new SumTree()
  /** By number of the entry. */
  readonly #entries: (E | undefined)[] = []
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
    this.#size++
    this.#insert(this.#firstAbove(wants / mass), entry.place, wants, mass)
  }

  /** O(log n). */
  remove(entry: E): void {
    this.#takeOut(entry.place)
    this.#entries[entry.place] = undefined
    this.#freed.push(entry.place)
    this.#size--
  }

  /** The same entry now wants this. O(log n). */
  change(entry: E, wants: number, mass: number): void {
    const { place } = entry
    const position = this.#firstAbove(wants / mass)
    const block = this.#row[position]!
    if (this.#blocks.blockOf(place) === block) {
      this.#blocks.change(place, wants, mass)
      this.#sum(block)
      return
    }
    this.#takeOut(place)
    // A neighbour may have moved down meanwhile.
    this.#insert(this.#firstAbove(wants / mass), place, wants, mass)
  }

  /**
   * The λ at which the sum of min(wants, λ · mass) is `capacity`; infinite if all that is wanted fits. O(log n): a
   * descent in the tree, and a scan of one block.
   */
  level(capacity: number): number {
    const { leaves, wants: wantsBy, mass: massBy } = this.#tree
    const bounds = this.#bounds
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
      if (end >= bounds.length - 1 || upToEnd + bounds[end]! * (total - massToEnd) >= capacity) continue
      wants = upToEnd
      mass = massToEnd
      node++
      position += half
    }
    const block = this.#row[position]!
    this.#blocks.sort(block)
    const { ratios, wantsOf, massOf } = this.#blocks
    const end = this.#blocks.end(block)
    for (let cell = this.#blocks.first(block); cell < end; cell++) {
      const above = total - mass
      if (wants + ratios[cell]! * above >= capacity) return (capacity - wants) / above
      wants += wantsOf[cell]!
      mass += massOf[cell]!
    }
    // Nothing is above only where rounding hides the level.
    return mass < total ? (capacity - wants) / (total - mass) : Number.POSITIVE_INFINITY
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
    const block = this.#row[position]!
    this.#blocks.sort(block)
    const { ratios, wantsOf, massOf } = this.#blocks
    const end = this.#blocks.end(block)
    for (let cell = this.#blocks.first(block); cell < end; cell++) {
      if (ratios[cell]! > ratio) break
      wants += wantsOf[cell]!
      mass += massOf[cell]!
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

  /**
   * Calls `visit` with every entry, in the order of the ratios; but with the sums of a block, and no entry, where
   * `together` says that all up to a ratio may be taken together.
   */
  forEach(
    visit: (entry: E | undefined, wants: number, mass: number) => void,
    together: (ratio: number) => boolean = () => false,
  ): void {
    const blocks = this.#blocks
    for (const [position, block] of this.#row.entries()) {
      if (together(this.#bounds[position]!)) {
        visit(undefined, blocks.wants[block]!, blocks.mass[block]!)
        continue
      }
      blocks.sort(block)
      const end = blocks.end(block)
      for (let cell = blocks.first(block); cell < end; cell++)
        visit(this.#entries[blocks.entries[cell]!]!, blocks.wantsOf[cell]!, blocks.massOf[cell]!)
    }
  }

  #insert(position: number, place: number, wants: number, mass: number): void {
    if (this.#blocks.full(this.#row[position]!)) {
      this.#split(position)
      if (this.#bounds[position]! <= wants / mass) position++
    }
    const block = this.#row[position]!
    this.#blocks.append(block, place, wants, mass)
    this.#sum(block)
  }

  #takeOut(place: number): void {
    const block = this.#blocks.blockOf(place)
    this.#blocks.remove(place)
    this.#sum(block)
    if (this.#blocks.sizes[block]! < SPARSE) this.#join(this.#positions[block]!)
  }

  /** A block has changed. */
  #sum(block: number): void {
    this.#tree.update(this.#positions[block]!, this.#blocks.wants[block]!, this.#blocks.mass[block]!)
  }

  /** The first position whose bound is above `ratio`. */
  #firstAbove(ratio: number): number {
    const bounds = this.#bounds
    let low = 0
    let high = bounds.length - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if (bounds[middle]! > ratio) high = middle
      else low = middle + 1
    }
    return low
  }

  /** Halves a full block; the upper half comes after it. */
  #split(position: number): void {
    const block = this.#row[position]!
    const upper = this.#blocks.halve(block)
    this.#row.splice(position + 1, 0, upper)
    this.#bounds.splice(position, 0, this.#blocks.last(block))
    this.#number()
  }

  /** A block has few entries left: it and a neighbour become one, if that leaves room. O(blocks) when they do. */
  #join(position: number): void {
    const { sizes } = this.#blocks
    const fits = (lower: number): boolean =>
      lower >= 0 && lower + 1 < this.#row.length && sizes[this.#row[lower]!]! + sizes[this.#row[lower + 1]!]! <= PACKED
    const lower = fits(position) ? position : position - 1
    if (!fits(lower)) return
    this.#blocks.merge(this.#row[lower]!, this.#row[lower + 1]!)
    this.#row.splice(lower, 1)
    this.#bounds.splice(lower, 1)
    this.#number()
  }

  /** The row has changed. */
  #number(): void {
    for (let position = 0; position < this.#row.length; position++) this.#positions[this.#row[position]!] = position
    this.#tree.rebuild(this.#row, this.#blocks)
  }
}

/**
 * Sums over a row of blocks: the root is node 1, the parts of node i are 2i and 2i + 1, the leaves begin at `leaves`.
 * A sum is made of its two parts anew whenever one changes, so it never drifts.
 */
class SumTree {
  leaves = 1
  wants: Float64Array = new Float64Array(2)
  mass: Float64Array = new Float64Array(2)

  /** The block at `position` has changed. O(log blocks). */
  update(position: number, wants: number, mass: number): void {
    let node = this.leaves + position
    this.wants[node] = wants
    this.mass[node] = mass
    for (node >>= 1; node >= 1; node >>= 1) this.#join(node)
  }

  /** The row has changed. O(blocks). */
  rebuild(row: readonly number[], blocks: Blocks): void {
    if (row.length > this.leaves || row.length * 4 < this.leaves) {
      this.leaves = 2 ** Math.ceil(Math.log2(row.length))
      this.wants = new Float64Array(2 * this.leaves)
      this.mass = new Float64Array(2 * this.leaves)
    }
    this.wants.fill(0)
    this.mass.fill(0)
    for (let position = 0; position < row.length; position++) {
      this.wants[this.leaves + position] = blocks.wants[row[position]!]!
      this.mass[this.leaves + position] = blocks.mass[row[position]!]!
    }
    for (let node = this.leaves - 1; node >= 1; node--) this.#join(node)
  }

  #join(node: number): void {
    this.wants[node] = this.wants[2 * node]! + this.wants[2 * node + 1]!
    this.mass[node] = this.mass[2 * node]! + this.mass[2 * node + 1]!
  }
}
