import { type EndListener, type NodeRequest, type NodeResponse, onResponseEnd } from '@fairlead/core/http'
import type { ExecutionContext } from '@nestjs/common'

/** The request and the response of `node:http` or `node:http2` behind a context. */
export interface Exchange {
  readonly request: NodeRequest
  readonly response: NodeResponse
}

/** What Express and Fastify add to those, and where they keep them. */
interface Wrapped {
  readonly raw?: unknown
  readonly req?: Wrapped
  readonly res?: unknown
}

/**
 * What Nest hands to guards and interceptors, as Node knows it. Undefined where no HTTP response answers this handler
 * alone, and where none is known.
 *
 * `switchToHttp()` gives something for every kind of context: in GraphQL the parent object as the request and the
 * arguments as the response, in RPC the data, on WebSockets the client. So the kind is asked first, and what looks
 * like no response is none.
 */
export function exchangeOf(context: ExecutionContext): Exchange | undefined {
  const type = context.getType<string>()
  if (type === 'http') return exchange(context.getArgByIndex(0), context.getArgByIndex(1))
  if (type !== 'graphql') return undefined
  const request = (context.getArgByIndex(2) as Wrapped | undefined)?.req
  return exchange(request, request?.res)
}

/** Those who share a response: the fields of a GraphQL operation, each with a visit of its own. */
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
