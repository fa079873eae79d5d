import type { Server } from 'node:http'
import type { QueueOptions } from '@fairlead/core/queue'
import { portOf } from '../http/framework.js'
import { FAIR_LEVEL, HEAVY_DUE } from './scenario.js'

/** What stands in front of the handler. */
export type Guard = 'nothing' | 'documented' | 'fair level' | 'heavy due' | 'fairlead' | 'fairlead queue'

/** How many requests of an address a limiter lets through in each window. */
export interface Window {
  readonly limit: number
  readonly windowMs: number
}

/** The peer's limiter of a framework, and the limit that its own documentation shows. */
export interface Peer {
  readonly name: string
  readonly documented: Window
}

/** Long enough for chance to even out: in 10 s a quiet client hardly ever asks half as much again as its mean. */
const WINDOW_MS = 10_000

/** The limit that the peer's limiter is set to, if that is what guards. */
export function windowOf(guard: Guard, { documented }: Peer): Window | undefined {
  if (guard === 'documented') return documented
  if (guard === 'fair level') return windowFor(FAIR_LEVEL)
  if (guard === 'heavy due') return windowFor(HEAVY_DUE)
  return undefined
}

function windowFor(perSecond: number): Window {
  return { limit: Math.round((perSecond * WINDOW_MS) / 1_000), windowMs: WINDOW_MS }
}

/** In words. */
export function perWindow(perSecond: number): string {
  return `${windowFor(perSecond).limit} in ${WINDOW_MS / 1_000} s`
}

/** What a server is made of. */
interface Parts {
  readonly guard: Guard
  /** The handler's need: false when the resource is used up. */
  use(): boolean
  /** What a queue drains into, for the guard that has one. */
  readonly capacity: QueueOptions['concurrency']
}

/** A gate, as far as it is looked at afterwards. */
export interface Watched {
  snapshot(): { refusedBy: Readonly<Record<string, number>>; stages: Readonly<Record<string, unknown>> }
}

interface Served {
  readonly port: number
  readonly gate: Watched | undefined
}

/** One framework, with the same small route behind each guard. */
export interface Framework {
  readonly title: string
  readonly peer: Peer
  serve(parts: Parts): Promise<Served>
}

/** The port of a server, once it listens. It keeps connections open: one that it closes just then loses a request. */
export function listening(server: Server): Promise<number> {
  server.keepAliveTimeout = 600_000
  return portOf(server)
}
