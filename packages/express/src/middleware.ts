import type { Gate } from '@fairlead/core'
import {
  type FairRequest,
  type Framework,
  fairOf,
  type GateAnswer,
  type HttpOptions,
  type HttpVisit,
  NodeAdmission,
  runFor,
} from '@fairlead/core/http'
import { defaultShed } from '@fairlead/core/node'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import { wrap } from './wrap.js'

declare global {
  namespace Express {
    interface Request {
      /** `fairMiddleware`'s view of this request; absent if it did not judge it. */
      fair?: FairRequest
    }
  }
}

/** Options of {@link fairMiddleware}; all optional. */
export type FairMiddlewareOptions = HttpOptions<[request: Request, response: Response]>

/** Express middleware, the gate behind it, and the exact form of the release rule. */
export interface FairMiddleware extends RequestHandler {
  readonly gate: Gate
  /**
   * Wraps a handler so that its permit is kept until it has settled, even if the client has left by then. Without it
   * the end of the response alone counts, and clients that abort and retry can have more handlers run than the gate
   * allows. Also carries a rejected promise to the error handlers, under Express 4 too.
   */
  wrap: typeof wrap
}

/** A request of plain Node, as Fastify's `middie` passes it, has no app. */
function trustsProxies({ app }: { readonly app?: Request['app'] }): boolean {
  return Boolean(app?.get('trust proxy'))
}

const express: Framework<[request: Request, response: Response]> = {
  name: 'fairMiddleware',
  // Unless proxies are trusted, `req.ip` is the socket's address, at many times the cost.
  address: (req) => (trustsProxies(req) ? req.ip : req.socket.remoteAddress),
  status: (_req, res) => res.statusCode,
  untrustedHeaders: (req) => (trustsProxies(req) ? undefined : req.headers),
  trust: "Say which proxies to trust, app.set('trust proxy', 1), or set the option address or flow.",
  shed: defaultShed,
}

/**
 * Fair admission control for Express 4 and 5: `app.use(fairMiddleware())`, before body parsers and routes.
 *
 * Without options: FAIR between client addresses, and load shedding by memory and event-loop delay. Starts
 * nothing before the first request. Throws a `TypeError` or `RangeError` that names a bad option and its value.
 */
export function fairMiddleware(options: FairMiddlewareOptions = {}): FairMiddleware {
  const admission = new NodeAdmission(express, options)

  function proceed(visit: HttpVisit<[Request, Response]>, decision: GateAnswer, next: NextFunction): void {
    const [req, res] = visit.target
    if (decision === undefined) {
      // This gate has judged the request outside the app: the handler finds that visit here, too.
      if (visit.outer !== undefined) req.fair = visit.outer
      next()
      return
    }
    if (!decision.admitted) {
      admission.refuse(visit.target, decision, req, res)
      return
    }
    if (!admission.admit(visit, decision, req, res)) return
    req.fair = visit
    runFor<void>(visit, next)
  }

  function fair(req: Request, res: Response, next: NextFunction): void {
    const visit = admission.visit([req, res], fairOf(req))
    admission.watch(visit, req, res)
    const decision = admission.ask(visit)
    if (decision instanceof Promise) decision.then((late) => proceed(visit, late, next)).catch(next)
    else proceed(visit, decision, next)
  }

  return Object.assign(fair, { gate: admission.gate, wrap })
}
