import { readFile } from 'node:fs/promises'
import { pino } from 'pino'
import type { DoormanOptions } from '../options.js'
import { startDoorman } from '../start-doorman.js'
import { durationMs } from './duration.js'
import { type Flags, flagsFrom, type Given, UsageError, unknownVariables } from './flags.js'

type ServeFlag =
  | 'config'
  | 'port'
  | 'http-port'
  | 'debug-port'
  | 'host'
  | 'hostname'
  | 'parent'
  | 'server-role'
  | 'etcd-endpoints'
  | 'master-election-lock'
  | 'fresh'
  | 'master-delay'
  | 'minimum-refresh-interval'
  | 'tls'
  | 'cert-file'
  | 'key-file'
  | 'log-level'

/** Each is also a variable: `--debug-port` is `DOORMAN_DEBUG_PORT`. */
export const SERVE_FLAGS: Flags<ServeFlag> = {
  config: { value: 'WHERE', help: 'file:PATH, PATH or etcd:KEY (required)' },
  port: { value: 'PORT', help: 'of gRPC [0: any]' },
  'http-port': { value: 'PORT', help: 'of HTTP/JSON [not served]' },
  'debug-port': { value: 'PORT', help: 'of the status page, /metrics and /healthz [8081]' },
  host: { value: 'ADDRESS', help: 'to listen on [0.0.0.0]' },
  hostname: { value: 'NAME', help: 'under which others find this machine [its name]' },
  parent: { value: 'HOST:PORT', help: 'servers of the parent, with commas between [none]' },
  'server-role': { value: 'ROLE', help: 'shown on the status page [root, or intermediate]' },
  'etcd-endpoints': { value: 'URLS', help: 'http://host:port, with commas between' },
  'master-election-lock': { value: 'KEY', help: 'in etcd, elects the master [none: always the master]' },
  fresh: { help: 'without an election: no earlier run has left leases, nothing to learn' },
  'master-delay': { value: 'DURATION', help: 'how long the lock outlives a silent master [10s]' },
  'minimum-refresh-interval': { value: 'DURATION', help: 'a child that asks again sooner is not answered [5s]' },
  tls: { help: 'needs --cert-file and --key-file' },
  'cert-file': { value: 'FILE', help: 'certificate chain, PEM' },
  'key-file': { value: 'FILE', help: 'private key, PEM' },
  'log-level': { value: 'LEVEL', help: 'info, warn or error [info]' },
}

/** Serves until SIGTERM or SIGINT, then stops gracefully; SIGHUP looks at the configuration at once. */
export async function serve(args: readonly string[]): Promise<void> {
  const given = flagsFrom(SERVE_FLAGS, args, process.env)
  const level = given['log-level'] ?? 'info'
  if (!['info', 'warn', 'error'].includes(level)) throw new UsageError('--log-level must be info, warn or error')
  const log = pino({ level })
  for (const name of unknownVariables(SERVE_FLAGS, process.env)) log.warn({ name }, 'no such setting')
  const doorman = await startDoorman({ ...(await optionsFrom(given)), log })
  process.on('SIGHUP', () => doorman.reload())
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const)
      process.once(signal, () => {
        log.info({ signal }, 'stopping')
        resolve()
      })
  })
  await doorman.close()
}

/** Options from flags. Throws what names the flag. */
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
  if (tls !== undefined) options.tls = await certificate(given['cert-file'], given['key-file'])
  return options
}

async function certificate(certFile: string | undefined, keyFile: string | undefined) {
  if (certFile === undefined || keyFile === undefined) throw new UsageError('--tls needs --cert-file and --key-file')
  const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)])
  return { cert, key }
}

function portOf(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new UsageError(`--${name} must be a port, got ${JSON.stringify(text)}`)
  return Number(text)
}
