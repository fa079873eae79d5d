import type { Server } from 'node:http'
import type { QueueOptions } from '@fairlead/core/queue'
import { portOf } from '../http/framework.js'
import { FAIR_LEVEL, HEAVY_DUE } from './scenario.js'

/** The guard in front of the handler. */
export type Guard = 'nothing' | 'documented' | 'fair level' | 'heavy due' | 'fairlead' | 'fairlead queue'

/** The requests per window that a limiter admits from an address. */
export interface Window {
  readonly limit: number
  readonly windowMs: number
}

/** The peer's limiter of a framework, and the limit in its documentation. */
export interface Peer {
  readonly name: string
  readonly documented: Window
}

/** Long enough to average out randomness: in 10 s a quiet client rarely sends 50 % more than its mean. */
const WINDOW_MS = 10_000

/** The setting of the peer's limiter, if that is the guard. */
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

/** The parts of a server. */
interface Parts {
  readonly guard: Guard
  /** The need of the handler: false if the resource is exhausted. */
  use(): boolean
  /** The capacity of the queue, for the guard that has one. */
  readonly capacity: QueueOptions['concurrency']
}

/** The part of a gate that is inspected afterwards. */
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

/** The port of a server, once it listens. It keeps connections open: closing one during a send would lose a request. */
export function listening(server: Server): Promise<number> {
  server.keepAliveTimeout = 600_000
  return portOf(server)
}
