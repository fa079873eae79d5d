import type { ExecutionContext } from '@nestjs/common'

interface Socket {
  readonly remoteAddress?: string
}

/** What the platforms' requests and clients have of an address. */
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

/** The address of whoever asks, as far as the platform trusts what it was told; undefined where it knows none. */
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

/** The headers of an HTTP request whose platform was not told to trust those of proxies; undefined if it was. */
export function headersOf(context: ExecutionContext): Readonly<Record<string, unknown>> | undefined {
  if (context.getType() !== 'http') return undefined
  const request: HttpRequest = context.getArgByIndex(0)
  // Fastify's has `ips` where proxies are trusted.
  const isTrusting = request.raw === undefined ? request.app?.get('trust proxy') : request.ips !== undefined
  return isTrusting ? undefined : request.headers
}

function httpAddress(request: HttpRequest | undefined): string | undefined {
  if (request === undefined || request.raw !== undefined) return request?.ip
  // Without trust in proxies Express's `ip` is the socket's address, at many times the cost.
  return request.app?.get('trust proxy') ? request.ip : request.socket?.remoteAddress
}
