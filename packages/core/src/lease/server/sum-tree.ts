import type { Block } from './block.js'

/**
 * Sums over a row of blocks: the root is node 1, the parts of node i are 2i and 2i + 1, the leaves begin at `leaves`.
 * A sum is made of its two parts anew whenever one changes, so it never drifts.
 */
export class SumTree {
  leaves = 1
  wants: Float64Array = new Float64Array(2)
  mass: Float64Array = new Float64Array(2)
  /** The largest ratio of each block, by position. */
  last: Float64Array = new Float64Array(1)

  /** `block` has changed. O(log blocks). */
  update(block: Block): void {
    this.#read(block)
    for (let node = (this.leaves + block.position) >> 1; node >= 1; node >>= 1) this.#join(node)
  }

  /** The row has changed. Numbers the blocks. O(blocks). */
  rebuild(blocks: readonly Block[]): void {
    if (blocks.length > this.leaves || blocks.length * 4 < this.leaves) {
      this.leaves = 2 ** Math.ceil(Math.log2(blocks.length))
      this.wants = new Float64Array(2 * this.leaves)
      this.mass = new Float64Array(2 * this.leaves)
      this.last = new Float64Array(this.leaves)
    }
    this.wants.fill(0)
    this.mass.fill(0)
    for (let position = 0; position < blocks.length; position++) {
      const block = blocks[position]!
      block.position = position
      this.#read(block)
    }
    for (let node = this.leaves - 1; node >= 1; node--) this.#join(node)
  }

  #read(block: Block): void {
    this.wants[this.leaves + block.position] = block.wants
    this.mass[this.leaves + block.position] = block.mass
    this.last[block.position] = block.last
  }

  #join(node: number): void {
    this.wants[node] = this.wants[2 * node]! + this.wants[2 * node + 1]!
    this.mass[node] = this.mass[2 * node]! + this.mass[2 * node + 1]!
  }
}
