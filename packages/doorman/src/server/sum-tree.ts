import type { Blocks } from './blocks.js'

/**
 * Sums over a row of blocks: the root is node 1, the parts of node i are 2i and 2i + 1, the leaves begin at `leaves`.
 * A sum is made of its two parts anew whenever one changes, so it never drifts.
 */
export class SumTree {
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
