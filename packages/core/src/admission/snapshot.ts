import type { Outcome } from './outcome.js'

/** Counts of a gate since it was made, as plain JSON. */
export interface GateSnapshot {
  /** The name given to `createGate`. */
  readonly name: string
  readonly closed: boolean
  /** Requests admitted and not finished. */
  readonly inFlight: number
  /** Requests that wait for a stage's answer, or in an adapter for the promise of `flow`, `cost` or `skip`. */
  readonly waiting: number
  readonly admitted: number
  readonly refused: number
  /** Refusals by `stage:reason`; beyond the first 1000 such pairs, all others as `other:other`. */
  readonly refusedBy: Readonly<Record<string, number>>
  readonly finished: Readonly<Record<Outcome, number>>
  /** Permits that timed out; they are among those finished as `ignored`. */
  readonly expired: number
  /** Times a stage threw, rejected or outlasted its deadline. */
  readonly stageErrors: number
  /** Times an observer threw or rejected, or a listener of the gate's overrides did. */
  readonly listenerErrors: number
  /** Each stage's own snapshot, by name. */
  readonly stages: Readonly<Record<string, unknown>>
}
