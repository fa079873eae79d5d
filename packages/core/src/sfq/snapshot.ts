/** A queue's state, as plain JSON. What was ever enqueued waits, or has left in exactly one of four ways. */
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
