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
