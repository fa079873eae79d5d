/** Entries in a block, at most. */
export const BLOCK_SIZE = 128

/** Somebody's wish, as {@link SortedBlocks} keeps it: where it is. */
export interface Placed {
  block: Block | undefined
}

/** Up to {@link BLOCK_SIZE} entries, sorted by wants per mass, with what they come to. */
export class Block {
  readonly ratios: Float64Array = new Float64Array(BLOCK_SIZE)
  readonly wantsOf: Float64Array = new Float64Array(BLOCK_SIZE)
  readonly massOf: Float64Array = new Float64Array(BLOCK_SIZE)
  readonly entries: Placed[] = []
  /** Among the blocks. */
  position = 0
  wants = 0
  mass = 0

  get size(): number {
    return this.entries.length
  }

  get full(): boolean {
    return this.entries.length === BLOCK_SIZE
  }

  /** The largest ratio; 0 of nothing. */
  get last(): number {
    return this.entries.length === 0 ? 0 : this.ratios[this.entries.length - 1]!
  }

  /** Puts an entry behind those whose ratio is not above its own. */
  insert(entry: Placed, wants: number, mass: number): void {
    const { ratios, wantsOf, massOf, entries } = this
    const ratio = wants / mass
    let at = entries.length
    entries.push(entry)
    for (; at > 0 && ratios[at - 1]! > ratio; at--) {
      ratios[at] = ratios[at - 1]!
      wantsOf[at] = wantsOf[at - 1]!
      massOf[at] = massOf[at - 1]!
      entries[at] = entries[at - 1]!
    }
    ratios[at] = ratio
    wantsOf[at] = wants
    massOf[at] = mass
    entries[at] = entry
    entry.block = this
    this.#sum()
  }

  remove(entry: Placed): void {
    const { ratios, wantsOf, massOf, entries } = this
    const size = entries.length - 1
    for (let at = entries.indexOf(entry); at < size; at++) {
      ratios[at] = ratios[at + 1]!
      wantsOf[at] = wantsOf[at + 1]!
      massOf[at] = massOf[at + 1]!
      entries[at] = entries[at + 1]!
    }
    entries.pop()
    entry.block = undefined
    this.#sum()
  }

  /** Takes over the entries of `from` that begin at place `first` there, behind its own. */
  take(from: Block, first: number, count: number): void {
    const at = this.entries.length
    this.ratios.set(from.ratios.subarray(first, first + count), at)
    this.wantsOf.set(from.wantsOf.subarray(first, first + count), at)
    this.massOf.set(from.massOf.subarray(first, first + count), at)
    for (const entry of from.entries.slice(first, first + count)) {
      this.entries.push(entry)
      entry.block = this
    }
    this.#sum()
  }

  /** Keeps only the first `count` entries. */
  keep(count: number): void {
    this.entries.length = count
    this.#sum()
  }

  /**
   * Adds everything up anew: the sums then depend on what is here alone, not on what has been. No dust of past
   * additions remains, however large some of the wants were.
   */
  #sum(): void {
    let wants = 0
    let mass = 0
    for (let at = 0; at < this.entries.length; at++) {
      wants += this.wantsOf[at]!
      mass += this.massOf[at]!
    }
    this.wants = wants
    this.mass = mass
  }
}
