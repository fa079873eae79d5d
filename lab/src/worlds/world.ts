import { type Draft, FAMILY_LISTS, type Family, type FamilyList, MOST_ATTEMPTS } from './families.js'
import { type Draws, draws } from './luck.js'

/** Length of a world, in seconds. */
const SHORTEST = 90
const LONGEST = 600

/** Pareto's distribution from 1 to `most`. `known`: the rule knows costs in advance. */
export interface Costs {
  readonly shape: number
  readonly most: number
  readonly known: boolean
}

/** A client's reaction to a refusal or a failure: retries immediately, with growing delays, or when told. */
interface Retry {
  readonly kind: 'now' | 'backoff' | 'after'
  readonly tries: number
}

export interface CrowdTraits {
  name: string
  flows: number
  /** Exponent by which some flows ask more than others. */
  zipf?: number
  weights?: readonly number[]
  retry?: Retry
  /** Clients of each flow, which send their next request after an answer. */
  clients?: number
  /** On and off for this many seconds. */
  bursts?: { readonly on: number; readonly off: number }
  /** Share of the requests that fail regardless of load. */
  fails?: number
  /** Is entitled to nothing here, and is not judged. */
  stranger?: boolean
  /** Requests of the crowd after which all its names are new. */
  renamedAfter?: number
}

/** Flows of a kind. Times in seconds. */
export interface Crowd extends CrowdTraits {
  readonly perSecond: number
  readonly between: readonly [number, number]
}

/** The capacity from a time on, in seconds, relative to its initial value. */
export interface Change {
  readonly at: number
  readonly times: number
}

interface Supply {
  /** Answers arrive up to this many seconds late. */
  readonly late: number
  readonly changes: readonly Change[]
}

/** A token bucket, which starts full. */
interface BucketResource extends Supply {
  readonly kind: 'bucket'
  readonly perSecond: number
  readonly burst: number
}

/** Workers with a queue, in which requests wait for at most `patience` seconds. */
interface PoolResource extends Supply {
  readonly kind: 'pool'
  readonly workers: number
  readonly meanSeconds: number
  readonly line: number
  readonly patience: number
}

export type Resource = BucketResource | PoolResource
export type Balancer = 'random' | 'sticky' | 'connections' | 'skewed'

/** `rounds`: this time has that number of equal parts, and only a third of each fails. */
export interface Unrelated {
  readonly share: number
  readonly from: number
  readonly to: number
  readonly rounds?: number
}

export interface Reports {
  lost: number
  late: number
}

/** The clock of a process is set, by seconds. */
export interface Jump {
  readonly at: number
  readonly process: number
  readonly by: number
}

export interface Restart {
  readonly at: number
  readonly process: number
}

/** Plain data. Times in seconds. The processes stand before the one resource, each with its own rule. */
export interface World {
  readonly seed: number
  readonly families: readonly string[]
  readonly seconds: number
  readonly processes: number
  readonly balancer: Balancer
  readonly resource: Resource
  readonly crowds: readonly Crowd[]
  readonly costs: Costs | null
  /** Requests that fail for some time regardless of load. */
  readonly unrelated: Unrelated | null
  /** Share of outcomes that are not reported to the rule, and the largest delay of the others. */
  readonly reports: Readonly<Reports>
  /** End of all trouble; `null` if it stays. */
  readonly endsAt: number | null
  readonly jumps: readonly Jump[]
  readonly restarts: readonly Restart[]
}

/**
 * The world of a seed: an ordinary one (light flows, mostly some heavy ones, one resource) that some families have
 * changed. Half of all have several processes.
 */
export function worldOf(seed: number, { families, atMost }: FamilyList = FAMILY_LISTS.first): World {
  const draw = draws(seed)
  const draft = ordinary(draw)
  const chance = draw.next()
  const count = atMost.findIndex((share) => chance < share)
  const chosen = new Set<Family>()
  while (chosen.size < count) chosen.add(draw.pick(families))
  const befalling = families.filter((family) => chosen.has(family))
  for (const family of befalling) family.change(draft, draw)
  const names = befalling.map(({ name }) => name)
  if (draw.chance(0.5)) {
    draft.processes = draw.pick([2, 4, 8, 16])
    draft.balancer = draw.pick(['random', 'random', 'sticky', 'connections', 'skewed'])
    names.push('fleet')
  }
  return { seed, families: names.length > 0 ? names : ['ordinary'], ...finished(draft, draw) }
}

function ordinary(draw: Draws): Draft {
  const heavy = draw.chance(0.15) ? 0 : draw.logInteger(1, 20)
  const load = draw.log(0.3, 5)
  const light = heavy === 0 ? load : Math.min(load, 1) * draw.between(0.1, 0.9)
  const crowds: Draft['crowds'] = [{ name: 'light', flows: draw.logInteger(5, 300), load: light }]
  if (draw.chance(0.4)) crowds[0].zipf = draw.between(0.4, 1.2)
  if (heavy > 0) crowds.push({ name: 'heavy', flows: heavy, load: load - light })
  return {
    capacity: draw.log(2, 3000),
    longest: LONGEST,
    attempts: MOST_ATTEMPTS,
    processes: 1,
    balancer: 'random',
    resource: { kind: 'bucket', burstSeconds: draw.log(0.05, 2), late: 0 },
    changes: [],
    crowds,
    costs: null,
    unrelated: null,
    reports: { lost: 0, late: 0 },
    ends: draw.chance(0.33) ? draw.between(0.4, 0.6) : null,
    jumps: [],
    restarts: [],
  }
}

/** Converts parts into rates and seconds, and keeps the world short enough to run. */
function finished(draft: Draft, draw: Draws): Omit<World, 'seed' | 'families'> {
  const { processes, balancer, costs, unrelated, reports } = draft
  const meanCost = costs ? meanOf(costs) : 1
  const attempts = draft.crowds.reduce((sum, { load, retry }) => sum + load * (1 + (retry?.tries ?? 0)), 0)
  const capacity = Math.min(draft.capacity, (draft.attempts * meanCost) / SHORTEST / attempts)
  const most = (draft.attempts * meanCost) / (capacity * attempts)
  const seconds = 10 * Math.floor(Math.min(most, draw.log(SHORTEST, draft.longest + 1)) / 10)
  // The first crowd's demand does not end. If it is nearly the whole capacity, the trouble does not end either.
  const ends = draft.crowds[0].load > 0.85 ? null : draft.ends
  const until = (ends ?? 1) * seconds
  const inSeconds = <T extends { readonly at: number }>(list: readonly T[]): readonly T[] =>
    list.map((each) => ({ ...each, at: each.at * seconds }))
  return {
    seconds,
    processes,
    balancer,
    resource: builtResource(draft, capacity, seconds),
    crowds: draft.crowds.map(({ load, between: [from, to] = [0, 1], ...traits }, index) => ({
      ...traits,
      perSecond: (load * capacity) / meanCost,
      between: [from * seconds, Math.min(to * seconds, index === 0 ? seconds : until)],
    })),
    costs,
    unrelated: unrelated && {
      ...unrelated,
      from: unrelated.from * seconds,
      to: Math.min(unrelated.to * seconds, until),
    },
    reports,
    endsAt: ends === null ? null : until,
    jumps: inSeconds(draft.jumps),
    restarts: inSeconds(draft.restarts),
  }
}

function builtResource({ resource, costs, ...draft }: Draft, capacity: number, seconds: number): Resource {
  const ends = draft.ends ?? 1
  const changes = draft.changes.filter(({ at }) => at < ends).map(({ at, times }) => ({ at: at * seconds, times }))
  const last = changes.at(-1)
  if (ends < 1 && last && last.times !== 1) changes.push({ at: ends * seconds, times: 1 })
  const { late } = resource
  if (resource.kind === 'bucket') {
    // Each cost fits into the burst.
    const burst = Math.max(resource.burstSeconds * capacity, costs ? costs.most : 1)
    return { kind: 'bucket', late, perSecond: capacity, burst, changes }
  }
  const workers = Math.max(1, Math.round(capacity * resource.meanSeconds))
  const line = Math.round(resource.line * workers)
  return { kind: 'pool', late, workers, meanSeconds: workers / capacity, line, patience: resource.patience, changes }
}

function meanOf({ shape, most }: Costs): number {
  return (shape / (shape - 1)) * ((1 - most ** (1 - shape)) / (1 - most ** -shape))
}
