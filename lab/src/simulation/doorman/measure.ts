import { maxMin } from '../max-min.js'
import type { Chances } from './chance.js'
import type { Scenario } from './scenario.js'
import { Simulation } from './scenario.js'
import { CAPACITY, type Server, type System } from './system.js'

const SAMPLE_SECONDS = 5
/** Samples from this time on count. */
const SETTLED_SECONDS = 60
/** Relative rounding error of sums of doubles. */
const DUST = 1e-9

/** Measurements of a scenario. Parts are of the capacity unless stated otherwise. */
export interface Findings {
  /** Capacity handed out to clients, mean of the samples. */
  readonly handedOut: number
  /** As a part of the smaller of wants and capacity. */
  readonly handedOutOfWanted: number
  /** Each client's capacity up to its wants, as a part of the smaller of total wants and capacity. */
  readonly useful: number
  /** Misallocated capacity: the clients' deficits from their max-min shares, as a part of all shares. */
  readonly misallocated: number
  /** The maximum of the clients' total, at any instant. */
  readonly most: number
  /** Samples in which clients had more than the capacity. */
  readonly samplesOver: number
  readonly samples: number
  /** Instants at which a node with a lease had less than its children. */
  readonly nodesOver: number
  readonly messages: number
}

/** Runs a scenario, and measures it after every event. */
export function measure<S extends Server>(scenario: Scenario, system: System<S>, chances: Chances): Findings {
  const simulation = new Simulation(scenario, system, chances)
  const findings = observe(simulation)
  simulation.world.timeline.run(scenario.seconds)
  return findings()
}

/** The same for a system whose clients or servers answer with promises. */
export async function measureSettling<S extends Server>(
  scenario: Scenario,
  system: System<S>,
  chances: Chances,
): Promise<Findings> {
  const simulation = new Simulation(scenario, system, chances)
  const findings = observe(simulation)
  await simulation.world.timeline.runSettling(scenario.seconds, settled)
  return findings()
}

/** Longer than any chain of promises in a client. */
const TURNS = 40

async function settled(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn++) await Promise.resolve()
}

function observe<S extends Server>(simulation: Simulation<S>): () => Findings {
  const totals = { handedOut: 0, ofWanted: 0, useful: 0, misallocated: 0, samples: 0, over: 0, most: 0, nodesOver: 0 }
  const nodesOver = overseer(simulation)
  simulation.watch(() => {
    totals.most = Math.max(totals.most, hasOfAll(simulation))
    totals.nodesOver += nodesOver()
  })
  simulation.world.timeline.every(SAMPLE_SECONDS, () => {
    if (simulation.now <= SETTLED_SECONDS) return
    const { now } = simulation
    const wants = simulation.clients.map(({ client }) => client.wants)
    const has = simulation.clients.map(({ client }) => client.has(now))
    const shares = maxMin(wants, CAPACITY)
    const wanted = Math.min(CAPACITY, sum(wants))
    totals.samples++
    totals.handedOut += sum(has) / CAPACITY
    totals.ofWanted += sum(has) / wanted
    totals.useful += sum(has.map((each, i) => Math.min(each, wants[i]!))) / wanted
    totals.misallocated += sum(shares.map((share, i) => Math.max(0, share - has[i]!))) / sum(shares)
    if (sum(has) > CAPACITY * (1 + DUST)) totals.over++
  })
  const mean = (total: number): number => total / totals.samples
  return () => ({
    handedOut: mean(totals.handedOut),
    handedOutOfWanted: mean(totals.ofWanted),
    useful: mean(totals.useful),
    misallocated: mean(totals.misallocated),
    most: totals.most / CAPACITY,
    samplesOver: totals.over,
    samples: totals.samples,
    nodesOver: totals.nodesOver,
    messages: simulation.world.messages,
  })
}

/** Total capacity of all clients. */
export function hasOfAll<S extends Server>({ clients, now }: Simulation<S>): number {
  let total = 0
  for (const { client } of clients) total += client.has(now)
  return total
}

/**
 * Counts the nodes whose lease is smaller than the total of their children's leases, for the clients that are present.
 * It is called after every event, so it allocates nothing.
 */
function overseer<S extends Server>(simulation: Simulation<S>): () => number {
  const { clients, jobs } = simulation
  const places = new Map(jobs.map((job, place) => [job, place]))
  const leaves = clients.map(({ job }) => places.get(job)!)
  const parents = jobs.map(({ parent }) => (parent === undefined ? undefined : places.get(parent)!))
  const given = new Float64Array(jobs.length)
  const leases = new Float64Array(jobs.length)
  return () => {
    const { now } = simulation
    given.fill(0)
    for (let i = 0; i < leaves.length; i++) given[leaves[i]!]! += clients[i]!.client.has(now)
    for (let i = 0; i < parents.length; i++) {
      const lease = jobs[i]!.master?.own(now)
      leases[i] = lease?.capacity ?? Number.POSITIVE_INFINITY
      const parent = parents[i]
      if (parent !== undefined) given[parent]! += lease?.capacity ?? 0
    }
    let over = 0
    for (let i = 0; i < leases.length; i++) if (given[i]! > leases[i]! * (1 + DUST) + DUST) over++
    return over
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
