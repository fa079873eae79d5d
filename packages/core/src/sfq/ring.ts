import { Chain } from './chain.js'
import type { IsLive, Lane, Place } from './lane.js'
import type { Pace } from './pace.js'
import type { Request } from './request.js'

/** A cost is covered by credit this close to it: sums of fractions need not be exact. */
const CLOSE = 1 - 1e-9

/** What the rings of one queue have in common. */
export interface RingRules<T> {
  readonly pace: Pace
  readonly sparseFirst: boolean
  /** A lane has left its ring, empty and owing nothing. */
  left(lane: Lane<T>): void
}

/**
 * Deficit round robin: lanes take turns, and a turn is worth a quantum of cost per unit of weight.
 *
 * At its turn a lane is credited once and served while its deficit (the credit it holds) covers its head; then it goes
 * to the end of the ring. What it did not use stays with it while it waits, and is forfeited when it empties; what it
 * owes stays until its turns have paid. The quantum is fixed for the length of a round, so a round brings everybody
 * the same, whatever was served in the middle of it. While both wait, the service per weight of two lanes i and j thus
 * never differs by more than quantum + largest cost · (1/weight_i + 1/weight_j), over any interval.
 *
 * With `sparseFirst`, a lane that starts to wait is credited at once and served before the ring, for that one quantum;
 * then it joins the ring. One that empties after it was served stays in the ring, empty, until its turn has passed:
 * only then may it be new again. Without that, flows that send their requests one at a time would always come first.
 *
 * Each lane is stamped with the round of its next turn, and stamps never fall along the ring; by them a ring knows
 * when a round has ended. Choosing costs O(1) amortised, while requests cost about a quantum per weight; rounds in
 * which nobody's credit would suffice are not walked, but credited in one pass.
 *
 * @see M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995
 * @see T. Hoeiland-Joergensen et al., "The Flow Queue CoDel Packet Scheduler", RFC 8290: the new list and its guard,
 *   which we extend to lanes that empty in the ring, and by `served` to those that empty because they gave up
 */
export class Ring<T> {
  readonly #owner: Lane<T>
  readonly #rules: RingRules<T>
  readonly #fresh = new Chain<Lane<T>>()
  readonly #old = new Chain<Lane<T>>()
  #round = 1
  #quantum = 0
  #servedInRound = true

  constructor(owner: Lane<T>, rules: RingRules<T>) {
    this.#owner = owner
    this.#rules = rules
  }

  /** A lane starts to wait. Its weight must be up to date. */
  start(lane: Lane<T>): void {
    if (this.#rules.sparseFirst) {
      lane.deficit = this.#rules.pace.quantum * lane.weight
      this.put(lane, 'fresh')
    } else this.put(lane, 'old')
  }

  /** Puts a lane that is out of the ring at the end of either list, with the credit or debt it has. */
  put(lane: Lane<T>, place: Exclude<Place, 'out'>): void {
    if (this.#front() === undefined) this.#servedInRound = true
    lane.place = place
    lane.served = -1
    lane.credited = -1
    if (place === 'fresh') {
      lane.round = this.#round
      this.#fresh.push(lane)
    } else {
      lane.round = this.#round + 1
      this.#old.push(lane)
    }
  }

  /**
   * The request that is to be served next; asked again, the same, unless something came or left. Credits lanes and
   * moves them on, but takes nothing off except what `isLive` finds dead. That happens before anybody's credit is
   * looked at, so the dead cost neither credit nor a turn. A lane whose head `mayStart` turns down passes its turn,
   * unless all do.
   */
  head(isLive: IsLive<T> | undefined, mayStart?: (item: T) => boolean): Request<T> | undefined {
    let first: Lane<T> | undefined
    let passed = 0
    while (this.#owner.count > 0) {
      const lane = this.#front()!
      if (lane.round > this.#round) this.#beginRound(lane.round)
      const head = lane.head(isLive, mayStart)
      // What was dead may have taken the lane with it.
      if (lane !== this.#front()) continue
      if (head !== undefined && mayStart !== undefined && !mayStart(head.item)) {
        // Once round. (The first may have left meanwhile; then the count ends it.)
        if (lane === first || ++passed > this.#owner.count) mayStart = undefined
        first ??= lane
        if (mayStart !== undefined) this.#toEnd(lane)
        continue
      }
      if (!this.#covers(lane, head?.cost ?? 0)) this.#toEnd(lane)
      else if (head !== undefined) return head
      else this.#leave(lane)
    }
    return undefined
  }

  /** Charges the lane at the front, whose head is being served. */
  charge(lane: Lane<T>, cost: number): void {
    lane.deficit = Math.max(0, lane.deficit - cost)
    lane.served = this.#round
    this.#servedInRound = true
  }

  /** The last request of a lane has gone, served or not. */
  emptied(lane: Lane<T>): void {
    if (lane.deficit > 0) lane.deficit = 0
    // Served in this turn or, between two turns, in the last one.
    const passes = this.#rules.sparseFirst && lane.served >= lane.round - 1
    if (lane.deficit === 0 && !passes) this.#leave(lane)
    else if (lane.place === 'fresh' || (lane.served === this.#round && lane.round === this.#round)) this.#toEnd(lane)
  }

  /** Lets everyone go: nobody waits, so all turns could pass at once. */
  clear(): void {
    for (let lane = this.#front(); lane !== undefined; lane = this.#front()) this.#leave(lane)
  }

  #front(): Lane<T> | undefined {
    return this.#fresh.first ?? this.#old.first
  }

  /** Whether a lane can pay `cost` in this turn; 0 where nothing of it waits, and it only has to be out of debt. */
  #covers(lane: Lane<T>, cost: number): boolean {
    if (lane.deficit >= cost * CLOSE) return true
    this.#credit(lane)
    return lane.deficit >= cost * CLOSE
  }

  /** Once in a turn; a lane in the new list was credited when it came. */
  #credit(lane: Lane<T>): void {
    if (lane.place === 'fresh' || lane.credited === this.#round) return
    lane.credited = this.#round
    lane.deficit += this.#worth(lane)
  }

  /** What a turn is worth to a lane. (An empty queue that owes for flows that have left pays as one flow would.) */
  #worth(lane: Lane<T>): number {
    return this.#quantum * (lane.weight || 1)
  }

  #toEnd(lane: Lane<T>): void {
    this.#chainOf(lane).delete(lane)
    lane.place = 'old'
    lane.round = this.#round + 1
    this.#old.push(lane)
  }

  #leave(lane: Lane<T>): void {
    this.#chainOf(lane).delete(lane)
    lane.place = 'out'
    lane.deficit = 0
    lane.ring?.clear()
    lane.recount()
    this.#rules.left(lane)
  }

  #chainOf(lane: Lane<T>): Chain<Lane<T>> {
    return lane.place === 'fresh' ? this.#fresh : this.#old
  }

  #beginRound(round: number): void {
    this.#round = round
    this.#quantum = this.#rules.pace.quantum
    if (!this.#servedInRound) this.#skipRounds()
    this.#servedInRound = false
  }

  /** Credits everybody at once for the rounds, all but the last, that would pass before anybody can be served. */
  #skipRounds(): void {
    let rounds = Number.POSITIVE_INFINITY
    for (let lane = this.#old.first; lane !== undefined; lane = lane.next) {
      const head = lane.head(undefined)
      if (head === undefined) continue
      rounds = Math.min(rounds, Math.ceil((head.cost * CLOSE - lane.deficit) / this.#worth(lane)))
    }
    if (rounds <= 1 || rounds === Number.POSITIVE_INFINITY) return
    for (let lane = this.#old.first, next = lane; lane !== undefined; lane = next) {
      next = lane.next
      if (lane.count > 0 || lane.deficit < 0) lane.deficit += (rounds - 1) * this.#worth(lane)
      if (lane.count === 0 && lane.deficit >= 0) this.#leave(lane)
    }
  }
}
