import type { Plane } from './plane.js'

/** Numbers of a plane: three sums, two lower bounds, two upper ones. */
const WIDTH = 7
const WEIGHT = 0
const FADING = 1
const PASSED = 2
const LOW_LEVEL = 3
const LOW_FADED = 4
const HIGH_LEVEL = 5
const HIGH_FADED = 6

/** Where planes come from. */
export interface PlaneSource {
  /** What the member at `slot` claims near this point. The plane is used at once, and may be another's afterwards. */
  planeOf(slot: number, level: number, faded: number): Plane
}

/**
 * The claims of a fixed number of members as {@link Plane}s, in a binary tree: the sum of all is at hand, and so are
 * the members whose planes are not right any more at some point. Every node is worked out anew from its children, so
 * rounding does not add up. A change takes O(log n).
 */
export class Planes {
  readonly #count: number
  /** Node 1 is the root, the children of n are 2n and 2n + 1, the members stand from `count` on. */
  readonly #tree: Float64Array

  constructor(count: number) {
    this.#count = count
    this.#tree = new Float64Array(2 * count * WIDTH)
    this.clear()
  }

  /** Nobody claims anything. */
  clear(): void {
    for (let at = 0; at < this.#tree.length; at += WIDTH) {
      this.#tree.fill(0, at, at + LOW_LEVEL)
      this.#tree.fill(Number.NEGATIVE_INFINITY, at + LOW_LEVEL, at + HIGH_LEVEL)
      this.#tree.fill(Number.POSITIVE_INFINITY, at + HIGH_LEVEL, at + WIDTH)
    }
  }

  set(slot: number, plane: Plane): void {
    this.#write(this.#count + slot, plane)
    for (let node = (this.#count + slot) >> 1; node > 0; node >>= 1) this.#pull(node)
  }

  /** Brings all planes that are not right at this point up to date. */
  update(source: PlaneSource, level: number, faded: number): void {
    this.#update(1, source, level, faded)
  }

  /** Adds the sum of all to `plane`. */
  addTo(plane: Plane): void {
    const tree = this.#tree
    plane.weight += tree[WIDTH + WEIGHT]!
    plane.fading += tree[WIDTH + FADING]!
    plane.passed += tree[WIDTH + PASSED]!
    plane.shrink(
      tree[WIDTH + LOW_LEVEL]!,
      tree[WIDTH + HIGH_LEVEL]!,
      tree[WIDTH + LOW_FADED]!,
      tree[WIDTH + HIGH_FADED]!,
    )
  }

  /** By how much a member's claim shrinks as its level fades. */
  fading(slot: number): number {
    return this.#tree[(this.#count + slot) * WIDTH + FADING]!
  }

  #update(node: number, source: PlaneSource, level: number, faded: number): void {
    const tree = this.#tree
    const at = node * WIDTH
    const isRight =
      level >= tree[at + LOW_LEVEL]! &&
      level <= tree[at + HIGH_LEVEL]! &&
      faded >= tree[at + LOW_FADED]! &&
      faded <= tree[at + HIGH_FADED]!
    if (isRight) return
    if (node >= this.#count) {
      this.#write(node, source.planeOf(node - this.#count, level, faded))
      return
    }
    this.#update(2 * node, source, level, faded)
    this.#update(2 * node + 1, source, level, faded)
    this.#pull(node)
  }

  #write(node: number, plane: Plane): void {
    const at = node * WIDTH
    const tree = this.#tree
    tree[at + WEIGHT] = plane.weight
    tree[at + FADING] = plane.fading
    tree[at + PASSED] = plane.passed
    tree[at + LOW_LEVEL] = plane.lowLevel
    tree[at + LOW_FADED] = plane.lowFaded
    tree[at + HIGH_LEVEL] = plane.highLevel
    tree[at + HIGH_FADED] = plane.highFaded
  }

  #pull(node: number): void {
    const tree = this.#tree
    const at = node * WIDTH
    const left = 2 * at
    const right = left + WIDTH
    for (let i = WEIGHT; i <= PASSED; i++) tree[at + i] = tree[left + i]! + tree[right + i]!
    for (let i = LOW_LEVEL; i <= LOW_FADED; i++) tree[at + i] = Math.max(tree[left + i]!, tree[right + i]!)
    for (let i = HIGH_LEVEL; i <= HIGH_FADED; i++) tree[at + i] = Math.min(tree[left + i]!, tree[right + i]!)
  }
}
