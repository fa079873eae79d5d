import type { After, Clock, Gate } from '@fairlead/core'
import { requireBoolean, requireFunction, requireOptions, requireText, show } from '@fairlead/core/internal'

/**
 * What `auth` says: nobody (`false`, nothing or an empty text), somebody (`true`), who it is, for the audit; or an answer
 * of your own, for example a redirect to your login.
 */
export type Viewer = boolean | string | undefined | Response

/** Says who may see a console. {@link basicAuth} makes one that asks the browser for a password. */
export type Auth<Raw = unknown> = (request: Request, raw: Raw) => Viewer | Promise<Viewer>

/** Where processes with the same gate leave word for each other: a hash on Redis, say. May fail; is asked again. */
export interface FleetLink {
  /** Keeps `frame`, some 200 bytes, as the word of `process`, for 5 seconds or more. Once a second. */
  write(process: string, frame: string): unknown
  /** The latest words of all processes, in any order. Only while somebody watches. */
  read(): readonly string[] | Promise<readonly string[]>
}

/** Options of {@link fairConsole}. */
export interface ConsoleOptions<Raw = unknown> {
  /**
   * Who may see it. Asked with the request, and with what the framework gave to the console, for its session. `false`:
   * everybody, because something in front has checked already. Without it, the console answers 403, unless `NODE_ENV` is
   * `development`. @default none
   */
  auth?: Auth<Raw> | false
  /** Viewers may boost, hold and block flows, each for a time. Needs a gate with `overrides`. @default false */
  control?: boolean
  /**
   * Viewers see keyed hashes instead of names of flows: under this secret, the same in all processes; with `true` under
   * one of this process. @default false
   */
  hashFlows?: boolean | string
  /** What this process is called in the panel of the fleet. Not empty. @default the process's id, or `this process` */
  process?: string
  /** Shows all processes beside each other. From its making on, each writes a word a second. @default none */
  fleet?: FleetLink
  /** Most viewers at once, each of whom gets some kB a second: the next is told 503. At least 1. @default 20 */
  maxViewers?: number
  /** Steady, in milliseconds; one that is given tells the time of day, too. @default the platform's monotonic clock */
  clock?: Clock
  /** Timer for the frames; must not keep the process alive. @default the platform's */
  after?: After
}

const KNOWN = ['auth', 'control', 'hashFlows', 'process', 'fleet', 'maxViewers', 'clock', 'after'] as const

/** Throws a `TypeError` or `RangeError` that names the option and its value. */
export function requireConsoleOptions<Raw>(gate: Gate, options: ConsoleOptions<Raw>): void {
  if (typeof gate !== 'object' || gate === null || typeof gate.observe !== 'function')
    throw new TypeError(`gate must be made by createGate, or be that of an adapter, got ${show(gate)}`)
  requireOptions('console', options, KNOWN)
  const { auth, control, hashFlows, process, fleet, maxViewers, clock, after } = options
  if (auth !== undefined && auth !== false) requireFunction('auth', auth)
  if (control !== undefined) requireBoolean('control', control)
  if (typeof hashFlows === 'string') requireText('hashFlows', hashFlows)
  else if (hashFlows !== undefined) requireBoolean('hashFlows', hashFlows)
  if (process !== undefined) requireText('process', process)
  if (fleet !== undefined) {
    if (typeof fleet !== 'object' || fleet === null) throw new TypeError(`fleet must be a link, got ${show(fleet)}`)
    requireFunction('fleet.write', fleet.write)
    requireFunction('fleet.read', fleet.read)
  }
  if (maxViewers !== undefined && !(Number.isInteger(maxViewers) && maxViewers >= 1))
    throw new RangeError(`maxViewers must be an integer >= 1, got ${show(maxViewers)}`)
  if (clock !== undefined) requireFunction('clock', clock)
  if (after !== undefined) requireFunction('after', after)
  if (control === true && gate.overrides === undefined)
    throw new TypeError('control needs a gate with overrides: createGate({ overrides: new Overrides() })')
}
