import {
  type EndListener,
  type FairRequest,
  fairOf,
  type NodeRequest,
  type NodeResponse,
  onResponseEnd,
  showFair,
} from '@fairlead/core/http'
import type { ExecutionContext } from '@nestjs/common'

/** The request and the response of `node:http` or `node:http2` behind a context. */
export interface Exchange {
  readonly request: NodeRequest
  readonly response: NodeResponse
}

/** The additions of Express and Fastify to these, and the places where they keep them. */
interface Wrapped {
  readonly raw?: unknown
  readonly req?: Wrapped
  readonly res?: unknown
}

/**
 * Node's request and response of a guard's or interceptor's context. Undefined if no HTTP response answers this handler
 * alone, or none is known.
 *
 * `switchToHttp()` returns something for every kind of context: in GraphQL the parent object as the request and the
 * arguments as the response, in RPC the data, on WebSockets the client. So the kind is checked first, and then the form
 * of the response.
 */
export function exchangeOf(context: ExecutionContext): Exchange | undefined {
  const type = context.getType<string>()
  if (type === 'http') return exchange(context.getArgByIndex(0), context.getArgByIndex(1))
  if (type !== 'graphql') return undefined
  const request = (context.getArgByIndex(2) as Wrapped | undefined)?.req
  return exchange(request, request?.res)
}

/** Visits that share a response: the fields of a GraphQL operation. */
const audiences = new WeakMap<NodeResponse, Set<EndListener>>()

/** {@link onResponseEnd} for many listeners to one response: they leave a single listener on it. */
export function onSharedResponseEnd({ request, response }: Exchange, listener: EndListener): void {
  const known = audiences.get(response)
  if (known !== undefined && response.closed !== true) {
    known.add(listener)
    return
  }
  const audience = new Set([listener])
  audiences.set(response, audience)
  onResponseEnd(request, response, {
    responseEnded(aborted) {
      for (const one of audience) one.responseEnded(aborted)
      audience.clear()
    },
  })
}

function exchange(request: unknown, response: unknown): Exchange | undefined {
  const ends = { request: (request as Wrapped)?.raw ?? request, response: (response as Wrapped)?.raw ?? response }
  return isNodes(ends) ? ends : undefined
}

function isNodes(ends: { request: unknown; response: unknown }): ends is Exchange {
  const { request, response } = ends as Partial<Exchange>
  return typeof request?.socket?.once === 'function' && typeof response?.writableFinished === 'boolean'
}

interface Socket {
  readonly remoteAddress?: string
}

/** The parts of the platforms' requests and clients that state an address. */
interface HttpRequest {
  /** Fastify's request keeps Node's here. */
  readonly raw?: unknown
  readonly ip?: string
  readonly ips?: readonly string[] | undefined
  readonly headers?: Readonly<Record<string, unknown>>
  readonly socket?: Socket
  /** Express's request knows its app. */
  readonly app?: { get(setting: string): unknown }
}

interface WsClient {
  /** Of a client of socket.io. */
  readonly handshake?: { readonly address?: string }
  /** Of a client of ws. */
  readonly _socket?: Socket
}

interface RpcContext {
  getSocketRef?(): { readonly netSocket?: Socket }
}

/** The client's address, as far as the platform trusts it; undefined if it knows none. */
export function addressOf(context: ExecutionContext): string | undefined {
  switch (context.getType<string>()) {
    case 'http':
      return httpAddress(context.getArgByIndex(0))
    case 'graphql':
      return httpAddress((context.getArgByIndex(2) as { req?: HttpRequest } | undefined)?.req)
    case 'ws': {
      const client: WsClient = context.getArgByIndex(0)
      return client.handshake?.address ?? client._socket?.remoteAddress
    }
    case 'rpc':
      return (context.getArgByIndex(1) as RpcContext | undefined)?.getSocketRef?.().netSocket?.remoteAddress
    default:
      return undefined
  }
}

/** The headers of an HTTP request if the platform trusts no proxies; undefined if it does. */
export function headersOf(context: ExecutionContext): Readonly<Record<string, unknown>> | undefined {
  if (context.getType() !== 'http') return undefined
  const request: HttpRequest = context.getArgByIndex(0)
  // Fastify's request has `ips` if proxies are trusted.
  const isTrusting = request.raw === undefined ? request.app?.get('trust proxy') : request.ips !== undefined
  return isTrusting ? undefined : request.headers
}

function httpAddress(request: HttpRequest | undefined): string | undefined {
  if (request === undefined || request.raw !== undefined) return request?.ip
  // Without trust in proxies Express's `ip` is the socket's address, at many times the cost.
  return request.app?.get('trust proxy') ? request.ip : request.socket?.remoteAddress
}

/**
 * For a context that is no HTTP request, the position of an object of its own: the details of a field, a message's
 * context.
 */
const CARRIER_OF: Readonly<Record<string, number>> = { graphql: 3, rpc: 1, ws: 1 }

const visits = new WeakMap<object, FairRequest>()

/** The platform's request; Fastify's has Node's as `raw`. */
interface PlatformRequest {
  fair?: FairRequest
  readonly raw?: object
}

/** Lets `@FairPermit()` find the visit; HTTP requests also have it as `fair`. */
export function showVisit(context: ExecutionContext, visit: FairRequest): void {
  const type = context.getType<string>()
  if (type === 'http') {
    const request = context.getArgByIndex<PlatformRequest>(0)
    request.fair = visit
    showFair(request.raw ?? request, visit)
    return
  }
  const carrier: unknown = context.getArgByIndex(CARRIER_OF[type] ?? 0)
  if (typeof carrier === 'object' && carrier !== null) visits.set(carrier, visit)
}

/** The innermost visit of the request; undefined if no gate judged it, or no object could carry it. */
export function visitOf(context: ExecutionContext): FairRequest | undefined {
  const type = context.getType<string>()
  return type === 'http' ? outerVisit(context) : visits.get(context.getArgByIndex(CARRIER_OF[type] ?? 0))
}

/** The visit to a gate that an HTTP request has already passed, ours or another adapter's. */
export function outerVisit(context: ExecutionContext): FairRequest | undefined {
  const request = context.getArgByIndex<PlatformRequest>(0)
  return fairOf(request.raw ?? request)
}
