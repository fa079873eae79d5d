import { readFile } from 'node:fs/promises'
import { pino } from 'pino'
import { accessFrom } from '../access.js'
import { repositoryFrom } from '../config/repository.js'
import type { EtcdSecrets } from '../etcd/watched-key.js'
import type { DoormanOptions } from '../options.js'
import { DoormanServer } from '../server/index.js'
import { startDoorman } from '../start-doorman.js'
import type { ServerTls } from '../tls.js'
import { clientTlsFrom, tokenFrom } from './connection.js'
import { durationMs, type Flags, flagsFrom, type Given, UsageError, unknownVariables } from './flags.js'

type ServeFlag =
  | 'config'
  | 'port'
  | 'http-port'
  | 'debug-port'
  | 'host'
  | 'hostname'
  | 'parent'
  | 'parent-ca-file'
  | 'parent-cert-file'
  | 'parent-key-file'
  | 'parent-token-file'
  | 'server-role'
  | 'etcd-endpoints'
  | 'etcd-ca-file'
  | 'etcd-cert-file'
  | 'etcd-key-file'
  | 'etcd-user'
  | 'etcd-password-file'
  | 'master-election-lock'
  | 'fresh'
  | 'master-delay'
  | 'minimum-refresh-interval'
  | 'tls'
  | 'cert-file'
  | 'key-file'
  | 'client-ca-file'
  | 'access'
  | 'limits'
  | 'max-request-bytes'
  | 'cors-origins'
  | 'log-level'

/** Each flag is also a variable: `--debug-port` is `DOORMAN_DEBUG_PORT`. */
export const SERVE_FLAGS: Flags<ServeFlag> = {
  config: { value: 'WHERE', help: 'file:PATH, PATH or etcd:KEY (required)' },
  port: { value: 'PORT', help: 'of gRPC [0: any]' },
  'http-port': { value: 'PORT', help: 'of HTTP/JSON [not served]' },
  'debug-port': { value: 'PORT', help: 'of the status page, /metrics and /healthz [8081]' },
  host: { value: 'ADDRESS', help: 'to listen on; 0.0.0.0 for all [127.0.0.1: this machine alone]' },
  hostname: { value: 'NAME', help: 'under which others find this machine [its name, or that ADDRESS]' },
  parent: { value: 'HOST:PORT', help: 'servers of the parent, with commas between, or http(s):// URLs [none]' },
  'parent-ca-file': { value: 'FILE', help: 'authority that signed the parent’s certificate: TLS' },
  'parent-cert-file': { value: 'FILE', help: 'certificate of this server for the parent, with --parent-key-file' },
  'parent-key-file': { value: 'FILE', help: 'its private key' },
  'parent-token-file': { value: 'FILE', help: 'token that is sent to the parent' },
  'server-role': { value: 'ROLE', help: 'shown on the status page [root, or intermediate]' },
  'etcd-endpoints': { value: 'URLS', help: 'http://host:port, with commas between' },
  'etcd-ca-file': { value: 'FILE', help: 'authority that signed etcd’s certificates' },
  'etcd-cert-file': { value: 'FILE', help: 'certificate of this server for etcd, with --etcd-key-file' },
  'etcd-key-file': { value: 'FILE', help: 'its private key' },
  'etcd-user': { value: 'NAME', help: 'name for etcd, with --etcd-password-file' },
  'etcd-password-file': { value: 'FILE', help: 'its password' },
  'master-election-lock': { value: 'KEY', help: 'in etcd, elects the master [none: always the master]' },
  fresh: { help: 'without an election: no earlier run has left leases, nothing to learn' },
  'master-delay': { value: 'DURATION', help: 'how long the lock outlives a silent master [10s]' },
  'minimum-refresh-interval': { value: 'DURATION', help: 'a child that asks again sooner is not answered [5s]' },
  tls: { help: 'needs --cert-file and --key-file' },
  'cert-file': { value: 'FILE', help: 'certificate chain, PEM' },
  'key-file': { value: 'FILE', help: 'private key, PEM' },
  'client-ca-file': { value: 'FILE', help: 'authority that signs clients: others are refused' },
  access: { value: 'FILE', help: 'who may call, and what for, YAML [everybody, for anything]' },
  limits: { value: 'NAME=N,…', help: 'idLength, resourcesPerRequest, resourcesPerClient, resources, clients' },
  'max-request-bytes': { value: 'BYTES', help: 'largest request [262144]' },
  'cors-origins': { value: 'ORIGINS', help: 'pages that may call HTTP/JSON from a browser, commas between [none]' },
  'log-level': { value: 'LEVEL', help: 'info, warn or error [info]' },
}

/** Serves until SIGTERM or SIGINT, then stops gracefully; SIGHUP checks the configuration at once. */
export async function serve(args: readonly string[]): Promise<void> {
  const given = flagsFrom(SERVE_FLAGS, args, process.env)
  const level = given['log-level'] ?? 'info'
  if (!['info', 'warn', 'error'].includes(level)) throw new UsageError('--log-level must be info, warn or error')
  const log = pino({ level })
  for (const name of unknownVariables(SERVE_FLAGS, process.env)) log.warn({ name }, 'no such setting')
  // Signals are handled from here on. A second one ends a start that never comes to an end.
  let reload = (): void => undefined
  process.on('SIGHUP', () => reload())
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.once(signal, () => {
        log.info({ signal }, 'stopping')
        resolve()
      })
  })
  const doorman = await startDoorman({ ...(await optionsFrom(given)), log })
  reload = () => doorman.reload()
  // The last line of defence: an uncaught error concerns one caller, and the others still need their leases.
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => log.error({ error: errorText(error) }, 'an error that nobody caught'))
  await stopped
  await doorman.close()
}

/** Options from flags. Throws an error that names the flag. */
async function optionsFrom(given: Given<ServeFlag>): Promise<DoormanOptions> {
  const { config, host, hostname, parent, tls } = given
  if (config === undefined) throw new UsageError('--config must be given')
  const httpPort = given['http-port']
  const options: DoormanOptions = {
    config,
    port: portOf('port', given.port ?? '0'),
    debugPort: portOf('debug-port', given['debug-port'] ?? '8081'),
    masterDelaySeconds: durationMs('--master-delay', given['master-delay'] ?? '10s') / 1_000,
    minimumRefreshMs: durationMs('--minimum-refresh-interval', given['minimum-refresh-interval'] ?? '5s'),
  }
  if (httpPort !== undefined) options.httpPort = portOf('http-port', httpPort)
  if (host !== undefined) options.host = host
  if (hostname !== undefined) options.hostname = hostname
  if (parent !== undefined) options.parent = parent
  if (given['server-role'] !== undefined) options.serverRole = given['server-role']
  if (given['master-election-lock'] !== undefined) options.masterElectionLock = given['master-election-lock']
  const endpoints = given['etcd-endpoints']
  if (endpoints !== undefined)
    options.etcdEndpoints = endpoints.split(',').map((each) => (each.includes('://') ? each : `http://${each}`))
  if (given.fresh !== undefined) options.fresh = true
  if (tls !== undefined) options.tls = await serverTls(given)
  const parentTls = await clientTlsFrom('parent-', given)
  const parentToken = await tokenFrom(given['parent-token-file'])
  if (parentTls !== undefined) options.parentTls = parentTls
  if (parentToken !== undefined) options.parentToken = parentToken
  const etcdSecrets = await etcdSecretsFrom(given)
  if (etcdSecrets !== undefined) options.etcdSecrets = etcdSecrets
  if (given.access !== undefined) options.access = await accessFrom(given.access)
  if (given.limits !== undefined) options.limits = limitsFrom(given.limits)
  if (given['max-request-bytes'] !== undefined) options.maxRequestBytes = Number(given['max-request-bytes'])
  if (given['cors-origins'] !== undefined) options.corsOrigins = given['cors-origins'].split(',')
  return options
}

async function serverTls(given: Given<ServeFlag>): Promise<ServerTls> {
  const { 'cert-file': certFile, 'key-file': keyFile, 'client-ca-file': clientCaFile } = given
  if (certFile === undefined || keyFile === undefined) throw new UsageError('--tls needs --cert-file and --key-file')
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
  return { cert, key, ...(clientCaFile === undefined ? {} : { clientCa: await readFile(clientCaFile) }) }
}

async function etcdSecretsFrom(given: Given<ServeFlag>): Promise<EtcdSecrets | undefined> {
  const tls = await clientTlsFrom('etcd-', given)
  const username = given['etcd-user']
  const password = await tokenFrom(given['etcd-password-file'])
  if ((username === undefined) !== (password === undefined))
    throw new UsageError('--etcd-user and --etcd-password-file must be given together')
  if (tls === undefined && username === undefined) return undefined
  return { ...tls, ...(username && password ? { username, password } : {}) }
}

/** Parses `clients=1000,resources=10`; the server checks the names and numbers. */
function limitsFrom(text: string): Record<string, number> {
  return Object.fromEntries(text.split(',').map((each) => [each.split('=')[0], Number(each.split('=')[1])]))
}

function errorText(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function portOf(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new UsageError(`--${name} must be a port, got ${JSON.stringify(text)}`)
  return Number(text)
}

/** Prints what a server would do with the configuration in a file. Rejects with the errors in it. */
export async function check([path, ...rest]: readonly string[], print: (line: string) => void): Promise<void> {
  if (path === undefined || rest.length > 0) throw new UsageError('--check needs one file')
  const repository = repositoryFrom(await readFile(path, 'utf8'))
  // A server checks the values, too, not only the form.
  new DoormanServer({ id: 'check', repository }).close()
  for (const { identifierGlob, capacity, algorithm } of repository.resources) {
    const { kind, leaseLength, refreshInterval } = algorithm
    print(`${identifierGlob}: ${capacity}, ${kind}, leases of ${leaseLength} s, refreshed each ${refreshInterval} s`)
  }
  print(`${path} is right`)
}
