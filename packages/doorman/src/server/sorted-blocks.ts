import { BLOCK_SIZE, Blocks } from './blocks.js'

/** A block with fewer entries joins a neighbour if both together have at most PACKED. */
const SPARSE = BLOCK_SIZE / 4
const PACKED = (BLOCK_SIZE * 3) / 4

/** An entry's number in the blocks. */
export interface Placed {
  place: number
}

/**
 * The wants of children, ordered by wants per mass, so that the exact max-min level is found in O(log n) while one of
 * them changes per request: a row of blocks, each for the ratios up to its bound, and a tree of sums over them.
 *
 * `wants` is finite and at least 0, `mass` above 0.
 */
export class SortedBlocks<E extends Placed> {
  /** The cell of each entry in the blocks, by the entry's number. */
  readonly #cellOf: number[] = []
  readonly #blocks = new Blocks(this.#cellOf)
  /** The blocks by position. */
  readonly #row: number[] = [this.#blocks.create()]
  /** By position: upper bound of the block's ratios. It stays when that entry leaves, and the last one is infinite. */
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

  /** Changes an entry's wants and mass. O(log n). */
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
   * The λ at which the sum of min(wants, λ · mass) is `capacity`; infinite if all wants fit. O(log n): a descent in the
   * tree, and a scan of one block.
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
    // Only rounding can leave no mass above the level.
    return mass < total ? (capacity - wants) / (total - mass) : Number.POSITIVE_INFINITY
  }

  /** Sums the entries whose ratio is at most `ratio`, for `foundWants` and `foundMass`. O(log n). */
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

  /** Sum of the wants found by the last {@link find}. */
  get foundWants(): number {
    return this.#foundWants
  }

  /** Sum of the mass found by the last {@link find}. */
  get foundMass(): number {
    return this.#foundMass
  }

  /**
   * Calls `visit` for every entry, in the order of the ratios; but once for a whole block, with its sums and no entry,
   * if `together` is true for the block's bound.
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

  /** Updates the sums of a changed block. */
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

  /** Merges a block with few entries into a neighbour, if both fit. O(blocks) when it does. */
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

  /** Updates the positions after a change of the row. */
  #number(): void {
    for (let position = 0; position < this.#row.length; position++) this.#positions[this.#row[position]!] = position
    this.#tree.rebuild(this.#row, this.#blocks)
  }
}

/**
 * Sums over a row of blocks: the root is node 1, the children of node i are 2i and 2i + 1, the leaves begin at
 * `leaves`. A sum is recomputed from its two children at every change, so it never drifts.
 */
class SumTree {
  leaves = 1
  wants: Float64Array = new Float64Array(2)
  mass: Float64Array = new Float64Array(2)

  /** Updates the block at `position`. O(log blocks). */
  update(position: number, wants: number, mass: number): void {
    let node = this.leaves + position
    this.wants[node] = wants
    this.mass[node] = mass
    for (node >>= 1; node >= 1; node >>= 1) this.#join(node)
  }

  /** Rebuilds the tree after a change of the row. O(blocks). */
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
