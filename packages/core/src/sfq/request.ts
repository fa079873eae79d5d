import type { Linked } from '../linked-list.js'
import { type Flow, firstOf, keyOf } from '../path.js'
import type { LearnedCosts } from './costs.js'
import { ALL_LEVELS, type Lane } from './lane.js'

/** A request in a {@link FairQueue}: pass it to `remove` and `settle`. */
export interface Ticket<T> {
  /** Its flow or, for a path, the first name. */
  readonly flow: string
  readonly item: T
  /**
   * The cost that its flow is charged: the cost it was enqueued with; from its turn on the cautious estimate, if one
   * has been learnt; once it is settled, its actual cost.
   */
  readonly cost: number
  /**
   * The request that was evicted to make room for this one: the caller that enqueued this one must turn it away.
   * Forgotten when this one leaves.
   */
  readonly evicted: Ticket<T> | undefined
}

/** The queue's own form of a ticket. */
export class Request<T> implements Ticket<T>, Linked<Request<T>> {
  readonly path: Flow
  readonly item: T
  /** The cost it was enqueued with, and counts with while it waits. */
  readonly declared: number
  /** The kind of request under which its cost is learnt. */
  readonly kind: string
  cost: number
  /**
   * Part of its cost for which its flow is never charged: its cost before others waited, if it did not need to wait.
   */
  free = 0
  evicted: Ticket<T> | undefined = undefined
  /** Position in the order of arrival. */
  readonly sequence: number
  /** The lane in which it waits; `undefined` once it has left. */
  lane: Lane<T> | undefined = undefined
  /** Number of times that all debts had been forgiven when it was dequeued and charged; below 0 until then. */
  era = -1
  /** Number of lanes, from its own up, beside which others waited when it was dequeued. */
  contested: number = ALL_LEVELS
  /** Whether its actual cost is known. */
  settled = false
  next: Request<T> | undefined = undefined
  previous: Request<T> | undefined = undefined

  constructor(path: Flow, item: T, cost: number, kind: string, sequence: number) {
    this.path = path
    this.item = item
    this.declared = cost
    this.kind = kind
    this.cost = cost
    this.sequence = sequence
  }

  get flow(): string {
    return firstOf(this.path)
  }
  /** A unique string for its flow. */
  get key(): string {
    return keyOf(this.path)
  }
  /** Its expected cost, as far as it is known. */
  expected(costs: LearnedCosts): number {
    return costs.size === 0 ? this.declared : costs.expected(this.key, this.kind, this.declared)
  }
}
