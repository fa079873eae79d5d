import { maxMin } from '../max-min.js'
import type { Chances } from './chance.js'
import { type Scenario, Simulation } from './scenario.js'
import { CAPACITY, type Server, type System } from './system.js'

/** Shifts of demand, and the response. All begin late, so that the system has settled. */
const BEFORE_SECONDS = 200
const LONG_ENOUGH_SECONDS = 200
/** The response is complete when clients have this part of their max-min shares. */
const FOLLOWED = 0.99
const WANTS = 15

/** Three regions with three datacenters each, refreshing every 8, 4 and 2 s. */
export const TREE: Scenario = {
  name: 'tree',
  branches: [3, 3],
  clientsPerLeaf: 5,
  wants: WANTS,
  drift: 0,
  seconds: BEFORE_SECONDS + LONG_ENOUGH_SECONDS,
}

/** The same number of clients at one server. */
export const LEVEL: Scenario = { ...TREE, name: 'level', branches: [], clientsPerLeaf: 45 }

/**
 * Seconds until clients have 99 % of their max-min shares, after a third of them (in a tree: one region), which wanted
 * nothing, `'return'`, or after they `'leave'`. `phase` moves the moment, in seconds.
 */
export function secondsToFollow<S extends Server>(
  scenario: Scenario,
  system: System<S>,
  chances: Chances,
  move: 'return' | 'leave',
  phase: number,
): number {
  const simulation = new Simulation(scenario, system, chances)
  const { clients, world } = simulation
  const moving = clients.slice(0, clients.length / 3)
  const set = (wants: number): void => {
    for (const { client } of moving) client.wants = wants
  }
  set(move === 'return' ? 0 : WANTS)
  const begin = BEFORE_SECONDS + phase
  world.timeline.after(begin, () => set(move === 'return' ? WANTS : 0))
  let followedAt = Number.POSITIVE_INFINITY
  world.timeline.every(1, () => {
    if (simulation.now <= begin) return
    if (served(simulation) < FOLLOWED) followedAt = Number.POSITIVE_INFINITY
    else followedAt = Math.min(followedAt, simulation.now)
  })
  world.timeline.run(scenario.seconds)
  return followedAt - begin
}

/** Part of the max-min shares that clients have. */
function served<S extends Server>({ clients, now }: Simulation<S>): number {
  const shares = maxMin(
    clients.map(({ client }) => client.wants),
    CAPACITY,
  )
  let total = 0
  let has = 0
  for (const [i, share] of shares.entries()) {
    total += share
    has += Math.min(share, clients[i]!.client.has(now))
  }
  return has / total
}

/** Seconds until a client that arrives just after a change of master has some capacity, and 90 % of its share. */
export interface Welcome {
  readonly something: number
  readonly share: number
}

/** The master of a job at `level` is away for `away` seconds; as soon as there is another, a client arrives. */
export function welcome<S extends Server>(
  system: System<S>,
  chances: Chances,
  level: number,
  away: number,
  phase: number,
): Welcome {
  const simulation = new Simulation(TREE, system, chances)
  const { jobs, world } = simulation
  const job = jobs.find((each) => each.level === level)!
  const leaf = jobs.find((each) => each.level === 2)!
  const begin = BEFORE_SECONDS + phase
  world.timeline.after(begin - away, () => job.loseMaster(simulation.now))
  world.timeline.after(begin, () => job.elect(simulation.now))
  let something = Number.POSITIVE_INFINITY
  let share = Number.POSITIVE_INFINITY
  world.timeline.after(begin + 1, () => {
    const newcomer = simulation.addClient(leaf, WANTS)
    simulation.watch(() => {
      const has = newcomer.has(simulation.now)
      const fair = CAPACITY / simulation.clients.length
      const seconds = simulation.now - begin - 1
      if (has > 0) something = Math.min(something, seconds)
      if (has >= 0.9 * fair) share = Math.min(share, seconds)
    })
  })
  world.timeline.run(TREE.seconds)
  return { something, share }
}
