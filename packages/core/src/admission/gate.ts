import { tellEngaged, tellFinished, tellRefused, tellWaiting } from '#channels'
import type { After, Clock } from '../clock.js'
import type { Words } from '../hash.js'
import { requireAbortSignal, requireAbove, requireBoolean, requireInteger, requireText, show } from '../options.js'
import { firstOf, flowName, requireFlow } from '../path.js'
import { onRejection } from '../rejection.js'
import { hasFired, unlisten } from '../signals.js'
import type { Ask, Decision } from './decision.js'
import { type GateEvent, type GateListener, type GateSnapshot, Listeners } from './events.js'
import type { Outcome } from './outcome.js'
import type { Overrides } from './overrides.js'
import { Visit } from './permit.js'
import { type Refusal, refuse } from './refusal.js'
import type { Hold, Stage, Verdict } from './stage.js'

/** Time without a request of another flow after which a flow counts as the only one. */
const ALONE_MS = 60_000
/** Pairs of stage and reason that are counted separately: a user's stage may put names or numbers into a reason. */
const MOST_REASONS = 1_000
const OTHER_REASONS = 'other:other'
const CLOSED: Refusal = Object.freeze(refuse('gate', 'closed', false, 1_000))
const GONE: Refusal = Object.freeze(refuse('gate', 'gone', false, 0))
/** Stands for a stage that granted nothing to this request, or failed and is skipped. */
const NOTHING: Hold = { finish: () => {}, undo: () => {} }

function isRefusal(verdict: Hold | Refusal): verdict is Refusal {
  return (verdict as Refusal).admitted === false && typeof (verdict as Refusal).reason === 'string'
}

/**
 * Passes each request through its stages, in order, and reports its end to those that admitted it.
 *
 * `admit` answers synchronously unless a stage waits. A refusal is a value. If a later stage refuses, the earlier
 * stages get their grants back immediately. Made by `createGate`.
 */
export class Gate {
  readonly #stages: readonly Stage[]
  readonly #clock: Clock
  readonly #after: After
  readonly #permitTimeoutMs: number
  /**
   * Permits that time out, for requests whose end may never be reported: a handler that never settles, a runtime that
   * does not report a disconnected client. All have the same time-out, so they end in the order of their admission.
   */
  readonly #open: Set<Visit> | undefined
  #expired = 0
  readonly #nameKey: Words | undefined
  readonly #observers = new Listeners<GateEvent>()
  readonly #errorObservers = new Listeners<GateEvent>()
  /** Stops listening to the overrides, which may outlive the gate. */
  readonly #unlisten: (() => void) | undefined
  /** Settle requests that wait for a stage that is not prompt. */
  readonly #watched = new Set<(refusal: Refusal) => void>()
  readonly #refusedBy = new Map<string, number>()
  readonly #finished: Record<Outcome, number> = { success: 0, failure: 0, ignored: 0 }
  #asked = 0
  #waiting = 0
  #admitted = 0
  #refused = 0
  #stageErrors = 0
  #closed = false
  /** The flow of the last request, and the time of the last request of another flow. */
  #lastFlow: string | undefined
  #changedMs = Number.NEGATIVE_INFINITY

  /** Its name in pages, metrics and logs. */
  readonly name: string
  /** Its overrides, if it has any. */
  readonly overrides: Overrides | undefined
  /** True if the gate learns from failures which flows cause a shortage: one of its stages is FAIR. */
  readonly hasFair: boolean

  /** @internal `clock` must be steady. */
  constructor(
    name: string,
    stages: readonly Stage[],
    overrides: Overrides | undefined,
    clock: Clock,
    after: After,
    permitTimeoutMs: number | undefined,
    nameKey: Words | undefined,
  ) {
    this.name = name
    this.overrides = overrides
    this.#unlisten = overrides?.onChange((change) => this.#observers.tell({ type: 'override', change }))
    this.#nameKey = nameKey
    this.#permitTimeoutMs = permitTimeoutMs ?? 0
    this.#open = permitTimeoutMs === undefined ? undefined : new Set()
    this.#stages = stages
    this.hasFair = stages.some(({ name }) => name === 'fair')
    this.#clock = clock
    this.#after = after
  }

  /**
   * Asks for admission. Throws a `TypeError` or `RangeError` that names the invalid part of `ask`, and then counts
   * nothing. Costs about half a microsecond with the default stages.
   */
  admit(ask: Ask): Decision | Promise<Decision> {
    const { flow, cost = 1, resource, priority = 0, exempt = false, signal } = ask ?? ({} as Ask)
    if (signal !== undefined && typeof signal !== 'function') requireAbortSignal('signal', signal)
    const checked = requireFlow(flow)
    const path = typeof checked === 'string' ? undefined : this.#namesOf(checked)
    requireAbove('cost', cost, 0)
    if (resource !== undefined) requireText('resource', resource)
    if (priority !== 0) requireInteger('priority', priority, -2, 2)
    if (exempt !== false) requireBoolean('exempt', exempt)
    const name = path?.[0] ?? flowName(firstOf(checked), this.#nameKey)
    const visit = new Visit(
      this,
      ++this.#asked,
      name,
      cost,
      resource === undefined ? undefined : flowName(resource, this.#nameKey),
      priority,
      exempt,
      signal,
      this.#clock(),
      this.#stages.length,
    )
    visit.path = path
    visit.target = ask.target
    this.#expire(visit.nowMs)
    if (this.#closed) return this.#refuse(visit, CLOSED)
    // The flow of a client that has left may be unknown: it does not count as another flow.
    if (typeof signal === 'object' && signal.aborted) return this.#refuse(visit, GONE)
    if (name !== this.#lastFlow) {
      if (this.#lastFlow !== undefined) this.#changedMs = visit.nowMs
      this.#lastFlow = name
    }
    const decision = this.#walk(visit, 0)
    if (decision instanceof Promise) tellWaiting(decision, { gate: this, flow: name, cost })
    return decision
  }

  /**
   * Calls `listener` with every decision, outcome and stage error from now on, or with stage errors only, which makes
   * no request slower. Returns a function that removes the listener.
   */
  observe(listener: GateListener, only?: 'error'): () => void {
    return (only === 'error' ? this.#errorObservers : this.#observers).add(listener)
  }

  /**
   * Forgets a flow's past: FAIR treats it like a flow that has not asked for a while, and a budget as if it had used
   * nothing of its share; the budget itself does not grow back. Overrides, running requests and waiting requests stay.
   * Observers get an event.
   */
  resetFlow(flow: string): void {
    requireText('flow', flow)
    const name = flowName(flow, this.#nameKey)
    this.#each((stage) => stage.forget?.(name))
    this.#observers.tell({ type: 'reset', flow: name })
  }

  /**
   * Does the work that is due: ends permits that have timed out, and refuses requests that have waited too long. Only
   * for runtimes on which a timer dies with the request that set it: there, each waiting request calls this by a timer
   * of its own.
   */
  wake(): void {
    const nowMs = this.#clock()
    this.#expire(nowMs)
    this.#each((stage) => stage.wake?.(nowMs))
  }

  /**
   * Each stage's state of a flow, by which it would decide, under the stage's name: for people and pages. For a stage
   * that throws, the error's text. Changes nothing; allocates.
   */
  explain(flow: string): Record<string, unknown> {
    requireText('flow', flow)
    const name = flowName(flow, this.#nameKey)
    return this.#ask((stage) => stage.explain?.(name))
  }

  /** Counts so far and each stage's snapshot. For a stage whose snapshot throws, the error's text. */
  snapshot(): GateSnapshot {
    const finished = { ...this.#finished }
    return {
      name: this.name,
      closed: this.#closed,
      inFlight: this.#admitted - finished.success - finished.failure - finished.ignored,
      waiting: this.#waiting,
      admitted: this.#admitted,
      refused: this.#refused,
      refusedBy: Object.fromEntries(this.#refusedBy),
      finished,
      expired: this.#expired,
      stageErrors: this.#stageErrors,
      listenerErrors: this.#observers.failures + this.#errorObservers.failures + (this.overrides?.failures ?? 0),
      stages: this.#ask((stage) => stage.snapshot?.()),
    }
  }

  /**
   * Refuses waiting and new requests with reason `closed`. Running requests may still finish. Closing twice is no
   * error.
   */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#unlisten?.()
    for (const answer of [...this.#watched]) answer(CLOSED)
    this.#each((stage) => stage.close?.())
  }

  /**
   * @internal Counts a caller that is not ready to ask yet as waiting. Calls `closed` if the gate closes first. The
   * returned function ends the wait; calling it again does nothing.
   */
  expect(closed: () => void): () => void {
    if (this.#closed) closed()
    else {
      this.#waiting++
      this.#watched.add(closed)
    }
    return () => {
      if (this.#watched.delete(closed)) this.#waiting--
    }
  }

  /** @internal Called by a permit that has not finished. */
  charged(visit: Visit, costSoFar: number): void {
    const nowMs = this.#clock()
    this.#each((_stage, i) => visit.hold(i)?.charge?.(costSoFar, nowMs))
  }

  /** @internal Called by a permit, at most once. */
  finished(visit: Visit, outcome: Outcome, cost: number, isNamed: boolean): void {
    this.#finished[outcome]++
    this.#open?.delete(visit)
    const nowMs = this.#clock()
    const stages = this.#stages
    for (let i = 0; i < visit.held; i++) {
      try {
        this.#mayReject(stages[i]!, visit.hold(i)!.finish(outcome, cost, nowMs, isNamed))
      } catch (error) {
        this.#failed(stages[i]!, error)
      }
    }
    const { id, flow, waitedMs } = visit
    const durationMs = nowMs - visit.nowMs
    if (this.#observers.any) this.#observers.tell({ type: 'finished', id, flow, cost, outcome, waitedMs, durationMs })
    tellFinished(this, flow, cost, outcome, durationMs)
    tellEngaged(this, stages)
  }

  /** @internal Reports that a stage failed to obtain a value and continues without it. */
  failed(stage: string, error: unknown): void {
    this.#stageErrors++
    const event: GateEvent = { type: 'error', stage, error }
    this.#observers.tell(event)
    this.#errorObservers.tell(event)
  }

  /** @internal */
  now(): number {
    return this.#clock()
  }

  /** Ends, as `ignored`, permits that have timed out. O(1) each; no timer. */
  #expire(nowMs: number): void {
    if (this.#open === undefined) return
    for (const visit of this.#open) {
      if (nowMs - visit.nowMs < this.#permitTimeoutMs) return
      visit.finish('ignored')
      this.#expired++
    }
  }

  /** The internal names of a path. */
  #namesOf(path: readonly string[]): readonly string[] {
    return path.map((name) => flowName(name, this.#nameKey))
  }

  #walk(visit: Visit, from: number): Decision | Promise<Decision> {
    for (let i = from; i < this.#stages.length; i++) {
      const stage = this.#stages[i]!
      let verdict: Verdict | Promise<Verdict>
      try {
        verdict = stage.admit(visit)
      } catch (error) {
        verdict = this.#failed(stage, error)
      }
      if (verdict instanceof Promise) return this.#wait(visit, i, stage, verdict)
      const answer = this.#checked(stage, verdict)
      if (isRefusal(answer)) return this.#refuse(visit, this.#saidOf(visit, answer))
      visit.keep(answer)
    }
    return this.#admit(visit)
  }

  /** Waits for one stage, then continues with the next. Never rejects. */
  #wait(visit: Visit, index: number, stage: Stage, pending: Promise<Verdict>): Promise<Decision> {
    this.#waiting++
    const prompt = stage.prompt === true && stage.deadlineMs === undefined
    const answer = prompt ? pending : this.#settle(visit, stage, pending)
    return answer.then(
      (verdict) => this.#goOn(visit, index, verdict),
      (error: unknown) => this.#goOn(visit, index, this.#failed(stage, error)),
    )
  }

  #goOn(visit: Visit, index: number, answer: Verdict): Decision | Promise<Decision> {
    this.#waiting--
    const verdict = this.#checked(this.#stages[index]!, answer)
    const nowMs = this.#clock()
    const waitedMs = nowMs - visit.nowMs
    visit.waitedMs += waitedMs
    visit.nowMs = nowMs
    if (this.#observers.any) {
      const { id, flow } = visit
      this.#observers.tell({ type: 'waited', id, flow, stage: this.#stages[index]!.name, waitedMs })
    }
    if (!isRefusal(verdict)) visit.keep(verdict)
    // Comes before the stage's refusal, which may be its consequence.
    if (this.#closed) return this.#refuse(visit, CLOSED)
    if (hasFired(visit.signal)) return this.#refuse(visit, GONE)
    return isRefusal(verdict) ? this.#refuse(visit, verdict) : this.#walk(visit, index + 1)
  }

  /**
   * Settles with the first of: the stage's answer, the client's departure, the deadline, the closing of the gate.
   * Undoes a late hold.
   */
  #settle(visit: Visit, stage: Stage, pending: Promise<Verdict>): Promise<Verdict> {
    return new Promise((resolve) => {
      let cancel: (() => void) | undefined
      const { signal } = visit
      const answer = (verdict: Verdict): void => {
        if (!this.#watched.delete(answer)) return
        cancel?.()
        unlisten(signal, gone)
        resolve(verdict)
      }
      const gone = (): void => answer(GONE)
      this.#watched.add(answer)
      signal?.addEventListener('abort', gone)
      if (stage.deadlineMs !== undefined)
        cancel = this.#after(stage.deadlineMs, () => {
          if (this.#watched.has(answer))
            answer(this.#failed(stage, new Error(`no answer from ${stage.name} in ${stage.deadlineMs} ms`)))
        })
      pending.then(
        (verdict) => {
          if (this.#watched.has(answer)) answer(verdict)
          else {
            const late = this.#checked(stage, verdict)
            if (!isRefusal(late)) this.#undo(stage, late, GONE)
          }
        },
        (error: unknown) => {
          if (this.#watched.has(answer)) answer(this.#failed(stage, error))
        },
      )
    })
  }

  #admit(visit: Visit): Decision {
    this.#admitted++
    this.#open?.add(visit)
    if (this.#observers.any) {
      const { id, flow, cost, waitedMs } = visit
      this.#observers.tell({ type: 'admitted', id, flow, cost, waitedMs })
    }
    return visit
  }

  #refuse(visit: Visit, refusal: Refusal): Refusal {
    this.#refused++
    let key = `${refusal.stage}:${refusal.reason}`
    if (this.#refusedBy.size >= MOST_REASONS && !this.#refusedBy.has(key)) key = OTHER_REASONS
    this.#refusedBy.set(key, (this.#refusedBy.get(key) ?? 0) + 1)
    for (let i = visit.held - 1; i >= 0; i--) this.#undo(this.#stages[i]!, visit.hold(i)!, refusal)
    const { id, flow, cost, waitedMs } = visit
    if (this.#observers.any) this.#observers.tell({ type: 'refused', id, flow, cost, waitedMs, refusal })
    tellRefused(this, flow, cost, refusal)
    tellEngaged(this, this.#stages)
    return refusal
  }

  /** Tells each stage. */
  #each(tell: (stage: Stage, index: number) => unknown): void {
    for (const [i, stage] of this.#stages.entries()) {
      try {
        this.#mayReject(stage, tell(stage, i))
      } catch (error) {
        this.#failed(stage, error)
      }
    }
  }

  /** The stages' answers, by name; stages without an answer are left out. */
  #ask(question: (stage: Stage) => unknown): Record<string, unknown> {
    const answers: Record<string, unknown> = {}
    for (const stage of this.#stages) {
      try {
        const answer = question(stage)
        this.#mayReject(stage, answer)
        if (answer !== undefined) answers[stage.name] = answer
      } catch (error) {
        answers[stage.name] = { error: String(error) }
      }
    }
    return answers
  }

  /**
   * Reports `overload` instead of `unfair` if FAIR has seen no other flow for a minute: the service is short, and the
   * flow is not over its share.
   */
  #saidOf({ nowMs }: Visit, refusal: Refusal): Refusal {
    if (refusal.stage !== 'fair' || refusal.reason !== 'unfair' || nowMs - this.#changedMs < ALONE_MS) return refusal
    return { ...refusal, reason: 'overload' }
  }

  #undo(stage: Stage, hold: Hold, refusal: Refusal): void {
    try {
      this.#mayReject(stage, hold.undo(refusal, this.#clock()))
    } catch (error) {
      this.#failed(stage, error)
    }
  }

  /** A stage's method that returns nothing may still be async. */
  #mayReject(stage: Stage, given: unknown): void {
    if (given !== undefined) onRejection(given, (error) => this.#failed(stage, error))
  }

  /** A stage's answer, or that of its `onError` if the value is neither a hold nor a refusal (`null`, `true`). */
  #checked(stage: Stage, verdict: Verdict): Hold | Refusal {
    if (verdict === undefined) return NOTHING
    if (verdict !== null && (isRefusal(verdict) || typeof verdict.finish === 'function')) return verdict
    return this.#failed(
      stage,
      new TypeError(`${stage.name} must give a hold, a refusal or nothing, got ${show(verdict)}`),
    )
  }

  /** Notes that a stage failed, and returns the answer of its `onError`. */
  #failed(stage: Stage, error: unknown): Hold | Refusal {
    this.failed(stage.name, error)
    return stage.onError === 'refuse' ? refuse(stage.name, 'error', false, 1_000, { error: String(error) }) : NOTHING
  }
}
