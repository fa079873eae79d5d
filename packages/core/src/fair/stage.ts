import type { Outcome } from '../admission/outcome.js'
import { type Refusal, refuse } from '../admission/refusal.js'
import type { Hold, Lender, Passage, Stage, Verdict } from '../admission/stage.js'
import { ownCopy } from '../path.js'
import type { FairRuleName } from './options.js'
import { FlowKey } from './placement.js'
import type { FairTracker } from './tracker.js'

/**
 * A request of a flow: reports its outcome without hashing the flow again. It has a key and is none, because V8 is
 * slow to make objects of a derived class.
 */
class FairHold implements Hold, Lender {
  readonly #tracker: FairTracker<FairRuleName>
  readonly #key: FlowKey

  constructor(tracker: FairTracker<FairRuleName>, key: FlowKey) {
    this.#tracker = tracker
    this.#key = key
  }

  /** The flow's credit when the request arrived. */
  get lent(): number | undefined {
    this.#tracker.catchUp()
    const { credit } = this.#key
    return Number.isNaN(credit) ? undefined : credit
  }

  finish(outcome: Outcome, cost: number, nowMs: number): void {
    const key = this.#key
    if (outcome === 'success' && this.#tracker.putOff(key, nowMs, cost)) return
    this.#tracker.catchUp()
    // A request with an unknown outcome may have used the resource: it costs at least its charge.
    this.#tracker.report(key, outcome, nowMs, outcome === 'ignored' ? Math.max(cost, key.charged) : cost)
  }

  charge(costSoFar: number, nowMs: number): void {
    this.#tracker.charge(this.#key, costSoFar, nowMs)
  }

  undo(refusal: Refusal, nowMs: number): void {
    const key = this.#key
    this.#tracker.catchUp()
    if (refusal.shortage) this.#tracker.report(key, 'failure', nowMs, key.charged)
    else this.#tracker.withdraw(key, nowMs)
  }
}

const LONGEST_RETRY_MS = 30_000
/** Most resources that are measured separately: with the default options each takes 640 KiB. */
const MOST_RESOURCES = 32

/**
 * FAIR as a stage of a gate: refuses flows that cause a shortage, and learns from the outcomes of later stages and the
 * handler. Exempt requests pass and teach nothing. A refusal of a later stage for another reason than shortage costs
 * the flow nothing.
 *
 * Requests that name a `resource` are judged by a separate tracker, created like `tracker` at the first of them; those
 * beyond the 32nd such resource, and those that name none, by `tracker`.
 *
 * `retryAfterMs` is the expected time until the client is admitted, at most 30 s. Rule `fair-clock`: until the clock has
 * caught up with its flow, and longer for flows of which many clients ask. Rule `blue`: 1/(1 − p) seconds, the mean
 * time for a client that tries once a second.
 */
export function fairStage(tracker: FairTracker<FairRuleName>): Stage {
  const trackers = new Map<string, FairTracker<FairRuleName>>()
  function trackerOf(resource: string): FairTracker<FairRuleName> {
    if (!trackers.has(resource)) {
      if (trackers.size >= MOST_RESOURCES) return tracker
      trackers.set(ownCopy(resource), tracker.another(resource))
    }
    return trackers.get(resource)!
  }
  const all = (): FairTracker<FairRuleName>[] => [tracker, ...trackers.values()]
  function ofEach(question: (one: FairTracker<FairRuleName>) => object): object {
    if (trackers.size === 0) return question(tracker)
    const resources = Object.fromEntries([...trackers].map(([name, each]) => [name, question(each)]))
    return { ...question(tracker), resources }
  }
  return {
    name: 'fair',
    admit(passage: Passage): Verdict {
      if (passage.exempt) return undefined
      const judge = passage.resource === undefined ? tracker : trackerOf(passage.resource)
      const { nowMs, cost } = passage
      const key = new FlowKey(passage.flow)
      const hold = new FairHold(judge, key)
      const admitted = judge.putOff(key, nowMs, cost) || judge.register(key, nowMs, cost)
      if ('lender' in passage) passage.lender = hold
      else passage.credit = hold.lent
      if (admitted) return hold
      const { retryAfterMs, detail } = judge.refusal(key, nowMs)
      return refuse('fair', 'unfair', false, Math.min(LONGEST_RETRY_MS, retryAfterMs), detail)
    },
    get engaged() {
      return all().some(({ engaged }) => engaged)
    },
    forget(flow) {
      for (const each of all()) each.forget(flow)
    },
    explain: (flow) => ofEach((one) => one.explain(flow)),
    snapshot: () => ofEach((one) => one.snapshot()),
  }
}
