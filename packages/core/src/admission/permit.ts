import { requireNumber, requireOneOf } from '../options.js'
import type { Permit, Settlement } from './decision.js'
import { type Outcome, outcomes } from './outcome.js'
import type { Hold, Passage } from './stage.js'

/** The gate's end of a visit. */
interface Host {
  finished(visit: Visit, outcome: Outcome, cost: number): void
}

/**
 * One request's way through a gate: what the stages read, and, once admitted, the caller's permit.
 * A single object serves as both, because one is made for every request of somebody's server.
 */
export class Visit implements Passage, Permit {
  readonly admitted = true
  readonly flow: string
  readonly cost: number
  readonly priority: number
  readonly exempt: boolean
  nowMs: number
  waitedMs = 0
  credit: number | undefined = undefined
  finished = false
  /** What the stages handed out so far, in their order. */
  readonly holds: Hold[] = []
  readonly #host: Host
  #signal: AbortSignal | (() => AbortSignal) | undefined

  constructor(
    host: Host,
    flow: string,
    cost: number,
    priority: number,
    exempt: boolean,
    signal: AbortSignal | (() => AbortSignal) | undefined,
    nowMs: number,
  ) {
    this.#host = host
    this.flow = flow
    this.cost = cost
    this.priority = priority
    this.exempt = exempt
    this.#signal = signal
    this.nowMs = nowMs
  }

  get signal(): AbortSignal | undefined {
    if (typeof this.#signal === 'function') this.#signal = this.#signal()
    return this.#signal
  }

  finish(outcome: Outcome, settlement?: Settlement): void {
    if (this.finished) return
    let cost = this.cost
    if (outcome !== 'success' && outcome !== 'failure' && outcome !== 'ignored')
      requireOneOf('outcome', outcome, outcomes)
    if (settlement?.cost !== undefined) {
      cost = settlement.cost
      requireNumber('cost', cost, 0)
    }
    this.finished = true
    this.#host.finished(this, outcome, cost)
  }
}
