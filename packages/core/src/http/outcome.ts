import type { Outcome } from '../admission/outcome.js'

/** The status that an error carries, as the frameworks spell it: `status`, `statusCode` or `getStatus()`. */
export function statusOfError(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { status, statusCode, getStatus } = error as { status?: unknown; statusCode?: unknown; getStatus?: unknown }
  if (typeof status === 'number') return status
  if (typeof statusCode === 'number') return statusCode
  if (typeof getStatus !== 'function') return undefined
  const told: unknown = getStatus.call(error)
  return typeof told === 'number' ? told : undefined
}

/**
 * What a response that was sent to its end says about shortage.
 *
 * - 429 or 503, or an error with such a status (`ResourceExhaustedError` has): `failure`, whatever the client saw.
 * - Any other status below 500: `success`. It got the resource, even if it was a bad request.
 * - Any other 5xx, or an error and no status at all: `ignored`. A bug says nothing about shortage.
 *
 * A client that left is not asked about: that is always `ignored`, and the status then is an untouched default.
 */
export function outcomeOf(status: number | undefined, error?: unknown): Outcome {
  if (isShortage(status) || isShortage(statusOfError(error))) return 'failure'
  if (status === undefined) return error === undefined ? 'success' : 'ignored'
  return status < 500 ? 'success' : 'ignored'
}

function isShortage(status: number | undefined): boolean {
  return status === 503 || status === 429
}

/**
 * Thrown by a handler whose resource is exhausted: no free connection, a full pool, an upstream's 429.
 *
 * Its outcome is `failure`, the one thing that FAIR learns guilt from. Frameworks that read `status` answer 503; Nest
 * does, too, because the error has all that errors of `http-errors` have; and so does Hono, by `getResponse`. These two
 * keep the message from the client.
 */
export class ResourceExhaustedError extends Error {
  override readonly name: string = 'ResourceExhaustedError'
  readonly status = 503
  readonly statusCode = 503
  readonly expose = false

  constructor(message: string = 'resource exhausted', options?: ErrorOptions) {
    super(message, options)
  }

  /** What Hono asks errors for, where no `onError` of the user's does otherwise: an answer without the message. */
  getResponse(): Response {
    return new Response('Service Unavailable', { status: this.status })
  }
}
