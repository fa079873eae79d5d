import { LinkedList } from '../containers.js'
import { requireBoolean } from '../options.js'
import type { LearnedCosts, Quantum, Running } from './costs.js'
import type { IsLive, Lane, LaneList, Request } from './lane.js'

/** Tolerance when credit is compared with a cost: sums of fractions need not be exact. */
const ROUNDING = 1e-9
const CLOSE = 1 - ROUNDING
/** Most turns that an ordinary head may cost: this one and the next. */
const ORDINARY_TURNS = 2
/** Part of a costly head's cost that all lanes with such heads together must have saved before it is served. */
const IN_ADVANCE = 0.25
/** Part of the largest saving among lanes with costly heads, each relative to its head's cost, that counts as nearly. */
const NEARLY = 0.9
/** Rounds, or requests of its own, by which others go ahead of a lane that may not start now. */
const TURNS_AHEAD = 16
/**
 * Most lanes without waiting requests that a queue remembers: their turns do not come while new lanes fill the
 * capacity. Further ones are forgotten at once, which gives no flow an advantage.
 */
const MOST_PASSING = 4_096
/**
 * Consecutive rounds without service, each skipped to the next that should serve, before the number to skip is doubled.
 */
const VAIN_ROUNDS = 8
/** Turns, at their present value, that a lane keeps beyond its head: the quantum may have fallen since. */
const MOST_TURNS = 16

/** State shared by all rings of one queue. */
export interface RingRules<T> {
  readonly quantum: Quantum
  readonly costs: LearnedCosts
  readonly sparseFirst: boolean
  /** Number of lanes, in all rings, that are {@link Lane.passing}. */
  passing: number
  readonly running: Running
  /** Called when a lane has left its ring, empty and without debt. */
  left(lane: Lane<T>): void
}

/**
 * Deficit round robin: lanes take turns, and a turn is worth a quantum of cost per unit of weight.
 *
 * At its turn a lane is credited once and served while its deficit (the credit it holds) covers its head; then it goes
 * to the end of the ring. Unused credit stays with a lane while it waits and is forfeited when it empties; debt stays
 * until the lane's turns have paid it. The quantum is fixed for the length of a round, so a round brings every lane the
 * same, independent of the requests served in between.
 *
 * A lane that has some credit may also be served in advance, and owe the rest:
 * - the first request of a turn, if this turn and the next can pay for it. So a lane whose costs alternate between a
 *   little more and a little less than a turn is served in every round, and does not miss one occasionally;
 * - a costly request, of more than two turns, as soon as all lanes with such heads together have saved a quarter of its
 *   cost, if its own has saved nearly as much of it as any. So costly requests start evenly spread. If each waited for
 *   its own credit, lanes that began together would save together and start together, and would hold all slots for as
 *   long as they run. Nor is it served in advance while costly requests run in their lanes' share of the slots and one
 *   more, or in all: rounds are short while others fill the slots, so that too many would start in the time of one.
 * While both wait, the service per weight of two lanes i and j thus never differs by more than quantum + 2 · largest
 * cost · (1/weight_i + 1/weight_j), over any interval.
 *
 * With `sparseFirst`, a lane that starts to wait is credited at once and served before the ring, for that one quantum.
 * A lane that empties after it was served stays in the ring, empty, until its turn has passed: only then may it be new
 * again. Otherwise flows that send their requests one at a time would always come first.
 *
 * Choosing costs O(1) amortised; rounds in which no lane can be served are not iterated, but credited in one pass. If
 * most lanes wait with heads of very many turns, each such pass is O(lanes), and may serve only one request.
 *
 * @see M. Shreedhar, G. Varghese, "Efficient Fair Queuing Using Deficit Round Robin", SIGCOMM 1995
 * @see T. Hoeiland-Joergensen et al., "The Flow Queue CoDel Packet Scheduler", RFC 8290: the new list and its guard,
 *   which we extend to lanes that empty in the ring, and by `served` to lanes that empty because their requests gave up
 * @see J. Mace et al., "2DFQ: Two-Dimensional Fair Queuing for Multi-Tenant Cloud Services", SIGCOMM 2016, which
 *   spreads costly requests by the slot that becomes free, and in real time; lanes' savings need no clock
 */
export class Ring<T> {
  readonly #owner: Lane<T>
  readonly #rules: RingRules<T>
  readonly #new = new LinkedList<Lane<T>>()
  readonly #old = new LinkedList<Lane<T>>()
  #round = 1
  #quantum = 0
  #servedInRound = true
  /** Consecutive rounds that served no request although, by the arithmetic, they should have. */
  #vain = 0
  /** The credit of all lanes with costly heads, less the debt of all lanes that owe. */
  #pool = 0
  /** The weight of all lanes with costly heads, and of those that owe and do not wait. */
  #costlyWeight = 0
  /** The largest part of a costly head's cost that its lane had saved in the last round, and in this one so far. */
  #most = 0
  #mostSeen = 0

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
  put(lane: Lane<T>, place: Exclude<LaneList, 'out'>): void {
    if (this.#front() === undefined) {
      this.#servedInRound = true
      this.#quantum = this.#rules.quantum.value
    }
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

  /** A lane's credit was corrected. A lane that owes takes turns until they have paid. */
  corrected(lane: Lane<T>): void {
    this.#pay(lane)
    if (lane.deficit >= 0 || lane.place !== 'out') return
    this.put(lane, 'old')
    this.#pass(lane)
  }

  /** A lane stays in the ring without waiting requests. */
  keep(lane: Lane<T>): void {
    lane.passing = true
    this.#rules.passing++
  }

  /** A passing lane has a waiting request again, or is gone. */
  passed(lane: Lane<T>): void {
    lane.passing = false
    this.#rules.passing--
    this.#pay(lane)
  }

  /**
   * The next request to serve; the same at the next call, unless a request arrived or left. Removes the requests that
   * `isLive` finds dead before it considers any credit, so they cost neither credit nor a turn. A lane whose head
   * `mayStart` rejects keeps its turn and its place while others are served, up to 16 rounds ahead, or as many rounds
   * as 16 of its own requests cost: requests of others with a cost near zero make rounds short, and must not bring its
   * own turn before theirs. If none of the others can be served, it is served nevertheless. With `isStrict` it is not:
   * then others are served however far away their turns are, and `undefined` means that all are rejected. O(rejected
   * lanes) more.
   */
  head(isLive?: IsLive<T>, mayStart?: (item: T) => boolean, isStrict = false): Request<T> | undefined {
    const { costs } = this.#rules
    let passed: Lane<T> | undefined
    let ahead = 0
    let dearest = 0
    while (this.#owner.count > 0) {
      const lane = this.#after(passed)
      const isAhead = passed !== undefined && (lane === undefined || lane.round > this.#round)
      const isLast = isAhead && !anyWaits(lane)
      if (isStrict && isLast) return undefined
      const most = isStrict || passed === undefined ? Number.POSITIVE_INFINITY : this.#turnsAhead(dearest)
      if (lane === undefined || isLast || (isAhead && ahead >= most)) {
        // No other lane's turn is near.
        mayStart = undefined
        passed = undefined
        continue
      }
      if (lane.round > this.#round) ahead += this.#beginRound(lane, most - ahead)
      else this.#catchUp(lane)
      // A group is skipped as a whole: that costs no turn in it.
      const head = lane.weighsAsMany ? lane.head(isLive, mayStart, isStrict) : lane.head(isLive)
      // A dead request may have removed the lane, or one that was skipped.
      if (lane !== this.#after(passed)) passed = undefined
      else if (head === undefined ? lane.count > 0 : mayStart !== undefined && !mayServe(mayStart, head)) {
        passed = lane
        if (head !== undefined) dearest = Math.max(dearest, head.expected(costs) / (lane.weight || 1))
      } else if (!this.#covers(lane, head === undefined ? 0 : head.expected(costs))) this.#toEnd(lane)
      else if (head !== undefined) return head
      else this.#turnPassed(lane)
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

  /** The last request of a lane has left, served or not. */
  emptied(lane: Lane<T>): void {
    if (lane.deficit > 0) lane.deficit = 0
    lane.costly = false
    this.#pay(lane)
    // Served in this turn or, between two turns, in the last one; or credited in this round.
    const passes = this.#rules.sparseFirst && (lane.served >= lane.round - 1 || lane.credited === this.#round)
    if (lane.deficit === 0 && !passes) {
      this.#leave(lane)
      return
    }
    if (lane.place === 'new' || (lane.served === this.#round && lane.round === this.#round)) this.#toEnd(lane)
    this.#pass(lane)
  }

  /** Removes all lanes. For the case that no request waits: all turns could pass at once. */
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

  /**
   * Whether a lane, or the pool for it, can pay `cost` in this turn; 0 for an empty lane, which must be out of debt.
   */
  #covers(lane: Lane<T>, cost: number): boolean {
    const worth = this.#worth(lane)
    lane.costly = isCostly(cost * CLOSE, worth)
    if (lane.deficit >= cost * CLOSE) {
      const most = cost + MOST_TURNS * this.#rules.quantum.value * (lane.weight || 1)
      if (lane.deficit > most) lane.deficit = most
      this.#pay(lane)
      return true
    }
    // Once in a turn; a lane in the new list was credited when it arrived.
    if (lane.place === 'old' && lane.credited !== this.#round) {
      lane.credited = this.#round
      credit(lane, worth)
    }
    this.#pay(lane)
    if (lane.deficit >= cost * CLOSE) return true
    if (lane.deficit <= 0) return false
    if (lane.costly) {
      const saved = lane.deficit / cost
      this.#mostSeen = Math.max(this.#mostSeen, saved)
      return this.#pool >= IN_ADVANCE * cost * CLOSE && saved >= NEARLY * this.#most && !this.#costlyHaveTheirSlots
    }
    return lane.served !== this.#round && lane.deficit + worth >= cost * CLOSE
  }

  /**
   * Whether costly requests run in their lanes' share of the slots and in one more, or in all. Known at the root alone.
   */
  get #costlyHaveTheirSlots(): boolean {
    if (this.#owner.up !== undefined) return false
    const { costly, ordinary } = this.#rules.running
    const share = ((costly + ordinary + 1) * this.#costlyWeight) / this.#owner.members
    return costly >= share && (costly >= share + 1 || ordinary === 0)
  }

  /** Updates the sums with a lane's credit or debt, and its weight. */
  #pay(lane: Lane<T>): void {
    const { costly, deficit } = lane
    const pools = costly || deficit < 0
    if (!pools && lane.pooled === 0 && lane.weighed === 0) return
    const pooled = pools ? deficit : 0
    this.#pool += pooled - lane.pooled
    lane.pooled = pooled
    const weighed = costly || (pools && lane.count === 0) ? lane.weight : 0
    this.#costlyWeight += weighed - lane.weighed
    lane.weighed = weighed
  }

  /** The value of a turn for a lane. (A queue that owes for flows that have left pays as one flow would.) */
  #worth(lane: Lane<T>): number {
    return this.#quantum * (lane.weight || 1)
  }

  /** A lane of the ring has no waiting request. */
  #pass(lane: Lane<T>): void {
    if (this.#rules.passing >= MOST_PASSING) {
      this.#leave(lane)
      return
    }
    this.keep(lane)
  }

  /**
   * The turn of an empty lane without debt. If this round's credit has paid the debt, the lane stays for another:
   * otherwise it could be new in the same round, and be credited twice.
   */
  #turnPassed(lane: Lane<T>): void {
    if (this.#rules.sparseFirst && lane.credited === this.#round) {
      lane.deficit = 0
      lane.recount()
      this.#toEnd(lane)
    } else this.#leave(lane)
  }

  /** Credits a lane that was skipped for whole rounds, as all others were. */
  #catchUp(lane: Lane<T>): void {
    const missed = this.#round - lane.round - (lane.credited === lane.round ? 1 : 0)
    if (missed > 0 && lane.place === 'old') credit(lane, missed * this.#worth(lane))
    lane.round = this.#round
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
    // Sums of floats are inexact; without lanes they are exactly 0.
    if (this.#front() === undefined) {
      this.#pool = 0
      this.#costlyWeight = 0
    }
    lane.ring?.clear()
    lane.recount()
    this.#rules.left(lane)
  }

  #listOf(lane: Lane<T>): LinkedList<Lane<T>> {
    return lane.place === 'new' ? this.#new : this.#old
  }

  /** Rounds for which others may be served before a rejected lane of weight 1 whose head has this cost. */
  #turnsAhead(cost: number): number {
    return TURNS_AHEAD * Math.max(1, cost / this.#quantum)
  }

  /**
   * Starts the round of this lane, before which all are rejected; advances by at most `most` rounds, and returns their
   * number.
   */
  #beginRound(from: Lane<T>, most: number): number {
    this.#round = from.round
    this.#quantum = this.#rules.quantum.value
    this.#most = this.#mostSeen
    this.#mostSeen = 0
    let rounds = 1
    if (this.#servedInRound) this.#vain = 0
    else rounds = this.#skipRounds(from, most)
    this.#servedInRound = false
    return rounds
  }

  /**
   * Credits all lanes at once for the rounds, all but the last, that would pass before any lane can be served, of the
   * lanes that have not been rejected: from this one on.
   *
   * That can be too few: the pool gains less once a debt is paid, and the value of a turn may be lost beside a deficit
   * that is 10^16 times as large. So the number of vain rounds is doubled, and each call takes a bounded number of
   * them.
   *
   * At most `most` rounds. Returns the number, with the last.
   */
  #skipRounds(from: Lane<T> | undefined, most: number): number {
    const { costs } = this.#rules
    // Upper bound of the pool's gain in a round.
    let gain = 0
    for (let lane = this.#old.first; lane !== undefined; lane = lane.next) {
      const head = lane.head()
      lane.costly = head !== undefined && isCostly(head.expected(costs) * CLOSE, this.#worth(lane))
      this.#pay(lane)
      if (lane.costly || lane.deficit < 0) gain += this.#worth(lane)
    }
    let rounds = Number.POSITIVE_INFINITY
    for (let lane = from; lane !== undefined; lane = lane.next) {
      const head = lane.head()
      if (head === undefined) continue
      const worth = this.#worth(lane)
      const cost = head.expected(costs) * CLOSE
      const untilPaid = (-lane.deficit * CLOSE) / worth
      const untilShort = lane.costly ? (IN_ADVANCE * cost - this.#pool) / gain : (cost - worth - lane.deficit) / worth
      const needed = Math.min((cost - lane.deficit) / worth, Math.max(untilPaid, untilShort))
      rounds = Math.min(rounds, Math.ceil(needed))
    }
    if (++this.#vain > VAIN_ROUNDS) rounds = Math.max(rounds, 2 ** (this.#vain - VAIN_ROUNDS))
    if (rounds === Number.POSITIVE_INFINITY) return 1
    rounds = Math.min(rounds, Math.ceil(most))
    if (rounds <= 1) return 1
    for (let lane = this.#old.first, next = lane; lane !== undefined; lane = next) {
      next = lane.next
      const owes = lane.deficit < 0
      const worth = this.#worth(lane)
      if (lane.count > 0 || owes) credit(lane, (rounds - 1) * worth)
      if (lane.count === 0 && lane.deficit >= 0) {
        // A lane whose debt was paid by the last of these rounds leaves after the next.
        const stays = this.#rules.sparseFirst && owes && lane.deficit < worth * CLOSE
        lane.deficit = 0
        if (stays) lane.recount()
        else this.#leave(lane)
      }
      this.#pay(lane)
      const head = lane.costly ? lane.head() : undefined
      if (head !== undefined) this.#most = Math.max(this.#most, lane.deficit / head.expected(costs))
    }
    return rounds
  }
}

function mayServe<T>(mayStart: (item: T) => boolean, { item }: Request<T>): boolean {
  const may = mayStart(item)
  requireBoolean('mayStart()', may)
  return may
}

/** Whether a request waits in this lane or in one behind it. */
function anyWaits<T>(lane: Lane<T> | undefined): boolean {
  while (lane !== undefined && lane.count === 0) lane = lane.next
  return lane !== undefined
}

/** Whether a head is to be spread among other costly ones. */
function isCostly(cost: number, worth: number): boolean {
  return cost > ORDINARY_TURNS * worth
}

/** A residual debt within the rounding error counts as paid, and a residual credit as used. */
function credit<T>(lane: Lane<T>, by: number): void {
  const deficit = lane.deficit + by
  lane.deficit = Math.abs(deficit) < Math.abs(by) * ROUNDING ? 0 : deficit
}
