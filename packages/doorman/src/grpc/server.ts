import type { CapacityService, Eventually } from '@fairlead/core'
import { type handleUnaryCall, type MethodDefinition, Server, type ServerCredentials } from '@grpc/grpc-js'
import { METHODS, statusOf } from './methods.js'

/** A running gRPC server. */
export interface GrpcPort {
  readonly port: number
  /** Takes no more calls, and ends when those under way have, or after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** Largest message that is taken: a client's request for some thousands of resources. */
const MOST_BYTES = 4 << 20

/**
 * Serves what `service` returns at each call over gRPC; `port` 0 is any free one. Rejects when the port cannot be had.
 */
export async function serveGrpc(
  service: () => CapacityService,
  host: string,
  port: number,
  credentials: ServerCredentials,
): Promise<GrpcPort> {
  // Without channelz the library would not find the connections again that `forceShutdown` ends.
  const server = new Server({ 'grpc.max_receive_message_length': MOST_BYTES })
  server.addService(METHODS, {
    discovery: unary(METHODS.discovery, (request, signal) => service().discovery(request, signal)),
    getCapacity: unary(METHODS.getCapacity, (request, signal) => service().getCapacity(request, signal)),
    getServerCapacity: unary(METHODS.getServerCapacity, (request, signal) =>
      service().getServerCapacity(request, signal),
    ),
    releaseCapacity: unary(METHODS.releaseCapacity, (request, signal) => service().releaseCapacity(request, signal)),
  })
  const bound = await new Promise<number>((resolve, reject) => {
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
    server.bindAsync(address, credentials, (error, actual) => (error === null ? resolve(actual) : reject(error)))
  })
  return {
    port: bound,
    close: (graceMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => server.forceShutdown(), graceMs)
        server.tryShutdown(() => {
          clearTimeout(timer)
          resolve()
        })
      }),
  }
}

/** `method` says of what type they are. */
function unary<Request, Response>(
  _method: MethodDefinition<Request, Response>,
  answer: (request: Request, signal?: AbortSignal) => Eventually<Response>,
): handleUnaryCall<Request, Response> {
  return (call, callback) => {
    try {
      const answered = answer(call.request)
      if (answered instanceof Promise)
        answered.then(
          (response) => callback(null, response),
          (error: unknown) => callback(statusOf(error)),
        )
      else callback(null, answered)
    } catch (error) {
      callback(statusOf(error))
    }
  }
}
