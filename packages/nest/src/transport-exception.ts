import type { FairException } from './exception.js'

/**
 * A refusal in the words of the transports of Nest whose filters know only their own exceptions: an `RpcException` or a
 * `WsException`, with the `FairException` as its cause. Their packages are loaded only here, where they must be there.
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

/** What the client gets: Nest's `status` and `message`, and the refusal's numbers. Or what `handler` gave. */
function payloadOf(exception: FairException): string | object {
  const body = exception.getResponse()
  if (typeof body === 'string' || !('title' in body)) return body
  const { status: code, retryAfterSeconds } = exception.refusal
  const { stage, reason } = exception.refusal.refusal
  return { status: 'error', message: body.title, code, stage, reason, retryAfterSeconds }
}
