import { type Draws, draws } from './luck.js'

/** Attempts that a world comes to at most, retries included, and how long it lasts, in seconds. */
const MOST_ATTEMPTS = 150_000
const SHORTEST = 90
const LONGEST = 600

/** Pareto's distribution from 1 to `most`. `known`: told to the rule beforehand. */
export interface Costs {
  readonly shape: number
  readonly most: number
  readonly known: boolean
}

/** What clients do after a refusal or a failure: ask again at once, later each time, or when they were told. */
interface Retry {
  readonly kind: 'now' | 'backoff' | 'after'
  readonly tries: number
}

interface CrowdTraits {
  name: string
  flows: number
  /** Exponent by which some flows ask more than others. */
  zipf?: number
  weights?: readonly number[]
  retry?: Retry
  /** Clients of each flow, that ask again when they have had an answer. */
  clients?: number
  /** On and off for this many seconds. */
  bursts?: { readonly on: number; readonly off: number }
  /** Share of the requests that fail, however little is let in. */
  fails?: number
  /** Owns nothing here, and is not judged. */
  stranger?: boolean
  /** Requests of the crowd after which all its names are new. */
  renamedAfter?: number
}

/** Flows of a kind. Times in seconds. */
export interface Crowd extends CrowdTraits {
  readonly perSecond: number
  readonly between: readonly [number, number]
}

/** The capacity from a time on, in seconds, relative to what it was at first. */
interface Change {
  readonly at: number
  readonly times: number
}

interface Supply {
  /** Answers come up to this many seconds late. */
  readonly late: number
  readonly changes: readonly Change[]
}

/** A token bucket, which starts full. */
interface BucketResource extends Supply {
  readonly kind: 'bucket'
  readonly perSecond: number
  readonly burst: number
}

/** Workers with a line before them, in which nobody stays longer than `patience` seconds. */
interface PoolResource extends Supply {
  readonly kind: 'pool'
  readonly workers: number
  readonly meanSeconds: number
  readonly line: number
  readonly patience: number
}

export type Resource = BucketResource | PoolResource
type Balancer = 'random' | 'sticky' | 'connections' | 'skewed'

interface Unrelated {
  readonly share: number
  readonly from: number
  readonly to: number
}

interface Reports {
  lost: number
  late: number
}

/** The clock of a process is set, by seconds. */
interface Jump {
  readonly at: number
  readonly process: number
  readonly by: number
}

interface Restart {
  readonly at: number
  readonly process: number
}

/** Plain data. Times in seconds. The processes stand before the one resource, each with a rule of its own. */
export interface World {
  readonly seed: number
  readonly families: readonly string[]
  readonly seconds: number
  readonly processes: number
  readonly balancer: Balancer
  readonly resource: Resource
  readonly crowds: readonly Crowd[]
  readonly costs: Costs | null
  /** Requests that fail in some time whatever is let in. */
  readonly unrelated: Unrelated | null
  /** Share of outcomes that the rule never hears of, and how late it hears of the others at most. */
  readonly reports: Readonly<Reports>
  /** When all trouble is over; `null` if it stays. */
  readonly endsAt: number | null
  readonly jumps: readonly Jump[]
  readonly restarts: readonly Restart[]
}

interface DraftCrowd extends CrowdTraits {
  /** Part of the capacity. */
  load: number
  /** Parts of the whole time. */
  between?: readonly [number, number]
}

/** A world before its length is known: loads are parts of the capacity, times parts of the whole. */
interface Draft {
  capacity: number
  longest: number
  attempts: number
  processes: number
  balancer: Balancer
  resource:
    | { readonly kind: 'bucket'; readonly burstSeconds: number; late: number }
    | {
        readonly kind: 'pool'
        readonly meanSeconds: number
        /** Relative to the number of workers. */
        readonly line: number
        readonly patience: number
        late: number
      }
  changes: Change[]
  crowds: [DraftCrowd, ...DraftCrowd[]]
  costs: Costs | null
  unrelated: Unrelated | null
  reports: Reports
  ends: number | null
  jumps: Jump[]
  restarts: Restart[]
}

/** What befalls a world: changes the draft of an ordinary one. */
interface Family {
  readonly name: string
  change(draft: Draft, draw: Draws): void
}

/** Families, and the chance that at most none, one, two … of them befall a world. */
interface FamilyList {
  readonly families: readonly Family[]
  readonly atMost: readonly number[]
}

/** A world's seed stands for it only as long as nothing is added here: what is new goes to `extra`, or to a new list. */
const first: FamilyList = {
  atMost: [0.2, 0.65, 0.87, 1],
  families: [
    {
      name: 'trickle', // a few requests a second, most of them served, often with failures for another reason
      change(draft, draw) {
        draft.capacity = draw.log(2, 20)
        scaleTo(draft, draw.log(0.25, 1.2))
        draft.crowds[0].flows = draw.logInteger(3, 30)
        draft.longest = 900
        if (draw.chance(0.7)) draft.unrelated = { share: draw.log(0.03, 0.5), from: draw.between(0, 0.2), to: 1 }
      },
    },
    {
      name: 'many light',
      change(draft, draw) {
        draft.crowds[0].flows = draw.logInteger(1000, 20_000)
        draft.capacity = draw.log(300, 3000)
        draft.ends = null
        if (draft.crowds[1] && draw.chance(0.5)) draft.crowds[1].flows = draw.integer(15, 50)
      },
    },
    {
      name: 'pool',
      change(draft, draw) {
        const line = draw.chance(0.5) ? 0 : draw.log(0.2, 2)
        draft.resource = { kind: 'pool', meanSeconds: draw.log(0.01, 2), line, patience: draw.log(0.2, 5), late: 0 }
      },
    },
    {
      name: 'slow store',
      change(draft, draw) {
        draft.resource.late = draw.log(0.05, 2)
      },
    },
    {
      name: 'changing capacity',
      change(draft, draw) {
        const at = draw.between(0.15, 0.35)
        const back = at + draw.between(0.1, 0.4)
        const times = draw.pick([0, 0.5, 2, draw.log(0.1, 4)])
        draft.changes = [{ at, times }]
        if (times === 0) draft.changes.push({ at: Math.min(back, at + 0.1), times: 1 })
        else if (draw.chance(0.6)) draft.changes.push({ at: back, times: 1 })
      },
    },
    {
      name: 'bursts',
      change(draft, draw) {
        const crowd = draw.pick(draft.crowds)
        if (draw.chance(0.7)) crowd.bursts = { on: draw.log(0.5, 30), off: draw.log(0.5, 30) }
        else crowd.between = [draw.between(0.1, 0.4), draw.between(0.6, 0.9)]
      },
    },
    {
      name: 'costs',
      change(draft, draw) {
        const most = Math.min(100, Math.max(2, draft.capacity / 5))
        draft.costs = { shape: draw.between(1.1, 2.5), most, known: draw.chance(0.6) }
      },
    },
    {
      name: 'weights',
      change(draft, draw) {
        for (const crowd of draft.crowds) crowd.weights = [1, draw.pick([2, 3, 10])]
      },
    },
    {
      name: 'retries',
      change(draft, draw) {
        for (const crowd of draft.crowds)
          if (draw.chance(0.75))
            crowd.retry = { kind: draw.pick(['now', 'backoff', 'after']), tries: draw.integer(1, 4) }
      },
    },
    {
      name: 'closed loops',
      change(draft, draw) {
        const crowd = draw.chance(0.3) ? draft.crowds[0] : draft.crowds.at(-1)!
        crowd.clients = draw.logInteger(1, 8)
      },
    },
    {
      name: 'private failures', // of flows whose requests fail however little is let in
      change(draft, draw) {
        const load = draw.log(0.02, 1)
        const crowd: DraftCrowd = { name: 'hopeless', flows: draw.logInteger(1, 100), load, stranger: true, fails: 1 }
        if (draw.chance(0.3)) {
          Object.assign(crowd, { name: 'unlucky', stranger: false, fails: draw.between(0.3, 0.95) })
        } else if (draw.chance(0.4)) crowd.renamedAfter = draw.logInteger(1, 20)
        if (draw.chance(0.5)) crowd.between = [draw.between(0.1, 0.4), 1]
        if (draw.chance(0.5)) scaleTo(draft, draw.log(0.2, 0.9))
        draft.crowds.push(crowd)
      },
    },
    {
      name: 'unrelated failures', // of any request, for some time
      change(draft, draw) {
        const from = draw.between(0, 0.5)
        draft.unrelated = { share: draw.log(0.01, 0.6), from, to: draw.chance(0.5) ? 1 : draw.between(from, 1) }
      },
    },
    {
      name: 'invented names',
      change(draft, draw) {
        const [light] = draft.crowds
        light.load = Math.min(light.load, draw.between(0.2, 0.9))
        draft.crowds.push({
          name: 'flood',
          flows: draw.logInteger(1, 5),
          load: draw.between(1, 5),
          stranger: true,
          renamedAfter: draw.pick([1, 1, 1, 3, 10]),
          between: [draw.between(0, 0.4), 1],
        })
      },
    },
    {
      name: 'poor reports',
      change(draft, draw) {
        if (draw.chance(0.5)) draft.reports.lost = draw.log(0.01, 0.3)
        if (draft.reports.lost === 0 || draw.chance(0.5)) draft.reports.late = draw.log(0.02, 5)
      },
    },
  ],
}

/** One befalls each world. */
const extra: FamilyList = {
  atMost: [0, 1],
  families: [
    {
      name: 'busy service', // nothing is short, some requests fail all the time for another reason
      change(draft, draw) {
        const load = draw.between(0.2, 0.6)
        draft.capacity = draw.log(400, 5000) / load
        draft.attempts = 3 * MOST_ATTEMPTS
        scaleTo(draft, load)
        draft.unrelated = { share: draw.log(0.001, 0.2), from: 0, to: 1 }
        draft.ends = null
      },
    },
    {
      name: 'poison, cold', // from the start
      change: (draft, draw) => addPoison(draft, draw, 0),
    },
    {
      name: 'poison, warm', // after a healthy time
      change: (draft, draw) => addPoison(draft, draw, draw.between(0.2, 0.5)),
    },
    {
      name: 'large buffer',
      change(draft, draw) {
        scaleTo(draft, draw.log(1.2, 4))
        draft.resource = draw.chance(0.5)
          ? { kind: 'bucket', burstSeconds: draw.log(5, 60), late: 0 }
          : { kind: 'pool', meanSeconds: draw.log(0.01, 2), line: draw.log(5, 50), patience: draw.log(5, 60), late: 0 }
      },
    },
    {
      name: 'clocks',
      change(draft, draw) {
        draft.processes = draw.pick([2, 4, 8])
        for (let process = 0; process < draft.processes; process++)
          for (const at of [0, draw.next()])
            draft.jumps.push({ at, process, by: draw.pick([-1, 1]) * draw.log(0.1, 3600) })
      },
    },
    {
      name: 'restarts',
      change(draft, draw) {
        draft.processes = draw.pick([1, 2, 4])
        const count = draw.logInteger(1, 20)
        for (let i = 0; i < count; i++) draft.restarts.push({ at: draw.next(), process: draw.integer(0, 15) })
      },
    },
  ],
}

export const FAMILY_LISTS: { readonly first: FamilyList; readonly extra: FamilyList } = { first, extra }

function addPoison(draft: Draft, draw: Draws, from: number): void {
  scaleTo(draft, draw.between(0.3, 0.8))
  const load = draw.log(0.02, 0.5)
  const poison = { flows: draw.logInteger(1, 5), load, stranger: true, fails: 1 }
  draft.crowds.push({ name: 'poison', ...poison, between: [from, 1] })
}

function scaleTo({ crowds }: Draft, load: number): void {
  const times = load / crowds.reduce((sum, crowd) => sum + crowd.load, 0)
  for (const crowd of crowds) crowd.load *= times
}

/**
 * The world of a seed: an ordinary one (light flows, mostly some heavy ones, one resource) that some families have
 * changed. Half of all have several processes.
 */
export function worldOf(seed: number, { families, atMost }: FamilyList = first): World {
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

/** Turns parts into rates and seconds, and keeps the world short enough to run. */
function finished(draft: Draft, draw: Draws): Omit<World, 'seed' | 'families'> {
  const { processes, balancer, costs, unrelated, reports } = draft
  const meanCost = costs ? meanOf(costs) : 1
  const attempts = draft.crowds.reduce((sum, { load, retry }) => sum + load * (1 + (retry?.tries ?? 0)), 0)
  const capacity = Math.min(draft.capacity, (draft.attempts * meanCost) / SHORTEST / attempts)
  const most = (draft.attempts * meanCost) / (capacity * attempts)
  const seconds = 10 * Math.floor(Math.min(most, draw.log(SHORTEST, draft.longest + 1)) / 10)
  // What the first crowd asks does not end. If that is nearly all there is, nor does the trouble.
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
      share: unrelated.share,
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
