import type { Http2ServerRequest, ServerHttp2Stream } from 'node:http2'
import {
  type FairRequest,
  fairOf,
  isLater,
  type RouteSettings,
  requireRouteSettings,
  runFor,
} from '@fairlead/core/http'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod, RouteOptions } from 'fastify'

/** A route's `config.fair`: settings of its own, or false for a route that no gate sees. */
export type FairRoute = RouteSettings<[request: FastifyRequest, reply: FastifyReply]> | false

/** Checks a route's settings. Throws a `TypeError` or `RangeError` that names the setting and its value. */
export function requireFairRoute(fair: FairRoute | undefined): void {
  if (fair !== undefined && fair !== false) requireRouteSettings('config.fair', fair)
}

interface RouteConfig extends RouteSettings<[request: FastifyRequest, reply: FastifyReply]> {
  readonly skip?: boolean
}

const SKIPPED: RouteConfig = { skip: true }

/** What Fastify prints of an app without routes. */
const NO_ROUTES = '(empty tree)'

/**
 * Settings of the routes of an app. Fastify makes an object each time that a request's route is read, so it is read
 * only if a route has settings, or may have: one that is older than the plugin.
 */
export class Routes {
  readonly #isFirst: boolean
  readonly #known: RouteOptions[] = []
  #haveSettings: boolean | undefined = undefined

  constructor(app: FastifyInstance) {
    this.#isFirst = app.printRoutes() === NO_ROUTES
  }

  /** A route is added. Its settings may still be set, by the hooks of other plugins. */
  add(route: RouteOptions): void {
    this.#known.push(route)
  }

  /** The settings of a request's route, if it has any. */
  settingsOf(request: FastifyRequest): RouteConfig | undefined {
    this.#haveSettings ??= !this.#isFirst || this.#known.some(({ config }) => config?.fair !== undefined)
    return this.#haveSettings ? settingsOf(request) : undefined
  }
}

function settingsOf(request: FastifyRequest): RouteConfig | undefined {
  const { fair } = request.routeOptions.config
  return fair === false ? SKIPPED : fair
}

/** Handlers that are wrapped already: the HEAD route gets the GET route's handler. */
const keeping = new WeakSet<RouteHandlerMethod>()

/**
 * Wraps a handler so that the permits of all gates that its request has passed are kept until its promise has settled
 * or, if it returns none, until it has returned. The visits get the error that the handler throws.
 */
export function keepUntilSettled(handler: RouteHandlerMethod): RouteHandlerMethod {
  if (keeping.has(handler)) return handler
  const kept: RouteHandlerMethod = function (request, reply) {
    const fair = fairOf(request.raw)
    if (fair === undefined) return handler.call(this, request, reply)
    const done = fair.hold()
    const { stream } = request.raw as Partial<Pick<Http2ServerRequest, 'stream'>>
    if (stream !== undefined) settleWithStream(stream, reply)
    let result: unknown
    try {
      result = runFor(fair, () => handler.call(this, request, reply))
    } catch (error) {
      fair.failed(error)
      done()
      throw error
    }
    // A reply is a thenable, too, for its own end.
    if (result === reply || !isLater(result)) {
      done()
      return result
    }
    // Awaited once: a query may start again at each `then`.
    const promise = Promise.resolve(result)
    settle(promise, fair, done)
    return promise
  }
  keeping.add(kept)
  return kept
}

function settle(promise: Promise<unknown>, fair: FairRequest, done: () => void): void {
  promise.then(done, (error: unknown) => {
    fair.failed(error)
    done()
  })
}

/** Over HTTP/2 the promise of a reply whose stream has closed would never settle: its response has told its end. */
function settleWithStream(stream: ServerHttp2Stream, reply: FastifyReply): void {
  const { then } = reply
  // biome-ignore lint/suspicious/noThenProperty: a reply is a thenable
  reply.then = (fulfilled, rejected) => {
    if (stream.closed || stream.destroyed) fulfilled()
    else then.call(reply, fulfilled, rejected)
  }
}
