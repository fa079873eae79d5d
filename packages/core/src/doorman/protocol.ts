/**
 * The messages of Doorman's `Capacity` service as plain objects: the fields of the published proto2 definition in
 * camelCase, times in whole seconds. An int64 is a `number` here, which must be a safe integer.
 *
 * Fields marked as not published are unknown to the published peers; their numbers start at 100, so both sides remain
 * compatible.
 *
 * @see the Doorman design document, and `proto/doorman/doorman.proto` of youtube/doorman
 */

/** Capacity that is granted for a time. */
export interface Lease {
  /** Seconds since the Unix epoch: from then on the capacity may belong to another client. */
  expiryTime: number
  /** Seconds after which the holder should ask again. */
  refreshInterval: number
  /** In the units of the resource. Below 0: unlimited. */
  capacity: number
  /** Field 100, not published: distinguishes leases that end in the same second. 0 when absent. */
  serial?: number
}

/** A client's request for one resource. */
export interface ResourceRequest {
  resourceId: string
  /** A higher band is served first. */
  priority: number
  /** The client's present lease; absent when it holds none. */
  has?: Lease
  /** The amount that it would use, at least 0. */
  wants: number
  /** Field 100, not published: the client's weight within its band. 1 when absent. */
  weight?: number
  /**
   * Field 101, not published: the amount in use that it cannot give up immediately, also without a lease. 0 when
   * absent.
   */
  inUse?: number
  /** Field 102, not published: the part of its wants that waits now. 0 when absent. */
  waiting?: number
}

/** A client's question about all resources that it needs, under its unique name. */
export interface GetCapacityRequest {
  clientId: string
  /** Field 100, not published: random, distinguishes two processes with the same name. */
  instance?: string
  /**
   * Field 101, not published: the number of times the client has given capacity back before this question. 0 when
   * absent.
   */
  releases?: number
  resource: ResourceRequest[]
}

/**
 * A client's grant of one resource. An answer leaves out resources that the server does not know, or was just asked
 * about.
 */
export interface ResourceResponse {
  resourceId: string
  gets: Lease
  /** The amount that the client may use after its lease has ended, while no server answers. Below 0: unlimited. */
  safeCapacity?: number
}

/** Names the master: empty if it is unknown. */
export interface Mastership {
  masterAddress?: string
}

/** From a server that is not the master, only `mastership` is set. */
export interface GetCapacityResponse {
  response: ResourceResponse[]
  mastership?: Mastership
}

/** The sum of the wants of some clients of a server. */
export interface PriorityBandAggregate {
  priority: number
  numClients: number
  wants: number
  /** Field 100, not published: the sum of their weights. `numClients` when absent. */
  weight?: number
}

/** A server's request to its parent for one resource. */
export interface ServerCapacityResourceRequest {
  resourceId: string
  has?: Lease
  wants: PriorityBandAggregate[]
  /** Field 100, not published: the amount that the server has promised to its own clients. */
  outstanding?: number
}

/** A server's question to its parent; `serverId` is the name of its node in the tree. */
export interface GetServerCapacityRequest {
  serverId: string
  resource: ServerCapacityResourceRequest[]
}

/** The rule by which a resource is divided: see {@link Algorithm}. */
export type AlgorithmKind = 'NO_ALGORITHM' | 'STATIC' | 'PROPORTIONAL_SHARE' | 'FAIR_SHARE'

/** By number, as on the wire. */
export const ALGORITHM_KINDS: readonly AlgorithmKind[] = ['NO_ALGORITHM', 'STATIC', 'PROPORTIONAL_SHARE', 'FAIR_SHARE']

/** One parameter of an {@link Algorithm}: `weighted`, `headroom` and the like. */
export interface NamedParameter {
  name: string
  value?: string
}

/**
 * The division of a resource. `FAIR_SHARE`: max-min. `PROPORTIONAL_SHARE`: an equal share, and unused parts in
 * proportion to further wants. `STATIC`: each client's wants up to the capacity, without regard to the others.
 * `NO_ALGORITHM`: its wants.
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

/** A server's grant of one resource, and how to divide it. */
export interface ServerCapacityResourceResponse {
  resourceId: string
  gets: Lease
  algorithm?: Algorithm
  safeCapacity?: number
  /** Field 100, not published: the capacity to which the server should shrink, or may grow. */
  target?: number
  /** Field 101, not published: the amount that a predecessor of the server may have granted to its clients. */
  inherited?: number
}

/** From a server that is not the master, only `mastership` is set. */
export interface GetServerCapacityResponse {
  response: ServerCapacityResourceResponse[]
  mastership?: Mastership
}

/** A client gives back its capacity of these resources. */
export interface ReleaseCapacityRequest {
  clientId: string
  /** Field 100, not published: as in {@link GetCapacityRequest}. */
  instance?: string
  /**
   * Field 101, not published: the number of earlier releases of the client. Even if this one arrives late, it does not
   * affect grants that the client asked for afterwards. Absent: it releases all present grants.
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

/** The master, and whether it is the server that was asked. */
export interface DiscoveryResponse {
  mastership: Mastership
  isMaster: boolean
}

/** An answer, now or later. */
export type Eventually<T> = T | Promise<T>

/**
 * The `Capacity` service: the interface of a server node, and of a connection to one. A call may answer synchronously.
 * It throws, or rejects with, a {@link CapacityError} if the request was bad. `signal` fires when the answer is no
 * longer needed; a node in the same process may ignore it.
 */
export interface CapacityService {
  /** Names the master. Answered by every server. */
  discovery(request: DiscoveryRequest, signal?: AbortSignal): Eventually<DiscoveryResponse>
  /** A client's question: renews its leases, and divides the capacity anew. */
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

/** The error of a call that got no answer, or that the server rejected as invalid. */
export class CapacityError extends Error {
  override readonly name: string = 'CapacityError'
  readonly code: CapacityErrorCode

  constructor(code: CapacityErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
