import type { Chances } from './chance.js'
import type { Job, Task } from './job.js'
import type { Network } from './network.js'
import type { Timeline } from './timeline.js'

/** State shared by the whole simulation. */
export interface World {
  readonly timeline: Timeline
  readonly chances: Chances
  readonly network: Network
  /** Requests for capacity that were sent. */
  messages: number
}

/** Capacity with its end, in seconds. */
export interface Grant {
  readonly capacity: number
  readonly expiry: number
}

/** A client of the leaf jobs. */
export interface Client {
  wants: number
  /** Its present capacity. */
  has(now: number): number
}

/** The simulation's view of a server. */
export interface Server extends Task {
  /** Its own lease, if any. */
  own(now: number): Grant | undefined
}

/** One way to divide capacity: the published servers and clients, or ours. */
export interface System<S extends Server> {
  server(world: World, job: Job<S>, task: number): S
  client(world: World, job: Job<S>, name: string, wants: number): Client
}

/** The capacity of the published simulation. */
export const CAPACITY = 500
export const SAFE_CAPACITY = 10
export const LEASE_SECONDS = 60
export const REFRESH_SECONDS = 8
/** Shortest time between two answers to the same child. */
export const MINIMUM_SECONDS = 2
/** Time until the next attempt if the master is unknown. */
export const RETRY_SECONDS = 5
