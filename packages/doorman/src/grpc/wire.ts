/**
 * The messages as bytes, by the definition in `proto/doorman.proto`. The package ships that file, and the library
 * compiles it when this module is loaded: there is no generated code.
 *
 * Decoding throws if a required field is missing, and ignores unknown fields.
 */
import { fileURLToPath } from 'node:url'
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
import type { NamedReport } from '@fairlead/core/internal'
import { type MethodDefinition, status } from '@grpc/grpc-js'
import protobuf from 'protobufjs'
import type { ReportAnswer } from '../fleet/clock-service.js'

/** A message, to and from its bytes. */
export interface Wire<T> {
  /** Throws if the bytes are no such message. */
  decode(bytes: Uint8Array): T
  encode(message: T): Buffer
}

const root = protobuf.loadSync(fileURLToPath(new URL('../../proto/doorman.proto', import.meta.url)))

// Generates the codecs now, not while the first caller waits.
for (const each of (root.lookup('doorman') as protobuf.Namespace).nestedArray)
  if (each instanceof protobuf.Type) each.setup()

/** int64 as numbers. A field's reader rejects values that a number cannot represent exactly. */
const PLAIN = { longs: Number, enums: String, arrays: true }

/** Most fields in a message, not counting those of its entries: decoding more would block other calls for too long. */
const MOST_FIELDS = 4_000

function wire<T extends object>(name: string): Wire<T> {
  const type = root.lookupType(`doorman.${name}`)
  return {
    decode(bytes) {
      requireFewFields(bytes)
      const plain: unknown = type.toObject(type.decode(bytes), PLAIN)
      return plain as T
    },
    encode(message) {
      const bytes = type.encode(type.fromObject(message)).finish()
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    },
  }
}

/** The messages of each method. */
export const WIRE: {
  readonly report: { request: Wire<NamedReport>; response: Wire<ReportAnswer> }
  readonly discovery: { request: Wire<DiscoveryRequest>; response: Wire<DiscoveryResponse> }
  readonly getCapacity: { request: Wire<GetCapacityRequest>; response: Wire<GetCapacityResponse> }
  readonly getServerCapacity: { request: Wire<GetServerCapacityRequest>; response: Wire<GetServerCapacityResponse> }
  readonly releaseCapacity: { request: Wire<ReleaseCapacityRequest>; response: Wire<ReleaseCapacityResponse> }
} = {
  report: { request: wire('ReportRequest'), response: wire('ReportResponse') },
  discovery: { request: wire('DiscoveryRequest'), response: wire('DiscoveryResponse') },
  getCapacity: { request: wire('GetCapacityRequest'), response: wire('GetCapacityResponse') },
  getServerCapacity: { request: wire('GetServerCapacityRequest'), response: wire('GetServerCapacityResponse') },
  releaseCapacity: { request: wire('ReleaseCapacityRequest'), response: wire('ReleaseCapacityResponse') },
}

/** Counts the fields before decoding: a few bytes of a malicious message become an object each. */
function requireFewFields(bytes: Uint8Array): void {
  const reader = protobuf.Reader.create(bytes)
  for (let fields = 0; reader.pos < reader.len; fields++) {
    if (fields === MOST_FIELDS) throw new RangeError(`more than ${MOST_FIELDS} fields`)
    reader.skipType(reader.uint32() & 7)
  }
}

function method<Request, Response>(
  name: string,
  { request, response }: { request: Wire<Request>; response: Wire<Response> },
  service = 'Capacity',
): MethodDefinition<Request | CapacityError, Response> {
  return {
    path: `/doorman.${service}/${name}`,
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

/** The services `Capacity` and `Clock`, described for gRPC. */
export const METHODS: {
  readonly report: MethodDefinition<NamedReport | CapacityError, ReportAnswer>
  readonly discovery: MethodDefinition<DiscoveryRequest | CapacityError, DiscoveryResponse>
  readonly getCapacity: MethodDefinition<GetCapacityRequest | CapacityError, GetCapacityResponse>
  readonly getServerCapacity: MethodDefinition<GetServerCapacityRequest | CapacityError, GetServerCapacityResponse>
  readonly releaseCapacity: MethodDefinition<ReleaseCapacityRequest | CapacityError, ReleaseCapacityResponse>
} = {
  report: method('Report', WIRE.report, 'Clock'),
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

/** The gRPC status of an error; an error that is no {@link CapacityError} is the server's own fault. */
export function statusOf(error: unknown): { code: status; details: string } {
  if (error instanceof CapacityError) return { code: STATUS[error.code], details: error.message }
  return { code: status.INTERNAL, details: String(error) }
}

/** The error code of a gRPC status; `unknown` if there is none. */
export function codeOf(code: status): CapacityErrorCode {
  const words = Object.keys(STATUS) as CapacityErrorCode[]
  return words.find((word) => STATUS[word] === code) ?? 'unknown'
}
