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

/** How a flow stands: what it has waiting, and which part of the service is its own. */
export interface Standing {
  /** Requests of the flow that wait; in arrival order, of the queue that its next one would join. */
  readonly waiting: number
  /** Their cost. */
  readonly cost: number
  /** Its weight over the weights of all that wait or owe, itself included: above 0, at most 1. */
  readonly share: number
}

/** A request that was not taken in. Nothing of it is kept. */
export interface Refused extends Standing {
  /** `flow-full`: as many of its flow wait as may (in arrival order, of its queue); `full`: as many in all. */
  readonly refused: 'flow-full' | 'full'
  /** The bound that it met, in requests. */
  readonly limit: number
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
