import {
  CapacityError,
  type CapacityErrorCode,
  type DiscoveryRequest,
  type DiscoveryResponse,
  type GetCapacityRequest,
  type GetCapacityResponse,
  type GetServerCapacityRequest,
  type GetServerCapacityResponse,
  type ReleaseCapacityRequest,
  type ReleaseCapacityResponse,
} from '@fairlead/core/doorman'
import { type MethodDefinition, status } from '@grpc/grpc-js'
import { WIRE, type Wire } from './wire.js'

function method<Request, Response>(
  name: string,
  { request, response }: { request: Wire<Request>; response: Wire<Response> },
): MethodDefinition<Request | CapacityError, Response> {
  return {
    path: `/doorman.Capacity/${name}`,
    originalName: name,
    requestStream: false,
    responseStream: false,
    requestSerialize: (message) => request.encode(message as Request),
    requestDeserialize(bytes) {
      try {
        return request.decode(bytes)
      } catch (error) {
        return new CapacityError('invalid_argument', `the message cannot be read: ${String(error)}`)
      }
    },
    responseSerialize: response.encode,
    responseDeserialize: response.decode,
  }
}

/** The `Capacity` service, as gRPC wants it described. */
export const METHODS: {
  readonly discovery: MethodDefinition<DiscoveryRequest | CapacityError, DiscoveryResponse>
  readonly getCapacity: MethodDefinition<GetCapacityRequest | CapacityError, GetCapacityResponse>
  readonly getServerCapacity: MethodDefinition<GetServerCapacityRequest | CapacityError, GetServerCapacityResponse>
  readonly releaseCapacity: MethodDefinition<ReleaseCapacityRequest | CapacityError, ReleaseCapacityResponse>
} = {
  discovery: method('Discovery', WIRE.discovery),
  getCapacity: method('GetCapacity', WIRE.getCapacity),
  getServerCapacity: method('GetServerCapacity', WIRE.getServerCapacity),
  releaseCapacity: method('ReleaseCapacity', WIRE.releaseCapacity),
}

const STATUS: Readonly<Record<CapacityErrorCode, status>> = {
  invalid_argument: status.INVALID_ARGUMENT,
  deadline_exceeded: status.DEADLINE_EXCEEDED,
  unauthenticated: status.UNAUTHENTICATED,
  permission_denied: status.PERMISSION_DENIED,
  resource_exhausted: status.RESOURCE_EXHAUSTED,
  unimplemented: status.UNIMPLEMENTED,
  unavailable: status.UNAVAILABLE,
  internal: status.INTERNAL,
  unknown: status.UNKNOWN,
}

/** The gRPC status of an error; what is not a {@link CapacityError} is our own fault. */
export function statusOf(error: unknown): { code: status; details: string } {
  if (error instanceof CapacityError) return { code: STATUS[error.code], details: error.message }
  return { code: status.INTERNAL, details: String(error) }
}

/** What a gRPC status means; one that has no word of its own is `unknown`. */
export function codeOf(code: status): CapacityErrorCode {
  const words = Object.keys(STATUS) as CapacityErrorCode[]
  return words.find((word) => STATUS[word] === code) ?? 'unknown'
}
