import { randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { CapacityError, type CapacityService } from '@fairlead/core/doorman'
import { ClockDesk, type NamedReport, systemAfter, systemClock } from '@fairlead/core/internal'
import { Access, type Credentials } from './access.js'
import { Configuration, configSource } from './config/configuration.js'
import { type Addresses, EtcdElection } from './etcd/election.js'
import type { EtcdPlace } from './etcd/watched-key.js'
import { clockHandler } from './fleet/clock-handler.js'
import { ClockService, type ReportAnswer } from './fleet/clock-service.js'
import { serveGrpc } from './grpc/server.js'
import { capacityHandler } from './http/capacity-handler.js'
import { serveHttp } from './http/server.js'
import { inParts } from './in-parts.js'
import { History, SAMPLE_MS } from './observe/history.js'
import { Metrics } from './observe/metrics.js'
import { Notices } from './observe/notices.js'
import { type DoormanOptions, type DoormanSettings, doormanSettings } from './options.js'
import { DoormanServer, limitsFrom, type ResourceRepository } from './server/index.js'
import { debugHandler } from './status/debug-handler.js'
import { type ClosableTransport, transportTo } from './transport-to.js'

/** A running Doorman server. */
export interface Doorman {
  /** Announced `host:port` of gRPC. */
  readonly address: string
  /** URL of HTTP/JSON, if it is served. */
  readonly httpUrl: string | undefined
  /** URL of the status page, if it is served. */
  readonly debugUrl: string | undefined
  /** The service itself, for clients in this process: `inProcess(doorman.server)`. */
  readonly server: DoormanServer
  /** Checks the configuration for changes. */
  reload(): void
  /** Hands mastership over, takes no more calls, and ends when the calls in flight have ended. Never rejects. */
  close(): Promise<void>
}

/**
 * Starts a Doorman server. Rejects with an error that names an invalid option, if the configuration cannot be read or
 * is invalid, or if a port is not available; then nothing is left running.
 */
export async function startDoorman(options: DoormanOptions): Promise<Doorman> {
  const settings = doormanSettings(options)
  const parent = parentOf(settings)
  const shutdown = new Shutdown()
  shutdown.on('end', () => parent?.close())
  try {
    const configuration = configurationOf(settings)
    shutdown.on('drain', () => configuration?.close())
    const repository = (await configuration?.first()) ?? (settings.config as ResourceRepository)
    // The server needs its port before it is made, because it announces its address.
    let access: Access | undefined
    const service = (from: Credentials): CapacityService => {
      if (access === undefined) throw new CapacityError('unavailable', 'the server is starting')
      return access.serviceFor(from)
    }
    let masterUrl: () => string | undefined = () => undefined
    const { host, hostname, port, httpPort, debugPort, tls, graceMs, log, maxRequestBytes, corsOrigins } = settings
    let isMaster: () => boolean = () => false
    const clocks = new ClockService({
      desk: new ClockDesk(systemClock, systemAfter),
      allow: (from, name) => access?.requireResource(from, name),
      isMaster: () => isMaster(),
    })
    let masterAddress: () => string | undefined = () => undefined
    const report = (from: Credentials, said: NamedReport): Promise<ReportAnswer> =>
      clocks.report(from, said, masterAddress())
    const grpc = await serveGrpc({ service, report, host, port, tls, maxRequestBytes, log })
    shutdown.on('drain', () => grpc.close(graceMs))
    const handler = clockHandler(
      { clocks, masterUrl: () => masterUrl(), maxRequestBytes },
      capacityHandler({ service, masterUrl: () => masterUrl(), maxRequestBytes, corsOrigins }),
    )
    const http = httpPort === undefined ? undefined : await serveHttp({ handler, host, port: httpPort, tls, log })
    shutdown.on('drain', () => http?.close(graceMs))

    const address = `${hostname}:${grpc.port}`
    const httpUrl = http && `${tls ? 'https' : 'http'}://${hostname}:${http.port}`
    const addresses: Addresses = { grpc: address, ...(httpUrl === undefined ? {} : { http: httpUrl }) }
    const clock = (): number => performance.now()
    const notices = new Notices(log, clock)
    const server = new DoormanServer({
      id: settings.masterElectionLock ?? address,
      repository,
      address,
      elected: true,
      minimumIntervalMs: settings.minimumRefreshMs,
      clock,
      onNotice: (notice) => notices.take(notice),
      ...(settings.limits === undefined ? {} : { limits: settings.limits }),
      ...(parent === undefined ? {} : { parent }),
    })
    shutdown.on('end', () => server.close())
    const metrics = new Metrics(server, notices)
    const history = new History()
    const looking = setInterval(() => {
      void server.summary().then(({ resources }) => history.look(resources))
    }, SAMPLE_MS).unref()
    shutdown.on('end', () => clearInterval(looking))
    const limits = limitsFrom(settings.limits ?? {})
    const inTurns = inParts(server, limits, setImmediate)
    // Invalid rules are detected before the first call.
    const allowed = new Access(settings.access, metrics.counting(inTurns))
    const election = electionOf(settings, server, addresses, clock)
    shutdown.on('handOver', () => election?.stop())
    masterUrl = () => (election === undefined ? httpUrl : election.master?.http)
    const startedAt = new Date()
    const about = { settings, server, access: allowed, metrics, history, addresses, election, configuration, startedAt }
    const pages = { handler: debugHandler(about), host, tls, log, certificateOptional: true }
    const debug = debugPort === undefined ? undefined : await serveHttp({ ...pages, port: debugPort })
    shutdown.on('drain', () => debug?.close(graceMs))
    const debugUrl = debug && `${tls ? 'https' : 'http'}://${hostname}:${debug.port}`

    access = allowed
    isMaster = () => server.discovery().isMaster
    masterAddress = () => server.discovery().mastership.masterAddress
    configuration?.follow({
      configure: async (next) => {
        await election?.record(next)
        server.configure(next)
      },
      counted: (how) => metrics.configured(how),
    })
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

function configurationOf({ config, log, ...settings }: DoormanSettings): Configuration | undefined {
  return typeof config === 'string' ? new Configuration(configSource(config, etcdOf(settings)), log) : undefined
}

function etcdOf({ etcdEndpoints, etcdSecrets }: Pick<DoormanSettings, 'etcdEndpoints' | 'etcdSecrets'>): EtcdPlace {
  return { endpoints: etcdEndpoints, secrets: etcdSecrets }
}

function electionOf(
  settings: DoormanSettings,
  candidate: DoormanServer,
  addresses: Addresses,
  clock: () => number,
): EtcdElection | undefined {
  const { masterElectionLock: lock, masterDelaySeconds: delaySeconds, log } = settings
  if (lock === undefined) return undefined
  const name = randomUUID()
  const etcd = etcdOf(settings)
  return new EtcdElection({ candidate, etcd, lock, delaySeconds, addresses, name, clock, log })
}

/** Servers of the parent, if there is one. Throws for an invalid address. */
function parentOf({ parent, parentTls, parentToken }: DoormanOptions): ClosableTransport | undefined {
  if (parent === undefined) return undefined
  if (typeof parent !== 'string') return { connect: (address) => parent.connect(address), close: () => {} }
  return transportTo(parent, { tls: parentTls, token: parentToken })
}

type Step = () => unknown

/** Steps of the shutdown, in order. The steps of one phase run concurrently. */
class Shutdown {
  readonly #phases: Record<'handOver' | 'drain' | 'end', Step[]> = { handOver: [], drain: [], end: [] }
  #running: Promise<void> | undefined

  on(phase: 'handOver' | 'drain' | 'end', step: Step): void {
    this.#phases[phase].push(step)
  }

  /** Runs all steps once. Never rejects: a failing step does not stop the others. */
  run(): Promise<void> {
    this.#running ??= this.#run()
    return this.#running
  }

  async #run(): Promise<void> {
    for (const steps of [this.#phases.handOver, this.#phases.drain, this.#phases.end])
      await Promise.allSettled(steps.map(async (step) => step()))
  }
}
