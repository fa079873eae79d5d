import { type After, type Clock, steady, systemAfter, systemClock } from '../clock.js'
import {
  by,
  fail,
  type OptionRules,
  requireAbove,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
  requireOneOf,
  requireOptions,
  requireText,
  settingsFrom,
  show,
} from '../options.js'
import { type Random, randomId, systemRandom } from '../random.js'
import { type ClientSettings, LEASE_MODES, type LeaseMode, type LeaseTerms } from './client-resource.js'
import { GaugeLease, type GaugeSnapshot } from './gauge-lease.js'
import type { Owner } from './lease.js'
import { RateLease, type RateSnapshot } from './rate-lease.js'
import { Refresher } from './refresher.js'
import type { Transport } from './transport.js'

/** Options of a {@link DoormanClient}. */
export interface DoormanClientOptions {
  /** The connection to the servers: {@link inProcess}, {@link overHttp}, or your own. */
  transport: Transport
  /**
   * Distinguishes this client from all others; `clientId()` of `@fairlead/core/node` makes a readable one.
   * @default random
   */
  id?: string
  /** The limit after a lease has ended, while no server answers. @default 'safe' */
  mode?: LeaseMode
  /**
   * Shortest time between two requests for a resource, in milliseconds, at least 0, even if the server names a shorter
   * interval.
   * @default 500
   */
  minimumRefreshMs?: number
  /** Longest wait for an answer, in milliseconds, above 0. @default 5000 */
  deadlineMs?: number
  /** @default the platform's monotonic clock */
  clock?: Clock
  /** Milliseconds since the Unix epoch, for the expiry of leases. @default Date.now */
  wallClock?: Clock
  /** @default the platform's cryptographic generator */
  random?: Random
  /** The timer of refreshes and waiters; must not keep the process alive. @default the platform's */
  after?: After
}

/** Options of a leased concurrency. */
export interface GaugeOptions {
  /**
   * The amount that the process would use, at least 0.
   * @default measured: the largest number in use and waiting at one time in the last second
   */
  wants?: number
  /** Smallest measured wants, so that the first caller after a pause need not wait. @default 1 */
  minWants?: number
  /** A whole number: a higher band is served first. @default 0 */
  priority?: number
  /** Weight within the band, above 0; published servers ignore it. @default 1 */
  weight?: number
  /** @default the client's */
  mode?: LeaseMode
}

/** Options of a leased rate. By default its `wants` are measured: the attempts per second of the last 10 s. */
export interface RateOptions extends GaugeOptions {
  /** Spreads a second's budget over parts of it of at least 20 ms. @default false */
  smooth?: boolean
}

/** The transport has no default. */
const CLIENT_RULES: OptionRules<Omit<DoormanClientOptions, 'transport'>, 'id'> = {
  id: [requireText],
  mode: [by(requireOneOf, LEASE_MODES), 'safe'],
  minimumRefreshMs: [by(requireNumber, 0), 500],
  deadlineMs: [by(requireAbove, 0), 5_000],
  clock: [requireFunction, systemClock],
  wallClock: [requireFunction, () => Date.now()],
  random: [requireFunction, systemRandom],
  after: [requireFunction, systemAfter],
}

const GAUGE_RULES: OptionRules<GaugeOptions, 'wants' | 'weight' | 'mode'> = {
  wants: [by(requireNumber, 0)],
  minWants: [by(requireNumber, 0), 1],
  priority: [by(requireInteger, Number.MIN_SAFE_INTEGER), 0],
  weight: [by(requireAbove, 0)],
  mode: [by(requireOneOf, LEASE_MODES)],
}
const RATE_RULES: OptionRules<RateOptions, 'wants' | 'weight' | 'mode'> = {
  ...GAUGE_RULES,
  smooth: [requireBoolean, false],
}

/** Throws a `RangeError` or `TypeError` that names the option and its value. */
function clientSettings(options: DoormanClientOptions): ClientSettings {
  requireOptions('doorman', options, ['transport', ...Object.keys(CLIENT_RULES)])
  const { transport } = options
  if (typeof transport !== 'object' || transport === null) fail('transport', 'a transport', transport)
  requireFunction('transport.connect', transport.connect)
  const { id, clock, ...settings } = settingsFrom(options, CLIENT_RULES)
  return { ...settings, transport, id: id ?? randomId(settings.random), clock: steady(clock) }
}

/** Throws a `RangeError` or `TypeError` that names the option and its value. */
function leaseTerms(kind: 'rate' | 'gauge', options: RateOptions, client: ClientSettings): LeaseTerms {
  requireOptions(kind, options, Object.keys(kind === 'rate' ? RATE_RULES : GAUGE_RULES))
  const { mode = client.mode, ...terms } = settingsFrom(options, RATE_RULES)
  return { ...terms, mode, minimumRefreshMs: client.minimumRefreshMs }
}

/** As plain JSON. */
export interface DoormanClientSnapshot {
  readonly id: string
  readonly closed: boolean
  /** Address of the master, if a server named one. */
  readonly master: string | undefined
  /** Unanswered requests since the last answer. */
  readonly failures: number
  readonly lastError: string | undefined
  readonly resources: readonly (RateSnapshot | GaugeSnapshot)[]
}

/**
 * Shares limited resources with other processes: asks a Doorman server for capacity, and keeps the process inside the
 * leases that it gets.
 *
 * The constructor starts nothing. From the first lease until the last is closed the client has one timer, and asks in
 * the background for all resources at once, before their leases end; each lease has a timer while a caller waits. If a
 * server does not answer, the client asks again after 1 s to 60 s; a lease's mode decides its capacity without a
 * server. No method throws because of a server.
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

  /** The name of this client at the servers. */
  get id(): string {
    return this.#settings.id
  }

  /**
   * A leased rate, in units per second. The same id returns the same lease with one more user: options, if given, must
   * be the same, and each user closes it once. Throws an error that names an invalid option, for an id that is a gauge,
   * and when the client is closed.
   */
  rate(id: string, options?: RateOptions): RateLease {
    const lease = this.#lease('rate', id, options, (owner, { smooth }) => new RateLease(owner, smooth))
    if (lease instanceof RateLease) return lease
    throw new TypeError(`${show(id)} is a gauge, not a rate`)
  }

  /** A leased concurrency. Otherwise as {@link rate}. */
  gauge(id: string, options?: GaugeOptions): GaugeLease {
    const lease = this.#lease('gauge', id, options, (owner) => new GaugeLease(owner))
    if (lease instanceof GaugeLease) return lease
    throw new TypeError(`${show(id)} is a rate, not a gauge`)
  }

  /**
   * Closes every lease and gives its capacity back; for a gauge in use, when its last slot comes back. Fulfilled when
   * the server has answered, or the deadline has passed; never rejected. Closing twice is no error.
   */
  close(): Promise<void> {
    this.#closed = true
    for (const { lease } of [...this.#leases.values()]) lease.closeAll()
    return this.#refresher.close()
  }

  /**
   * Asks for the leases that are due, and is fulfilled when the answer has come, at once if none is due; never
   * rejected. For runtimes such as Workers, where timers and background work end with the request that began them:
   * there each request calls `ctx.waitUntil(client.refresh())`, or awaits it before its first lease.
   */
  refresh(): Promise<void> {
    return this.#refresher.refresh()
  }

  /** Plain JSON: the resources, the master, and the last error. O(resources). */
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
      const gone = (): void => void this.#leases.delete(id)
      const owner: Owner = { id, terms, settings: this.#settings, refresher: this.#refresher, gone }
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
