import type { Permit } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import type { Outcome } from '../admission/outcome.js'
import type { Contest } from '../admission/stage.js'
import { isLater } from '../rejection.js'
import { runFor } from './context.js'
import type { EndListener } from './open-response.js'

/** A handler's view of its own admission: `req.fair`, `ctx.state.fair` and the like. */
export interface FairRequest {
  /** The gate's permit. Finishing it by hand overrides the outcome that the adapter would report. */
  readonly permit: Permit | undefined
  /** Fires when the client is gone, before the permit is released: stop working then. Made at the first reading. */
  readonly signal: AbortSignal
  /**
   * Keeps the permit, and those of outer gates, until the returned function is called, even if the response has closed
   * by then: for work that continues after the client has left. Calling it again does nothing.
   */
  hold(): () => void
  /** Reports an error that the framework hides from the adapter: call it in your own error handler. */
  failed(error: unknown): void
  /**
   * Reports that an inner gate has judged this request: it refused it, or it admitted it and has FAIR. A failure then
   * counts at that gate, and is `ignored` by this one and those around it. Adapters call it; a handler that asks a gate
   * by hand may, too.
   */
  judgedInside(): void
}

/** Judges the outcome of a response. */
export interface Judge<Target extends readonly unknown[]> {
  readonly gate: Gate
  /** Called once, when the response was sent or cut off and the permit has no holder left. Must not throw. */
  outcome(visit: HttpVisit<Target>): Outcome
}

/**
 * One request between its admission and its release, for all frameworks.
 *
 * The release rule: the permit ends once, when the response has ended *and* the permit has no holder left. An adapter
 * that sees its handler settle holds the permit until then; other adapters leave holding to their users. `target` is
 * the arguments of the framework's handlers.
 */
export class HttpVisit<Target extends readonly unknown[]> implements FairRequest, EndListener {
  readonly target: Target
  permit: Permit | undefined
  /** The error that the handler threw, if known. */
  error: unknown = undefined
  /** For a pipelined request: fulfilled when its turn to be answered has come. */
  turn: Promise<void> | undefined
  /** Whether it is one of the streams of an HTTP/2 connection. */
  isMultiplexed = false
  /** Called when the client leaves. */
  onGone: (() => void) | undefined
  /** Whether the request had an address; undefined unless it was to be named by one. */
  hasAddress: boolean | undefined
  readonly #judge: Judge<Target>
  /** The visit to a gate that the request has already passed, if any. */
  readonly outer: FairRequest | undefined
  #controller: AbortController | undefined
  #holds = 0
  #judgedInside = false
  /** Without a permit when it ended, it needs none. */
  #end: 'open' | 'ended' | 'aborted' | 'unadmitted' = 'open'
  #isAnswered = false

  constructor(judge: Judge<Target>, target: Target, outer: FairRequest | undefined) {
    this.#judge = judge
    this.outer = outer
    this.target = target
  }

  /** True once the response was cut off: an answer can no longer arrive. */
  get isGone(): boolean {
    return this.#end === 'aborted' || this.#end === 'unadmitted'
  }

  /** The gate that judges the request. */
  get gate(): Gate {
    return this.#judge.gate
  }

  /** Whether the request has already passed this gate. An outer visit may be of another copy of this package. */
  passed(gate: Gate): boolean {
    const outer = this.outer as Partial<HttpVisit<Target>> | undefined
    return outer?.gate === gate || outer?.passed?.(gate) === true
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.isGone) this.#controller.abort()
    return this.#controller.signal
  }

  /**
   * Takes the permit of an admitted request. False if the client left meanwhile: the permit is then given back, and the
   * handler must not run.
   */
  admit(permit: Permit): boolean {
    this.permit = permit
    if (this.#end === 'open') return true
    this.#release()
    return false
  }

  /** Keeps the permit, like `hold()`, until `handlerSettled`. Called when everything behind the adapter begins. */
  handlerStarted(): void {
    this.#holds++
  }

  /** Everything behind the adapter has settled. Must be called once after each `handlerStarted`. */
  handlerSettled(): void {
    this.#holds--
    this.#release()
  }

  /**
   * Runs the handler behind the adapter: keeps the permit until it has settled, notes its error, and returns its
   * result. A thenable is awaited once, because it may restart its work at each `then`, and a promise of it is
   * returned. Async work inside carries this request.
   */
  run<T>(handler: () => T): T {
    this.handlerStarted()
    let result: T
    try {
      result = runFor(this, handler)
    } catch (error) {
      this.failed(error)
      this.handlerSettled()
      throw error
    }
    if (!isLater(result)) {
      this.handlerSettled()
      return result
    }
    const promise = Promise.resolve(result)
    promise.then(
      () => this.handlerSettled(),
      (error: unknown) => {
        this.failed(error)
        this.handlerSettled()
      },
    )
    return promise as T
  }

  hold(): () => void {
    const outerDone = this.outer?.hold()
    let held = true
    this.handlerStarted()
    return () => {
      if (!held) return
      held = false
      this.handlerSettled()
      outerDone?.()
    }
  }

  failed(error: unknown): void {
    // A handler may throw `undefined`, which is no success; a visit without an error counts as one.
    this.error = error === undefined ? new Error('undefined was thrown') : error
    this.outer?.failed(error)
  }

  judgedInside(): void {
    this.#judgedInside = true
    this.outer?.judgedInside()
  }

  /**
   * The response was sent to its end, or the client (or the server) cut it off. The first call counts. A request that
   * is answered while it waits for a permit, by a timeout for example, needs none, like one whose client left.
   */
  responseEnded(aborted: boolean): void {
    if (this.#end !== 'open') return
    this.#end = this.permit === undefined ? 'unadmitted' : aborted ? 'aborted' : 'ended'
    if (this.isGone) {
      this.#controller?.abort()
      this.onGone?.()
    }
    this.#release()
  }

  contest(): Contest {
    return this.permit?.contest() ?? 'none'
  }

  /**
   * The handler has answered, and only the client's reading is left: the permit ends as if the client had read it all.
   */
  answered(): void {
    this.#isAnswered = true
    this.#release()
  }

  /** The client's state cannot be known: the permit ends, even if a handler still holds it. */
  unheard(): void {
    this.permit?.finish('ignored')
  }

  #release(): void {
    if ((this.#end === 'open' && !this.#isAnswered) || this.#holds > 0) return
    const { permit } = this
    if (permit === undefined || permit.finished) return
    const outcome = this.#end === 'unadmitted' ? 'ignored' : this.#judge.outcome(this)
    // Failures are not charged to a budget, no matter which gate they belong to.
    if (outcome === 'failure' && this.#judgedInside) permit.finish('ignored', { cost: 0 })
    else permit.finish(outcome)
  }
}
