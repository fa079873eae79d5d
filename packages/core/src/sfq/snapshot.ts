/** How a flow stands: what it has waiting, and its part of the service. */
export interface Standing {
  /** Requests of the flow that wait. */
  readonly waiting: number
  /** What they are expected to cost. */
  readonly cost: number
  /** Its weight over the weights of all that wait or owe, itself included: above 0, at most 1. */
  readonly share: number
}

/** A request that was not taken in. Nothing of it is kept. */
export interface Refused extends Standing {
  /** `flow-full`: its flow is at its limit; `full`: the whole queue is. */
  readonly refused: 'flow-full' | 'full'
  /** The bound that it met, in requests. */
  readonly limit: number
}

/** A queue's state, as plain JSON. Every request ever enqueued waits, or has left in exactly one of four ways. */
export interface FairQueueSnapshot {
  /** Requests that wait, and their cost. */
  readonly waiting: number
  readonly cost: number
  /** Flows of which something is remembered. */
  readonly records: number
  /** Cost that a turn is worth to weight 1. */
  readonly quantum: number
  readonly enqueued: number
  readonly refused: number
  readonly dequeued: number
  readonly removed: number
  readonly evicted: number
  /** Taken off because `isDead` said so. */
  readonly dead: number
  /** SFQ only. */
  readonly sfq: SfqSnapshot | undefined
}

/** The state of SFQ's queues. */
export interface SfqSnapshot {
  readonly queues: number
  readonly perturbations: number
  /** Requests that wait in each queue. */
  readonly lengths: readonly number[]
  /** Queues with at least four requests. */
  readonly occupied: number
  /** More than a third of the queues has been occupied at each of the last 256 arrivals: too few queues. */
  readonly crowded: boolean
}
