import {
  type HttpAdmission,
  type HttpOptions,
  type HttpRefusal,
  type HttpVisit,
  PROBLEM_JSON,
  refuseBody,
} from '@fairlead/core/http'
import type { Request, Response } from 'express'

/**
 * Answers a refused request: status and `Retry-After`, then what the user's handler writes, or the problem document.
 * Of a large body nothing more is read.
 */
export function sendRefusal(
  { target }: HttpVisit<[Request, Response]>,
  refusal: HttpRefusal,
  handler: HttpOptions<[Request, Response]>['handler'],
  admission: HttpAdmission<[Request, Response]>,
): void {
  const [request, response] = target
  // While it waited, a timeout of somebody else's may have answered.
  if (response.headersSent) return
  refuseBody(request, response)
  response.statusCode = refusal.status
  for (const name of Object.keys(refusal.headers)) response.setHeader(name, refusal.headers[name] ?? '')
  if (handler === undefined) {
    sendProblem(response, refusal)
    return
  }
  const failed = (cause: unknown): void => {
    admission.warn('handler failed: the problem document was sent instead.', cause)
    sendProblem(response, refusal)
  }
  try {
    const answer = handler(request, response, refusal)
    if (answer instanceof Promise) answer.catch(failed)
  } catch (error) {
    failed(error)
  }
}

/** Sends the problem document. A response that somebody has begun can only be cut off, lest it hang. */
function sendProblem(response: Response, { status, body }: HttpRefusal): void {
  if (response.headersSent) {
    if (!response.writableEnded) response.destroy()
    return
  }
  response.statusCode = status
  response.setHeader('Content-Type', PROBLEM_JSON)
  response.setHeader('Content-Length', Buffer.byteLength(body))
  response.end(body)
}
