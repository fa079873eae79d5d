import type { Linked } from '../linked-list.js'
import { type Flow, firstOf, keyOf } from '../path.js'
import type { LearnedCosts } from './costs.js'
import type { Lane } from './lane.js'

/** A request that was taken into a {@link FairQueue}: `remove` and `settle` take it back. */
export interface Ticket<T> {
  /** Its flow or, of a path, the first name. */
  readonly flow: string
  readonly item: T
  /**
   * The cost that its flow is charged: the cost it was enqueued with; from its turn on what such requests cost at most,
   * if that has been learnt; once it is settled, its real cost.
   */
  readonly cost: number
  /**
   * The request that was evicted to make room for this one: whoever enqueued this one must turn it away. Forgotten when
   * this one leaves.
   */
  readonly evicted: Ticket<T> | undefined
}

/** A ticket as the queue sees it. */
export class Request<T> implements Ticket<T>, Linked<Request<T>> {
  readonly path: Flow
  readonly item: T
  /** What it was enqueued with, and is counted with while it waits. */
  readonly declared: number
  /** The kind of request under which its cost is learnt. */
  readonly kind: string
  cost: number
  /** Part of its cost for which its flow is never charged: what it had cost before others waited, if it did not need to wait. */
  free = 0
  evicted: Ticket<T> | undefined = undefined
  /** Position in the order of arrival. */
  readonly sequence: number
  /** The lane in which it waits; `undefined` once it has left. */
  lane: Lane<T> | undefined = undefined
  /** How often all debts had been forgiven when it was dequeued and charged; below 0 until then. */
  era = -1
  /** Lanes, from its own up, beside which others waited when it was dequeued; infinite if that holds for all. */
  contested: number = Number.POSITIVE_INFINITY
  /** Whether its real cost is known. */
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
  /** A string of its own for its flow. */
  get key(): string {
    return keyOf(this.path)
  }
  /** What it will cost, as far as that is known. */
  expected(costs: LearnedCosts): number {
    return costs.size === 0 ? this.declared : costs.expected(this.key, this.kind, this.declared)
  }
}
