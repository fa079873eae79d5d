import { keyFrom, type Words } from '../hash.js'
import type { Random } from '../random.js'
import { Crowding } from './crowding.js'
import { deal, wordsOf } from './hand.js'
import { Lane } from './lane.js'
import { Ring, type RingRules } from './ring.js'

/** Which queue of its hand a flow joins; see `FairQueueOptions.choose`. */
export type Choose = 'foreign' | 'shortest' | 'first'

/** How flows share a queue; see `FairQueueOptions.inside`. */
export type Inside = 'turns' | 'arrival'

/** What there is to know about queues, apart from their number. */
export interface BucketRules {
  readonly choose: Choose
  readonly inside: Inside
  /** Cards in a hand. */
  readonly hand: number
}

/**
 * SFQ's queues: a number of lanes below the root, of which every flow has a hand that follows from its name and the
 * seed. No record of any flow is kept here.
 *
 * @see P. E. McKenney, "Stochastic Fairness Queueing", INFOCOM 1990: queues found by a hash that is perturbed
 * @see M. Brooker, "SFQ: Simple, Stateless, Stochastic Fairness": the shortest queue of a shuffle-sharded hand
 */
export class Buckets<T> {
  readonly #root: Lane<T>
  readonly #rules: RingRules<T>
  readonly #choose: Choose
  readonly #inside: Inside
  readonly #hand: Int32Array
  readonly #words: Uint32Array
  readonly #crowding: Crowding
  readonly #random: Random
  #key: Words | undefined
  #lanes: Lane<T>[] = []

  /** Without a `key` one is drawn for the first flow. */
  constructor(
    root: Lane<T>,
    rules: RingRules<T>,
    { choose, inside, hand }: BucketRules,
    queues: number,
    key: Words | undefined,
    random: Random,
  ) {
    this.#random = random
    this.#root = root
    this.#rules = rules
    this.#choose = choose
    this.#inside = inside
    this.#hand = new Int32Array(choose === 'first' ? 1 : hand)
    this.#words = new Uint32Array(this.#hand.length)
    this.#crowding = new Crowding(queues)
    this.renew(queues, key)
  }

  get lanes(): readonly Lane<T>[] {
    return this.#lanes
  }

  get key(): Words | undefined {
    return this.#key
  }

  get crowding(): Crowding {
    return this.#crowding
  }

  /**
   * The queue of its hand that a flow should join which waits nowhere: the shortest, or the one where least cost
   * waits, all of it foreign to this flow. Among equals the first of the hand.
   */
  pick(flow: string): Lane<T> {
    const hand = this.#hand
    this.#key ??= keyFrom(this.#random)
    wordsOf(flow, this.#key, this.#words)
    deal(this.#words, this.#lanes.length, hand)
    let best = this.#lanes[hand[0]!]!
    for (let i = 1; i < hand.length; i++) {
      const lane = this.#lanes[hand[i]!]!
      if (this.#choose === 'foreign' ? lane.cost < best.cost : lane.count < best.count) best = lane
    }
    return best
  }

  /** A request has come to a lane: one of these, or of a flow in one of these. */
  came(lane: Lane<T>): void {
    this.#crowding.came(this.#bucketOf(lane).count)
  }

  /** A request has left such a lane. */
  left(lane: Lane<T>): void {
    this.#crowding.left(this.#bucketOf(lane).count)
  }

  /** Starts over with empty queues below an empty root. What waited is to be put back, and then `dealt` called. */
  renew(queues: number, key: Words | undefined): void {
    this.#key = key
    const root = this.#root
    root.count = 0
    root.cost = 0
    root.weight = 0
    root.ring = new Ring(root, this.#rules)
    this.#lanes = Array.from({ length: queues }, () => this.#bucket())
  }

  /** Everything that waited is back. */
  dealt(): void {
    this.#crowding.deal(this.#lanes.map(({ count }) => count))
  }

  /** A queue served in order of arrival weighs 1; one served by turns as much as the flows in it. */
  #bucket(): Lane<T> {
    if (this.#inside === 'arrival') return new Lane('', 1, this.#root)
    const lane = new Lane<T>('', 0, this.#root)
    lane.ring = new Ring(lane, this.#rules)
    return lane
  }

  #bucketOf(lane: Lane<T>): Lane<T> {
    return lane.up === this.#root ? lane : lane.up!
  }
}
