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
export function clientSettings(options: DoormanClientOptions): ClientSettings {
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
export function leaseTerms(kind: 'rate' | 'gauge', options: RateOptions, client: ClientSettings): LeaseTerms {
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
