import { readFile } from 'node:fs/promises'
import { overHttp, type Transport } from '@fairlead/core/doorman'
import { overGrpc } from '../grpc/transport.js'
import { type ClientTls, grpcClientCredentials } from '../tls.js'
import { type Flags, UsageError } from './flags.js'

type ConnectionFlag = 'server' | 'ca-file' | 'cert-file' | 'key-file' | 'token-file'

/** How a client is told where its servers are, and who it is there. */
export const CONNECTION_FLAGS: Flags<ConnectionFlag> = {
  server: { value: 'HOST:PORT', help: 'servers, with commas between; an http:// URL for HTTP/JSON (required)' },
  'ca-file': { value: 'FILE', help: 'certificate of the authority that signed the servers’: TLS' },
  'cert-file': { value: 'FILE', help: 'certificate of this client, with --key-file' },
  'key-file': { value: 'FILE', help: 'its private key' },
  'token-file': { value: 'FILE', help: 'token that is sent with each call' },
}

/** The transport to those servers. */
export async function transportTo(given: { readonly [Flag in ConnectionFlag]?: string }): Promise<Transport> {
  const { server } = given
  if (server === undefined) throw new UsageError('--server must be given')
  const servers = server.split(',')
  const tls = await clientTlsFrom('', given)
  const token = await tokenFrom(given['token-file'])
  if (server.includes('://')) {
    // `fetch` takes no authority; Node reads one from NODE_EXTRA_CA_CERTS.
    if (tls !== undefined) throw new UsageError('certificates are for gRPC: for https:// set NODE_EXTRA_CA_CERTS')
    return overHttp({ url: servers, headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
  }
  const credentials = grpcClientCredentials(tls)
  return overGrpc({ address: servers, credentials, ...(token === undefined ? {} : { token }) })
}

/** From `--ca-file`, `--cert-file` and `--key-file`, or the same with `prefix`; none of them: plain text. */
export async function clientTlsFrom(
  prefix: string,
  given: Readonly<Record<string, string | undefined>>,
): Promise<ClientTls | undefined> {
  const [ca, cert, key] = await Promise.all(
    ['ca-file', 'cert-file', 'key-file'].map(async (name) => {
      const path = given[prefix + name]
      return path === undefined ? undefined : readFile(path)
    }),
  )
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError(`--${prefix}cert-file and --${prefix}key-file must be given together`)
  if (ca === undefined && cert === undefined) return undefined
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

/** The first line of a file. */
export async function tokenFrom(path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : (await readFile(path, 'utf8')).trim()
}

/** As people read it: to three places. */
export function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
