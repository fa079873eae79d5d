import type { Outcome } from '../admission/outcome.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Passage, Stage, Verdict } from '../admission/stage.js'
import type { FairRuleName } from './options.js'
import type { FlowKey } from './placement.js'
import type { FairTracker } from './tracker.js'

/** An admitted request of a flow: reports its outcome without hashing the flow again. */
class FairHold implements Hold {
  readonly #tracker: FairTracker<FairRuleName>
  readonly #key: FlowKey

  constructor(tracker: FairTracker<FairRuleName>, key: FlowKey) {
    this.#tracker = tracker
    this.#key = key
  }

  finish(outcome: Outcome, cost: number, nowMs: number): void {
    this.#tracker.report(this.#key, outcome, nowMs, cost)
  }

  undo(refusal: Refusal, nowMs: number): void {
    if (refusal.shortage) this.#tracker.report(this.#key, 'failure', nowMs, this.#key.charged)
    else this.#tracker.withdraw(this.#key, nowMs)
  }
}

const EXEMPT: Hold = { finish: () => {}, undo: () => {} }
const LONGEST_RETRY_MS = 30_000

/**
 * FAIR as a stage of a gate: refuses flows that cause a shortage, and learns from what later stages and the handler
 * say. Exempt requests pass and teach nothing. What a later stage refuses for another reason than shortage costs the
 * flow nothing.
 *
 * `retryAfterMs` is the time after which the flow can expect to be let in, at most 30 s. Rule `fair-clock`: until the
 * clock has caught up with it. Rule `blue`: 1/(1 − p) seconds, which is what it takes who tries once a second.
 */
export function fairStage(tracker: FairTracker<FairRuleName>): Stage {
  return {
    name: 'fair',
    admit(passage: Passage): Verdict {
      if (passage.exempt) return EXEMPT
      const key = tracker.key(passage.flow)
      const admitted = tracker.register(key, passage.nowMs, passage.cost)
      if (!Number.isNaN(key.credit)) passage.credit = key.credit
      if (admitted) return new FairHold(tracker, key)
      const { retryAfterMs, detail } = tracker.refusal(key, passage.nowMs)
      return refuse('fair', 'unfair', false, Math.min(LONGEST_RETRY_MS, retryAfterMs), detail)
    },
    snapshot: () => tracker.snapshot(),
  }
}
