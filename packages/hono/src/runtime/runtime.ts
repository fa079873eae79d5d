import type { LoadSignal } from '@fairlead/core'

/** What is different from runtime to runtime, and has to be known before the first request. */
export interface Runtime {
  /** What to shed by, if the user does not say. */
  signals(queued: boolean): readonly LoadSignal[]
  /** How long a permit lasts at most, if the user does not say: where a response may end and nobody tell. */
  readonly permitTimeoutMs: number | undefined
}
