/** What all resources of a node have in common. */
export interface ResourceWorld {
  /** The root divides the template's capacity, any other node what its parent gives. */
  readonly isRoot: boolean
  /** For children that ask again. */
  readonly minimumSeconds: number
  readonly census: Census
  readonly turn: Turn
  readonly corrections: Corrections
}

/** What one call may still do at all resources of a node together: more would keep other calls waiting. */
export interface Turn {
  /** Children that it may look at because their time has come. */
  wakes: number
}

/** How many children there are on a node, and at how many resources each of them. */
export class Census {
  readonly #byId = new Map<string, number>()
  #size = 0

  /** Children, each counted at every resource. */
  get size(): number {
    return this.#size
  }

  /** Resources of one. */
  of(id: string): number {
    return this.#byId.get(id) ?? 0
  }

  joined(id: string): void {
    this.#size++
    this.#byId.set(id, this.of(id) + 1)
  }

  left(id: string): void {
    this.#size--
    const left = this.of(id) - 1
    if (left > 0) this.#byId.set(id, left)
    else this.#byId.delete(id)
  }
}

/**
 * What the wall clock was corrected by, in seconds. Whoever keeps a time without these sums follows each correction,
 * and none has to be visited for it. What others may still have counts as long as either clock says, so it follows
 * what set the clock forward; what a node has itself counts as long as both do, and follows what set it back.
 */
export class Corrections {
  #total = 0
  #forward = 0

  /** All of them. */
  get total(): number {
    return this.#total
  }

  /** Those that set the clock forward; at least 0. */
  get forward(): number {
    return this.#forward
  }

  /** Those that set it back; at most 0. */
  get back(): number {
    return this.#total - this.#forward
  }

  add(seconds: number): void {
    this.#total += seconds
    this.#forward += Math.max(0, seconds)
  }
}
