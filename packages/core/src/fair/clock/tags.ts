/**
 * For every flow the time until which it has had its share, in constant memory: levels of cells, of which a flow has
 * one on each level. Other flows may have raised some of its cells, so the least of them is the closest to its own tag.
 * It is below that only if a flow that shares a cell was refunded.
 *
 * Only cells below the new tag are raised (conservative update), so a cell that many quiet flows share is as high as
 * the highest of them, not as their sum. O(levels) per call, nothing allocated.
 *
 * @see C. Estan, G. Varghese, "New Directions in Traffic Measurement and Accounting", SIGCOMM 2002: conservative update
 */
export class TagSketch {
  readonly #tags: Float64Array
  readonly #cells: number

  constructor(levels: number, cellsPerLevel: number) {
    this.#tags = new Float64Array(levels * cellsPerLevel)
    this.#cells = cellsPerLevel
  }

  /** The tag of the flow at `places` (one cell index per level). */
  read(places: Int32Array): number {
    let least = Number.POSITIVE_INFINITY
    for (let level = 0; level < places.length; level++) {
      const tag = this.#tags[level * this.#cells + places[level]!]!
      if (tag < least) least = tag
    }
    return least
  }

  /** Raises the flow's tag to `tag`; no cell is ever lowered. */
  raise(places: Int32Array, tag: number): void {
    for (let level = 0; level < places.length; level++) {
      const cell = level * this.#cells + places[level]!
      if (this.#tags[cell]! < tag) this.#tags[cell] = tag
    }
  }

  /**
   * Refunds `amount` of the flow's tag: lowers the cells that are no higher, which no other flow has raised further.
   */
  lower(places: Int32Array, amount: number): void {
    const tag = this.read(places)
    for (let level = 0; level < places.length; level++) {
      const cell = level * this.#cells + places[level]!
      if (this.#tags[cell] === tag) this.#tags[cell] = Math.max(0, tag - amount)
    }
  }

  /** The clock was set forward by `by`: so is every tag. */
  shift(by: number): void {
    const tags = this.#tags
    for (let i = 0; i < tags.length; i++) if (tags[i]! > 0) tags[i] = Math.max(0, tags[i]! + by)
  }

  /** Forgets everything. */
  clear(): void {
    this.#tags.fill(0)
  }
}
