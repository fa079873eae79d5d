/**
 * What blocks of a ranking sum up to, by their position: three amounts each, in a binary tree above the positions. Of
 * the first amount, `'least'` keeps the least instead of the sum.
 *
 * A node is always worked out anew from the two below it, never corrected by a difference, so rounding does not add up.
 */
export class Totals {
  readonly #kind: 'sum' | 'least'
  readonly #empty: number
  // By node: 1 is the root, the children of n are 2n and 2n + 1, the leaves are the positions.
  #xs: Float64Array = new Float64Array(2)
  #ys: Float64Array = new Float64Array(2)
  #zs: Float64Array = new Float64Array(2)
  #leaves = 1

  /** Sums of the last {@link sumBefore}; with `'least'`, `x` means nothing. */
  x = 0
  y = 0
  z = 0

  constructor(kind: 'sum' | 'least') {
    this.#kind = kind
    this.#empty = kind === 'sum' ? 0 : Number.POSITIVE_INFINITY
    this.#xs.fill(this.#empty)
  }

  /** With `'least'`: the least first amount of all. */
  get least(): number {
    return this.#xs[1]!
  }

  clear(): void {
    this.#xs.fill(this.#empty)
    this.#ys.fill(0)
    this.#zs.fill(0)
  }

  /** Makes room for so many positions, a power of 2, and forgets what there was. */
  resize(leaves: number): void {
    this.#leaves = leaves
    this.#xs = new Float64Array(2 * leaves).fill(this.#empty)
    this.#ys = new Float64Array(2 * leaves)
    this.#zs = new Float64Array(2 * leaves)
  }

  /** Sets what stands at a position; {@link pull} or {@link pullFrom} has to follow. */
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

  /** Works out what is above a position. */
  pull(position: number): void {
    for (let node = (this.#leaves + position) >> 1; node > 0; node >>= 1) this.#pull(node)
  }

  /** Works out what is above the positions from one up to `count`, and the one behind them. */
  pullFrom(position: number, count: number): void {
    let low = (this.#leaves + position) >> 1
    let high = Math.min(this.#leaves + count, 2 * this.#leaves - 1) >> 1
    for (; low > 0; low >>= 1, high >>= 1) for (let node = low; node <= high; node++) this.#pull(node)
  }

  /** Sums up all positions before this one. */
  sumBefore(position: number): void {
    let x = 0
    let y = 0
    let z = 0
    for (let node = this.#leaves + position; node > 1; node >>= 1) {
      if ((node & 1) === 0) continue
      x += this.#xs[node - 1]!
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
