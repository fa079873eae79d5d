/** Part of the members that may have changed before a level is worked out anew. */
const STALE = 1 / 8
/** Passes over the members at a time, at most. */
const PASSES = 8

/**
 * Max-min shares of an amount, by water-filling: each member is due its part, none gets more than it wants, and what one
 * does not want is shared by the others, as they are due.
 *
 * It keeps the level, which is what a member is given per unit that it is due. Members that want less than the level gives
 * them are full; the level that shares the rest among the others is never too high, whoever was taken for full, and so it
 * rises from pass to pass until it is right. Of up to eight members it is right at each change. Of more it may be as old as
 * changes to an eighth of them, so that a change costs O(1) on average.
 */
export class MaxMin<M> {
  readonly #members: ReadonlyMap<string, M>
  readonly #wants: (member: M) => number
  readonly #due: (member: M) => number
  #level = 0
  #amount = 0
  /** The changes that there had been when the level was worked out. */
  #changes = Number.NEGATIVE_INFINITY

  constructor(members: ReadonlyMap<string, M>, wants: (member: M) => number, due: (member: M) => number) {
    this.#members = members
    this.#wants = wants
    this.#due = due
  }

  /**
   * The share of a member, where there is this much, and members have come, gone or changed so often. More than it wants if
   * all can have what they want.
   */
  shareOf(member: M, amount: number, changes: number): number {
    const stale = STALE * this.#members.size
    if (changes - this.#changes >= stale || Math.abs(amount - this.#amount) > (stale > 1 ? STALE * this.#amount : 0)) {
      this.#changes = changes
      this.#refresh(amount)
    }
    return this.#level === Number.POSITIVE_INFINITY ? this.#level : this.#level * this.#due(member)
  }

  #refresh(amount: number): void {
    this.#amount = amount
    for (let pass = 0; pass < PASSES; pass++) {
      let [rest, due] = [amount, 0]
      for (const member of this.#members.values()) {
        const [wants, part] = [this.#wants(member), this.#due(member)]
        if (wants <= this.#level * part) rest -= wants
        else due += part
      }
      const level = due > 0 ? rest / due : rest < 0 ? 0 : Number.POSITIVE_INFINITY
      if (level === this.#level) return
      this.#level = level
    }
  }
}
