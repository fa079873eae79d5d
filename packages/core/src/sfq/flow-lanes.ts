import { TurnoverMap } from '../containers.js'
import { keyedHash, keyFrom, mix32, type Words } from '../hash.js'
import { type Flow, keyOf } from '../path.js'
import type { Random } from '../random.js'
import { Lane } from './lane.js'
import { LongestQueue } from './longest-queue.js'
import { Ring, type RingRules } from './ring.js'

/**
 * One lane per waiting flow: below the root or, given SFQ's `queues`, in one of them.
 *
 * A flow waits in one queue at a time. The queue is chosen when the flow starts to wait and kept until none of its
 * requests waits (or everything is reassigned), so its requests keep their order, it has one weight, and a heavy flow
 * is not served as if it were several.
 *
 * Above the lane of a path there is one for each of its prefixes, as long as a record is kept below it.
 */
export class FlowLanes<T> {
  readonly #root: Lane<T>
  readonly #queues: HashedQueues<T> | undefined
  readonly #rules: RingRules<T>
  readonly #lanes = new TurnoverMap<Lane<T>>()
  readonly #groups = new TurnoverMap<Lane<T>>()

  constructor(root: Lane<T>, queues: HashedQueues<T> | undefined, rules: RingRules<T>) {
    this.#root = root
    this.#queues = queues
    this.#rules = rules
  }

  /** Number of flows, and prefixes of paths, with a record. */
  get records(): number {
    return this.#lanes.entries.size + this.#groups.entries.size
  }

  /** The lane of the flow with this key, if there is one. */
  find(key: string): Lane<T> | undefined {
    return this.#lanes.entries.get(key)
  }

  /** The lane of all flows whose paths have this prefix. */
  group(beginning: Flow): Lane<T> | undefined {
    if (this.#groups.entries.size === 0) return undefined
    return this.#groups.entries.get(keyOf(typeof beginning === 'string' ? [beginning] : beginning))
  }

  /** Creates that lane, after `find` found none. `weights` are those of the flow's names, from the first level on. */
  open(flow: Flow, key: string, weights: readonly number[]): Lane<T> {
    let up = this.#queues?.pick(key) ?? this.#root
    if (typeof flow !== 'string')
      for (let level = 1; level < flow.length; level++)
        up = this.#openGroup(keyOf(flow.slice(0, level)), weights[level - 1]!, up)
    const lane = new Lane(key, weights[weights.length - 1]!, up)
    this.#lanes.set(key, lane)
    return lane
  }

  #openGroup(key: string, weight: number, up: Lane<T>): Lane<T> {
    const known = this.#groups.entries.get(key)
    if (known !== undefined) return known
    const group = new Lane(key, weight, up)
    group.ring = new Ring(group, this.#rules)
    if (this.#root.longest !== undefined) group.longest = new LongestQueue()
    this.#groups.set(key, group)
    return group
  }

  /** A lane is empty and out of its ring. */
  forget(lane: Lane<T>): void {
    if (lane.ring === undefined) this.#lanes.delete(lane.key)
    else this.#groups.delete(lane.key)
  }

  /**
   * Reassigns all flows to the queues: nothing is lost or refused, and every flow keeps its order.
   *
   * Credit, debt and newness go with the flow, in order of their oldest requests. The queues start from the sum of
   * their flows' credits; a flow that was alone takes its queue's deficit along, which was its own.
   */
  rehome(queues: number, key: Words | undefined): void {
    const hashed = this.#queues
    if (hashed === undefined) return
    const moves = [...this.#lanes.entries.values()].sort((x, y) => ageOf(x) - ageOf(y)).map(moveOf)
    hashed.renew(queues, key)
    for (const move of moves) settleIn(move, hashed.pick(move.lane.key))
    hashed.dealt()
  }
}

interface Move<T> {
  readonly lane: Lane<T>
  readonly deficit: number
  readonly place: 'new' | 'old'
}

function ageOf<T>(lane: Lane<T>): number {
  return lane.first?.sequence ?? Number.MAX_SAFE_INTEGER
}

function moveOf<T>(lane: Lane<T>): Move<T> {
  const up = lane.up!
  const alone = up.count === lane.count && up.weight === lane.weight
  const deficit = alone ? up.deficit : lane.deficit
  return { lane, deficit, place: up.place === 'new' && lane.place === 'new' ? 'new' : 'old' }
}

/** Moves a flow's lane with all its waiting requests into a queue. */
function settleIn<T>({ lane, deficit, place }: Move<T>, queue: Lane<T>): void {
  lane.up = queue
  lane.deficit = deficit
  lane.counted = 0
  lane.pooled = 0
  lane.weighed = 0
  lane.passing = false
  lane.next = undefined
  lane.previous = undefined
  queue.ring!.put(lane, place)
  if (lane.count === 0) queue.ring!.keep(lane)
  queue.count += lane.count
  queue.cost += lane.cost
  queue.deficit += deficit
  if (queue.place === 'out') queue.up!.ring!.put(queue, place)
  else queue.up!.ring!.corrected(queue)
  lane.recount()
  queue.recount()
  queue.up!.count += lane.count
  queue.up!.cost += lane.cost
}

/** Queues in a flow's hand. */
const HAND = 4
/** A queue with at least this number of requests counts as occupied. */
const OCCUPIED = 4
/** Consecutive arrivals that must find the queues crowded. */
const ARRIVALS = 256

/**
 * SFQ's queues: a number of lanes below the root. Every flow has a hand of up to four of them, determined by its name
 * and a secret key. Keeps no record of any flow.
 *
 * @see P. E. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990: queues found by a hash that is perturbed
 * @see M. Brooker, "SFQ: Simple, Stateless, Stochastic Fairness": the shortest queue of a shuffle-sharded hand
 */
export class HashedQueues<T> {
  readonly occupancy: QueueOccupancy
  readonly #root: Lane<T>
  readonly #rules: RingRules<T>
  readonly #hand: Int32Array
  readonly #words: Uint32Array
  readonly #random: Random
  #key: Words | undefined
  #lanes: Lane<T>[] = []

  /** The key is drawn for the first flow. */
  constructor(root: Lane<T>, rules: RingRules<T>, queues: number, random: Random) {
    this.#random = random
    this.#root = root
    this.#rules = rules
    this.#hand = new Int32Array(Math.min(HAND, queues))
    this.#words = new Uint32Array(this.#hand.length)
    this.occupancy = new QueueOccupancy(queues)
    this.renew(queues, undefined)
  }

  get lanes(): readonly Lane<T>[] {
    return this.#lanes
  }

  get key(): Words | undefined {
    return this.#key
  }

  /**
   * The queue of its hand that a flow without waiting requests should join: the one with the least waiting cost of
   * other flows. Among equals, the first of the hand. (By the number of requests, a heavy flow would compete in all
   * queues of its hand as if it were as many flows.)
   */
  pick(flow: string): Lane<T> {
    const hand = this.#hand
    this.#key ??= keyFrom(this.#random)
    wordsOf(flow, this.#key, this.#words)
    deal(this.#words, this.#lanes.length, hand)
    let best = this.#lanes[hand[0]!]!
    for (let i = 1; i < hand.length; i++) {
      const lane = this.#lanes[hand[i]!]!
      if (lane.cost < best.cost) best = lane
    }
    return best
  }

  /** A request was added to a flow's lane. */
  added(lane: Lane<T>): void {
    this.occupancy.grew(lane.up!.count)
  }

  /** A request has left such a lane. */
  left(lane: Lane<T>): void {
    this.occupancy.shrank(lane.up!.count)
  }

  /**
   * Starts over with empty queues below an empty root. The caller then puts the waiting requests back and calls
   * `dealt`.
   */
  renew(queues: number, key: Words | undefined): void {
    this.#key = key
    const root = this.#root
    root.count = 0
    root.cost = 0
    root.members = 0
    root.ring = new Ring(root, this.#rules)
    this.#rules.passing = 0
    this.#lanes = Array.from({ length: queues }, () => this.#queue())
  }

  /** All waiting requests are back. */
  dealt(): void {
    this.occupancy.reset(this.#lanes.map(({ count }) => count))
  }

  /** A queue weighs as much as the flows in it. */
  #queue(): Lane<T> {
    const lane = new Lane<T>('', 0, this.#root)
    lane.ring = new Ring(lane, this.#rules)
    lane.weighsAsMany = true
    return lane
  }
}

/**
 * Detects that too many flows are busy for the number of queues.
 *
 * While at most a third of the queues is occupied, a hand of four nearly always has a free one; beyond that, light
 * flows start to share with heavy ones, and shares are no longer fair. O(1) per request.
 */
class QueueOccupancy {
  #queues: number
  #occupied = 0
  #most = 0
  #arrivals = 0

  constructor(queues: number) {
    this.#queues = queues
  }

  /** Number of queues with four requests or more. */
  get occupied(): number {
    return this.#occupied
  }

  /** Whether more than a third of the queues was occupied at each of the last 256 arrivals. */
  get crowded(): boolean {
    return this.#arrivals >= ARRIVALS
  }

  /** Whether less than a twelfth of the queues was occupied at any time since the last deal. */
  get sparse(): boolean {
    return this.#most < this.#queues / 12
  }

  /** A queue now holds `count` requests, one more than before. */
  grew(count: number): void {
    if (count === OCCUPIED) this.#occupied++
    if (this.#occupied > this.#most) this.#most = this.#occupied
    this.#arrivals = this.#occupied > this.#queues / 3 ? this.#arrivals + 1 : 0
  }

  /** A queue now holds `count` requests, one less than before. */
  shrank(count: number): void {
    if (count === OCCUPIED - 1) this.#occupied--
  }

  /** All requests were reassigned; the queues now hold `counts`. */
  reset(counts: readonly number[]): void {
    if (counts.length !== this.#queues) this.#arrivals = 0
    this.#queues = counts.length
    this.#occupied = counts.filter((count) => count >= OCCUPIED).length
    this.#most = this.#occupied
  }
}

/**
 * Deals a hand of distinct cards, 0 to `deck` - 1, from one independent 32-bit word per card.
 *
 * Card i is one of the deck - i that are left, each as likely to within (deck - i) / 2^32. O(hand²), no big numbers,
 * nothing allocated. In `hand` the cards lie in the order in which they were dealt: none is preferred for its number.
 *
 * @see C. MacCárthaigh, "Workload isolation using shuffle-sharding", Amazon Builders' Library
 */
export function deal(words: Uint32Array, deck: number, hand: Int32Array): void {
  for (let i = 0; i < hand.length; i++) {
    let card = Math.floor((words[i]! * (deck - i)) / 0x1_0000_0000)
    let place = 0
    // The earlier cards, ascending: each one up to this card shifts it by one.
    for (; place < i && sorted[place]! <= card; place++) card++
    // For few elements a loop is faster than `copyWithin`.
    for (let above = i; above > place; above--) sorted[above] = sorted[above - 1]!
    sorted[place] = card
    hand[i] = card
  }
}

/** Writes one word per card, for {@link deal}. Words of different flows, keys and cards are independent. */
export function wordsOf(flow: string, key: Words, into: Uint32Array): void {
  keyedHash(flow, key, words)
  for (let i = 0; i < into.length; i++) into[i] = mix32(mix32(words.a + Math.imul(i + 1, 0x9e3779b9)) ^ words.b)
}

const sorted = new Int32Array(HAND)
const words: Words = { a: 0, b: 0 }
