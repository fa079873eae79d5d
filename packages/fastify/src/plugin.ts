import type { Gate } from '@fairlead/core'
import {
  type FairRequest,
  type Framework,
  fairOf,
  type GateAnswer,
  type HttpOptions,
  type HttpRefusal,
  type HttpVisit,
  isLater,
  NodeAdmission,
  PROBLEM_JSON,
  refuseBody,
  requireHttpOptions,
  requireOneOf,
} from '@fairlead/core/http'
import { defaultShed } from '@fairlead/core/node'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { type FairRoute, keepUntilSettled, Routes, requireFairRoute } from './route.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** The innermost `fairPlugin` of this context; if one context has two, the first. */
    readonly fair: {
      /** The gate, for pages, metrics, events and draining. */
      readonly gate: Gate
    }
  }
  interface FastifyRequest {
    /** The innermost `fairPlugin`'s view of this request; absent if none judged it. */
    fair?: FairRequest | undefined
  }
  interface FastifyContextConfig {
    /** The cost, flow, priority and resource of this route's requests; false: no gate sees them. */
    fair?: FairRoute
  }
}

/** The hook that judges requests: see {@link FairPluginOptions.hook}. */
type Hook = 'onRequest' | 'preValidation' | 'preHandler'
const HOOKS: readonly Hook[] = ['onRequest', 'preValidation', 'preHandler']

/** Options of {@link fairPlugin}; all optional. */
export interface FairPluginOptions extends HttpOptions<[request: FastifyRequest, reply: FastifyReply]> {
  /**
   * The hook in which requests are judged. `onRequest` is the first, before the body is read. Use a later one if `flow`
   * needs the body, or the result of authentication in an earlier hook. @default 'onRequest'
   */
  hook?: Hook
}

type Target = [request: FastifyRequest, reply: FastifyReply]

const fastify: Framework<Target> = {
  name: 'fairPlugin',
  // Fastify's own evaluation of X-Forwarded-For if `trustProxy` is set, else the socket's address.
  address: (request) => request.ip,
  // Not the reply's status: only the one that was sent counts.
  status: (_request, reply) => reply.raw.statusCode,
  untrustedHeaders: (request) => (request.ips === undefined ? request.headers : undefined),
  trust: 'Say which proxies to trust, fastify({ trustProxy: 1 }), or set the option address or flow.',
  shed: defaultShed,
}

// Async, so that an invalid option rejects.
const plugin: FastifyPluginAsync<FairPluginOptions> = async (app, given) => {
  const { hook = 'onRequest', ...options } = given
  requireOneOf('hook', hook, HOOKS)
  requireHttpOptions('fairPlugin', options)
  const routes = new Routes(app)
  const admission = new NodeAdmission(
    { ...fastify, settings: (request: FastifyRequest) => routes.settingsOf(request) },
    options,
  )
  const { gate } = admission

  function proceed(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: HttpVisit<Target>,
    decision: GateAnswer,
    done: () => void,
  ): void {
    if (decision === undefined) {
      // This gate has judged the request outside the app: the handler finds that visit here, too.
      if (visit.outer !== undefined) request.fair = visit.outer
      done()
      return
    }
    if (!decision.admitted) {
      // A client that has left cannot read an answer. While it waited, another time-out may have answered.
      if (decision.reason !== 'gone' && !reply.sent && !reply.raw.headersSent)
        refuse(request, reply, admission.refusal(decision), options.handler, admission)
      return
    }
    if (!admission.admit(visit, decision, request.raw, reply.raw)) return
    request.fair = visit
    done()
  }

  function judge(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const visit = admission.visit([request, reply], fairOf(request.raw))
    admission.watch(visit, request.raw, reply.raw)
    const decision = admission.ask(visit)
    if (decision instanceof Promise) proceedLater(request, reply, visit, decision, done)
    else proceed(request, reply, visit, decision, done)
  }

  function proceedLater(
    request: FastifyRequest,
    reply: FastifyReply,
    visit: HttpVisit<Target>,
    decision: Promise<GateAnswer>,
    done: () => void,
  ): void {
    decision.then((late) => proceed(request, reply, visit, late, done)).catch((error: unknown) => reply.send(error))
  }

  if (!app.hasRequestDecorator('fair')) app.decorateRequest('fair', undefined)
  if (!Object.hasOwn(app, 'fair')) app.decorate('fair', { gate })
  app.addHook('onRoute', (route) => {
    requireFairRoute(route.config?.fair)
    routes.add(route)
    route.handler = keepUntilSettled(route.handler)
  })
  if (hook === 'onRequest') app.addHook('onRequest', judge)
  else if (hook === 'preValidation') app.addHook('preValidation', judge)
  else app.addHook('preHandler', judge)
  // The error as other hooks and error handlers see it, before it is turned into a response.
  app.addHook('onError', (request, _reply, error, done) => {
    request.fair?.failed(error)
    done()
  })
  // Waiting requests are refused at once; running ones end as usual.
  if (options.gate === undefined)
    app.addHook('preClose', (done) => {
      gate.close()
      done()
    })
}

/**
 * Fair admission control for Fastify 4 and 5: `await app.register(fairPlugin)`, before routes.
 *
 * It judges all requests of the context on which it is registered, and of the contexts inside. Without options: FAIR
 * between client addresses, and load shedding by memory and event-loop delay. A permit is kept until the handler has
 * settled and the response has closed; for routes that were added before the plugin was loaded, until the response has
 * closed. Starts nothing before the first request. Registering it fails with a `TypeError` or `RangeError` that names a
 * bad option and its value.
 */
export const fairPlugin: FastifyPluginAsync<FairPluginOptions> = fastifyPlugin(plugin, {
  fastify: '4.x || 5.x',
  name: '@fairlead/fastify',
})

/**
 * Answers a refused request like any other, so that hooks see it: status and `Retry-After`, then the answer of the
 * user's handler, or the problem document. A large request body is not read any further.
 */
function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  refusal: HttpRefusal,
  handler: FairPluginOptions['handler'],
  admission: NodeAdmission<Target>,
): void {
  refuseBody(request.raw, reply.raw)
  reply.code(refusal.status).headers(refusal.headers)
  if (handler === undefined) {
    sendProblem(reply, refusal)
    return
  }
  const failed = (cause: unknown): void => {
    admission.warn('handler failed: the problem document was sent instead.', cause)
    sendProblem(reply, refusal)
  }
  const answered = (payload: unknown): void => {
    if (payload !== undefined && payload !== reply && !reply.sent) reply.send(payload)
  }
  try {
    const payload = handler(request, reply, refusal)
    if (payload !== reply && isLater(payload)) Promise.resolve(payload).then(answered).catch(failed)
    else answered(payload)
  } catch (error) {
    failed(error)
  }
}

/** Sends the problem document. A response that has been started already is destroyed, because it would hang. */
function sendProblem(reply: FastifyReply, { status, body }: HttpRefusal): void {
  if (!reply.raw.headersSent) reply.code(status).type(PROBLEM_JSON).send(body)
  else if (!reply.raw.writableEnded) reply.raw.destroy()
}
