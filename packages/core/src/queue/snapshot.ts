import type { FairQueueSnapshot } from '../sfq/options.js'

/**
 * Counts of a request queue since its creation, as plain JSON. Each request was exempted, started, refused, or waits.
 */
export interface RequestQueueSnapshot {
  readonly closed: boolean
  readonly came: number
  /** Admitted because they were exempt. */
  readonly exempted: number
  readonly startedAtOnce: number
  readonly startedLater: number
  readonly refused: number
  /** Refusals by reason. */
  readonly refusedBy: Readonly<Record<string, number>>
  readonly waiting: number
  /** Started, and neither finished nor undone; without the exempt ones. */
  readonly running: number
  /** Mean duration of the requests that succeeded, in milliseconds; 0 until known. */
  readonly durationMs: number
  /** The request that is being passed because too little is free for it. */
  readonly passing: Passing | undefined
  /** Errors of the capacity when slots were taken for waiting requests, or returned. */
  readonly capacityErrors: number
  readonly bands: readonly BandSnapshot[]
  /** The flows with most waiting requests: at most 20. */
  readonly flows: readonly WaitingFlow[]
  /** The capacity's snapshot. */
  readonly capacity: unknown
  /** The pool's snapshot; `undefined` without one. */
  readonly pool: unknown
}

/** The state of one band, as plain JSON. */
export interface BandSnapshot {
  readonly waiting: number
  /** Slots that its running requests take. */
  readonly running: number
  /** Cost that may start before the bands above it. */
  readonly credit: number
  /** Cost started per second while requests waited; `undefined` until known. */
  readonly drainPerSecond: number | undefined
  readonly queue: FairQueueSnapshot
}

/** State of one flow in the queue, as plain JSON. */
export interface WaitingFlow {
  readonly flow: string
  readonly weight: number
  /** Requests that wait. */
  readonly waiting: number
  /** Wait of the oldest of them, in milliseconds. */
  readonly oldestMs: number
  /** Slots that its running requests take. */
  readonly running: number
}

/** A request that is being passed because it does not fit, and the amounts that have passed it, as plain JSON. */
export interface Passing {
  readonly width: number
  /** Slots that passed it. */
  readonly passed: number
  /** Units of the pool that it takes. */
  readonly units: number
  readonly passedUnits: number
}
