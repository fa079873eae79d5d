import { Ranking } from './ranking.js'

/** Tags this close are equal. */
const TIE = 1 + 1e-9
/** Steps of a search before it makes do with nothing, and how exact it is. */
const MOST_STEPS = 8
const ROUNDING = 1e-12

/**
 * Who waits, in line by finish tag: what they would have used or let pass, per weight, with the cost they wait for.
 *
 * One who asks has its turn if nobody who waits for what is there has a lower tag. And if others do, and are not here
 * to take it, they need not come first as long as enough is left to them for that: as much as brings each of them as
 * far, per weight, as the one who asks would come. What they are *owed* is the sum of that.
 */
export class Line {
  /** By tag: the cost that is waited for, and the weight; so key·y − x is what was used or let pass. */
  readonly #byTag: Ranking = new Ranking('least')
  /** The weights of those who come first, summed up when {@link owed} was last asked. */
  weight = 0

  /** The least cost that somebody waits for; Infinity if nobody does. */
  get least(): number {
    return this.#byTag.least
  }

  has(slot: number): boolean {
    return this.#byTag.has(slot)
  }

  /** Lets one wait for `cost`, or with another tag than before. */
  set(slot: number, weight: number, passed: number, cost: number): void {
    this.#byTag.set(slot, (passed + cost) / weight, cost, weight)
  }

  remove(slot: number): void {
    this.#byTag.remove(slot)
  }

  clear(): void {
    this.#byTag.clear()
  }

  /** The lowest tag of those other than `slot` who wait for `most` or less; Infinity if there is none. */
  leastTag(most: number, slot: number): number {
    return this.#byTag.firstKey(most, slot)
  }

  /**
   * What has to be left to others if one gets as far as `tag`: nothing if it is its turn, `leastTag` being the lowest
   * of the others. It has the `weight`, has used or let pass `passed`, and stands in line with the cost `waitsFor`
   * (Infinity: it does not).
   */
  owed(tag: number, leastTag: number, weight: number, passed: number, waitsFor: number): number {
    this.weight = 0
    if (tag <= leastTag * TIE) return 0
    const below = tag / TIE
    this.#byTag.sumBelow(below)
    const isIn = (passed + waitsFor) / weight < below
    this.weight = this.#byTag.y - (isIn ? weight : 0)
    return this.weight * tag - (this.#byTag.z - (isIn ? passed : 0))
  }
}

/** One who asks: what is owed to others if it gets `cost`, and by how much that then grows for each unit more. */
export interface Debtor {
  owed(cost: number): number
  readonly slope: number
}

/** A cost, as high as may be, that `room` is enough for and for what is then owed; sometimes a little less. */
export function mostWithin(room: number, debtor: Debtor): number {
  let cost = room
  for (let step = 0; step < MOST_STEPS && cost > 0; step++) {
    const over = cost + debtor.owed(cost) - room
    if (over <= room * ROUNDING) return cost
    cost -= over / (1 + debtor.slope)
  }
  return 0
}
