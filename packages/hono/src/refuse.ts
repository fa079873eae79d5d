import { type FetchAdmission, isResponse } from '@fairlead/core/fetch'
import { type Fields, type HttpOptions, type HttpRefusal, PROBLEM_JSON } from '@fairlead/core/http'
import type { Context } from 'hono'
import { hostOf, keepStatus } from './host.js'

type Target = [c: Context]

/** Makes the response to a refused request: the result of the user's handler, or the problem document. */
export async function refuse(
  c: Context,
  refusal: HttpRefusal,
  handler: HttpOptions<Target>['handler'],
  admission: FetchAdmission<Target>,
): Promise<void> {
  const { status, headers, body } = refusal
  const { incoming, outgoing } = hostOf(c) ?? {}
  if (incoming !== undefined && outgoing !== undefined) admission.refuseBody?.(incoming, outgoing)
  if (handler !== undefined) {
    c.status(status)
    for (const name of Object.keys(headers)) c.header(name, headers[name])
    try {
      const answer = await handler(c, refusal)
      if (!isResponse(answer)) throw new TypeError('handler must return a Response')
      c.res = answer
      // A `new Response()` lacks the headers that were set before.
      for (const name of Object.keys(headers)) if (!c.res.headers.has(name)) c.header(name, headers[name])
      return
    } catch (cause) {
      admission.warn('handler failed: the problem document was sent instead.', cause)
    }
  }
  c.res = c.body(body, status, { ...headers, 'Content-Type': PROBLEM_JSON })
}

/**
 * A substitute for a response that no client can receive any more, because Hono requires one. `@hono/node-server` does
 * not write an answer with that header; on Node 20 it could end the process by answering an HTTP/2 stream that is gone.
 */
export function answerNobody(c: Context): void {
  keepStatus(c)
  if (c.finalized) c.res.body?.cancel().catch(() => {})
  const nothing = new Response(null, { status: 499, headers: { 'X-Hono-Already-Sent': 'true' } })
  // Until the body has been accessed once, the server would write without checking the headers.
  if (nothing.body === null) c.res = nothing
}

/**
 * Adds fields to a handler's answer. Only now, because a handler's `new Response()` lacks the headers that were set
 * before. If a field exists already, the entry is appended to its list.
 */
export function tell(c: Context, fields: Fields | undefined): void {
  for (const name in fields) c.header(name, fields[name], { append: true })
}
