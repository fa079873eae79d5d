import { readFile } from 'node:fs/promises'
import type { Transport } from '@fairlead/core/doorman'
import type { ClientTls } from '../tls.js'
import { transportTo } from '../transport-to.js'
import { type Flags, UsageError } from './flags.js'

type ConnectionFlag = 'server' | 'ca-file' | 'cert-file' | 'key-file' | 'token-file'

/** Flags for the addresses of a client's servers, and its own identity. */
export const CONNECTION_FLAGS: Flags<ConnectionFlag> = {
  server: { value: 'HOST:PORT', help: 'servers, with commas between; http(s):// URLs for HTTP/JSON (required)' },
  'ca-file': { value: 'FILE', help: 'certificate of the authority that signed the servers’: TLS' },
  'cert-file': { value: 'FILE', help: 'certificate of this client, with --key-file' },
  'key-file': { value: 'FILE', help: 'its private key' },
  'token-file': { value: 'FILE', help: 'token that is sent with each call' },
}

/** The transport to the given servers. */
export async function connectionFrom(given: { readonly [Flag in ConnectionFlag]?: string }): Promise<Transport> {
  const { server } = given
  if (server === undefined) throw new UsageError('--server must be given')
  const [tls, token] = await Promise.all([clientTlsFrom('', given), tokenFrom(given['token-file'])])
  return transportTo(server, { tls, token })
}

/**
 * TLS options from `--ca-file`, `--cert-file` and `--key-file`, or the same with `prefix`; without any of them: plain
 * text.
 */
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

/** Rounded to three decimal places, for people. */
export function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000
}
