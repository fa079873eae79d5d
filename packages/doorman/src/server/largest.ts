/** The largest of many things that are shown one by one; the others are forgotten on the way. */
export class Largest<T> {
  readonly #most: number
  readonly #compare: (a: T, b: T) => number
  #found: T[] = []
  #least: T | undefined

  /** Keeps `most` of them; `compare` is below 0 if `a` is the larger. */
  constructor(most: number, compare: (a: T, b: T) => number) {
    this.#most = most
    this.#compare = compare
  }

  /** O(1), with a sort of twice `most` so seldom that all of them cost no more than the walk. */
  add(item: T): void {
    if (this.#least !== undefined && this.#compare(item, this.#least) >= 0) return
    this.#found.push(item)
    if (this.#found.length < 2 * this.#most) return
    this.#found = this.sorted()
    this.#least = this.#found.at(-1)
  }

  /** The largest first. */
  sorted(): T[] {
    return this.#found.sort(this.#compare).slice(0, this.#most)
  }
}
