import { requireAbortSignal, requireNumber, requireOneOf } from '../options.js'
import { NO_QUOTAS, type Permit, type Quota, type Settlement } from './decision.js'
import { type Outcome, outcomes } from './outcome.js'
import type { Contest, Hold, Lender, Passage } from './stage.js'

/** The gate's end of a visit. */
interface Host {
  charged(visit: Visit, costSoFar: number): void
  failed(what: string, error: unknown): void
  finished(visit: Visit, outcome: Outcome, cost: number, isNamed: boolean): void
  now(): number
}

/**
 * One request's way through a gate: what the stages read, and, once admitted, the caller's permit.
 * A single object serves as both, because one is made for every request of somebody's server.
 */
export class Visit implements Passage, Permit {
  readonly admitted = true
  readonly id: number
  readonly flow: string
  readonly cost: number
  readonly resource: string | undefined
  readonly priority: number
  readonly exempt: boolean
  path: readonly string[] | undefined = undefined
  target: readonly unknown[] | undefined = undefined
  nowMs: number
  waitedMs = 0
  lender: Lender | undefined = undefined
  finished = false
  /** What it has been charged with while it runs, if it was. */
  #charges: number | undefined = undefined
  /** How many stages have handed something out so far. */
  held = 0
  /** What they handed out, in their order. As long as there are stages: an array that grows takes room for 17. */
  readonly #holds: Hold[]
  readonly #host: Host
  #signal: AbortSignal | (() => AbortSignal) | undefined

  constructor(
    host: Host,
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
    if (typeof this.#signal === 'function') this.#signal = this.#made(this.#signal)
    return this.#signal
  }

  #made(signal: () => AbortSignal): AbortSignal | undefined {
    try {
      const made = signal()
      requireAbortSignal('signal()', made)
      return made
    } catch (error) {
      this.#host.failed('signal', error)
      return undefined
    }
  }

  get credit(): number | undefined {
    return this.lender?.credit
  }

  set credit(credit: number | undefined) {
    this.lender = { credit }
  }

  /** Keeps what the next stage handed out. */
  keep(hold: Hold): void {
    this.#holds[this.held++] = hold
  }

  /** What the stage of this index handed out; only of those that did. */
  hold(index: number): Hold {
    return this.#holds[index]!
  }

  quotas(): readonly Quota[] {
    let quotas: Quota[] | undefined
    let elapsedMs = 0
    for (let i = 0; i < this.held; i++) {
      const hold = this.#holds[i]!
      if (hold.quota === undefined) continue
      if (quotas === undefined) {
        quotas = []
        elapsedMs = this.#host.now() - this.nowMs + this.waitedMs
      }
      const quota = hold.quota(elapsedMs)
      if (quota !== undefined) quotas.push(quota)
    }
    return quotas ?? NO_QUOTAS
  }

  contest(): Contest {
    let worst: Contest = 'none'
    if (this.finished) return worst
    for (let i = 0; i < this.held; i++) {
      const contest = this.#holds[i]!.contest?.() ?? 'none'
      if (contest === 'over-share') return contest
      if (contest !== 'none') worst = contest
    }
    return worst
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

/**
 * Ends permits whose time is up, where nobody may ever say how their requests ended: a handler that never settles, a
 * runtime that does not tell when a client has left.
 *
 * Permits are given one time for all, so they end in the order in which they were given. O(1) each; no timer.
 */
export class PermitTimeouts {
  readonly #timeoutMs: number
  readonly #open = new Set<Visit>()

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs
  }

  add(visit: Visit): void {
    this.#open.add(visit)
  }

  remove(visit: Visit): void {
    this.#open.delete(visit)
  }

  /** Ends, as `ignored`, those that were admitted `permitTimeoutMs` ago or longer. Returns how many. */
  expire(nowMs: number): number {
    let expired = 0
    for (const visit of this.#open) {
      if (nowMs - visit.nowMs < this.#timeoutMs) break
      visit.finish('ignored')
      expired++
    }
    return expired
  }
}
