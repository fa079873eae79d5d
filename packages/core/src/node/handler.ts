import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Gate } from '../admission/gate.js'
import { fairOf } from '../http/context.js'
import type { Framework, GateAnswer } from '../http/http-admission.js'
import type { HttpVisit } from '../http/http-visit.js'
import { NodeAdmission } from '../http/node-admission.js'
import type { HttpOptions } from '../http/options.js'
import { ResourceExhaustedError } from '../http/outcome.js'
import { requireFunction } from '../options.js'
import { defaultShed } from './default-signals.js'

/** A listener for the requests of a server, and the gate in front of it. */
export interface FairHandler<Request, Response> {
  (request: Request, response: Response): unknown
  readonly gate: Gate
}

/**
 * Fair admission control for servers of `node:http`, `node:https` and `node:http2`: `createServer(fairHandler((request,
 * response) => …))`. The handler may be your own or a framework's.
 *
 * A permit is kept until the handler's result has settled and the response has closed. The handler finds it by
 * `fairOf(request)`. `fairHandler` throws and rejects as the handler does, except that a `ResourceExhaustedError` is
 * answered 503. Without options: FAIR between client addresses, and load shedding by memory and event-loop delay.
 * Starts nothing before the first request. Throws a `TypeError` or `RangeError` that names a bad option and its value.
 */
export function fairHandler<
  Request extends IncomingMessage | Http2ServerRequest = IncomingMessage,
  Response extends ServerResponse | Http2ServerResponse = ServerResponse,
>(
  handler: (request: Request, response: Response) => unknown,
  options: HttpOptions<[request: Request, response: Response]> = {},
): FairHandler<Request, Response> {
  requireFunction('handler', handler)
  const server: Framework<[request: Request, response: Response]> = {
    name: 'fairHandler',
    address: (request) => request.socket.remoteAddress,
    status: (_request, response) => response.statusCode,
    untrustedHeaders: (request) => request.headers,
    shed: defaultShed,
  }
  const admission = new NodeAdmission(server, options)

  function proceed(visit: HttpVisit<[Request, Response]>, decision: GateAnswer): unknown {
    const [request, response] = visit.target
    if (decision !== undefined) {
      if (!decision.admitted) {
        admission.refuse(visit.target, decision, request, response)
        return undefined
      }
      if (!admission.admit(visit, decision, request, response)) return undefined
    }
    const exhausted = (error: unknown): void => answerExhausted(error, response)
    try {
      const handle = (): unknown => handler(request, response)
      const result = decision === undefined ? handle() : visit.run(handle)
      return result instanceof Promise ? result.catch(exhausted) : result
    } catch (error) {
      return exhausted(error)
    }
  }

  function fair(request: Request, response: Response): unknown {
    const visit = admission.visit([request, response], fairOf(request))
    admission.watch(visit, request, response)
    const decision = admission.ask(visit)
    return decision instanceof Promise ? decision.then((late) => proceed(visit, late)) : proceed(visit, decision)
  }

  return Object.assign(fair, { gate: admission.gate })
}

/** Answers 503 to a `ResourceExhaustedError` if no response has been started; throws any other error again. */
function answerExhausted(error: unknown, response: ServerResponse | Http2ServerResponse): void {
  if (!(error instanceof ResourceExhaustedError) || response.headersSent) throw error
  response.statusCode = error.status
  response.end()
}
