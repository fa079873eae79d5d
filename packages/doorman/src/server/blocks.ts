import { grown } from '@fairlead/core/internal'

const BITS = 6

/** Initial size: most resources have a few clients, and small arrays cost little. */
const FIRST_CELLS = 8

/** Most entries in a block. */
export const BLOCK_SIZE: number = 1 << BITS

/**
 * Blocks of up to {@link BLOCK_SIZE} entries, with their sums. Inside a block entries are unordered until it is sorted
 * on demand, so that adding and removing are O(1). Entries and blocks are numbers.
 *
 * All data lies in flat arrays: with many entries, most of the time goes into memory access.
 */
export class Blocks {
  readonly #cellOf: number[]
  /** By cell. Block b owns the cells from b * BLOCK_SIZE on, and fills them from the front. */
  entries: Int32Array = new Int32Array(FIRST_CELLS)
  ratios: Float64Array = new Float64Array(FIRST_CELLS)
  wantsOf: Float64Array = new Float64Array(FIRST_CELLS)
  massOf: Float64Array = new Float64Array(FIRST_CELLS)
  /** By block, like the arrays below. */
  sizes: Int32Array = new Int32Array(1)
  wants: Float64Array = new Float64Array(1)
  mass: Float64Array = new Float64Array(1)
  #sorted: Uint8Array = new Uint8Array(1)
  /** Set if the block's sums are not exact, so that they must not be adjusted. */
  #rounded: Uint8Array = new Uint8Array(1)
  #count = 0
  readonly #freed: number[] = []

  /** `cellOf` maps an entry to its cell; it is updated when entries move to other blocks. */
  constructor(cellOf: number[]) {
    this.#cellOf = cellOf
  }

  /** Makes an empty block. */
  create(): number {
    const freed = this.#freed.pop()
    if (freed !== undefined) return freed
    if (this.#count === this.sizes.length) this.#grow()
    return this.#count++
  }

  blockOf(entry: number): number {
    return this.#cellOf[entry]! >> BITS
  }

  /** Its first cell. */
  first(block: number): number {
    return block << BITS
  }

  /** The cell after its last entry. */
  end(block: number): number {
    return (block << BITS) + this.sizes[block]!
  }

  full(block: number): boolean {
    return this.sizes[block] === BLOCK_SIZE
  }

  append(block: number, entry: number, wants: number, mass: number): void {
    const cell = this.end(block)
    while (cell >= this.entries.length) this.#growCells()
    this.sizes[block]!++
    this.#put(cell, entry, wants / mass, wants, mass)
    this.#sorted[block] = 0
    this.#adjust(block, wants, mass)
  }

  /** Changes an entry's wants and mass, in the same block. */
  change(entry: number, wants: number, mass: number): void {
    const cell = this.#cellOf[entry]!
    const block = this.blockOf(entry)
    const wantsBefore = this.wantsOf[cell]!
    const massBefore = this.massOf[cell]!
    // Zero for the moment, in case the sums have to be recomputed.
    this.#put(cell, entry, 0, 0, 0)
    this.#adjust(block, -wantsBefore, -massBefore)
    this.#put(cell, entry, wants / mass, wants, mass)
    this.#adjust(block, wants, mass)
    this.#sorted[block] = 0
  }

  /** The last entry of the block moves into its cell. */
  remove(entry: number): void {
    const cell = this.#cellOf[entry]!
    const block = this.blockOf(entry)
    const wants = this.wantsOf[cell]!
    const mass = this.massOf[cell]!
    this.sizes[block]!--
    const last = this.end(block)
    this.#put(cell, this.entries[last]!, this.ratios[last]!, this.wantsOf[last]!, this.massOf[last]!)
    this.#sorted[block] = 0
    this.#adjust(block, -wants, -mass)
  }

  /** Sorts by wants per mass. Cheap if the block is nearly sorted. */
  sort(block: number): void {
    if (this.#sorted[block] === 1) return
    this.#sorted[block] = 1
    const { entries, ratios, wantsOf, massOf } = this
    const cellOf = this.#cellOf
    const first = this.first(block)
    const end = this.end(block)
    for (let next = first + 1; next < end; next++) {
      const ratio = ratios[next]!
      if (ratios[next - 1]! <= ratio) continue
      const entry = entries[next]!
      const wants = wantsOf[next]!
      const mass = massOf[next]!
      let cell = next
      for (; cell > first && ratios[cell - 1]! > ratio; cell--) {
        entries[cell] = entries[cell - 1]!
        ratios[cell] = ratios[cell - 1]!
        wantsOf[cell] = wantsOf[cell - 1]!
        massOf[cell] = massOf[cell - 1]!
        cellOf[entries[cell]!] = cell
      }
      this.#put(cell, entry, ratio, wants, mass)
    }
  }

  /** The ratio of the block's last entry. */
  last(block: number): number {
    return this.ratios[this.end(block) - 1]!
  }

  /** Moves the upper half of a full block to a new one. */
  halve(block: number): number {
    this.sort(block)
    const upper = this.create()
    const half = this.first(block) + BLOCK_SIZE / 2
    for (let cell = half; cell < this.end(block); cell++)
      this.append(upper, this.entries[cell]!, this.wantsOf[cell]!, this.massOf[cell]!)
    this.sizes[block] = BLOCK_SIZE / 2
    this.#sum(block)
    return upper
  }

  /** Moves all entries of `from` to `to`, which must have room for them, and frees `from`. */
  merge(from: number, to: number): void {
    for (let cell = this.first(from); cell < this.end(from); cell++)
      this.append(to, this.entries[cell]!, this.wantsOf[cell]!, this.massOf[cell]!)
    this.sizes[from] = 0
    this.#sum(from)
    this.#freed.push(from)
  }

  #put(cell: number, entry: number, ratio: number, wants: number, mass: number): void {
    this.#cellOf[entry] = cell
    this.entries[cell] = entry
    this.ratios[cell] = ratio
    this.wantsOf[cell] = wants
    this.massOf[cell] = mass
  }

  /**
   * The sums are adjusted while that is exact, as with wants that are multiples of one unit. Otherwise they are
   * recomputed, so that they depend only on the present entries: rounding errors do not accumulate.
   */
  #adjust(block: number, wantsChange: number, massChange: number): void {
    const wants = this.wants[block]! + wantsChange
    const mass = this.mass[block]! + massChange
    const exact = isSum(wants, this.wants[block]!, wantsChange) && isSum(mass, this.mass[block]!, massChange)
    if (this.#rounded[block] === 1 || !exact) {
      this.#sum(block)
      return
    }
    this.wants[block] = wants
    this.mass[block] = mass
  }

  #sum(block: number): void {
    let wants = 0
    let mass = 0
    let exact = true
    for (let cell = this.first(block); cell < this.end(block); cell++) {
      const wantsBefore = wants
      const massBefore = mass
      wants += this.wantsOf[cell]!
      mass += this.massOf[cell]!
      exact &&= isSum(wants, wantsBefore, this.wantsOf[cell]!) && isSum(mass, massBefore, this.massOf[cell]!)
    }
    this.wants[block] = wants
    this.mass[block] = mass
    this.#rounded[block] = exact ? 0 : 1
  }

  #growCells(): void {
    this.entries = doubled(this.entries)
    this.ratios = doubled(this.ratios)
    this.wantsOf = doubled(this.wantsOf)
    this.massOf = doubled(this.massOf)
  }

  #grow(): void {
    this.sizes = doubled(this.sizes)
    this.wants = doubled(this.wants)
    this.mass = doubled(this.mass)
    this.#sorted = doubled(this.#sorted)
    this.#rounded = doubled(this.#rounded)
  }
}

/** Whether `sum` is exactly the sum of both, without rounding. */
function isSum(sum: number, one: number, other: number): boolean {
  return sum - one === other && sum - other === one
}

function doubled<A extends Float64Array | Int32Array | Uint8Array>(array: A): A {
  return grown(array, 2 * array.length, 0)
}
