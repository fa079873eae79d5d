import { randomUUID } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { CapacityError, type CapacityService, LeaseServer, type ResourceRepository } from '@fairlead/core'
import { ServerCredentials } from '@grpc/grpc-js'
import { Configuration } from './config/configuration.js'
import { configSource } from './config/source.js'
import { type Addresses, EtcdElection } from './election/etcd-election.js'
import { serveGrpc } from './grpc/server.js'
import { capacityHandler } from './http/capacity-handler.js'
import { type HttpPort, listen } from './http/server.js'
import { Metrics } from './observe/metrics.js'
import { type DoormanOptions, type DoormanSettings, doormanSettings } from './options.js'
import { parentOf } from './parent.js'
import { Shutdown } from './shutdown.js'
import { debugHandler } from './status/debug-handler.js'

/** A running Doorman server. */
export interface Doorman {
  /** `host:port` of gRPC, as others are told. */
  readonly address: string
  /** URL of HTTP/JSON, where it is served. */
  readonly httpUrl: string | undefined
  /** URL of the status page, where it is served. */
  readonly debugUrl: string | undefined
  /** The service itself, for clients in this process: `inProcess(doorman.server)`. */
  readonly server: LeaseServer
  /** Looks whether the configuration has changed. */
  reload(): void
  /** Hands mastership over, takes no more calls, and ends when those under way have. Never rejects. */
  close(): Promise<void>
}

/**
 * Starts a Doorman server. Rejects when an option is wrong, by its name, when the configuration cannot be read or is
 * wrong, or when a port cannot be had; nothing is left running then.
 */
export async function startDoorman(options: DoormanOptions): Promise<Doorman> {
  const settings = doormanSettings(options)
  const parent = settings.parent === undefined ? undefined : parentOf(settings.parent)
  const shutdown = new Shutdown()
  shutdown.on('end', () => parent?.close())
  try {
    const configuration = configurationOf(settings)
    shutdown.on('drain', () => configuration?.close())
    const repository = (await configuration?.first()) ?? (settings.config as ResourceRepository)
    // Before a port is known the server cannot be made, because it gives out its address.
    let service: CapacityService | undefined
    const serving = (): CapacityService => {
      if (service === undefined) throw new CapacityError('unavailable', 'the server is starting')
      return service
    }
    let masterUrl: () => string | undefined = () => undefined
    const { host, hostname, tls, graceMs, log } = settings
    const grpc = await serveGrpc(serving, host, settings.port, grpcCredentials(tls))
    shutdown.on('drain', () => grpc.close(graceMs))
    const http = await listenTo(
      settings.httpPort,
      settings,
      tls,
      capacityHandler(serving, () => masterUrl()),
    )
    shutdown.on('drain', () => http?.close(graceMs))

    const address = `${hostname}:${grpc.port}`
    const httpUrl = http && `${tls ? 'https' : 'http'}://${hostname}:${http.port}`
    const addresses: Addresses = { grpc: address, ...(httpUrl === undefined ? {} : { http: httpUrl }) }
    const clock = (): number => performance.now()
    const server = new LeaseServer({
      id: settings.masterElectionLock ?? address,
      repository,
      address,
      elected: true,
      minimumIntervalMs: settings.minimumRefreshMs,
      clock,
      ...(parent === undefined ? {} : { parent: parent.transport }),
    })
    shutdown.on('end', () => server.close())
    const metrics = new Metrics(server)
    const election = electionOf(settings, server, addresses, clock)
    shutdown.on('handOver', () => election?.stop())
    masterUrl = () => (election === undefined ? httpUrl : election.master?.http)
    const standing = { settings, server, metrics, addresses, election, configuration, startedAt: new Date() }
    const debug = await listenTo(settings.debugPort, settings, undefined, debugHandler(standing))
    shutdown.on('drain', () => debug?.close(graceMs))
    const debugUrl = debug && `http://${hostname}:${debug.port}`

    service = metrics.counting(server)
    configuration?.follow({ configure: (next) => server.configure(next), counted: (how) => metrics.configured(how) })
    if (election !== undefined) election.start()
    else server.won({ afterNobody: settings.fresh ?? false })
    log.info({ address, httpUrl, debugUrl, parent: settings.parent && true }, 'serving')
    shutdown.on('end', () => log.info({}, 'closed'))
    return {
      address,
      httpUrl,
      debugUrl,
      server,
      reload: () => configuration?.reload(),
      close: () => shutdown.run(),
    }
  } catch (error) {
    await shutdown.run()
    throw error
  }
}

function configurationOf({ config, etcdEndpoints, log }: DoormanSettings): Configuration | undefined {
  return typeof config === 'string' ? new Configuration(configSource(config, etcdEndpoints), log) : undefined
}

function electionOf(
  settings: DoormanSettings,
  candidate: LeaseServer,
  addresses: Addresses,
  clock: () => number,
): EtcdElection | undefined {
  const { masterElectionLock: lock, etcdEndpoints: endpoints, masterDelaySeconds: delaySeconds, log } = settings
  if (lock === undefined) return undefined
  const name = randomUUID()
  return new EtcdElection({ candidate, endpoints, lock, delaySeconds, addresses, name, clock, log })
}

function grpcCredentials(tls: DoormanSettings['tls']): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure()
  return ServerCredentials.createSsl(null, [{ cert_chain: Buffer.from(tls.cert), private_key: Buffer.from(tls.key) }])
}

function listenTo(
  port: number | undefined,
  { host }: DoormanSettings,
  tls: DoormanSettings['tls'],
  handler: RequestListener,
): Promise<HttpPort | undefined> {
  if (port === undefined) return Promise.resolve(undefined)
  return listen(tls === undefined ? createServer(handler) : createTlsServer({ ...tls }, handler), host, port)
}
