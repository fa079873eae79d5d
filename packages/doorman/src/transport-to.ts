import { overHttp, type Transport } from '@fairlead/core/doorman'
import { overGrpc } from './grpc/transport.js'
import { tlsFetch } from './http/tls-fetch.js'
import { type ClientTls, grpcClientCredentials } from './tls.js'

/** A caller's credentials, and the authority that it trusts. */
export interface CallerSecrets {
  readonly tls: ClientTls | undefined
  /** Sent with each call, as `authorization: Bearer …`. */
  readonly token: string | undefined
}

/** A transport whose connections end with `close`. */
export interface ClosableTransport extends Transport {
  close(): void
}

/**
 * A transport to servers given as text, separated by commas: `host:port` for gRPC, URLs for HTTP/JSON. Throws a
 * `TypeError` for anything else, and for certificates on a connection without TLS.
 */
export function transportTo(where: string, { tls, token }: CallerSecrets): ClosableTransport {
  const servers = where.split(',').map((server) => server.trim())
  if (!where.includes('://')) {
    const credentials = grpcClientCredentials(tls)
    return overGrpc({ address: servers, credentials, ...(token === undefined ? {} : { token }) })
  }
  if (tls !== undefined && !servers.every((server) => server.startsWith('https://')))
    throw new TypeError(`servers must have https:// URLs where certificates are given, got ${JSON.stringify(where)}`)
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const transport = overHttp({ url: servers, headers, ...(tls === undefined ? {} : { fetch: tlsFetch(tls) }) })
  return { ...transport, close: () => {} }
}
