import { readFile } from 'node:fs/promises'
import { overHttp, type Transport } from '@fairlead/core'
import { credentials } from '@grpc/grpc-js'
import { overGrpc } from '../grpc/transport.js'
import { type Flags, UsageError } from './flags.js'

/** How a client is told where its servers are. */
export const CONNECTION_FLAGS: Flags<'server' | 'ca-file'> = {
  server: { value: 'HOST:PORT', help: 'servers, with commas between; an http:// URL for HTTP/JSON (required)' },
  'ca-file': { value: 'FILE', help: 'certificate of the authority that signed the servers’: TLS' },
}

/** The transport to those servers. */
export async function transportTo(server: string | undefined, caFile: string | undefined): Promise<Transport> {
  if (server === undefined) throw new UsageError('--server must be given')
  const servers = server.split(',')
  if (server.includes('://')) return overHttp({ url: servers })
  if (caFile === undefined) return overGrpc({ address: servers })
  return overGrpc({ address: servers, credentials: credentials.createSsl(await readFile(caFile)) })
}
