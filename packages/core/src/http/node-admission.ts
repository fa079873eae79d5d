import type { Permit } from '../admission/decision.js'
import type { Refusal } from '../admission/refusal.js'
import { type Framework, HttpAdmission } from './admission.js'
import { ForwardedHeaders } from './mistakes.js'
import type { HttpOptions } from './options.js'
import { type HttpRefusal, PROBLEM_JSON } from './refusal.js'
import { type NodeUpload, type RefusalHead, refuseBody } from './refused-body.js'
import { type NodeRequest, type NodeResponse, onResponseEnd, PATIENCE, type Patience } from './response-end.js'
import { type NodeHead, onResponseHead } from './response-head.js'
import type { HttpVisit } from './visit.js'

/** What is needed of a response of Node to answer a refusal. */
export interface NodeAnswer extends RefusalHead {
  statusCode: number
  readonly writableEnded: boolean
  /** Answers with this body. */
  end(body: string): unknown
  /** Cuts the connection off. */
  destroy(): unknown
}

/** {@link HttpAdmission} where requests and responses are Node's: it finds out by itself how they end. */
export class NodeAdmission<Target extends readonly unknown[]> extends HttpAdmission<Target> {
  readonly #patience: Patience
  readonly #forwarded: ForwardedHeaders<Target>
  readonly #handler: HttpOptions<Target>['handler']

  /** Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(framework: Framework<Target>, options: HttpOptions<Target>) {
    super(framework, options)
    const { clientTimeoutMs = PATIENCE.clientTimeoutMs, slowBodyMs = PATIENCE.slowBodyMs } = options
    this.#patience = { clientTimeoutMs, slowBodyMs }
    this.#handler = options.handler
    this.#forwarded = new ForwardedHeaders(framework)
  }

  protected override namedByAddress(target: Target): void {
    super.namedByAddress(target)
    const problem = this.#forwarded.problemOf(target)
    if (problem !== undefined) this.warn(problem)
  }

  /** Sees to it that no more is read of a large body, whose request is refused. To be called before that is answered. */
  refuseBody(request: NodeUpload, response: RefusalHead): void {
    refuseBody(request, response)
  }

  /** Lets a visit hear how its response ends; {@link ask} after that. */
  watch(visit: HttpVisit<Target>, request: NodeRequest, response: NodeResponse): void {
    visit.turn = onResponseEnd(request, response, visit, this.#patience)
  }

  /** Sees to it that a response tells {@link fields}, if there are any, whoever writes its head. */
  tell(permit: Permit, response: NodeHead): void {
    if (this.fields(permit) !== undefined) onResponseHead(response, (status) => this.fields(permit, status))
  }

  /**
   * Answers a refused request: status and `Retry-After`, then what the user's handler writes, or the problem document.
   * Of a large body nothing more is read. Whoever has gone is not answered: nobody could read it.
   */
  refuse(target: Target, refused: Refusal, request: NodeUpload, response: NodeAnswer): void {
    // While it waited, a timeout of somebody else's may have answered.
    if (refused.reason === 'gone' || response.headersSent) return
    const refusal = this.refusal(refused)
    this.refuseBody(request, response)
    response.statusCode = refusal.status
    for (const name of Object.keys(refusal.headers)) response.setHeader(name, refusal.headers[name] ?? '')
    if (this.#handler === undefined) {
      sendProblem(response, refusal)
      return
    }
    const failed = (cause: unknown): void => {
      this.warn('handler failed: the problem document was sent instead.', cause)
      sendProblem(response, refusal)
    }
    try {
      const answer = this.#handler(...target, refusal)
      if (answer instanceof Promise) answer.catch(failed)
    } catch (error) {
      failed(error)
    }
  }
}

/** Sends the problem document. A response that somebody has begun can only be cut off, lest it hang. */
function sendProblem(response: NodeAnswer, { status, body }: HttpRefusal): void {
  if (response.headersSent) {
    if (!response.writableEnded) response.destroy()
    return
  }
  response.statusCode = status
  response.setHeader('Content-Type', PROBLEM_JSON)
  // Its text is ASCII.
  response.setHeader('Content-Length', `${body.length}`)
  response.end(body)
}
