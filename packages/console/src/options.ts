import type { After, Clock, Gate } from '@fairlead/core'
import { requireBoolean, requireFunction, requireOptions, requireText, show } from '@fairlead/core/internal'

/**
 * The result of `auth`: rejected (`false`, nothing or an empty text), accepted (`true`), accepted with a name for the
 * audit, or an answer of your own, for example a redirect to your login.
 */
export type Viewer = boolean | string | undefined | Response

/** Decides whether a viewer may see a console. {@link basicAuth} makes one that asks the browser for a password. */
export type Auth<Raw = unknown> = (request: Request, raw: Raw) => Viewer | Promise<Viewer>

/**
 * A place where processes with the same gate exchange messages, for example a hash on Redis. It may fail; it is tried
 * again.
 */
export interface FleetLink {
  /** Keeps `frame`, some 200 bytes, as the message of `process`, for 5 seconds or more. Called once a second. */
  write(process: string, frame: string): unknown
  /** The latest messages of all processes, in any order. Called only while there are viewers. */
  read(): readonly string[] | Promise<readonly string[]>
}

/** Options of {@link fairConsole}. */
export interface ConsoleOptions<Raw = unknown> {
  /**
   * Decides who may see it. Called with the request, and with the framework's arguments, for its session. `false`:
   * admits every viewer, because another layer in front checks them. Without it, the console answers 403, unless
   * `NODE_ENV` is `development`. @default none
   */
  auth?: Auth<Raw> | false
  /** Viewers may boost, hold and block flows, each for a time. Needs a gate with `overrides`. @default false */
  control?: boolean
  /**
   * Viewers see keyed hashes instead of names of flows: with this secret, the same in all processes; with `true`, a
   * secret of this process. @default false
   */
  hashFlows?: boolean | string
  /** Name of this process in the panel of the fleet. Not empty. @default the process's id, or `this process` */
  process?: string
  /**
   * Shows all processes beside each other. Each writes a message a second, from the creation of its console on.
   * @default none
   */
  fleet?: FleetLink
  /** Most viewers at the same time, each of whom gets some kB a second: the next gets 503. At least 1. @default 20 */
  maxViewers?: number
  /** A monotonic clock in milliseconds; a clock of your own also supplies the time of day. @default the platform's */
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
