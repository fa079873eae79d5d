import type { Outcome } from '../admission/outcome.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Passage, Stage, Verdict } from '../admission/stage.js'
import type { FlowKey } from './placement.js'
import type { FairTracker } from './tracker.js'

/** An admitted request of a flow: reports its outcome without hashing the flow again. */
class FairHold implements Hold {
  readonly #tracker: FairTracker
  readonly #key: FlowKey

  constructor(tracker: FairTracker, key: FlowKey) {
    this.#tracker = tracker
    this.#key = key
  }

  finish(outcome: Outcome, _cost: number, nowMs: number): void {
    this.#tracker.report(this.#key, outcome, nowMs)
  }

  undo(refusal: Refusal, nowMs: number): void {
    if (refusal.shortage) this.#tracker.report(this.#key, 'failure', nowMs)
  }
}

const EXEMPT: Hold = { finish: () => {}, undo: () => {} }
const LONGEST_RETRY_MS = 30_000

/**
 * FAIR as a stage of a gate: refuses flows that cause a shortage, and learns from what later stages and the handler
 * say. Exempt requests pass and teach nothing.
 *
 * A refused flow that tries once a second gets in after 1/(1 − p) seconds on average: that is the `retryAfterMs`,
 * at most 30 s.
 */
export function fairStage(tracker: FairTracker): Stage {
  return {
    name: 'fair',
    admit(passage: Passage): Verdict {
      if (passage.exempt) return EXEMPT
      const key = tracker.key(passage.flow)
      if (tracker.register(key, passage.nowMs)) return new FairHold(tracker, key)
      const { probability } = key
      const retryAfterMs = Math.min(LONGEST_RETRY_MS, 1000 / (1 - probability))
      return refuse('fair', 'unfair', false, retryAfterMs, { probability })
    },
    snapshot: () => tracker.snapshot(),
  }
}
