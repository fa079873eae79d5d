import type { FairQueueSnapshot } from '../sfq/index.js'

/** The state of one band, as plain JSON. */
export interface BandSnapshot {
  readonly waiting: number
  /** Cost that it may start before the bands above it. */
  readonly credit: number
  /** Cost started per second while something waited; `undefined` until known. */
  readonly drainPerSecond: number | undefined
  readonly queue: FairQueueSnapshot
}

/** What a waiting room has seen since it was made, as plain JSON. What came is exempted, started, refused, or waits. */
export interface WaitingRoomSnapshot {
  readonly closed: boolean
  readonly came: number
  /** Let pass because they were exempt. */
  readonly exempted: number
  readonly startedAtOnce: number
  readonly startedLater: number
  readonly refused: number
  /** Refusals by reason. */
  readonly refusedBy: Readonly<Record<string, number>>
  readonly waiting: number
  /** Started, and neither finished nor undone; without the exempt. */
  readonly running: number
  /** Mean duration of those that succeeded, in milliseconds; 0 until known. */
  readonly durationMs: number
  /** The request that is being passed because it is too wide for the slots free, and the width that passed it. */
  readonly passing: { readonly width: number; readonly passed: number } | undefined
  /** Times that the capacity threw, when slots were asked for what waits, or given back. */
  readonly capacityErrors: number
  readonly bands: readonly BandSnapshot[]
  /** The capacity's own. */
  readonly capacity: unknown
}
