import { CapacityError, type CapacityService, type Eventually } from '@fairlead/core'
import {
  type handleUnaryCall,
  type MethodDefinition,
  Server,
  type ServerCredentials,
  type ServerUnaryCall,
} from '@grpc/grpc-js'
import type { Credentials } from '../access.js'
import { namesIn } from '../tls.js'
import { METHODS, statusOf } from './methods.js'

/** A running gRPC server. */
export interface GrpcPort {
  readonly port: number
  /** Takes no more calls, and ends when those under way have, or after `graceMs`. */
  close(graceMs: number): Promise<void>
}

/** Calls that one connection may have under way. */
const MOST_STREAMS = 1_000

export interface GrpcSettings {
  /** The service, for whoever calls; looked up at each call. */
  service(from: Credentials): CapacityService
  host: string
  /** 0 is any free one. */
  port: number
  credentials: ServerCredentials
  /** Largest message that is taken, in bytes. */
  maxRequestBytes: number
}

/** Serves over gRPC. Rejects when the port cannot be had. */
export async function serveGrpc({
  service,
  host,
  port,
  credentials,
  maxRequestBytes,
}: GrpcSettings): Promise<GrpcPort> {
  // Without channelz the library would not find the connections again that `forceShutdown` ends.
  const server = new Server({
    'grpc.max_receive_message_length': maxRequestBytes,
    'grpc.max_concurrent_streams': MOST_STREAMS,
  })
  server.addService(METHODS, {
    discovery: unary(METHODS.discovery, service, (of, request) => of.discovery(request)),
    getCapacity: unary(METHODS.getCapacity, service, (of, request) => of.getCapacity(request)),
    getServerCapacity: unary(METHODS.getServerCapacity, service, (of, request) => of.getServerCapacity(request)),
    releaseCapacity: unary(METHODS.releaseCapacity, service, (of, request) => of.releaseCapacity(request)),
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
  _method: MethodDefinition<Request | CapacityError, Response>,
  service: (from: Credentials) => CapacityService,
  answer: (service: CapacityService, request: Request) => Eventually<Response>,
): handleUnaryCall<Request | CapacityError, Response> {
  return (call, callback) => {
    try {
      const { request } = call
      // Bytes that are no such message: the library would call that an error of ours.
      if (request instanceof CapacityError) throw request
      const answered = answer(service(credentialsOf(call)), request)
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

function credentialsOf(call: ServerUnaryCall<unknown, unknown>): Credentials {
  return {
    get authorization() {
      return call.metadata.get('authorization')[0]?.toString()
    },
    get names() {
      return namesIn(call.getAuthContext()?.sslPeerCertificate)
    },
  }
}
