/**
 * The messages as bytes, by the definition in `proto/doorman.proto`, which the package ships and nothing is generated
 * from: the library compiles it when this file is loaded.
 *
 * Decoding throws when a required field is missing, and passes over fields that it does not know.
 */
import { fileURLToPath } from 'node:url'
import type {
  DiscoveryRequest,
  DiscoveryResponse,
  GetCapacityRequest,
  GetCapacityResponse,
  GetServerCapacityRequest,
  GetServerCapacityResponse,
  ReleaseCapacityRequest,
  ReleaseCapacityResponse,
} from '@fairlead/core/doorman'
import protobuf from 'protobufjs'

/** A message, to and from its bytes. */
export interface Wire<T> {
  /** Throws when the bytes are not such a message. */
  decode(bytes: Uint8Array): T
  encode(message: T): Buffer
}

const root = protobuf.loadSync(fileURLToPath(new URL('../../proto/doorman.proto', import.meta.url)))

/** int64 as numbers: what a number cannot hold exactly is refused where it is looked at. */
const PLAIN = { longs: Number, enums: String, arrays: true }

/** Fields of a message, those of each entry not counted; more take longer to read than others should wait. */
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
  readonly discovery: { request: Wire<DiscoveryRequest>; response: Wire<DiscoveryResponse> }
  readonly getCapacity: { request: Wire<GetCapacityRequest>; response: Wire<GetCapacityResponse> }
  readonly getServerCapacity: { request: Wire<GetServerCapacityRequest>; response: Wire<GetServerCapacityResponse> }
  readonly releaseCapacity: { request: Wire<ReleaseCapacityRequest>; response: Wire<ReleaseCapacityResponse> }
} = {
  discovery: { request: wire('DiscoveryRequest'), response: wire('DiscoveryResponse') },
  getCapacity: { request: wire('GetCapacityRequest'), response: wire('GetCapacityResponse') },
  getServerCapacity: { request: wire('GetServerCapacityRequest'), response: wire('GetServerCapacityResponse') },
  releaseCapacity: { request: wire('ReleaseCapacityRequest'), response: wire('ReleaseCapacityResponse') },
}

/** Counts before anything is made of them: some bytes of a bad message are an object each. */
function requireFewFields(bytes: Uint8Array): void {
  const reader = protobuf.Reader.create(bytes)
  for (let fields = 0; reader.pos < reader.len; fields++) {
    if (fields === MOST_FIELDS) throw new RangeError(`more than ${MOST_FIELDS} fields`)
    reader.skipType(reader.uint32() & 7)
  }
}
