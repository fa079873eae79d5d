import type { Permit } from '../admission/decision.js'
import type { Gate } from '../admission/gate.js'
import type { Outcome } from '../admission/outcome.js'
import type { Contest } from '../admission/stage.js'
import { isLater } from '../rejection.js'
import { runFor } from './context.js'
import type { EndListener } from './open-response.js'

/** What a handler can see and do about its own admission: `req.fair`, `ctx.state.fair` and the like. */
export interface FairRequest {
  /** The gate's permit. Finishing it by hand counts instead of what the adapter would have said. */
  readonly permit: Permit | undefined
  /** Fires when the client is gone, before the permit is released: stop working then. Made at the first reading. */
  readonly signal: AbortSignal
  /**
   * Keeps the permit, and those of outer gates, until the returned function is called, even if the response has
   * closed by then: for work that goes on when the client has left. Calling it again does nothing.
   */
  hold(): () => void
  /** Tells what the handler threw, where the framework hides it: call it in an error handler of your own. */
  failed(error: unknown): void
  /**
   * Says that a gate further in has judged this request: it refused it, or it admitted it and has FAIR. A failure then
   * is that gate's affair, and `ignored` by this one and those around it. Adapters do so; a handler that asks a gate by
   * hand may.
   */
  judgedInside(): void
}

/** Says how a response that was sent to its end ended. */
export interface Judge<Target extends readonly unknown[]> {
  readonly gate: Gate
  /** Called once, when the response was sent and the permit has no holder left. Must not throw. */
  outcome(visit: HttpVisit<Target>): Outcome
}

/**
 * One request between its admission and its release, whatever the framework.
 *
 * The release rule: the permit ends once, when the response has ended *and* the permit has no holder left. An adapter
 * that sees its handler settle holds the permit until then; other adapters leave holding to their users. `target` is
 * the arguments of the framework's handlers.
 */
export class HttpVisit<Target extends readonly unknown[]> implements FairRequest, EndListener {
  readonly target: Target
  permit: Permit | undefined = undefined
  /** What the handler threw, as far as anybody told. */
  error: unknown = undefined
  /** Of a pipelined request: fulfilled when it is its turn to be answered. */
  turn: Promise<void> | undefined = undefined
  /** Is called when the client leaves. */
  onGone: (() => void) | undefined = undefined
  /** Whether there was an address, if it was to be named by that. */
  hasAddress: boolean | undefined = undefined
  readonly #judge: Judge<Target>
  /** The visit to a gate that the request has passed before, if any. */
  readonly outer: FairRequest | undefined
  #controller: AbortController | undefined = undefined
  #holds = 0
  #judgedInside = false
  #end: 'open' | 'ended' | 'aborted' = 'open'
  #isAnswered = false

  constructor(judge: Judge<Target>, target: Target, outer: FairRequest | undefined) {
    this.#judge = judge
    this.outer = outer
    this.target = target
  }

  /** True once the response was cut off: no answer can arrive. */
  get isGone(): boolean {
    return this.#end === 'aborted'
  }

  /** Whether the request has passed this gate before. */
  passed(gate: Gate): boolean {
    const outer = this.outer
    return outer instanceof HttpVisit && (outer.#judge.gate === gate || outer.passed(gate))
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#end === 'aborted') this.#controller.abort()
    }
    return this.#controller.signal
  }

  /** The gate said yes. False if the client left meanwhile: then the permit is given back, and nothing should run. */
  admit(permit: Permit): boolean {
    this.permit = permit
    if (this.#end === 'open') return true
    this.#release()
    return false
  }

  /** Everything behind the adapter begins: keeps the permit, like `hold()`, until `handlerSettled`. */
  handlerStarted(): void {
    this.#holds++
  }

  /** Everything behind the adapter has settled. To be called once after each `handlerStarted`. */
  handlerSettled(): void {
    this.#holds--
    this.#release()
  }

  /**
   * Runs the handler behind the adapter: keeps the permit until it has settled, notes its error, and returns its
   * result. What is like a promise is asked once, because it may begin its work anew each time, and a promise of it is
   * returned. Work inside carries this request.
   */
  run<Args extends unknown[], T>(handler: (...args: Args) => T, ...args: Args): T {
    this.handlerStarted()
    let result: T
    try {
      result = runFor(this, handler, ...args)
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
    this.#holds++
    return () => {
      if (!held) return
      held = false
      this.#holds--
      this.#release()
      outerDone?.()
    }
  }

  failed(error: unknown): void {
    // A handler may throw `undefined`; that is no success, and a visit without an error is one.
    this.error = error === undefined ? new Error('undefined was thrown') : error
    this.outer?.failed(error)
  }

  judgedInside(): void {
    this.#judgedInside = true
    this.outer?.judgedInside()
  }

  /**
   * The response was sent to its end, or the client (or the server) cut it off. The first call counts. What is
   * answered while it still waits for a permit, by a timeout say, has as little use for one as a client that left.
   */
  responseEnded(aborted: boolean): void {
    if (this.#end !== 'open') return
    this.#end = aborted || this.permit === undefined ? 'aborted' : 'ended'
    if (this.#end === 'aborted') {
      this.#controller?.abort()
      this.onGone?.()
    }
    this.#release()
  }

  contest(): Contest {
    return this.permit?.contest() ?? 'none'
  }

  /** The client takes its time to read a whole answer: the permit ends as if it had read it. */
  answered(): void {
    this.#isAnswered = true
    this.#release()
  }

  /** Nobody can know whether the client is still there: the permit ends, even if a handler still holds it. */
  unheard(): void {
    this.permit?.finish('ignored')
  }

  #release(): void {
    if ((this.#end === 'open' && !this.#isAnswered) || this.#holds > 0) return
    const { permit } = this
    if (permit === undefined || permit.finished) return
    const outcome = this.#end === 'aborted' ? 'ignored' : this.#judge.outcome(this)
    // Failures cost nothing of a budget, whosever they are.
    if (outcome === 'failure' && this.#judgedInside) permit.finish('ignored', { cost: 0 })
    else permit.finish(outcome)
  }
}
