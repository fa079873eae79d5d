import type { CapacityService, Eventually, LeaseServer, ServerResourceSnapshot } from '@fairlead/core'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'

const METHOD_NAMES: { readonly [Name in keyof CapacityService]: string } = {
  discovery: 'Discovery',
  getCapacity: 'GetCapacity',
  getServerCapacity: 'GetServerCapacity',
  releaseCapacity: 'ReleaseCapacity',
}

/** The published buckets, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Figures for Prometheus, with the published names where there are such; the rest begins with `doorman_` too. */
export class Metrics {
  readonly #server: LeaseServer
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
  readonly #reloads = new Counter({
    name: 'doorman_server_configurations',
    help: 'Configurations that were read, by whether they were taken.',
    labelNames: ['result'],
    registers: [this.#registry],
  })

  readonly #isMaster = this.#gauge('is_master', '1 on the master, 0 elsewhere.')
  readonly #resources = [
    this.#ofResource('has', 'Capacity that is leased.', ({ sumHas }) => sumHas),
    this.#ofResource('wants', 'Capacity that is wanted.', ({ sumWants }) => sumWants),
    this.#ofResource('subclients', 'Clients, those behind servers included.', ({ clients }) => clients),
    this.#ofResource('capacity', 'Capacity that may be handed out.', ({ capacity }) => capacity),
    this.#ofResource('reserve', 'Kept back for what a predecessor may have leased.', ({ reserve }) => reserve),
  ]

  constructor(server: LeaseServer) {
    this.#server = server
    collectDefaultMetrics({ register: this.#registry })
  }

  get contentType(): string {
    return this.#registry.contentType
  }

  /** What Prometheus reads. O(clients). */
  text(): Promise<string> {
    this.#look()
    return this.#registry.metrics()
  }

  configured(result: 'taken' | 'refused'): void {
    this.#reloads.inc({ result })
  }

  /** `service`, with its calls counted and timed. */
  counting(service: CapacityService): CapacityService {
    const counted = <Request, Response>(
      method: keyof CapacityService,
      answer: (request: Request, signal?: AbortSignal) => Eventually<Response>,
    ): ((request: Request, signal?: AbortSignal) => Eventually<Response>) => {
      const labels = { method: METHOD_NAMES[method] }
      const requests = this.#requests.labels(labels)
      const errors = this.#errors.labels(labels)
      const durations = this.#durations.labels(labels)
      const since = (startMs: number): void => durations.observe((performance.now() - startMs) / 1_000)
      return (request, signal) => {
        const startMs = performance.now()
        requests.inc()
        try {
          const answered = answer(request, signal)
          if (!(answered instanceof Promise)) {
            since(startMs)
            return answered
          }
          answered.catch(() => errors.inc()).finally(() => since(startMs))
          return answered
        } catch (error) {
          errors.inc()
          since(startMs)
          throw error
        }
      }
    }
    return {
      discovery: counted('discovery', (request, signal) => service.discovery(request, signal)),
      getCapacity: counted('getCapacity', (request, signal) => service.getCapacity(request, signal)),
      getServerCapacity: counted('getServerCapacity', (request, signal) => service.getServerCapacity(request, signal)),
      releaseCapacity: counted('releaseCapacity', (request, signal) => service.releaseCapacity(request, signal)),
    }
  }

  #counter(name: string, help: string): Counter<'method'> {
    return new Counter({ name, help, labelNames: ['method'], registers: [this.#registry] })
  }

  #ofResource(name: string, help: string, of: (resource: ServerResourceSnapshot) => number) {
    return { gauge: this.#gauge(name, help, 'resource'), of }
  }

  #gauge<Label extends string>(name: string, help: string, ...labelNames: Label[]): Gauge<Label> {
    return new Gauge({ name: `doorman_server_${name}`, help, labelNames, registers: [this.#registry] })
  }

  /** One look at the server for all of them. */
  #look(): void {
    const { isMaster, resources } = this.#server.snapshot()
    this.#isMaster.set(isMaster ? 1 : 0)
    for (const { gauge, of } of this.#resources) {
      gauge.reset()
      for (const resource of resources) gauge.set({ resource: resource.id }, of(resource))
    }
  }
}
