import { overHttp, type Transport } from '@fairlead/core/doorman'
import { overGrpc } from './grpc/transport.js'
import type { DoormanOptions } from './options.js'
import { grpcClientCredentials } from './tls.js'

/** Servers of a parent, and how the connections to them end. */
export interface Parent {
  readonly transport: Transport
  close(): void
}

/**
 * `host:port` with commas between, an `http://` URL, or any transport; none without a parent. Throws for what is none of
 * these. Over HTTP, TLS is as Node has it: its authorities, no certificate of our own.
 */
export function parentOf({ parent, parentTls, parentToken }: DoormanOptions): Parent | undefined {
  if (parent === undefined) return undefined
  if (typeof parent !== 'string') return { transport: parent, close: () => {} }
  const servers = parent.split(',').map((server) => server.trim())
  if (parent.includes('://')) {
    if (parentTls !== undefined) throw new TypeError('parentTls must be left away with a parent over HTTP')
    const headers = parentToken === undefined ? {} : { authorization: `Bearer ${parentToken}` }
    return { transport: overHttp({ url: servers, headers }), close: () => {} }
  }
  const token = parentToken === undefined ? {} : { token: parentToken }
  const transport = overGrpc({ address: servers, credentials: grpcClientCredentials(parentTls), ...token })
  return { transport, close: () => transport.close() }
}
