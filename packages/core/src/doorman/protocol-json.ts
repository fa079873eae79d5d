/**
 * The messages as proto3 JSON, for HTTP: lowerCamelCase names (the original ones are understood too), int64 as strings,
 * non-finite doubles as `"NaN"` and `"Infinity"`, enums by name. Unknown fields are ignored, `null` counts as absent,
 * and an invalid field is refused by its name: `resource[0].wants must be a number, got "many"`.
 *
 * @see https://protobuf.dev/programming-guides/json/
 */
import { show } from '../options.js'
import {
  ALGORITHM_KINDS,
  type Algorithm,
  type AlgorithmKind,
  CapacityError,
  type CapacityErrorCode,
  type CapacityService,
  type DiscoveryRequest,
  type DiscoveryResponse,
  type GetCapacityRequest,
  type GetCapacityResponse,
  type GetServerCapacityRequest,
  type GetServerCapacityResponse,
  type Lease,
  type Mastership,
  type NamedParameter,
  type PriorityBandAggregate,
  type ReleaseCapacityRequest,
  type ReleaseCapacityResponse,
  type ResourceRequest,
  type ResourceResponse,
  type ServerCapacityResourceRequest,
  type ServerCapacityResourceResponse,
} from './protocol.js'

/** Converts one kind of value to and from the result of `JSON.parse`. */
interface Codec<T> {
  /** Throws a {@link CapacityError} `invalid_argument` that names `path`. */
  read(value: unknown, path: string): T
  write(value: T): unknown
  /** Default of a field that the message leaves out; a field without a default is required. */
  readonly absent?: () => T | undefined
}

type Codecs<T> = { readonly [Name in keyof T]-?: Codec<Exclude<T[Name], undefined>> }

function refuse(path: string, expected: string, value: unknown): never {
  throw new CapacityError('invalid_argument', `${path} must be ${expected}, got ${show(value)}`)
}

function numberFrom(value: unknown): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^[-+]?\d[\d.]*(e[-+]?\d+)?$/i.test(value) ? Number(value) : Number.NaN
}

const text: Codec<string> = {
  read: (value, path) => (typeof value === 'string' ? value : refuse(path, 'a string', value)),
  write: (value) => value,
}

const flag: Codec<boolean> = {
  read: (value, path) => (typeof value === 'boolean' ? value : refuse(path, 'true or false', value)),
  write: (value) => value,
}

/** A number here, so only integers that a double represents exactly. */
const int64: Codec<number> = {
  read(value, path) {
    const number = numberFrom(value)
    return Number.isSafeInteger(number) ? number : refuse(path, 'a whole number', value)
  },
  write: (value) => String(value),
}

const double: Codec<number> = {
  read(value, path) {
    if (value === 'NaN') return Number.NaN
    if (value === 'Infinity' || value === '-Infinity') return Number(value)
    const number = numberFrom(value)
    return Number.isFinite(number) ? number : refuse(path, 'a number', value)
  },
  write: (value) => (Number.isFinite(value) ? value : String(value)),
}

const kind: Codec<AlgorithmKind> = {
  read(value, path) {
    const name = typeof value === 'number' ? ALGORITHM_KINDS[value] : ALGORITHM_KINDS.find((known) => known === value)
    return name ?? refuse(path, `one of ${ALGORITHM_KINDS.join(', ')}`, value)
  },
  write: (value) => value,
}

function optional<T>(codec: Codec<T>): Codec<T> {
  return { ...codec, absent: () => undefined }
}

function repeated<T>(codec: Codec<T>): Codec<T[]> {
  return {
    read(value, path) {
      if (!Array.isArray(value)) return refuse(path, 'an array', value)
      return value.map((item: unknown, index) => codec.read(item, `${path}[${index}]`))
    },
    write: (items) => items.map((item) => codec.write(item)),
    absent: () => [],
  }
}

function message<T extends object>(fields: Codecs<T>): Codec<T> {
  const known = Object.entries<Codec<unknown>>(fields).map(([name, codec]) => {
    const original = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    return { name, original, codec }
  })
  return {
    read(value, path) {
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        return refuse(path || 'the message', 'an object', value)
      const given = new Map<string, unknown>(Object.entries(value))
      const read: Record<string, unknown> = {}
      for (const { name, original, codec } of known) {
        const field = path ? `${path}.${name}` : name
        const item = given.get(name) ?? given.get(original) ?? undefined
        const found = item === undefined && codec.absent !== undefined ? codec.absent() : codec.read(item, field)
        if (found !== undefined) read[name] = found
      }
      const complete: unknown = read
      return complete as T
    },
    write(value) {
      const given = new Map<string, unknown>(Object.entries(value))
      const written: Record<string, unknown> = {}
      for (const { name, codec } of known) {
        const item = given.get(name)
        if (item !== undefined) written[name] = codec.write(item)
      }
      return written
    },
  }
}

const lease: Codec<Lease> = message({
  expiryTime: int64,
  refreshInterval: int64,
  capacity: double,
  serial: optional(int64),
})
const mastership: Codec<Mastership> = message({ masterAddress: optional(text) })

const resourceRequest: Codec<ResourceRequest> = message({
  resourceId: text,
  priority: int64,
  has: optional(lease),
  wants: double,
  weight: optional(double),
  inUse: optional(double),
  waiting: optional(double),
})
const getCapacityRequest: Codec<GetCapacityRequest> = message({
  clientId: text,
  instance: optional(text),
  releases: optional(int64),
  resource: repeated(resourceRequest),
})

const resourceResponse: Codec<ResourceResponse> = message({
  resourceId: text,
  gets: lease,
  safeCapacity: optional(double),
})
const getCapacityResponse: Codec<GetCapacityResponse> = message({
  response: repeated(resourceResponse),
  mastership: optional(mastership),
})

const band: Codec<PriorityBandAggregate> = message({
  priority: int64,
  numClients: int64,
  wants: double,
  weight: optional(double),
})
const serverResourceRequest: Codec<ServerCapacityResourceRequest> = message({
  resourceId: text,
  has: optional(lease),
  wants: repeated(band),
  outstanding: optional(double),
})
const getServerCapacityRequest: Codec<GetServerCapacityRequest> = message({
  serverId: text,
  resource: repeated(serverResourceRequest),
})

const parameter: Codec<NamedParameter> = message({ name: text, value: optional(text) })
const algorithm: Codec<Algorithm> = message({
  kind,
  leaseLength: int64,
  refreshInterval: int64,
  parameters: repeated(parameter),
  learningModeDuration: optional(int64),
})
const serverResourceResponse: Codec<ServerCapacityResourceResponse> = message({
  resourceId: text,
  gets: lease,
  algorithm: optional(algorithm),
  safeCapacity: optional(double),
  target: optional(double),
  inherited: optional(double),
})
const getServerCapacityResponse: Codec<GetServerCapacityResponse> = message({
  response: repeated(serverResourceResponse),
  mastership: optional(mastership),
})

const releaseCapacityRequest: Codec<ReleaseCapacityRequest> = message({
  clientId: text,
  instance: optional(text),
  releases: optional(int64),
  resourceId: repeated(text),
})
const releaseCapacityResponse: Codec<ReleaseCapacityResponse> = message({ mastership: optional(mastership) })

const discoveryRequest: Codec<DiscoveryRequest> = message({})
const discoveryResponse: Codec<DiscoveryResponse> = message({ mastership, isMaster: flag })

/** Converts a message to and from the result of `JSON.parse`. */
export interface MessageJson<T> {
  /** Throws a {@link CapacityError} `invalid_argument` that names the field. */
  read(json: unknown): T
  write(message: T): unknown
}

/** One call of the service over HTTP: `POST` to `path`, JSON both ways. */
export interface MethodJson<Request, Response> {
  readonly path: string
  readonly request: MessageJson<Request>
  readonly response: MessageJson<Response>
}

function method<Request, Response>(
  name: string,
  request: Codec<Request>,
  response: Codec<Response>,
): MethodJson<Request, Response> {
  return { path: `/doorman.Capacity/${name}`, request: json(request), response: json(response) }
}

function json<T>(codec: Codec<T>): MessageJson<T> {
  return { read: (value) => codec.read(value, ''), write: (value) => codec.write(value) }
}

/** The service over HTTP, by its methods' names here. */
export const CAPACITY_JSON: {
  readonly discovery: MethodJson<DiscoveryRequest, DiscoveryResponse>
  readonly getCapacity: MethodJson<GetCapacityRequest, GetCapacityResponse>
  readonly getServerCapacity: MethodJson<GetServerCapacityRequest, GetServerCapacityResponse>
  readonly releaseCapacity: MethodJson<ReleaseCapacityRequest, ReleaseCapacityResponse>
} = {
  discovery: method('Discovery', discoveryRequest, discoveryResponse),
  getCapacity: method('GetCapacity', getCapacityRequest, getCapacityResponse),
  getServerCapacity: method('GetServerCapacity', getServerCapacityRequest, getServerCapacityResponse),
  releaseCapacity: method('ReleaseCapacity', releaseCapacityRequest, releaseCapacityResponse),
} satisfies Record<keyof CapacityService, unknown>

/** The HTTP status of each error; its body is `{ code, message }`. The Connect protocol does the same. */
export const CAPACITY_ERROR_STATUS: Readonly<Record<CapacityErrorCode, number>> = {
  invalid_argument: 400,
  deadline_exceeded: 504,
  unauthenticated: 401,
  permission_denied: 403,
  resource_exhausted: 429,
  unimplemented: 501,
  unavailable: 503,
  internal: 500,
  unknown: 500,
}
