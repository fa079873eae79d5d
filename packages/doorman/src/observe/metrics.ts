import type { CapacityService, Eventually } from '@fairlead/core/doorman'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { DoormanServer, DoormanServerSummary, ServerResourceSummary } from '../server/index.js'
import { mostWanted } from './history.js'
import type { Notices } from './notices.js'

const METHOD_NAMES: { readonly [Name in keyof CapacityService]: string } = {
  discovery: 'Discovery',
  getCapacity: 'GetCapacity',
  getServerCapacity: 'GetServerCapacity',
  releaseCapacity: 'ReleaseCapacity',
}

/** The published buckets, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Resources with lines of their own; all others together are `other`. */
const MOST_RESOURCES = 100
const OTHER = '(other)'

/** Metrics for Prometheus, under the published names if there are any; the other names begin with `doorman_` too. */
export class Metrics {
  readonly #server: DoormanServer
  readonly #notices: Notices
  readonly #registry = new Registry()
  readonly #requests = this.#counter('doorman_server_requests', 'Requests that came.')
  readonly #errors = this.#counter('doorman_server_request_errors', 'Requests that were refused as wrong, or failed.')
  readonly #durations = new Histogram({
    name: 'doorman_server_request_durations',
    help: 'Seconds from a request to its answer.',
    labelNames: ['method'],
    buckets: BUCKETS,
    registers: [this.#registry],
  })
  readonly #ofResources = new Histogram({
    name: 'doorman_server_resource_durations',
    help: 'Seconds from a request about a resource to its answer.',
    labelNames: ['resource'],
    buckets: BUCKETS,
    registers: [this.#registry],
  })
  /** Histogram lines of resources with their own: at most as many as in the other metrics. */
  readonly #lines = new Map<string, Histogram.Internal<'resource'>>()
  readonly #otherLine = this.#ofResources.labels({ resource: OTHER })
  readonly #reloads = new Counter({
    name: 'doorman_server_configurations',
    help: 'Configurations that were read, by whether they were taken.',
    labelNames: ['result'],
    registers: [this.#registry],
  })

  readonly #isMaster = this.#gauge('is_master', '1 on the master, 0 elsewhere.')
  readonly #isReady = this.#gauge('is_ready', '1 while a master is known, 0 otherwise.')
  readonly #parentAnswers = this.#gauge('parent_answers', '0 while the parent does not answer, else 1.')
  readonly #noticed = new Counter({
    name: 'doorman_server_notices',
    help: 'Names that nothing matched, ids that two processes share, and newcomers turned away by a limit.',
    labelNames: ['kind'],
    registers: [this.#registry],
  })
  readonly #asked = new Counter({
    name: 'doorman_server_resource_requests',
    help: 'Questions about a resource that were answered.',
    labelNames: ['resource'],
    registers: [this.#registry],
  })
  readonly #known = this.#gauge('resources', 'Resources that are known.')
  readonly #resources = [
    this.#ofResource('has', 'Capacity that is leased.', ({ sumHas }) => sumHas),
    this.#ofResource('wants', 'Capacity that is wanted.', ({ sumWants }) => sumWants),
    this.#ofResource('waiting', 'What of that waits at clients, as far as they say so.', (each) => each.sumWaiting),
    this.#ofResource('subclients', 'Clients, those behind servers included.', ({ clients }) => clients),
    this.#ofResource('capacity', 'Capacity that may be handed out.', ({ capacity }) => capacity),
    this.#ofResource('reserve', 'Kept back for what a predecessor may have leased.', ({ reserve }) => reserve),
  ]

  constructor(server: DoormanServer, notices: Notices) {
    this.#server = server
    this.#notices = notices
    collectDefaultMetrics({ register: this.#registry })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** The exposition for Prometheus. O(resources), with pauses. */
  async text(): Promise<string> {
    this.#look(await this.#server.summary())
    return this.#registry.metrics()
  }

  configured(result: 'taken' | 'refused'): void {
    this.#reloads.inc({ result })
  }

  /** Wraps `service` to count and time its calls. */
  counting(service: CapacityService): CapacityService {
    const counted = <Request, Response>(
      method: keyof CapacityService,
      answer: (request: Request, signal?: AbortSignal) => Eventually<Response>,
      about: (response: Response) => readonly { resourceId: string }[] = () => [],
    ): ((request: Request, signal?: AbortSignal) => Eventually<Response>) => {
      const labels = { method: METHOD_NAMES[method] }
      const requests = this.#requests.labels(labels)
      const errors = this.#errors.labels(labels)
      const durations = this.#durations.labels(labels)
      const since = (startMs: number): number => {
        const seconds = (performance.now() - startMs) / 1_000
        durations.observe(seconds)
        return seconds
      }
      const answeredSince = (startMs: number, response: Response): void => {
        const seconds = since(startMs)
        for (const { resourceId } of about(response)) this.#lineOf(resourceId).observe(seconds)
      }
      const failedSince = (startMs: number): void => {
        errors.inc()
        since(startMs)
      }
      return (request, signal) => {
        const startMs = performance.now()
        requests.inc()
        try {
          const answered = answer(request, signal)
          if (answered instanceof Promise)
            answered.then(
              (response) => answeredSince(startMs, response),
              () => failedSince(startMs),
            )
          else answeredSince(startMs, answered)
          return answered
        } catch (error) {
          failedSince(startMs)
          throw error
        }
      }
    }
    const resources = <Each>({ response }: { response: Each }): Each => response
    return {
      discovery: counted('discovery', (request, signal) => service.discovery(request, signal)),
      getCapacity: counted('getCapacity', (request, signal) => service.getCapacity(request, signal), resources),
      getServerCapacity: counted(
        'getServerCapacity',
        (request, signal) => service.getServerCapacity(request, signal),
        resources,
      ),
      releaseCapacity: counted('releaseCapacity', (request, signal) => service.releaseCapacity(request, signal)),
    }
  }

  /** A new resource gets its own line while there is room; each scrape makes room for those with the largest wants. */
  #lineOf(resourceId: string): Histogram.Internal<'resource'> {
    const present = this.#lines.get(resourceId)
    if (present !== undefined) return present
    if (this.#lines.size >= MOST_RESOURCES) return this.#otherLine
    const line = this.#ofResources.labels({ resource: resourceId })
    this.#lines.set(resourceId, line)
    return line
  }

  #keepLinesOf(resources: readonly ServerResourceSummary[]): void {
    const shown = new Set(resources.map(({ id }) => id))
    for (const id of this.#lines.keys()) {
      if (shown.has(id)) continue
      this.#lines.delete(id)
      this.#ofResources.remove({ resource: id })
    }
    for (const id of shown) this.#lineOf(id)
  }

  #counter(name: string, help: string): Counter<'method'> {
    return new Counter({ name, help, labelNames: ['method'], registers: [this.#registry] })
  }

  #ofResource(name: string, help: string, of: (resource: ServerResourceSummary) => number) {
    return { gauge: this.#gauge(name, help, 'resource'), of }
  }

  #gauge<Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> {
    return new Gauge({ name: `doorman_server_${name}`, help, labelNames, registers: [this.#registry] })
  }

  /** Sets all gauges from one summary. */
  #look({ isMaster, masterAddress, parentError, resources }: DoormanServerSummary): void {
    this.#isMaster.set(isMaster ? 1 : 0)
    this.#isReady.set(isMaster || masterAddress !== undefined ? 1 : 0)
    this.#parentAnswers.set(parentError === undefined ? 1 : 0)
    this.#known.set(resources.length)
    this.#noticed.reset()
    for (const [kind, count] of Object.entries(this.#notices.counts)) this.#noticed.inc({ kind }, count)
    this.#asked.reset()
    for (const { gauge } of this.#resources) gauge.reset()
    const shown = mostWanted(resources, MOST_RESOURCES)
    this.#keepLinesOf(shown)
    for (const resource of shown) this.#add(resource.id, [resource])
    if (shown.length === resources.length) return
    const own = new Set(shown)
    this.#add(
      OTHER,
      resources.filter((resource) => !own.has(resource)),
    )
  }

  /** One line for the sums of `resources`: computing labels for thousands of them would cost too much. */
  #add(label: string, resources: readonly ServerResourceSummary[]): void {
    const sum = (of: (resource: ServerResourceSummary) => number): number =>
      resources.reduce((before, resource) => before + of(resource), 0)
    const labels = { resource: label }
    this.#asked.inc(
      labels,
      sum(({ asked }) => asked),
    )
    for (const { gauge, of } of this.#resources) gauge.set(labels, sum(of))
  }
}
