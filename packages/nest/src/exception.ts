import type { HttpRefusal } from '@fairlead/core/http'
import { HttpException } from '@nestjs/common'

/**
 * Thrown instead of running a handler whose request was refused. Nest's own filter answers it with the status and the
 * problem document; filters of yours can catch it: `@Catch(FairException)`.
 */
export class FairException extends HttpException {
  /** Status, `Retry-After` and document for HTTP; `refusal.refusal` has stage, reason and numbers. */
  readonly refusal: HttpRefusal

  /** `body` is sent instead of the problem document. */
  constructor(refusal: HttpRefusal, body: string | object = JSON.parse(refusal.body)) {
    super(body, refusal.status)
    this.refusal = refusal
    this.message = `refused by ${refusal.refusal.stage}: ${refusal.refusal.reason}`
  }

  /** The fields that GraphQL servers show besides the message. */
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

/**
 * A refusal as the exception of a transport whose filters know only their own exceptions: an `RpcException` or a
 * `WsException`, with the `FairException` as its cause. Their packages are loaded only here, where they must exist.
 */
export async function transportException(type: 'rpc' | 'ws', exception: FairException): Promise<Error> {
  const payload = payloadOf(exception)
  const error = type === 'rpc' ? await rpcException(payload) : await wsException(payload)
  error.cause = exception
  return error
}

async function rpcException(payload: string | object): Promise<Error> {
  const { RpcException } = await import('@nestjs/microservices')
  return new RpcException(payload)
}

async function wsException(payload: string | object): Promise<Error> {
  const { WsException } = await import('@nestjs/websockets')
  return new WsException(payload)
}

/** The client's message: Nest's `status` and `message`, and the refusal's numbers. Or the result of `handler`. */
function payloadOf(exception: FairException): string | object {
  const body = exception.getResponse()
  if (typeof body === 'string' || !('title' in body)) return body
  const { status: code, retryAfterSeconds } = exception.refusal
  const { stage, reason } = exception.refusal.refusal
  return { status: 'error', message: body.title, code, stage, reason, retryAfterSeconds }
}
