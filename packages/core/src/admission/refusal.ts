import type { Quota } from './decision.js'

/**
 * The reason of a refusal: a built-in one, or one of a stage of your own.
 *
 * - `unfair`: this flow is over its share of a shortage. A flow that is the only one for a minute never gets this
 *   reason.
 * - `overload`: the process cannot take more work, of any flow.
 * - `gone`: the client left while the request waited.
 * - `closed`: the gate is closing.
 * - `error`: a stage failed, and its `onError` is `'refuse'`.
 */
export type Reason = 'unfair' | 'overload' | 'gone' | 'closed' | 'error' | (string & {})

/** The answer to a refused request. A value: nothing is thrown, and nothing needs to be finished. */
export interface Refusal {
  readonly admitted: false
  /** Name of the stage that refused; `gate` for `closed` and `gone`. */
  readonly stage: string
  readonly reason: Reason
  /** True if the refusal means that there was not enough for all flows: FAIR learns from such refusals. */
  readonly shortage: boolean
  /**
   * Time for which the client should stay away, in milliseconds, at least 0; Infinity: for ever. Adapters add jitter.
   */
  readonly retryAfterMs: number
  /** The numbers behind the decision, for people: a probability, a load, a position. */
  readonly detail: Readonly<Record<string, unknown>>
  /** The flow's remaining quota, if the refusing stage has quotas. */
  readonly quota?: Quota | undefined
}

/** Makes the refusal that a stage returns. */
export function refuse(
  stage: string,
  reason: Reason,
  shortage: boolean,
  retryAfterMs: number,
  detail: Readonly<Record<string, unknown>> = {},
  quota?: Quota,
): Refusal {
  return { admitted: false, stage, reason, shortage, retryAfterMs, detail, quota }
}
