import type { Quota } from './decision.js'

/**
 * Why a request was refused. The built-in reasons; a stage of your own may add its words.
 *
 * - `unfair`: this flow is the one causing the shortage. FAIR never says it to the only flow there is: no other for a minute.
 * - `overload`: the process cannot take more work, of any flow.
 * - `gone`: the client left while the request waited.
 * - `closed`: the gate is closing.
 * - `error`: a stage failed, and its `onError` says to refuse.
 */
export type Reason = 'unfair' | 'overload' | 'gone' | 'closed' | 'error' | (string & {})

/** The answer to a request that is not let in. A value: nothing is thrown, and nothing needs to be finished. */
export interface Refusal {
  readonly admitted: false
  /** Name of the stage that refused; `gate` for `closed` and `gone`. */
  readonly stage: string
  readonly reason: Reason
  /** True if the refusal means that there was not enough for everyone: FAIR learns from those. */
  readonly shortage: boolean
  /** How long the client should stay away, in milliseconds, at least 0; Infinity: for good. Adapters jitter it. */
  readonly retryAfterMs: number
  /** The numbers that decided, for people: a probability, a load, a position. */
  readonly detail: Readonly<Record<string, unknown>>
  /** What is left to the flow, where the stage that refused has quotas. */
  readonly quota?: Quota | undefined
}

const NO_DETAIL: Readonly<Record<string, unknown>> = Object.freeze({})

/** Makes the refusal that a stage returns. */
export function refuse(
  stage: string,
  reason: Reason,
  shortage: boolean,
  retryAfterMs: number,
  detail: Readonly<Record<string, unknown>> = NO_DETAIL,
  quota?: Quota,
): Refusal {
  return { admitted: false, stage, reason, shortage, retryAfterMs, detail, quota }
}
