import type { Chances } from './chance.js'
import { hasOfAll } from './measure.js'
import { type Scenario, Simulation } from './scenario.js'
import type { Server, System } from './system.js'

/** A scenario over time: equally long lists, an entry for each sample. */
export interface Course {
  readonly seconds: readonly number[]
  /** Capacity of the root's master; 0 while there is none. */
  readonly capacity: readonly number[]
  /** Total wants of the clients. */
  readonly wanted: readonly number[]
  /** Total capacity of the clients. */
  readonly handedOut: readonly number[]
  /** The maximum of that total since the last sample. */
  readonly most: readonly number[]
}

/** Runs a scenario, and samples it at regular times. */
export function course<S extends Server>(
  scenario: Scenario,
  system: System<S>,
  chances: Chances,
  everySeconds: number,
): Course {
  const simulation = new Simulation(scenario, system, chances)
  const { clients, jobs, world } = simulation
  const looks = {
    seconds: [] as number[],
    capacity: [] as number[],
    wanted: [] as number[],
    handedOut: [] as number[],
    most: [] as number[],
  }
  let most = 0
  simulation.watch(() => {
    most = Math.max(most, hasOfAll(simulation))
  })
  world.timeline.every(everySeconds, () => {
    const { now } = simulation
    looks.seconds.push(now)
    looks.capacity.push(jobs[0]!.master?.own(now)?.capacity ?? 0)
    looks.wanted.push(clients.reduce((sum, { client }) => sum + client.wants, 0))
    looks.handedOut.push(hasOfAll(simulation))
    looks.most.push(most)
    most = 0
  })
  world.timeline.run(scenario.seconds)
  return looks
}
