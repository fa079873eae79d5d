import type { Refusal } from '../admission/refusal.js'
import { refuse } from '../admission/refusal.js'

/**
 * Why a waiting room refuses.
 *
 * For want of capacity, which teaches FAIR (`shortage: true`):
 * - `flow-full`: as many requests of its flow wait as may;
 * - `queue-full`: as many requests wait in its band as may;
 * - `would-wait-too-long`: by the rate at which the room drains, its turn would not come in time;
 * - `expired`: it waited for as long as it could;
 * - `evicted`: it waited, and its place went to a flow that had less waiting.
 *
 * For other reasons, of which nobody is to learn anything (`shortage: false`):
 * - `deadline`: on arrival, its deadline had passed, or would have passed before it could wait and run. It took nothing
 *   from anybody, and its client may have asked for what no service could give; one that waited and then ran out of
 *   time is `expired`, because more capacity would have saved it;
 * - `too-wide`: it needs more slots than there can ever be, so `retryAfterMs` is infinite: it need not come back;
 * - `gone`: its signal fired;
 * - `closed`: the room was closed.
 */
export type QueueReason = keyof typeof SHORTAGE

const SHORTAGE = {
  'flow-full': true,
  'queue-full': true,
  'would-wait-too-long': true,
  expired: true,
  evicted: true,
  deadline: false,
  'too-wide': false,
  gone: false,
  closed: false,
} as const

/** The stage's name in gates, decisions and refusals. */
export const STAGE: 'queue' = 'queue'

/** What a room refuses: made here, and counted. */
export class Refusals {
  count = 0
  readonly #byReason = new Map<QueueReason, number>()

  make(reason: QueueReason, retryMs: number, detail?: Readonly<Record<string, unknown>>): Refusal {
    this.count++
    this.#byReason.set(reason, (this.#byReason.get(reason) ?? 0) + 1)
    return refuse(STAGE, reason, SHORTAGE[reason], retryMs, detail)
  }

  /** How many for each reason, as plain JSON. */
  byReason(): Record<string, number> {
    return Object.fromEntries(this.#byReason)
  }
}
