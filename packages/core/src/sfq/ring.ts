import { type Linked, LinkedList } from '../linked-list.js'
import type { LearnedCosts } from './costs.js'
import type { LongestQueue } from './longest-queue.js'
import type { Quantum } from './quantum.js'
import type { Request } from './request.js'

/** A cost counts as covered by credit this close to it: sums of fractions need not be exact. */
const ROUNDING = 1e-9
const CLOSE = 1 - ROUNDING
/** Turns that a head may cost without being costly: this one and the next. */
const ORDINARY_TURNS = 2
/** Part of a costly head's cost that all lanes with such heads must have saved up together before it is served. */
const IN_ADVANCE = 0.25
/** Rounds by which others go ahead of a lane that may not start now. */
const ROUNDS_AHEAD = 16
/**
 * Lanes in which nothing waits that a queue remembers beside those in which something does. They go when their turns
 * come, and turns of a ring do not come while lanes that were never seen before fill the capacity. Those beyond this
 * number are forgotten at once: whoever comes under ever new names gains nothing by that.
 */
const MOST_PASSING = 4_096
/** Turns, at what they are worth now, that a lane keeps beyond its head: the quantum may have fallen since. */
const MOST_TURNS = 16

/** Asks whether a request is still wanted; takes it off its lane if it is not. */
export type IsLive<T> = (request: Request<T>) => boolean

/** Where a lane is: out of its parent's ring, on the list of new lanes, or among those that go round. */
type Place = 'out' | 'new' | 'old'

/** What all rings of one queue share. */
export interface RingRules<T> {
  readonly quantum: Quantum
  readonly costs: LearnedCosts
  readonly sparseFirst: boolean
  /** Number of lanes, in all rings, that are {@link Lane.passing}. */
  passing: number
  /** Called when a lane has left its ring, empty and without debt. */
  left(lane: Lane<T>): void
}

/**
 * A member of a ring that takes turns: a line of requests, or a lane whose own ring shares out its turns.
 *
 * Lanes form a tree. Its root is the whole queue. Below the root are the flows, or the first names of their paths, and
 * below those the next; or SFQ's queues, and in each of them the flows that share it. A waiting request counts in every
 * lane above it.
 */
export class Lane<T> implements Linked<Lane<T>> {
  /** The key of its flow, or of the beginning of a path; empty for a lane that belongs to no flow. */
  readonly key: string
  /** The lane in whose ring this one takes turns; `undefined` at the root. */
  up: Lane<T> | undefined
  /** Its share of the turns. */
  weight: number
  /** With a ring: the sum of the weights of its members that wait or owe. */
  members = 0
  /** True for one of SFQ's queues: it weighs as much as its members together. */
  weighsAsMany = false
  /** Number of requests that wait in it, and their cost. */
  count = 0
  cost = 0
  /** The credit that it holds. Below zero it owes, and its turns pass until they have paid the debt. */
  deficit = 0

  /** The requests of a line, oldest first. */
  readonly requests: LinkedList<Request<T>> = new LinkedList()
  /** Whether the newest request is served first; holds until the line is empty. */
  newestFirst = false
  /** The turns of the lanes below; `undefined` in a line. */
  ring: Ring<T> | undefined = undefined
  /** Its longest member, where it is known. */
  longest: LongestQueue<T> | undefined = undefined
  // From here on, written by the parent's ring alone.
  place: Place = 'out'
  /** The round of its turn: the present round or the next. */
  round = 0
  /** The rounds in which it was last credited and last served. */
  credited = -1
  served = -1
  next: Lane<T> | undefined = undefined
  previous: Lane<T> | undefined = undefined
  /** Whether its head cost more than its turn was worth when it was last looked at. */
  costly = false
  /** Whether it is in the ring though nothing of it waits: until its turn has passed, or its debt is paid. */
  passing = false
  /** Its part of the pool in its parent's ring now. */
  pooled = 0
  /** The weight with which it counts in its parent now. */
  counted = 0

  // Written by `LongestQueue` alone.
  sizeClass = 0
  sizeIndex = 0

  constructor(key: string, weight: number, up: Lane<T> | undefined) {
    this.key = key
    this.weight = weight
    this.up = up
  }

  /** Adds a request at the end of the line. */
  add(request: Request<T>): void {
    request.lane = this
    this.requests.push(request)
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined; lane = up, up = lane.up) {
      lane.count++
      lane.cost += request.declared
      if (lane.place === 'out') up.ring!.start(lane)
      else if (lane.passing) up.ring!.passed(lane)
      if (lane.count === 1) lane.recount()
    }
    lane.count++
    lane.cost += request.declared
  }

  /** Deletes a request from anywhere in the line. */
  delete(request: Request<T>): void {
    request.lane = undefined
    this.requests.delete(request)
    if (this.requests.first === undefined) this.newestFirst = false
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined; lane = up, up = lane.up) {
      lane.#subtract(request.declared)
      if (lane.count > 0) continue
      up.ring!.emptied(lane)
      lane.recount()
    }
    lane.#subtract(request.declared)
  }

  /** The request whose turn it is in this lane; `undefined` if none waits. */
  head(isLive: IsLive<T> | undefined, mayStart?: (item: T) => boolean): Request<T> | undefined {
    if (this.ring !== undefined) return this.ring.head(isLive, mayStart)
    for (;;) {
      const next = this.#firstInTurn
      // Compared again, because `isLive` may itself have changed the line.
      if (next === undefined || isLive === undefined || (isLive(next) && next === this.#firstInTurn)) return next
    }
  }

  /** The request of a line that would be served last. */
  get lastInTurn(): Request<T> | undefined {
    return this.newestFirst ? this.requests.first : this.requests.last
  }

  get #firstInTurn(): Request<T> | undefined {
    return this.newestFirst ? this.requests.last : this.requests.first
  }

  /** Charges the cost of a request to this lane and the lanes above it. */
  charge(cost: number): void {
    for (let lane: Lane<T> = this; lane.up !== undefined; lane = lane.up) lane.up.ring!.charge(lane, cost)
  }

  /** Corrects an earlier charge by `change`, below zero to give back. An empty lane keeps its debt, but not its credit. */
  correct(change: number): void {
    let lane: Lane<T> = this
    for (let up = lane.up; up !== undefined; lane = up, up = lane.up) {
      const before = lane.deficit
      lane.deficit -= change
      if (lane.count === 0 && lane.deficit > 0) lane.deficit = 0
      // Credit forfeited here must not become a present to the flows that share a queue with this one.
      change = before - lane.deficit
      up.ring!.corrected(lane)
      lane.recount()
    }
  }

  /** Brings the weights above up to date: a lane counts while it waits or owes. */
  recount(): void {
    const { up } = this
    if (up === undefined) return
    const counts = this.count > 0 || this.deficit < 0 ? this.weight : 0
    if (counts === this.counted) return
    up.members += counts - this.counted
    this.counted = counts
    if (up.weighsAsMany) up.weight = up.members
    up.recount()
  }

  #subtract(cost: number): void {
    this.count--
    // Differences of floats are inexact; when nothing waits, the cost is exactly 0.
    this.cost = this.count === 0 ? 0 : this.cost - cost
  }
}

/**
 * Deficit round robin: lanes take turns, and a turn is worth a quantum of cost per unit of weight.
 *
 * At its turn a lane is credited once and served while its deficit (the credit it holds) covers its head; then it goes
 * to the end of the ring. Unused credit stays with a lane while it waits and is forfeited when it empties; debt stays
 * until the lane's turns have paid it. The quantum is fixed for the length of a round, so a round brings every lane
 * the same, whatever was served in the middle of it.
 *
 * A lane that has some credit may also be served in advance, and owe the rest:
 * - the first request of a turn, if this turn and the next can pay for it. So a lane whose requests cost now a little
 *   more than a turn, now a little less, is served in every round, and is not left out of one now and then;
 * - a costly request, of more than two turns, as soon as all lanes with such heads have saved up a quarter of its cost
 *   together. So costly requests start evenly spread. If each waited for its own credit, lanes that began together would
 *   save up together and start together, and would hold all slots for as long as they run.
 * While both wait, the service per weight of two lanes i and j thus never
 * differs by more than quantum + 2 · largest cost · (1/weight_i + 1/weight_j), over any interval.
 *
 * With `sparseFirst`, a lane that starts to wait is credited at once and served before the ring, for that one quantum;
 * then it joins the ring. A lane that empties after it was served stays in the ring, empty, until its turn has passed:
 * only then may it be new again. Otherwise flows that send their requests one at a time would always come first.
 *
 * Each lane is stamped with the round of its next turn. Choosing costs O(1) amortised; rounds in which no lane can be
 * served are not walked, but credited in one pass.
 *
 * @see M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995
 * @see T. Hoeiland-Joergensen et al., "The Flow Queue CoDel Packet Scheduler", RFC 8290: the new list and its guard,
 *   which we extend to lanes that empty in the ring, and by `served` to lanes that empty because their requests gave up
 * @see J. Mace et al., "2DFQ: Two-Dimensional Fair Queuing for Multi-Tenant Cloud Services", SIGCOMM 2016, which spreads
 *   costly requests by the slot that asks; spreading them by what lanes have saved up needs no slots
 */
export class Ring<T> {
  readonly #owner: Lane<T>
  readonly #rules: RingRules<T>
  readonly #new = new LinkedList<Lane<T>>()
  readonly #old = new LinkedList<Lane<T>>()
  #round = 1
  #quantum = 0
  #servedInRound = true
  /** The credit of all lanes with costly heads, less the debt of all lanes that owe. */
  #pool = 0

  constructor(owner: Lane<T>, rules: RingRules<T>) {
    this.#owner = owner
    this.#rules = rules
  }

  /** A lane starts to wait. Its weight must be up to date. */
  start(lane: Lane<T>): void {
    if (this.#rules.sparseFirst) {
      lane.deficit = this.#rules.quantum.value * lane.weight
      this.put(lane, 'new')
    } else this.put(lane, 'old')
  }

  /** Puts a lane that is out of the ring at the end of either list, with the credit or debt it has. */
  put(lane: Lane<T>, place: Exclude<Place, 'out'>): void {
    if (this.#front() === undefined) this.#servedInRound = true
    lane.place = place
    lane.served = -1
    lane.credited = -1
    if (place === 'new') {
      lane.round = this.#round
      this.#new.push(lane)
    } else {
      lane.round = this.#round + 1
      this.#old.push(lane)
    }
    this.#pay(lane)
  }

  /** The credit of a lane was corrected. A lane that owes takes turns until they have paid. */
  corrected(lane: Lane<T>): void {
    this.#pay(lane)
    if (lane.deficit >= 0 || lane.place !== 'out') return
    this.put(lane, 'old')
    this.#pass(lane)
  }

  /** A lane stays in the ring though nothing of it waits. */
  keep(lane: Lane<T>): void {
    lane.passing = true
    this.#rules.passing++
  }

  /** A lane that was passing has something waiting again, or is gone. */
  passed(lane: Lane<T>): void {
    lane.passing = false
    this.#rules.passing--
  }

  /**
   * The request to be served next; asked again, the same, unless something arrived or left. Credits lanes and moves
   * them on. Takes off the requests that `isLive` finds dead before it looks at any credit, so they cost neither credit
   * nor a turn. A lane whose head `mayStart` turns down keeps its turn and its place while others are served, up to 16
   * rounds ahead; if none of them can be, it is served all the same. O(lanes turned down) more.
   */
  head(isLive: IsLive<T> | undefined, mayStart?: (item: T) => boolean): Request<T> | undefined {
    const { costs } = this.#rules
    let passed: Lane<T> | undefined
    let rounds = 0
    while (this.#owner.count > 0) {
      const lane = this.#after(passed)
      if (lane === undefined || (passed !== undefined && lane.round > this.#round && ++rounds > ROUNDS_AHEAD)) {
        // Nobody else's turn is near.
        mayStart = undefined
        passed = undefined
        continue
      }
      if (lane.round > this.#round) this.#beginRound(lane.round)
      else lane.round = this.#round
      // A group is passed over as a whole: that costs no turn in it.
      const head = lane.head(isLive, lane.weighsAsMany ? mayStart : undefined)
      // A dead request may have taken the lane with it, or one that was passed over.
      if (lane !== this.#after(passed)) passed = undefined
      else if (head !== undefined && mayStart !== undefined && !mayStart(head.item)) passed = lane
      else if (!this.#covers(lane, head === undefined ? 0 : head.expected(costs))) this.#toEnd(lane)
      else if (head !== undefined) return head
      else this.#leave(lane)
    }
    return undefined
  }

  /** Charges a lane whose head is being served. */
  charge(lane: Lane<T>, cost: number): void {
    credit(lane, -cost)
    this.#pay(lane)
    lane.served = this.#round
    this.#servedInRound = true
  }

  /** The last request of a lane has gone, served or not. */
  emptied(lane: Lane<T>): void {
    if (lane.deficit > 0) lane.deficit = 0
    lane.costly = false
    this.#pay(lane)
    // Served in this turn or, between two turns, in the last one.
    const passes = this.#rules.sparseFirst && lane.served >= lane.round - 1
    if (lane.deficit === 0 && !passes) {
      this.#leave(lane)
      return
    }
    if (lane.place === 'new' || (lane.served === this.#round && lane.round === this.#round)) this.#toEnd(lane)
    this.#pass(lane)
  }

  /** Lets every lane go. For when no request waits: all turns could pass at once. */
  clear(): void {
    for (let lane = this.#front(); lane !== undefined; lane = this.#front()) this.#leave(lane)
  }

  #front(): Lane<T> | undefined {
    return this.#new.first ?? this.#old.first
  }

  /** The lane behind this one, or at the front; `undefined` at the end. */
  #after(lane: Lane<T> | undefined): Lane<T> | undefined {
    if (lane === undefined) return this.#front()
    return lane.next ?? (lane.place === 'new' ? this.#old.first : undefined)
  }

  /** Whether a lane, or the pool for it, can pay `cost` in this turn; 0 for an empty lane, which must be out of debt. */
  #covers(lane: Lane<T>, cost: number): boolean {
    if (lane.deficit >= cost * CLOSE) {
      const most = cost + MOST_TURNS * this.#rules.quantum.value * (lane.weight || 1)
      if (lane.deficit > most) lane.deficit = most
      this.#pay(lane)
      return true
    }
    const worth = this.#worth(lane)
    lane.costly = isCostly(cost * CLOSE, worth)
    // Once in a turn; a lane in the new list was credited when it arrived.
    if (lane.place === 'old' && lane.credited !== this.#round) {
      lane.credited = this.#round
      credit(lane, worth)
    }
    this.#pay(lane)
    if (lane.deficit >= cost * CLOSE) return true
    if (lane.deficit <= 0) return false
    if (lane.costly) return this.#pool >= IN_ADVANCE * cost * CLOSE
    return lane.served !== this.#round && lane.deficit + worth >= cost * CLOSE
  }

  /** Brings the pool up to date with a lane's credit or debt. */
  #pay(lane: Lane<T>): void {
    const pools = lane.costly || lane.deficit < 0 ? lane.deficit : 0
    if (pools === lane.pooled) return
    this.#pool += pools - lane.pooled
    lane.pooled = pools
  }

  /** What a turn is worth to a lane. (An empty queue that owes for flows that have left pays as one flow would.) */
  #worth(lane: Lane<T>): number {
    return this.#quantum * (lane.weight || 1)
  }

  /** Nothing waits in a lane of the ring. */
  #pass(lane: Lane<T>): void {
    if (this.#rules.passing >= MOST_PASSING) {
      this.#leave(lane)
      return
    }
    this.keep(lane)
  }

  #toEnd(lane: Lane<T>): void {
    this.#listOf(lane).delete(lane)
    lane.place = 'old'
    lane.round = this.#round + 1
    this.#old.push(lane)
  }

  #leave(lane: Lane<T>): void {
    this.#listOf(lane).delete(lane)
    lane.place = 'out'
    lane.deficit = 0
    lane.costly = false
    if (lane.passing) this.passed(lane)
    this.#pay(lane)
    // Sums of floats are inexact; without lanes the pool is exactly 0.
    if (this.#front() === undefined) this.#pool = 0
    lane.ring?.clear()
    lane.recount()
    this.#rules.left(lane)
  }

  #listOf(lane: Lane<T>): LinkedList<Lane<T>> {
    return lane.place === 'new' ? this.#new : this.#old
  }

  #beginRound(round: number): void {
    this.#round = round
    this.#quantum = this.#rules.quantum.value
    if (!this.#servedInRound) this.#skipRounds()
    this.#servedInRound = false
  }

  /** Credits all lanes at once for the rounds, all but the last, that would pass before any lane can be served. */
  #skipRounds(): void {
    const { costs } = this.#rules
    // What the pool gains in a round, at most.
    let gain = 0
    for (let lane = this.#old.first; lane !== undefined; lane = lane.next) {
      const head = lane.head(undefined)
      lane.costly = head !== undefined && isCostly(head.expected(costs) * CLOSE, this.#worth(lane))
      this.#pay(lane)
      if (lane.costly || lane.deficit < 0) gain += this.#worth(lane)
    }
    let rounds = Number.POSITIVE_INFINITY
    for (let lane = this.#old.first; lane !== undefined; lane = lane.next) {
      const head = lane.head(undefined)
      if (head === undefined) continue
      const worth = this.#worth(lane)
      const cost = head.expected(costs) * CLOSE
      const untilPaid = (-lane.deficit * CLOSE) / worth
      const untilShort = lane.costly ? (IN_ADVANCE * cost - this.#pool) / gain : (cost - worth - lane.deficit) / worth
      const needed = Math.min((cost - lane.deficit) / worth, Math.max(untilPaid, untilShort))
      rounds = Math.min(rounds, Math.ceil(needed))
    }
    if (rounds <= 1 || rounds === Number.POSITIVE_INFINITY) return
    for (let lane = this.#old.first, next = lane; lane !== undefined; lane = next) {
      next = lane.next
      if (lane.count > 0 || lane.deficit < 0) credit(lane, (rounds - 1) * this.#worth(lane))
      this.#pay(lane)
      if (lane.count === 0 && lane.deficit >= 0) this.#leave(lane)
    }
  }
}

/** Whether a head is to be spread among others of its kind. */
function isCostly(cost: number, worth: number): boolean {
  return cost > ORDINARY_TURNS * worth
}

/** A debt that was paid but for rounding is paid, and credit that was used up is. */
function credit<T>(lane: Lane<T>, by: number): void {
  const deficit = lane.deficit + by
  lane.deficit = Math.abs(deficit) < Math.abs(by) * ROUNDING ? 0 : deficit
}
