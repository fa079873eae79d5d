import type { Chances } from './chance.js'
import { Job } from './job.js'
import { CALM, Network, type Weather } from './network.js'
import type { Client, Server, System, World } from './system.js'
import { Timeline } from './timeline.js'

/** A tree of servers with clients at its leaves, and its events. */
export interface Scenario {
  readonly name: string
  readonly seconds: number
  /** Children of each job, from the root on: `[3, 3]` is a root, 3 regions, and 3 datacenters in each. */
  readonly branches: readonly number[]
  readonly clientsPerLeaf: number
  readonly wants: number
  readonly weather?: Weather
  /** Largest relative change of a client's wants, every 10 s. @default 0.1 */
  readonly drift?: number
  /** Schedules events at the start. */
  plan?<S extends Server>(simulation: Simulation<S>): void
}

const DRIFT_SECONDS = 10
const DRIFT = 0.1

/** A running scenario. */
export class Simulation<S extends Server> {
  readonly world: World
  readonly jobs: Job<S>[] = []
  /** With the leaf that each of them asks. */
  readonly clients: { readonly client: Client; readonly job: Job<S> }[] = []
  readonly #system: System<S>
  readonly #drift: number
  readonly #looked: (() => void)[] = []

  constructor(scenario: Scenario, system: System<S>, chances: Chances) {
    const timeline = new Timeline(() => {
      for (const look of this.#looked) look()
    })
    const network = new Network(timeline, chances.network, scenario.weather ?? CALM)
    this.world = { timeline, chances, network, messages: 0 }
    this.#system = system
    this.#drift = scenario.drift ?? DRIFT
    this.#grow(scenario, undefined, 0)
    scenario.plan?.(this)
  }

  get now(): number {
    return this.world.timeline.now
  }

  /** Calls `look` after every event. */
  watch(look: () => void): void {
    this.#looked.push(look)
  }

  #grow(scenario: Scenario, parent: Job<S> | undefined, level: number): void {
    const name = `job:${this.jobs.length}`
    const job = new Job<S>(name, parent, this.world.chances.elections, (of, task) =>
      this.#system.server(this.world, of, task),
    )
    this.jobs.push(job)
    job.elect(0)
    const branches = scenario.branches[level]
    if (branches === undefined) for (let i = 0; i < scenario.clientsPerLeaf; i++) this.addClient(job, scenario.wants)
    else for (let i = 0; i < branches; i++) this.#grow(scenario, job, level + 1)
  }

  /** Creates a client whose wants drift. */
  addClient(job: Job<S>, wants: number): Client {
    const client = this.#system.client(this.world, job, `client:${this.clients.length + 1}`, wants)
    this.clients.push({ client, job })
    const drift = (): void => {
      client.wants += this.#drift * (1 - 2 * this.world.chances.wants.real()) * client.wants
    }
    drift()
    this.world.timeline.every(DRIFT_SECONDS, drift)
    return client
  }
}
