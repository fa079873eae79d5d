import type { Gate } from '@fairlead/core'
import { awake, isWorkerd, outerOf, runtime, showOnBoth } from '@fairlead/core/fetch'
import { type FairRequest, type Framework, type HttpOptions, runFor } from '@fairlead/core/http'
import type { Context, MiddlewareHandler, Next } from 'hono'
import { addressOf, carryOn, headersOf, hostOf, statusOf, watchResponse } from './host.js'
import { answerNobody, refuse, tell } from './refuse.js'

declare module 'hono' {
  interface ContextVariableMap {
    /** `fairMiddleware`'s view of this request; absent if it did not judge it. */
    fair?: FairRequest
  }
}

/** Options of {@link fairMiddleware}; all optional. */
export type FairMiddlewareOptions = HttpOptions<[c: Context]>

/** Hono middleware, and the gate behind it. */
export interface FairMiddleware extends MiddlewareHandler {
  readonly gate: Gate
}

const hono: Framework<[c: Context]> = {
  name: 'fairMiddleware',
  address: addressOf,
  status: statusOf,
  shed: runtime.shed,
  permitTimeoutMs: runtime.permitTimeoutMs,
  untrustedHeaders: headersOf,
}

/**
 * Fair admission control for Hono, on every runtime: `app.use(fairMiddleware())`, before the routes that it protects.
 *
 * Without options: FAIR between client addresses; on Node and Bun, load shedding by memory and event-loop delay;
 * on other runtimes than Node, permits that time out after a minute if the end of the response is not reported. Starts
 * nothing before the first request. Throws a `TypeError` or `RangeError` that names a bad option and its value.
 */
export function fairMiddleware(options: FairMiddlewareOptions = {}): FairMiddleware {
  const admission = runtime.admission(hono, options)
  const { gate } = admission
  const { handler } = options

  async function pass(c: Context, next: Next): Promise<void> {
    const host = hostOf(c)
    const visit = admission.visit([c], c.get('fair') ?? outerOf(c.req.raw, host))
    const watch = watchResponse(c, visit, admission)
    const asked = admission.ask(visit)
    const decision = asked instanceof Promise ? await (watch === undefined ? asked : awake(gate, asked)) : asked
    if (decision === undefined) {
      // This gate has judged the request outside the app: the handler finds that visit here, too.
      if (visit.outer !== undefined) c.set('fair', visit.outer)
      return next()
    }
    if (!decision.admitted && decision.reason !== 'gone')
      return refuse(c, admission.refusal(decision), handler, admission)
    if (!decision.admitted || !visit.admit(decision)) {
      if (!c.finalized) answerNobody(c)
      return
    }
    c.set('fair', visit)
    showOnBoth(c.req.raw, host, visit)
    visit.handlerStarted()
    try {
      await runFor(visit, next)
      // Hono has caught an `Error` and turned it into a response.
      if (c.error !== undefined) visit.failed(c.error)
    } catch (error) {
      visit.failed(error)
      throw error
    } finally {
      watch?.settled()
      visit.handlerSettled()
    }
    if (visit.isGone && watch === undefined) answerNobody(c)
    // Last, because the copy of a fetched response no longer shows that it was fetched.
    if (c.finalized) tell(c, admission.fields(decision, c.res.status))
  }

  function passWorkerd(c: Context, next: Next): Promise<void> {
    const passing = pass(c, next)
    // Work that is cut off with its client would never return its permit.
    carryOn(c, passing)
    return passing
  }

  return Object.assign(isWorkerd ? passWorkerd : pass, { gate })
}
