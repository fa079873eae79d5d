import type { Http2ServerRequest } from 'node:http2'
import {
  type RequestOptions,
  type RouteSettings,
  requireRouteSettings,
  runFor,
  withRouteSettings,
} from '@fairlead/core/http'
import type { FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify'

/** What a route's `config.fair` says: settings of its own, or false for a route that no gate sees. */
export type FairRoute = RouteSettings<[request: FastifyRequest, reply: FastifyReply]> | false

/** Checks what a route says. Throws a `TypeError` or `RangeError` that names it and its value. */
export function requireFairRoute(fair: FairRoute | undefined): void {
  if (fair !== undefined && fair !== false) requireRouteSettings('config.fair', fair)
}

interface Settings extends RouteSettings<[request: FastifyRequest, reply: FastifyReply]> {
  readonly skip: boolean
}

const NONE: Settings = { skip: false }
const SKIPPED: Settings = { skip: true }
/** Where a request keeps what its route says: it is asked for five times, and Fastify makes `routeOptions` at each. */
export const SETTINGS: unique symbol = Symbol('fair settings')

function settingsOf(request: FastifyRequest & { [SETTINGS]?: Settings }): Settings {
  const known = request[SETTINGS]
  if (known !== undefined) return known
  const { fair } = request.routeOptions.config
  const settings = fair === undefined ? NONE : fair === false ? SKIPPED : { ...fair, skip: false }
  request[SETTINGS] = settings
  return settings
}

/** The options that a route can set: what it says, or else what the plugin's own `options` do. */
export function withRoutes(
  options: RequestOptions<[request: FastifyRequest, reply: FastifyReply]>,
): RequestOptions<[request: FastifyRequest, reply: FastifyReply]> {
  return withRouteSettings(options, settingsOf)
}

/** Handlers that keep their permits already: the route for HEAD gets that for GET. */
const keeping = new WeakSet<RouteHandlerMethod>()

/**
 * The handler, with the permits of all gates its request has passed kept until it has settled: until its promise has,
 * or, where it returns none, until it has returned. It is told what the handler throws.
 */
export function keepUntilSettled(handler: RouteHandlerMethod): RouteHandlerMethod {
  if (keeping.has(handler)) return handler
  const kept: RouteHandlerMethod = function (request, reply) {
    const { fair } = request
    if (fair === undefined) return handler.call(this, request, reply)
    const done = fair.hold()
    const failed = (error: unknown): void => {
      fair.failed(error)
      done()
    }
    let result: unknown
    try {
      result = runFor(fair, () => handler.call(this, request, reply))
    } catch (error) {
      failed(error)
      throw error
    }
    if (result instanceof Promise) {
      result.then(done, failed)
      settleWhenSent(request, reply, done)
    } else done()
    return result
  }
  keeping.add(kept)
  return kept
}

/**
 * Over HTTP/2 a reply that is sent when its client has left never tells that it is over, and so the promise of a
 * handler that returns it never settles: there the handler has settled when it has sent.
 */
function settleWhenSent(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const { stream } = request.raw as Partial<Pick<Http2ServerRequest, 'stream'>>
  if (stream === undefined) return
  const { send } = reply
  reply.send = (payload) => {
    if (stream.closed || stream.destroyed) done()
    return send.call(reply, payload)
  }
}
