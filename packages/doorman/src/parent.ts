import { overHttp, type Transport } from '@fairlead/core'
import { overGrpc } from './grpc/transport.js'

/** Servers of a parent, and how the connections to them end. */
export interface Parent {
  readonly transport: Transport
  close(): void
}

/** `host:port` with commas between, an `http://` URL, or any transport. Throws for what is none of these. */
export function parentOf(parent: string | Transport): Parent {
  if (typeof parent !== 'string') return { transport: parent, close: () => {} }
  const servers = parent.split(',').map((server) => server.trim())
  if (parent.includes('://')) return { transport: overHttp({ url: servers }), close: () => {} }
  const transport = overGrpc({ address: servers })
  return { transport, close: () => transport.close() }
}
