import { type HttpAdmission, type HttpOptions, type HttpRefusal, PROBLEM_JSON, refuseBody } from '@fairlead/core/http'
import type { Context } from 'koa'

/**
 * Makes a refusal the response of `ctx`, which Koa then sends, so that middleware outside sees it like any other:
 * status and `Retry-After`, then the body of the user's handler, or the problem document. A large request body is not
 * read any further.
 */
export async function setRefusal(
  ctx: Context,
  refusal: HttpRefusal,
  handler: HttpOptions<[Context]>['handler'],
  admission: HttpAdmission<[Context]>,
): Promise<void> {
  // While the request waited, another time-out may have answered it.
  if (ctx.headerSent) return
  refuseBody(ctx.req, ctx.res)
  ctx.status = refusal.status
  ctx.set(refusal.headers)
  if (handler === undefined) {
    setProblem(ctx, refusal)
    return
  }
  try {
    await handler(ctx, refusal)
  } catch (cause) {
    admission.warn('handler failed: the problem document was sent instead.', cause)
    if (!ctx.headerSent) setProblem(ctx, refusal)
    // A response that has been started is destroyed, because it would hang; without an error it would look complete
    // over HTTP/2.
    else if (!ctx.res.writableEnded) ctx.res.destroy(new Error('The handler of a refusal failed', { cause }))
  }
}

function setProblem(ctx: Context, { status, body }: HttpRefusal): void {
  // Koa must answer: nothing downstream will.
  ctx.respond = true
  ctx.status = status
  ctx.set('Content-Type', PROBLEM_JSON)
  ctx.body = body
}
