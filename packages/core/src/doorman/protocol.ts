/**
 * The messages of Doorman's `Capacity` service as plain objects: the fields of the published proto2 definition in
 * camelCase, times in whole seconds. An int64 is a `number` here, which must be a safe integer.
 *
 * Fields that the published peers do not know say so; they have numbers from 100 on, so both sides understand each
 * other.
 *
 * @see the Doorman design document, and `proto/doorman/doorman.proto` of youtube/doorman
 */

/** Capacity granted for a time. */
export interface Lease {
  /** Seconds since the Unix epoch: from then on the capacity may belong to somebody else. */
  expiryTime: number
  /** Seconds after which the holder should ask again. */
  refreshInterval: number
  /** In the units of the resource. Below 0: unlimited. */
  capacity: number
  /** Field 100, not published: tells leases apart that end in the same second. 0 when absent. */
  serial?: number
}

/** What a client says about one resource. */
export interface ResourceRequest {
  resourceId: string
  /** A higher band is served first. */
  priority: number
  /** What the client keeps to at this moment; absent when it holds no lease. */
  has?: Lease
  /** What it would use, at least 0. */
  wants: number
  /** Field 100, not published: the client's weight within its band. 1 when absent. */
  weight?: number
  /** Field 101, not published: what it uses and cannot let go at once, also without a lease. 0 when absent. */
  inUse?: number
  /** Field 102, not published: what of its wants waits at this moment. 0 when absent. */
  waiting?: number
}

/** A client's question about all that it needs, under the name that tells it from all others. */
export interface GetCapacityRequest {
  clientId: string
  /** Field 100, not published: random, tells two processes apart that go by the same name. */
  instance?: string
  /** Field 101, not published: how many times the client has given something back before it asked this. 0 when absent. */
  releases?: number
  resource: ResourceRequest[]
}

/** What a client gets of one resource. One that the server does not know, or was just asked about, is left out. */
export interface ResourceResponse {
  resourceId: string
  gets: Lease
  /** What the client may use when its lease has run out and nobody answers. Below 0: unlimited. */
  safeCapacity?: number
}

/** Says who the master is: empty when nobody knows. */
export interface Mastership {
  masterAddress?: string
}

/** From a server that is not the master, only `mastership` is set. */
export interface GetCapacityResponse {
  response: ResourceResponse[]
  mastership?: Mastership
}

/** What some clients of a server want together. */
export interface PriorityBandAggregate {
  priority: number
  numClients: number
  wants: number
  /** Field 100, not published: the sum of their weights. `numClients` when absent. */
  weight?: number
}

/** What a server says to its parent about one resource. */
export interface ServerCapacityResourceRequest {
  resourceId: string
  has?: Lease
  wants: PriorityBandAggregate[]
  /** Field 100, not published: what the server has promised to its own clients. */
  outstanding?: number
}

/** A server's question to its parent; `serverId` is the name of its node in the tree. */
export interface GetServerCapacityRequest {
  serverId: string
  resource: ServerCapacityResourceRequest[]
}

/** How a resource is divided: see {@link Algorithm}. */
export type AlgorithmKind = 'NO_ALGORITHM' | 'STATIC' | 'PROPORTIONAL_SHARE' | 'FAIR_SHARE'

/** By number, as on the wire. */
export const ALGORITHM_KINDS: readonly AlgorithmKind[] = ['NO_ALGORITHM', 'STATIC', 'PROPORTIONAL_SHARE', 'FAIR_SHARE']

/** One parameter of an {@link Algorithm}: `weighted`, `headroom` and the like. */
export interface NamedParameter {
  name: string
  value?: string
}

/**
 * How a resource is divided. `FAIR_SHARE` is max-min; `PROPORTIONAL_SHARE` an equal share, and what is left by how much
 * more is wanted; `STATIC` what each wants up to the capacity, whatever the others have; `NO_ALGORITHM` what it wants.
 */
export interface Algorithm {
  kind: AlgorithmKind
  /** Seconds. */
  leaseLength: number
  /** Seconds. */
  refreshInterval: number
  parameters: NamedParameter[]
  /** Seconds; the lease length when absent. */
  learningModeDuration?: number
}

/** What a server gets of one resource, and how it is to divide it. */
export interface ServerCapacityResourceResponse {
  resourceId: string
  gets: Lease
  algorithm?: Algorithm
  safeCapacity?: number
  /** Field 100, not published: what the server should come down to, or may grow to. */
  target?: number
  /** Field 101, not published: what a predecessor of the server may have left with its clients. */
  inherited?: number
}

/** From a server that is not the master, only `mastership` is set. */
export interface GetServerCapacityResponse {
  response: ServerCapacityResourceResponse[]
  mastership?: Mastership
}

/** A client gives back what it has of these resources. */
export interface ReleaseCapacityRequest {
  clientId: string
  /** Field 100, not published: as in {@link GetCapacityRequest}. */
  instance?: string
  /**
   * Field 101, not published: how many times the client has given something back before. What it has asked for after
   * this one is not meant by it, however late it comes. Absent: it means whatever there is.
   */
  releases?: number
  resourceId: string[]
}

/** From a server that is not the master, `mastership` is set, and nothing was given back. */
export interface ReleaseCapacityResponse {
  mastership?: Mastership
}

/** Has no fields. */
export type DiscoveryRequest = Record<string, never>

/** Who the master is, and whether it is the server that was asked. */
export interface DiscoveryResponse {
  mastership: Mastership
  isMaster: boolean
}

/** An answer, now or later. */
export type Eventually<T> = T | Promise<T>

/**
 * The `Capacity` service: what a server node offers, and what a connection to one looks like from outside. A call may
 * answer at once. It throws, or rejects, with a {@link CapacityError} when the request was bad. `signal` fires when
 * nobody waits for the answer any more; a node in the same process need not look at it.
 */
export interface CapacityService {
  /** Who is the master? Answered by every server. */
  discovery(request: DiscoveryRequest, signal?: AbortSignal): Eventually<DiscoveryResponse>
  /** A client's question: renews its leases, and divides what is there anew. */
  getCapacity(request: GetCapacityRequest, signal?: AbortSignal): Eventually<GetCapacityResponse>
  /** The same for a server further down the tree, on behalf of all its clients. */
  getServerCapacity(request: GetServerCapacityRequest, signal?: AbortSignal): Eventually<GetServerCapacityResponse>
  /** Gives leases back before they end. Unknown clients and resources are no error. */
  releaseCapacity(request: ReleaseCapacityRequest, signal?: AbortSignal): Eventually<ReleaseCapacityResponse>
}

/** Why a call failed: the gRPC status, in the words that JSON over HTTP uses for it. */
export type CapacityErrorCode =
  | 'invalid_argument'
  | 'deadline_exceeded'
  | 'unauthenticated'
  | 'permission_denied'
  | 'resource_exhausted'
  | 'unimplemented'
  | 'unavailable'
  | 'internal'
  | 'unknown'

/** A call that got no answer, or that the server refused as wrong. */
export class CapacityError extends Error {
  override readonly name: string = 'CapacityError'
  readonly code: CapacityErrorCode

  constructor(code: CapacityErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
