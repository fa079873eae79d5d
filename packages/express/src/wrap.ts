import { fairOf, isLater, runFor } from '@fairlead/core/http'
import type { NextFunction, Request, RequestHandler, Response } from 'express'

/**
 * A handler that keeps the permits of all gates that its request has passed until its promise has settled or, if it
 * returns none, until it has returned. The types of parameters, bodies and query are preserved. Handlers that continue
 * in callbacks need `req.fair.hold()`.
 */
export function wrap<
  Params = Request['params'],
  ResBody = Request['body'],
  ReqBody = Request['body'],
  Query = Request['query'],
  Locals extends Response['locals'] = Response['locals'],
>(
  handler: RequestHandler<Params, ResBody, ReqBody, Query, Locals>,
): RequestHandler<Params, ResBody, ReqBody, Query, Locals> {
  if (typeof handler !== 'function' || handler.length > 3)
    throw new TypeError('wrap needs a request handler: (req, res, next) => …')
  return function wrapped(req, res, next: NextFunction): void {
    const fair = fairOf(req)
    const done = fair?.hold()
    const failed = (error: unknown): void => {
      fair?.failed(error)
      done?.()
    }
    let result: unknown
    try {
      // Repeated here, because a body parser may have lost the context.
      result = fair === undefined ? handler(req, res, next) : runFor(fair, () => handler(req, res, next))
    } catch (error) {
      failed(error)
      throw error
    }
    if (isLater(result))
      result.then(done, (error: unknown) => {
        failed(error)
        // Express treats a falsy error as no error.
        next(error || new Error('Rejected promise'))
      })
    else done?.()
  }
}
