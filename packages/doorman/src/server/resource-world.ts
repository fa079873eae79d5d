/** The parts that all resources of a node share. */
export interface ResourceWorld {
  /** The root divides the template's capacity, any other node its parent's grant. */
  readonly isRoot: boolean
  /** Minimum interval for children that ask again. */
  readonly minimumSeconds: number
  readonly census: Census
  readonly turn: CallWork
  readonly corrections: Corrections
}

/** The work left to one call, over all resources of a node: more would keep other calls waiting. */
export interface CallWork {
  /** Due children that it may still process. */
  wakes: number
}

/** The number of children on a node, and the number of resources of each. */
export class Census {
  readonly #byId = new Map<string, number>()
  #size = 0

  /** Children, each counted at every resource. */
  get size(): number {
    return this.#size
  }

  /** Number of resources of one child. */
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
 * Sums of the wall clock's corrections, in seconds. A time that is stored without these sums follows each correction,
 * and no stored time has to be updated. Others' grants count as long as either clock says, so they follow the forward
 * corrections; a node's own lease counts as long as both say, so it follows the backward ones.
 */
export class Corrections {
  #total = 0
  #forward = 0

  /** All corrections. */
  get total(): number {
    return this.#total
  }

  /** Forward corrections; at least 0. */
  get forward(): number {
    return this.#forward
  }

  /** Backward corrections; at most 0. */
  get back(): number {
    return this.#total - this.#forward
  }

  add(seconds: number): void {
    this.#total += seconds
    this.#forward += Math.max(0, seconds)
  }
}
