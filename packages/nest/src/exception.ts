import type { HttpRefusal } from '@fairlead/core/http'
import { HttpException } from '@nestjs/common'

/**
 * Thrown instead of running a handler whose request was refused. Nest's own filter answers it with the status and the
 * problem document; filters of yours can catch it: `@Catch(FairException)`.
 */
export class FairException extends HttpException {
  /** Status, `Retry-After` and document as HTTP has them; in `refusal.refusal`: stage, reason, numbers. */
  readonly refusal: HttpRefusal

  /** `body` is sent instead of the problem document. */
  constructor(refusal: HttpRefusal, body: string | object = JSON.parse(refusal.body)) {
    super(body, refusal.status)
    this.refusal = refusal
    this.message = `refused by ${refusal.refusal.stage}: ${refusal.refusal.reason}`
  }

  /** What GraphQL servers show of an error besides its message. */
  get extensions(): Readonly<Record<string, unknown>> {
    const { status, retryAfterSeconds } = this.refusal
    const { stage, reason } = this.refusal.refusal
    return {
      code: status === 429 ? 'TOO_MANY_REQUESTS' : 'SERVICE_UNAVAILABLE',
      status,
      stage,
      reason,
      retryAfterSeconds,
    }
  }
}
