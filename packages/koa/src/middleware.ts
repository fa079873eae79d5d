import type { Gate } from '@fairlead/core'
import {
  type FairRequest,
  type Framework,
  fairOf,
  type GateAnswer,
  type HttpOptions,
  type HttpVisit,
  NodeAdmission,
} from '@fairlead/core/http'
import { defaultShed } from '@fairlead/core/node'
import type { Context, Middleware, Next, ParameterizedContext } from 'koa'
import { setRefusal } from './refusal.js'

/**
 * The addition of `fairMiddleware` to `ctx.state`: `new Koa<FairState>()`, or `new Koa<MyState & FairState>()`. A
 * separate type, because an addition to Koa's `DefaultState` would appear in apps without this middleware.
 */
export interface FairState {
  /** The innermost `fairMiddleware`'s view of this request; absent if none judged it. */
  fair?: FairRequest
}

/** Options of {@link fairMiddleware}; all optional. */
export type FairMiddlewareOptions = HttpOptions<[ctx: Context]>

/** Koa middleware, and the gate behind it. */
export interface FairMiddleware extends Middleware<FairState> {
  readonly gate: Gate
}

type KoaVisit = HttpVisit<[ctx: Context]>

const koa: Framework<[ctx: Context]> = {
  name: 'fairMiddleware',
  // Unless proxies are trusted, `ctx.ip` is the socket's address, cached per request at some cost.
  address: (ctx) => (ctx.app.proxy ? ctx.ip : ctx.req.socket.remoteAddress),
  // Not `ctx.status`: the status that was sent counts.
  status: (ctx) => ctx.res.statusCode,
  shed: defaultShed,
  untrustedHeaders: (ctx) => (ctx.app.proxy ? undefined : ctx.req.headers),
  trust: 'Say that a proxy is trusted, app.proxy = true, or set the option address or flow.',
}

/**
 * Fair admission control for Koa 2 and 3: `app.use(fairMiddleware())`, before body parsers and routes.
 *
 * A permit is kept until everything downstream has settled and the response has closed. Without options: FAIR between
 * client addresses, and load shedding by memory and event-loop delay. Starts nothing before the first request. Throws a
 * `TypeError` or `RangeError` that names a bad option and its value.
 */
export function fairMiddleware(options: FairMiddlewareOptions = {}): FairMiddleware {
  const admission = new NodeAdmission(koa, options)

  function proceed(
    visit: KoaVisit,
    decision: GateAnswer,
    ctx: ParameterizedContext<FairState>,
    next: Next,
  ): Promise<unknown> {
    if (decision === undefined) {
      // This gate has judged the request outside the app: the handler finds that visit here, too.
      if (visit.outer !== undefined) ctx.state.fair = visit.outer
      return next()
    }
    // A client that has left cannot read an answer.
    if (!decision.admitted && decision.reason !== 'gone')
      return setRefusal(ctx, admission.refusal(decision), options.handler, admission)
    if (!decision.admitted || !admission.admit(visit, decision, ctx.req, ctx.res)) return Promise.resolve()
    ctx.state.fair = visit
    return visit.run(next)
  }

  // Not async: another promise for each request would cost as much as the decision.
  function fair(ctx: ParameterizedContext<FairState>, next: Next): Promise<unknown> {
    const visit = admission.visit([ctx], fairOf(ctx.req))
    admission.watch(visit, ctx.req, ctx.res)
    const decision = admission.ask(visit)
    return decision instanceof Promise
      ? decision.then((late) => proceed(visit, late, ctx, next))
      : proceed(visit, decision, ctx, next)
  }

  return Object.assign(fair, { gate: admission.gate })
}
