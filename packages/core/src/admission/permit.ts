import { requireAbortSignal, requireNumber, requireOneOf, show } from '../options.js'
import { isLater } from '../rejection.js'
import type { Permit, Quota, Settlement } from './decision.js'
import { type Outcome, outcomes } from './outcome.js'
import type { Contest, Hold, Lender, Passage } from './stage.js'

/** The gate's view of a request. */
interface PermitOwner {
  charged(visit: Visit, costSoFar: number): void
  failed(what: string, error: unknown): void
  finished(visit: Visit, outcome: Outcome, cost: number, isNamed: boolean): void
  now(): number
}

/**
 * One request's way through a gate: the passage that stages read and, after admission, the caller's permit. A single
 * object serves as both, because every request makes one.
 */
export class Visit implements Passage, Permit {
  readonly admitted = true
  readonly id: number
  readonly flow: string
  readonly cost: number
  readonly resource: string | undefined
  readonly priority: number
  readonly exempt: boolean
  path: readonly string[] | undefined
  target: readonly unknown[] | undefined
  nowMs: number
  waitedMs = 0
  lender: Lender | undefined
  finished = false
  /** The sum of the charges while it runs, if there were any. */
  #charges: number | undefined
  /** Number of stages that have granted something so far. */
  held = 0
  /** Their grants, in order. Its length is the number of stages: an array that grows allocates room for 17. */
  readonly #holds: Hold[]
  readonly #host: PermitOwner
  #signal: AbortSignal | (() => AbortSignal) | undefined

  constructor(
    host: PermitOwner,
    id: number,
    flow: string,
    cost: number,
    resource: string | undefined,
    priority: number,
    exempt: boolean,
    signal: AbortSignal | (() => AbortSignal) | undefined,
    nowMs: number,
    stages: number,
  ) {
    this.#host = host
    this.#holds = new Array(stages)
    this.id = id
    this.flow = flow
    this.cost = cost
    this.resource = resource
    this.priority = priority
    this.exempt = exempt
    this.#signal = signal
    this.nowMs = nowMs
  }

  get signal(): AbortSignal | undefined {
    const signal = this.#signal
    if (typeof signal !== 'function') return signal
    this.#signal = undefined
    try {
      const made = signal()
      requireAbortSignal('signal()', made)
      this.#signal = made
    } catch (error) {
      this.#host.failed('signal', error)
    }
    return this.#signal
  }

  get credit(): number | undefined {
    return this.lender?.lent
  }

  set credit(credit: number | undefined) {
    this.lender = { lent: credit }
  }

  /** Keeps the grant of the next stage. */
  keep(hold: Hold): void {
    this.#holds[this.held++] = hold
  }

  /** The grant of the stage with this index; undefined if that was not asked, or has refused. */
  hold(index: number): Hold | undefined {
    return this.#holds[index]
  }

  quotas(): readonly Quota[] {
    const quotas: Quota[] = []
    for (let i = 0; i < this.held; i++) {
      const quota = this.#holds[i]!.quota?.(this.#host.now() - this.nowMs + this.waitedMs)
      if (isLater(quota)) this.#mustBeNow('quota', quota)
      else if (quota !== undefined) quotas.push(quota)
    }
    return quotas
  }

  contest(): Contest {
    let worst: Contest = 'none'
    for (let i = 0; i < this.held && !this.finished; i++) {
      // Timers also call this, and an error there would end the process.
      try {
        const contest = this.#holds[i]!.contest?.() ?? 'none'
        if (isLater(contest)) this.#mustBeNow('contest', contest)
        else if (worst === 'none' || contest === 'over-share') worst = contest
      } catch (error) {
        this.#host.failed('contest', error)
      }
    }
    return worst
  }

  #mustBeNow(what: string, answer: unknown): void {
    this.#host.failed(what, new TypeError(`${what} must answer at once, got ${show(answer)}`))
  }

  charge(delta: number): void {
    if (this.finished) return
    requireNumber('delta', delta, 0)
    this.#charges = (this.#charges ?? 0) + delta
    if (delta > 0) this.#host.charged(this, this.#charges)
  }

  finish(outcome: Outcome, settlement?: Settlement): void {
    if (this.finished) return
    const named = settlement?.cost === undefined ? this.#charges : settlement.cost
    if (outcome !== 'success' && outcome !== 'failure' && outcome !== 'ignored')
      requireOneOf('outcome', outcome, outcomes)
    if (named !== undefined) requireNumber('cost', named, 0)
    this.finished = true
    this.#host.finished(this, outcome, named ?? this.cost, named !== undefined)
  }
}
