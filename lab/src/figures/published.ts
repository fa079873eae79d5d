import * as backlogged from '../simulation/published/backlogged.js'
import * as engine from '../simulation/published/engine.js'
import * as jobs from '../simulation/published/jobs.js'
import type { Aim } from './aims.js'
import type { Effort, Figure, Table, Tell } from './figure.js'
import { seedsOf } from './measure.js'
import { mean } from './numbers.js'

const SEEDS: readonly number[] = [1, 2, 3, 4, 5]

type Size = Pick<Required<backlogged.Backlog>, 'slots' | 'tenants' | 'expensive' | 'expensiveMs'>

/** The published set-up, with expensive tenants of a hundred. */
const PUBLISHED = [25, 50, 75].map((expensive): Size => ({ slots: 16, tenants: 100, expensive, expensiveMs: 1_000 }))
const DEVIATION_GOALS = [0.06, 0.06, 0.16]
const GAP_GOALS = [15, 15, 35]
/** Other sizes. */
const OTHERS: readonly Size[] = [
  { slots: 4, tenants: 40, expensive: 30, expensiveMs: 1_000 },
  { slots: 16, tenants: 100, expensive: 10, expensiveMs: 100 },
  { slots: 16, tenants: 100, expensive: 75, expensiveMs: 10 },
  { slots: 16, tenants: 100, expensive: 90, expensiveMs: 1_000 },
  { slots: 16, tenants: 100, expensive: 95, expensiveMs: 1_000 },
  { slots: 32, tenants: 100, expensive: 90, expensiveMs: 1_000 },
  { slots: 64, tenants: 200, expensive: 180, expensiveMs: 1_000 },
  { slots: 64, tenants: 200, expensive: 180, expensiveMs: 100 },
  { slots: 256, tenants: 800, expensive: 720, expensiveMs: 1_000 },
]

/** 2DFQ's figures are of our own implementation after the paper. */
interface Smooth extends Size {
  readonly ours: backlogged.Smoothness
  readonly unknown: backlogged.Smoothness
  readonly theirs: backlogged.Smoothness
}

function smoothness(sizes: readonly Size[], seconds: number, effort: Effort, tell: Tell): Smooth[] {
  return sizes.map((size) => {
    tell(`${size.slots} slots, ${size.expensive} expensive tenants of ${size.tenants}`)
    const average = (make: (load: backlogged.Load) => backlogged.Scheduler): backlogged.Smoothness => {
      const runs = seedsOf(effort, SEEDS).map((seed) => backlogged.runBacklog({ ...size, seconds, seed }, make))
      return {
        deviation: mean(runs.map(({ deviation }) => deviation)),
        gapMs: Math.max(...runs.map(({ gapMs }) => gapMs)),
        share: mean(runs.map(({ share }) => share)),
      }
    }
    return {
      ...size,
      ours: average((load) => backlogged.ours(load, true)),
      unknown: average((load) => backlogged.ours(load, false)),
      theirs: average(backlogged.twoDimensional),
    }
  })
}

/** Runs for each seed: a run has few jobs of the light key. */
const JOB_RUNS = 8

interface JobScenario {
  readonly name: string
  readonly watched: string
  /** Mean wait of the watched key with the best of the study's schedulers. */
  readonly published: number | undefined
  readonly sources: readonly jobs.Source[]
}

const source = (key: string, count: number, perSecond?: number, account = key): jobs.Source => {
  return { account, key, jobs: count, ...(perSecond !== undefined && { perSecond }) }
}

const JOBS: readonly JobScenario[] = [
  {
    name: 'one key with 240 jobs, four light ones',
    watched: 'light-1',
    published: 14,
    sources: [source('heavy', 240), ...[1, 2, 3, 4].map((i) => source(`light-${i}`, 15, 10))],
  },
  {
    name: 'one key with 240 jobs, two that trickle',
    watched: 'trickle-1',
    published: 17,
    sources: [source('bulk', 240), ...[1, 2].map((i) => source(`trickle-${i}`, 30, 25))],
  },
  {
    name: 'one account that splits 300 jobs over 20 keys, a light one',
    watched: 'light',
    published: 1_009,
    sources: [
      ...Array.from({ length: 20 }, (_, i) => source(`split-${i}`, 15, undefined, 'splitter')),
      source('light', 15, 10),
    ],
  },
]

/** Fairness must cost no time if there is only one flow. */
const ALONE: JobScenario = {
  name: 'one key alone',
  watched: 'heavy',
  published: undefined,
  sources: [source('heavy', 200)],
}

interface Waits {
  readonly name: string
  readonly published: number | undefined
  readonly byAge: number
  readonly keys: number
  readonly paths: number
  /** The watched key, or all light ones, before all others. */
  readonly bound: number
  readonly light: number
  /** Milliseconds by which the last job began later than in order of age, at most. */
  readonly lost: number
}

function waitsOf({ name, watched, published, sources }: JobScenario, effort: Effort): Waits {
  const seeds = seedsOf(effort, SEEDS).flatMap((seed) => Array.from({ length: JOB_RUNS }, (_, i) => 100 * seed + i))
  const runs = (make: () => jobs.JobQueue): { waitMs: number; lastMs: number }[] =>
    seeds.map((seed) => jobs.runJobs(jobs.jobsOf(sources, seed), make(), watched))
  const waitMs = (make: () => jobs.JobQueue): number => mean(runs(make).map((run) => run.waitMs))
  const paths = (): jobs.JobQueue => jobs.ours(({ account, key }) => [account, key])
  const byAge = runs(jobs.oldestFirst)
  return {
    name,
    published,
    byAge: mean(byAge.map((run) => run.waitMs)),
    keys: waitMs(() => jobs.ours(({ key }) => key)),
    paths: waitMs(paths),
    bound: waitMs(() => jobs.alwaysFirst([watched])),
    light: waitMs(() =>
      jobs.alwaysFirst(sources.flatMap(({ key, perSecond }) => (perSecond === undefined ? [] : [key]))),
    ),
    lost: Math.max(...runs(paths).map(({ lastMs }, i) => lastMs - byAge[i]!.lastMs)),
  }
}

/** The paper's overloads: rates, its measurements of VTC, and our goals. */
const LOADS = [
  { name: 'two clients', rates: [1.5, 3], published: [192.9, 103.8], goals: [9, 1] },
  {
    name: 'eight clients',
    rates: [0.4, 0.4, 0.4, 0.6, 0.6, 0.6, 0.6, 0.6],
    published: [322.2, 162.2],
    goals: [51, 28],
  },
] as const
const GATEWAY_SLOTS = 32
/** Requests of 512 tokens that fit into the engine's pool of 10 000 tokens, rounded up. */
const FITTING_SLOTS = 20

interface Load {
  readonly name: string
  readonly published: readonly number[]
  readonly goals: readonly number[]
  readonly rows: readonly { readonly title: string; readonly unfairness: engine.Unfairness }[]
}

function loads({ part }: Effort, tell: Tell): Load[] {
  return LOADS.map(({ name, rates, published, goals }) => {
    tell(name)
    const all = engine.steadyLoad(rates, Math.max(60, 360 * part))
    const row = (title: string, make: () => engine.EngineQueue) => {
      return { title, unfairness: engine.unfairness(engine.serve(all, make())) }
    }
    return {
      name,
      published,
      goals,
      rows: [
        row('first come', engine.firstCome),
        row('VTC, inside the engine', () => engine.tokenCounter()),
        row('VTC that knows the lengths', () => engine.tokenCounter({ knows: true })),
        row('our queue, inside the engine', () => engine.ours()),
        row(`our queue, a gateway of ${GATEWAY_SLOTS} slots before a first-come engine`, () =>
          engine.gateway(GATEWAY_SLOTS, engine.ours()),
        ),
        row(`the same with ${FITTING_SLOTS} slots, as many as fit into the engine`, () =>
          engine.gateway(FITTING_SLOTS, engine.ours()),
        ),
      ],
    }
  })
}

export const published: Figure = {
  name: 'published',
  file: 'sfq-published',
  about: 'the experiments of 2DFQ, of VTC, and of a study of job queues, each by its own measure',
  source:
    '2DFQ: our own implementation after the paper, in the same set-up. VTC: its artifact’s raw results. Jobs: the best of the study’s schedulers',
  seeds: SEEDS,
  make(effort, tell) {
    const smooth = smoothness(PUBLISHED, Math.max(3, 15 * effort.part), effort, tell)
    const others = smoothness(OTHERS, Math.max(3, 6 * effort.part), effort, tell)
    const waits = JOBS.map((scenario) => {
      tell(scenario.name)
      return waitsOf(scenario, effort)
    })
    const alone = waitsOf(ALONE, effort)
    const engines = loads(effort, tell)
    return {
      aims: aimsOf(smooth, waits, alone, engines),
      tables: [smoothTable(smooth), othersTable(others), waitsTable(waits), loadTable(engines)],
      pictures: {},
      data: { smooth, others, waits, alone, engines },
    }
  },
}

function aimsOf(smooth: readonly Smooth[], waits: readonly Waits[], alone: Waits, engines: readonly Load[]): Aim[] {
  return [
    ...smooth.flatMap(({ expensive, ours, theirs }, i): Aim[] => [
      {
        what: `deviation of a small tenant’s service, s, ${expensive} of 100 expensive`,
        published: theirs.deviation,
        ours: ours.deviation,
        goal: { most: DEVIATION_GOALS[i]! },
        digits: 3,
      },
      {
        what: 'its longest gap, ms',
        published: theirs.gapMs,
        ours: ours.gapMs,
        goal: { most: GAP_GOALS[i]! },
        digits: 0,
      },
    ]),
    ...smooth.map(
      ({ expensive, unknown }): Aim => ({
        what: `part of their share that small tenants have if costs are known at the end, ${expensive} of 100 expensive`,
        ours: unknown.share,
        goal: { least: 0.9 },
        digits: 2,
      }),
    ),
    ...waits.map(
      ({ name, published, paths }): Aim => ({
        what: `wait of a light key, ms: ${name}`,
        published,
        ours: paths,
        goal: { most: 10 },
      }),
    ),
    { what: `time lost beside order of age, ms: ${alone.name}`, ours: alone.lost, goal: { most: 0 }, digits: 0 },
    ...engines.flatMap(({ name, published, goals, rows }) =>
      [GATEWAY_SLOTS, FITTING_SLOTS].flatMap((slots, i): Aim[] => {
        const { most, mean: average } = rows.at(i - 2)!.unfairness
        return [
          {
            what: `gateway of ${slots} slots, ${name}: most difference`,
            published: published[0],
            ours: most,
            goal: { most: goals[0]! },
          },
          { what: 'mean difference', published: published[1], ours: average, goal: { most: goals[1]! } },
        ]
      }),
    ),
  ]
}

function smoothTable(smooth: readonly Smooth[]): Table {
  return {
    id: 'smooth',
    title: 'A small tenant’s service beside expensive ones: deviation in s, longest gap in ms, part of its share',
    head: ['expensive of 100', 'ours', 'gap', 'costs known at the end', 'gap', 'share', '2DFQ', 'gap'],
    rows: smooth.map(({ expensive, ours, unknown, theirs }) => [
      `${expensive}`,
      ours.deviation.toFixed(3),
      ours.gapMs.toFixed(0),
      unknown.deviation.toFixed(3),
      unknown.gapMs.toFixed(0),
      unknown.share.toFixed(2),
      theirs.deviation.toFixed(3),
      theirs.gapMs.toFixed(0),
    ]),
  }
}

function othersTable(others: readonly Smooth[]): Table {
  return {
    id: 'smooth-others',
    title: 'The same at other sizes',
    head: ['slots', 'tenants', 'expensive', 'cost, ms', 'ours', 'gap', 'costs known at the end', 'gap', '2DFQ', 'gap'],
    rows: others.map(({ slots, tenants, expensive, expensiveMs, ours, unknown, theirs }) => [
      `${slots}`,
      `${tenants}`,
      `${expensive}`,
      `${expensiveMs}`,
      ...[ours, unknown, theirs].flatMap(({ deviation, gapMs }) => [deviation.toFixed(3), gapMs.toFixed(0)]),
    ]),
  }
}

function waitsTable(waits: readonly Waits[]): Table {
  return {
    id: 'jobs',
    title: 'Mean wait of a light key on four slots, in ms',
    head: [
      '',
      'in order of age',
      'best published',
      'a flow for each key',
      'accounts and keys',
      'light keys first',
      'the key always first',
    ],
    rows: waits.map(({ name, published, byAge, keys, paths, light, bound }) => [
      name,
      byAge.toFixed(0),
      published?.toFixed(0) ?? '–',
      keys.toFixed(1),
      paths.toFixed(1),
      light.toFixed(1),
      bound.toFixed(1),
    ]),
  }
}

function loadTable(engines: readonly Load[]): Table {
  return {
    id: 'engine',
    title: 'A language model’s clients: difference in service, most / mean, and tokens per second',
    head: ['', 'most', 'mean', 'tokens/s'],
    rows: engines.flatMap(({ name, published, rows }) => [
      [`${name}: VTC, published`, published[0]!.toFixed(1), published[1]!.toFixed(1), '–'],
      ...rows.map(({ title, unfairness: { most, mean: average, tokensPerS } }) => [
        `${name}: ${title}`,
        most.toFixed(1),
        average.toFixed(1),
        tokensPerS.toFixed(0),
      ]),
    ]),
  }
}
