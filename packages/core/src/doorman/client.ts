import { type After, type Clock, steady, systemAfter, systemClock } from '../clock.js'
import {
  requireAbove,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
  show,
} from '../options.js'
import { type Random, randomId, systemRandom } from '../random.js'
import { LEASE_MODES, type LeaseMode, type ResourceTerms } from './client-resource.js'
import { GaugeLease, type GaugeSnapshot } from './gauge-lease.js'
import type { Owner } from './lease.js'
import { RateLease, type RateSnapshot } from './rate-lease.js'
import { Refresher } from './refresher.js'
import type { Transport } from './transport.js'

/** What a client is made of. */
export interface DoormanClientOptions {
  /** Where the servers are: {@link inProcess}, {@link overHttp}, or another. */
  transport: Transport
  /** Tells this client from all others; `clientId()` of `@fairlead/core/node` makes a readable one. @default random */
  id?: string
  /** What to keep to when the lease has run out and nobody answers. @default 'safe' */
  mode?: LeaseMode
  /**
   * Shortest time between two asks for a resource, in milliseconds, at least 0, whatever interval the server names.
   * @default 500
   */
  minimumRefreshMs?: number
  /** Longest wait for an answer, in milliseconds, above 0. @default 5000 */
  deadlineMs?: number
  /** @default the platform's monotonic clock */
  clock?: Clock
  /** Milliseconds since the Unix epoch, for the expiry of leases. @default Date.now */
  wallClock?: Clock
  /** @default Math.random */
  random?: Random
  /** The timer of refreshes and waiters; must not keep the process alive. @default the platform's */
  after?: After
}

/** How a gauge is asked for. */
export interface GaugeOptions {
  /** What would be used, at least 0. @default measured: the most in use and waiting at one time in the last second */
  wants?: number
  /** Least that is asked for where `wants` is measured, so that the first after a pause need not wait. @default 1 */
  minWants?: number
  /** A whole number: a higher band is served first. @default 0 */
  priority?: number
  /** Share within the band, above 0; published servers do not know it. @default 1 */
  weight?: number
  /** @default the client's */
  mode?: LeaseMode
}

/** How a rate is asked for. Its `wants` is by default measured: the attempts per second of the last 10 s. */
export interface RateOptions extends GaugeOptions {
  /** Spreads a second's budget over parts of it of at least 20 ms. @default false */
  smooth?: boolean
}

const CLIENT_OPTIONS = [
  'transport',
  'id',
  'mode',
  'minimumRefreshMs',
  'deadlineMs',
  'clock',
  'wallClock',
  'random',
  'after',
]
const GAUGE_OPTIONS = ['wants', 'minWants', 'priority', 'weight', 'mode']
const RATE_OPTIONS = [...GAUGE_OPTIONS, 'smooth']

/** Options that were checked, with every default in its place. */
export interface ClientSettings {
  readonly clientId: string
  readonly transport: Transport
  readonly mode: LeaseMode
  readonly minimumRefreshMs: number
  readonly deadlineMs: number
  readonly clock: Clock
  readonly wallClock: Clock
  readonly random: Random
  readonly after: After
}

/** Throws a `RangeError` or `TypeError` that names the option and its value. */
function clientSettings(options: DoormanClientOptions): ClientSettings {
  requireOptions('doorman', options, CLIENT_OPTIONS)
  const {
    transport,
    mode = 'safe',
    minimumRefreshMs = 500,
    deadlineMs = 5_000,
    clock = systemClock,
    wallClock = () => Date.now(),
    random = systemRandom,
    after = systemAfter,
  } = options
  if (typeof transport !== 'object' || transport === null)
    throw new TypeError(`transport must be a transport, got ${show(transport)}`)
  requireFunction('transport.connect', transport.connect)
  requireOneOf('mode', mode, LEASE_MODES)
  requireNumber('minimumRefreshMs', minimumRefreshMs, 0)
  requireAbove('deadlineMs', deadlineMs, 0)
  requireFunction('clock', clock)
  requireFunction('wallClock', wallClock)
  requireFunction('random', random)
  requireFunction('after', after)
  const { id = randomId(random) } = options
  requireText('id', id)
  return {
    clientId: id,
    transport,
    mode,
    minimumRefreshMs,
    deadlineMs,
    clock: steady(clock),
    wallClock,
    random,
    after,
  }
}

/** How a lease is asked for, checked. */
export interface LeaseTerms extends ResourceTerms {
  /** `undefined`: measured. */
  readonly wants: number | undefined
  readonly smooth: boolean
}

/** Throws a `RangeError` or `TypeError` that names the option and its value. */
function leaseTerms(kind: 'rate' | 'gauge', options: RateOptions, client: ClientSettings): LeaseTerms {
  requireOptions(kind, options, kind === 'rate' ? RATE_OPTIONS : GAUGE_OPTIONS)
  const { wants, minWants = 1, priority = 0, weight, mode = client.mode, smooth = false } = options
  if (wants !== undefined) requireNumber('wants', wants, 0)
  requireNumber('minWants', minWants, 0)
  requireInteger('priority', priority, Number.MIN_SAFE_INTEGER)
  if (weight !== undefined) requireAbove('weight', weight, 0)
  requireOneOf('mode', mode, LEASE_MODES)
  requireBoolean('smooth', smooth)
  return { wants, minWants, priority, weight, mode, smooth, minimumRefreshMs: client.minimumRefreshMs }
}

/** As plain JSON. */
export interface DoormanClientSnapshot {
  readonly id: string
  readonly closed: boolean
  /** Address of the master, where a server named one. */
  readonly master: string | undefined
  /** Asks without an answer since the last one with. */
  readonly failures: number
  readonly lastError: string | undefined
  readonly resources: readonly (RateSnapshot | GaugeSnapshot)[]
}

/**
 * Shares limited resources with other processes: asks a Doorman server for capacity, and keeps inside the leases it
 * gets.
 *
 * Starts nothing when it is made. From the first lease asked for until the last is closed it has one timer, and asks
 * in the background for all its resources at once, before their leases run out; each lease has a timer while
 * somebody waits. A server that does not answer is asked again after 1 s to 60 s, and each lease says by its mode what
 * it is worth without one. Nothing here throws because of a server.
 *
 * @see the Doorman design document, "Client operation" and "Client library"
 */
export class DoormanClient {
  readonly #settings: ClientSettings
  readonly #refresher: Refresher
  readonly #leases = new Map<string, { lease: RateLease | GaugeLease; terms: LeaseTerms }>()
  #closed = false

  /** Throws a `RangeError` or `TypeError` that names the option and its value. */
  constructor(options: DoormanClientOptions) {
    this.#settings = clientSettings(options)
    this.#refresher = new Refresher(this.#settings)
  }

  /** The name by which the servers know this client. */
  get id(): string {
    return this.#settings.clientId
  }

  /**
   * A leased rate, in units per second. The same id gives the same lease, which then has one more user: options, if
   * given, must be the same, and each user closes it once. Throws for a wrong option, by its name, for an id that is
   * a gauge, and when the client is closed.
   */
  rate(id: string, options?: RateOptions): RateLease {
    const lease = this.#lease('rate', id, options, (owner, { smooth }) => new RateLease(owner, smooth))
    if (lease instanceof RateLease) return lease
    throw new TypeError(`${show(id)} is a gauge, not a rate`)
  }

  /** A leased gauge: so many at once. Otherwise as {@link rate}. */
  gauge(id: string, options?: GaugeOptions): GaugeLease {
    const lease = this.#lease('gauge', id, options, (owner) => new GaugeLease(owner))
    if (lease instanceof GaugeLease) return lease
    throw new TypeError(`${show(id)} is a rate, not a gauge`)
  }

  /**
   * Closes every lease and gives back what they have; what is still in use when its last slot comes back. Fulfilled
   * when the server has heard of it, or did not within the deadline; never rejected. Closing twice is no error.
   */
  close(): Promise<void> {
    this.#closed = true
    for (const { lease } of [...this.#leases.values()]) lease.closeAll()
    return this.#refresher.close()
  }

  /**
   * Asks what is due, within this call, and is fulfilled when the answer has come; never rejected. For runtimes where
   * timers and work in the background end with the request that began them, as on Workers: there each request says
   * `ctx.waitUntil(client.refresh())`, or waits for it before its first lease. At once where nothing is due.
   */
  refresh(): Promise<void> {
    return this.#refresher.refresh()
  }

  /** Plain JSON: its resources, who the master is, and the last error. O(resources). */
  snapshot(): DoormanClientSnapshot {
    return {
      id: this.id,
      closed: this.#closed,
      ...this.#refresher.standing,
      resources: [...this.#leases.values()].map(({ lease }) => lease.snapshot()),
    }
  }

  #lease(
    kind: 'rate' | 'gauge',
    id: string,
    options: RateOptions | undefined,
    make: (owner: Owner, terms: LeaseTerms) => RateLease | GaugeLease,
  ): RateLease | GaugeLease {
    requireText('id', id)
    const terms = leaseTerms(kind, options ?? {}, this.#settings)
    if (this.#closed) throw new TypeError(`the client ${show(this.id)} is closed`)
    let known = this.#leases.get(id)
    if (known !== undefined) {
      if (known.lease instanceof RateLease !== (kind === 'rate')) return known.lease
      if (options !== undefined) requireSame(id, terms, known.terms)
    } else {
      const { clock, wallClock, after } = this.#settings
      const gone = (): void => void this.#leases.delete(id)
      const owner: Owner = { id, terms, wants: terms.wants, clock, wallClock, after, refresher: this.#refresher, gone }
      known = { lease: make(owner, terms), terms }
      this.#leases.set(id, known)
    }
    known.lease.share()
    return known.lease
  }
}

function requireSame(id: string, terms: LeaseTerms, known: LeaseTerms): void {
  for (const name of ['wants', 'minWants', 'priority', 'weight', 'mode', 'smooth'] as const)
    if (terms[name] !== known[name])
      throw new TypeError(
        `${name} of ${show(id)} must be the same for all its users, ${known[name]}, got ${terms[name]}`,
      )
}
