import { hostname as machine } from 'node:os'
import type { Transport } from '@fairlead/core/doorman'
import {
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOptions,
  requireText,
  show,
} from '@fairlead/core/http'
import { type AccessRule, rulesFrom } from './access.js'
import type { EtcdSecrets } from './etcd/watched-key.js'
import type { Log } from './observe/notices.js'
import type { DoormanServerLimits, ResourceRepository } from './server/index.js'
import { CLIENT_TLS, type ClientTls, SERVER_TLS, type ServerTls } from './tls.js'

/** Options of {@link startDoorman}. */
export interface DoormanOptions {
  /**
   * The configuration of the resources, or its place: `file:PATH` (or just the path; checked every half second), or
   * `etcd:KEY` (watched).
   */
  config: ResourceRepository | string
  /** Port of gRPC; 0 picks a free one. @default 0 */
  port?: number
  /** Port of HTTP/JSON; 0 picks a free one. @default none: not served */
  httpPort?: number
  /** Port of the status page, `/metrics` and `/healthz`; 0 picks a free one. @default none: not served */
  debugPort?: number
  /** The address to listen on; `0.0.0.0` or `::` for all addresses. @default '127.0.0.1': this machine alone */
  host?: string
  /**
   * Name under which others reach this machine; a master announces it with its ports.
   * @default the machine's; `host` if that is this machine alone
   */
  hostname?: string
  /**
   * Servers of the node's parent, which then grants the capacity: `host:port`, several with commas between, for gRPC;
   * `http://` or `https://` URLs for HTTP/JSON; or any transport. @default none: the configuration states the capacity
   */
  parent?: string | Transport
  /**
   * TLS to a `parent`, over gRPC or `https://`, and this server's certificate.
   * @default plain text, or Node's default
   */
  parentTls?: ClientTls
  /** Sent to a `parent` with each call, as `authorization: Bearer …`. @default none */
  parentToken?: string
  /** Servers of etcd, for the election and an `etcd:` configuration: `http://host:port`. @default none */
  etcdEndpoints?: readonly string[]
  /** This server's credentials for etcd, and the authority that signs etcd's `https://` endpoints. @default none */
  etcdSecrets?: EtcdSecrets
  /** Elects one master among all servers with this lock, a key in etcd. @default none: always the master */
  masterElectionLock?: string
  /**
   * No server granted leases to these clients before, or all such leases have ended: the whole capacity is available
   * from the first second. Otherwise a server without an election reserves the possible grants of an earlier run until
   * they must have ended. @default false
   */
  fresh?: boolean
  /** Time for which the lock outlives a silent master, in whole seconds, at least 2. @default 10 */
  masterDelaySeconds?: number
  /**
   * Shortest time between two answers to the same child about the same resource, and between two questions to the
   * parent, in milliseconds; never more than the refresh interval of the level. @default 5000
   */
  minimumRefreshMs?: number
  /** Longest that {@link Doorman.close} waits for calls under way, in milliseconds. @default 5000 */
  graceMs?: number
  /** TLS on all ports; with `clientCa`, clients need a certificate of that authority. @default plain text */
  tls?: ServerTls
  /** The permitted callers and their rights, at least one. @default every caller, for anything */
  access?: readonly AccessRule[]
  /** Bounds on requests. @default see DoormanServerLimits */
  limits?: Partial<DoormanServerLimits>
  /** Largest request, in bytes, at least 1000. @default 262144 */
  maxRequestBytes?: number
  /**
   * Origins of pages that may call HTTP/JSON from a browser, such as `https://app.example`; `*` is any.
   * @default none
   */
  corsOrigins?: readonly string[]
  /** Shown on the status page. @default 'root', or 'intermediate' with a parent */
  serverRole?: string
  /** A logger of pino, or a compatible one. @default none */
  log?: Log
}

/** Checked options, with all defaults. */
export type DoormanSettings = Omit<DoormanOptions, 'host' | 'hostname' | 'port' | 'log'> &
  Required<Pick<DoormanOptions, 'host' | 'hostname' | 'port' | 'log'>> & {
    readonly etcdEndpoints: readonly string[]
    readonly masterDelaySeconds: number
    readonly minimumRefreshMs: number
    readonly graceMs: number
    readonly serverRole: string
    readonly maxRequestBytes: number
    readonly corsOrigins: readonly string[]
  }

const OPTIONS = [
  'config',
  'port',
  'httpPort',
  'debugPort',
  'host',
  'hostname',
  'parent',
  'parentTls',
  'parentToken',
  'etcdEndpoints',
  'etcdSecrets',
  'masterElectionLock',
  'fresh',
  'masterDelaySeconds',
  'minimumRefreshMs',
  'graceMs',
  'tls',
  'access',
  'limits',
  'maxRequestBytes',
  'corsOrigins',
  'serverRole',
  'log',
]

const SILENT: Log = { info: () => {}, warn: () => {}, error: () => {} }

/** Throws a `RangeError` or `TypeError` that names the option and its value. */
export function doormanSettings(options: DoormanOptions): DoormanSettings {
  requireOptions('doorman', options, OPTIONS)
  const { port = 0, host = '127.0.0.1', log = SILENT } = options
  const { hostname = isAlone(host) ? bracketed(host) : machine() } = options
  const { etcdEndpoints = [], masterDelaySeconds = 10, minimumRefreshMs = 5_000, graceMs = 5_000 } = options
  const { serverRole = options.parent === undefined ? 'root' : 'intermediate' } = options
  const { access, parent, maxRequestBytes = 262_144, corsOrigins = [] } = options
  for (const [name, value] of Object.entries({ port, httpPort: options.httpPort, debugPort: options.debugPort }))
    if (value !== undefined) requireInteger(name, value, 0, 65_535)
  for (const [name, text] of Object.entries({ host, hostname, serverRole })) requireText(name, text)
  requireInteger('masterDelaySeconds', masterDelaySeconds, 2)
  requireNumber('minimumRefreshMs', minimumRefreshMs, 0)
  requireNumber('graceMs', graceMs, 0)
  for (const level of ['info', 'warn', 'error'] as const) requireFunction(`log.${level}`, log[level])
  if (typeof options.config !== 'string') requireOptions('config', options.config, ['resources'])
  else requireText('config', options.config)
  if (etcdEndpoints.length > 0) requireEndpoints(etcdEndpoints)
  else if (typeof options.config === 'string' && options.config.startsWith('etcd:'))
    throw new TypeError('etcdEndpoints must be given for a configuration in etcd, got none')
  if (options.masterElectionLock !== undefined) {
    requireText('masterElectionLock', options.masterElectionLock)
    if (etcdEndpoints.length === 0) throw new TypeError('etcdEndpoints must be given for an election, got none')
    if (options.fresh) throw new TypeError('fresh must not be given with an election, which knows by itself')
  }
  if (options.fresh !== undefined) requireBoolean('fresh', options.fresh)
  if (typeof parent === 'string') requireText('parent', parent)
  else if (parent !== undefined && typeof parent?.connect !== 'function')
    throw new TypeError(`parent must be addresses, URLs or a transport, got ${show(parent)}`)
  if (options.tls !== undefined) requireTls('tls', options.tls, SERVER_TLS, ['cert', 'key'])
  if (options.parentTls !== undefined) requireTls('parentTls', options.parentTls, CLIENT_TLS, [])
  if (options.parentToken !== undefined) requireText('parentToken', options.parentToken)
  if (options.etcdSecrets !== undefined)
    requireTls('etcdSecrets', options.etcdSecrets, [...CLIENT_TLS, 'username', 'password'], [])
  requireInteger('maxRequestBytes', maxRequestBytes, 1_000)
  requireList('corsOrigins', corsOrigins)
  for (const origin of corsOrigins) requireText('an origin of corsOrigins', origin)
  if (
    access !== undefined &&
    rulesFrom(access).some(({ certificate }) => certificate) &&
    options.tls?.clientCa === undefined
  )
    throw new TypeError('tls.clientCa must be given where access is by certificate, got none')
  return {
    ...options,
    port,
    host,
    hostname,
    log,
    etcdEndpoints,
    masterDelaySeconds,
    minimumRefreshMs,
    graceMs,
    serverRole,
    maxRequestBytes,
    corsOrigins,
  }
}

/** Checks secrets: each a text or a buffer, and those of `needed` are there. */
function requireTls(name: string, secrets: object, known: readonly string[], needed: readonly string[]): void {
  requireOptions(name, secrets, known)
  const given = Object.entries(secrets).filter(([, secret]) => secret !== undefined)
  const all: Record<string, unknown> = Object.fromEntries([...needed.map((option) => [option]), ...given])
  for (const [option, secret] of Object.entries(all))
    if (!Buffer.isBuffer(secret)) requireText(`${name}.${option}`, secret)
}

/** True if other machines cannot reach the host. */
function isAlone(host: string): boolean {
  return /^(127\.|::1$|localhost$)/.test(host)
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function requireList(name: string, value: unknown): void {
  if (!Array.isArray(value)) throw new TypeError(`${name} must be a list, got ${show(value)}`)
}

function requireEndpoints(endpoints: readonly string[]): void {
  for (const endpoint of endpoints)
    if (typeof endpoint !== 'string' || !/^https?:\/\/[^/]+$/.test(endpoint))
      throw new TypeError(`etcdEndpoints must be URLs like http://host:2379, got ${show(endpoint)}`)
}

/** One or several `host:port`. */
export function requireAddresses(name: string, given: string | readonly string[]): readonly string[] {
  const addresses: readonly unknown[] = Array.isArray(given) ? given : [given]
  if (addresses.length === 0) throw new TypeError(`${name} must be host:port or several, got an empty array`)
  for (const address of addresses)
    if (typeof address !== 'string' || !/^.+:\d+$/.test(address))
      throw new TypeError(`${name} must be host:port, got ${show(address)}`)
  return addresses as readonly string[]
}
