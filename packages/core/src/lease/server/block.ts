/** Entries in a block, at most. */
export const BLOCK_SIZE = 64

/** Up to {@link BLOCK_SIZE} entries, sorted by wants per mass, with what they come to. */
export class Block {
  readonly ratios: Float64Array = new Float64Array(BLOCK_SIZE)
  readonly wantsOf: Float64Array = new Float64Array(BLOCK_SIZE)
  readonly massOf: Float64Array = new Float64Array(BLOCK_SIZE)
  /** Which entry it is. */
  readonly entries: Int32Array = new Int32Array(BLOCK_SIZE)
  size = 0
  /** Among the blocks. */
  position = 0
  wants = 0
  mass = 0
  /** The sums are not exact, so they must not be adjusted. */
  #rounded = false

  get full(): boolean {
    return this.size === BLOCK_SIZE
  }

  /** The largest ratio; 0 of nothing. */
  get last(): number {
    return this.size === 0 ? 0 : this.ratios[this.size - 1]!
  }

  /** Puts an entry behind those whose ratio is not above its own. */
  insert(entry: number, wants: number, mass: number): void {
    const { ratios, wantsOf, massOf, entries } = this
    const ratio = wants / mass
    let at = this.size++
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
    this.#adjust(this.wants + wants, wants, this.mass + mass, mass)
  }

  remove(entry: number): void {
    const { ratios, wantsOf, massOf, entries } = this
    const size = --this.size
    let at = 0
    while (entries[at] !== entry) at++
    const wants = wantsOf[at]!
    const mass = massOf[at]!
    for (; at < size; at++) {
      ratios[at] = ratios[at + 1]!
      wantsOf[at] = wantsOf[at + 1]!
      massOf[at] = massOf[at + 1]!
      entries[at] = entries[at + 1]!
    }
    this.#adjust(this.wants - wants, wants, this.mass - mass, mass)
  }

  /** Copies `count` entries of `from`, from place `first` there on, behind its own. */
  take(from: Block, first: number, count: number): void {
    const end = first + count
    this.ratios.set(from.ratios.subarray(first, end), this.size)
    this.wantsOf.set(from.wantsOf.subarray(first, end), this.size)
    this.massOf.set(from.massOf.subarray(first, end), this.size)
    this.entries.set(from.entries.subarray(first, end), this.size)
    this.size += count
    this.#sum()
  }

  /** Keeps only the first `count` entries. */
  keep(count: number): void {
    this.size = count
    this.#sum()
  }

  /**
   * The sums are adjusted while that is exact, as it is where wants are multiples of one unit. Otherwise they are added
   * up anew, so that they depend on what is here, not on what has been: no dust of past additions remains.
   */
  #adjust(wants: number, wantsMoved: number, mass: number, massMoved: number): void {
    if (this.#rounded || !exact(this.wants, wants, wantsMoved) || !exact(this.mass, mass, massMoved)) {
      this.#sum()
      return
    }
    this.wants = wants
    this.mass = mass
  }

  #sum(): void {
    let wants = 0
    let mass = 0
    let rounded = false
    for (let at = 0; at < this.size; at++) {
      const wantsBefore = wants
      const massBefore = mass
      wants += this.wantsOf[at]!
      mass += this.massOf[at]!
      rounded ||= !exact(wantsBefore, wants, this.wantsOf[at]!) || !exact(massBefore, mass, this.massOf[at]!)
    }
    this.wants = wants
    this.mass = mass
    this.#rounded = rounded
  }
}

/** Whether a sum that moved by `moved` lost nothing to rounding. */
function exact(before: number, after: number, moved: number): boolean {
  const step = Math.abs(after - before)
  return step === moved && Math.max(before, after) - step === Math.min(before, after)
}
