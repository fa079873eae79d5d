import type { Scenario, Simulation } from './scenario.js'
import type { Server } from './system.js'

const ALONE = { branches: [], clientsPerLeaf: 5, wants: 110, seconds: 300 }
const WORLD = { branches: [3, 3], clientsPerLeaf: 5, wants: 15, seconds: 300 }

export const one: Scenario = { name: 'one', ...ALONE }

export const two: Scenario = { name: 'two', ...ALONE, plan: (simulation) => outage(simulation, 120, 140) }

export const three: Scenario = { name: 'three', ...ALONE, plan: (simulation) => outage(simulation, 120, 190) }

export const four: Scenario = { name: 'four', ...ALONE, branches: [1], wants: 100 }

export const five: Scenario = { name: 'five', ...WORLD }

export const six: Scenario = {
  name: 'six',
  ...WORLD,
  plan({ clients, world: { timeline, chances } }) {
    timeline.after(150, () => {
      const first = chances.mishaps.upTo(clients.length - 1)
      let second = chances.mishaps.upTo(clients.length - 1)
      while (second === first) second = chances.mishaps.upTo(clients.length - 1)
      for (const index of [first, second]) clients[index]!.client.wants = 1_000
    })
  },
}

/** Events in a tree: a client wants more, another task wins an election, or a job has no master for a while. */
type Mishap = 'spike' | 'election' | 'loss'

/** Their probabilities. The published table can be read in two ways, by the order of its rows. */
type MishapTable = readonly (readonly [Mishap, weight: number])[]

/** Rows in the order of the system behind the published figures: 1, 10 and 4 of 15. */
const MISHAPS: MishapTable = [
  ['election', 1],
  ['spike', 10],
  ['loss', 4],
]

/** Rows in their written order: 1, 5 and 9 of 15. */
const MISHAPS_AS_WRITTEN: MishapTable = [
  ['spike', 1],
  ['election', 5],
  ['loss', 9],
]

const SPIKE = 100
const LONGEST_LOSS_SECONDS = 60

export const seven: Scenario = {
  name: 'seven',
  ...WORLD,
  seconds: 3_600,
  plan: (simulation) => mishaps(simulation, 60, MISHAPS),
}

/** In the order of their names. */
export const PUBLISHED_SCENARIOS: readonly Scenario[] = [one, two, three, four, five, six, seven]

/** Triggers a mishap at regular times, from the 60th second on. */
function mishaps<S extends Server>(simulation: Simulation<S>, seconds: number, table: MishapTable): void {
  const { timeline } = simulation.world
  const again = (): void => {
    timeline.after(seconds, again)
    mishap(simulation, table)
  }
  timeline.after(60, again)
}

function mishap<S extends Server>({ clients, jobs, world }: Simulation<S>, table: MishapTable): void {
  const { timeline, chances } = world
  const rows = table.flatMap(([kind, weight]) => Array.from({ length: weight }, () => kind))
  const kind = rows[chances.mishaps.upTo(rows.length - 1)]
  if (kind === 'spike') {
    clients[chances.mishaps.upTo(clients.length - 1)]!.client.wants += SPIKE
    return
  }
  const job = jobs[chances.mishaps.upTo(jobs.length - 1)]!
  if (kind === 'election') {
    job.elect(timeline.now)
    return
  }
  const seconds = chances.mishaps.upTo(LONGEST_LOSS_SECONDS)
  if (job.master === undefined) return
  job.loseMaster(timeline.now)
  timeline.after(seconds, () => job.elect(timeline.now))
}

/** The published tree for an hour, without mishaps. */
export const fiveForAnHour: Scenario = { ...five, name: 'five for an hour', seconds: 3_600 }

/** The other reading of the mishap table. */
export const sevenAsWritten: Scenario = {
  ...seven,
  name: 'seven, the table as written',
  plan: (simulation) => mishaps(simulation, 60, MISHAPS_AS_WRITTEN),
}

/** Messages that take time, and some that are lost. */
export const sevenFarAway: Scenario = {
  ...seven,
  name: 'seven, 0 to 1 s, 2 % lost',
  weather: { mostSeconds: 1, lost: 0.02 },
}

/** A mishap every 7 s, in bad weather. */
export const sevenInAStorm: Scenario = {
  ...seven,
  name: 'a mishap every 7 s, 0 to 1 s, 5 % lost',
  weather: { mostSeconds: 1, lost: 0.05 },
  plan: (simulation) => mishaps(simulation, 7, MISHAPS),
}

/** As many, and most of them leave a node without a master. */
export const sevenInChaos: Scenario = {
  ...sevenInAStorm,
  name: 'that, the table as written',
  plan: (simulation) => mishaps(simulation, 7, MISHAPS_AS_WRITTEN),
}

/** One server with 45 clients, one of which wants 100 more, every minute. */
export const spikes: Scenario = {
  name: 'spikes',
  seconds: 3_600,
  branches: [],
  clientsPerLeaf: 45,
  wants: 15,
  plan({ clients, world: { timeline, chances } }) {
    timeline.every(60, () => {
      clients[chances.mishaps.upTo(clients.length - 1)]!.client.wants += SPIKE
    })
  },
}

function outage<S extends Server>(
  { jobs: [root], world: { timeline } }: Simulation<S>,
  from: number,
  to: number,
): void {
  timeline.after(from, () => root!.loseMaster(timeline.now))
  timeline.after(to, () => root!.elect(timeline.now))
}
