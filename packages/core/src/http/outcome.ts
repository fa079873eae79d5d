import type { Outcome } from '../admission/outcome.js'

/**
 * The status that an error carries, as the frameworks spell it: `status`, `statusCode` or `getStatus()`. None if reading
 * it throws: any value can be thrown.
 */
export function statusOfError(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  try {
    const { status, statusCode, getStatus } = error as { status?: unknown; statusCode?: unknown; getStatus?(): unknown }
    const told = [status, statusCode].find((each) => typeof each === 'number') ?? getStatus?.call(error)
    return typeof told === 'number' ? told : undefined
  } catch {
    return undefined
  }
}

/**
 * The default outcome of a response.
 *
 * - 429 or 503, or an error with such a status (`ResourceExhaustedError` has): `failure`, even if the client saw
 *   another status.
 * - Any other status below 500: `success`. It got the resource, even if it was a bad request.
 * - Any other 5xx, or an error and no status at all: `ignored`. A bug says nothing about shortage.
 *
 * Of a client that left, only a `failure` counts: the status is then the framework's default, unless a handler has set
 * it.
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
 * Its outcome is `failure`, the only signal from which FAIR learns which flows cause a shortage. Frameworks that read
 * `status` answer 503. So do Nest, because the error has all properties of an `http-errors` error, and Hono, by
 * `getResponse`; these two do not send the message to the client.
 */
export class ResourceExhaustedError extends Error {
  override readonly name: string = 'ResourceExhaustedError'
  readonly status = 503
  readonly statusCode = 503
  readonly expose = false

  constructor(message: string = 'resource exhausted', options?: ErrorOptions) {
    super(message, options)
  }

  /** Hono calls this on an error unless the user's `onError` handles it: a response without the message. */
  getResponse(): Response {
    return new Response('Service Unavailable', { status: this.status })
  }
}
