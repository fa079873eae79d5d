import type { Link } from './chain.js'
import type { Lane } from './lane.js'

/** A request that was taken into a {@link FairQueue}: what `remove` and `settle` want back. */
export interface Ticket<T> {
  readonly flow: string
  readonly item: T
  /** What it is charged: the cost it came with, or once it is settled, what it really cost. */
  readonly cost: number
  /**
   * The request that was evicted to make room for this one. It will not be dequeued: whoever enqueued this one has to
   * turn that one away. Forgotten when this one leaves in its turn.
   */
  readonly evicted: Ticket<T> | undefined
}

/** A ticket as the queue sees it. */
export class Request<T> implements Ticket<T>, Link<Request<T>> {
  readonly flow: string
  readonly item: T
  cost: number
  evicted: Ticket<T> | undefined = undefined
  /** Position in the order of arrival. */
  readonly sequence: number
  /** Where it waits; `undefined` once it has left. */
  lane: Lane<T> | undefined = undefined
  /** Whether it left by its turn, and has been charged. */
  served = false
  next: Request<T> | undefined = undefined
  previous: Request<T> | undefined = undefined

  constructor(flow: string, item: T, cost: number, sequence: number) {
    this.flow = flow
    this.item = item
    this.cost = cost
    this.sequence = sequence
  }
}
