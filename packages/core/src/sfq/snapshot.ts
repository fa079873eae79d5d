/** State of a flow: its waiting requests, and its part of the service. */
export interface Standing {
  /** Number of the flow's waiting requests. */
  readonly waiting: number
  /** Their expected cost. */
  readonly cost: number
  /** Its weight over the weights of all flows that wait or owe, itself included: above 0, at most 1. */
  readonly share: number
}

/** A refused request. Nothing of it is kept. */
export interface Refused extends Standing {
  /** `flow-full`: its flow is at its limit; `full`: the whole queue is. */
  readonly refused: 'flow-full' | 'full'
  /** The bound that it reached, in requests. */
  readonly limit: number
}

/** A queue's state, as plain JSON. Every enqueued request waits, or has left in exactly one of four ways. */
export interface FairQueueSnapshot {
  /** Number of waiting requests, and their cost. */
  readonly waiting: number
  readonly cost: number
  /** Flows with a record. */
  readonly records: number
  /** The value of a turn for weight 1, in cost. */
  readonly quantum: number
  readonly enqueued: number
  readonly refused: number
  readonly dequeued: number
  readonly removed: number
  readonly evicted: number
  /** Removed because `isDead` returned true. */
  readonly dead: number
  /** Only for SFQ. */
  readonly sfq: SfqSnapshot | undefined
}

/** The state of SFQ's queues. */
export interface SfqSnapshot {
  readonly queues: number
  readonly perturbations: number
  /** Number of waiting requests in each queue. */
  readonly lengths: readonly number[]
  /** Queues with at least four requests. */
  readonly occupied: number
  /** More than a third of the queues has been occupied at each of the last 256 arrivals: too few queues. */
  readonly crowded: boolean
}
