/**
 * Thrown by a handler whose resource is exhausted: no free connection, a full pool, an upstream's 429.
 *
 * Its outcome is `failure`, the one thing that FAIR learns guilt from. Frameworks that read `status` answer 503.
 */
export class ResourceExhaustedError extends Error {
  override readonly name = 'ResourceExhaustedError'
  readonly status = 503

  constructor(message: string = 'resource exhausted', options?: ErrorOptions) {
    super(message, options)
  }
}
