import { adaptive } from '@fairlead/core'
import { type Machine, type Second, simulate, TABLE, type Trial } from '@fairlead/core/simulation/capacity'
import type { Aim } from './aims.js'
import type { Effort, Figure, Table } from './figure.js'
import { seedsOf } from './measure.js'
import { mean } from './numbers.js'
import { plotAdaptive, type Timeline } from './plots/adaptive.js'

/**
 * The adaptive limit where what it measures changes and changes back, with somebody always waiting. The scenarios are
 * those that the rule is tested by; each phase is judged in its second half, against the best fixed limit for it.
 */
const SEEDS = Array.from({ length: 48 }, (_, i) => 9_001 + i)

type Phases = readonly [number, number, number]

/** As published: the rule that ours came from, its limit, the best fixed limit, and two known rules. */
interface Published {
  readonly share: Phases
  readonly limit: Phases
  readonly best: Phases
  readonly gradient2: Phases
  readonly vegas: Phases
}

/** In the order of the scenarios; the last has none. */
const PUBLISHED: readonly (Published | undefined)[] = [
  {
    share: [0.91, 0.95, 0.86],
    limit: [20, 41, 31],
    best: [16, 32, 16],
    gradient2: [0.86, 0.45, 0.89],
    vegas: [0.36, 0.19, 0.37],
  },
  {
    share: [0.98, 0.96, 0.97],
    limit: [25, 43, 25],
    best: [16, 48, 16],
    gradient2: [0.88, 0.45, 0.89],
    vegas: [0.38, 0.18, 0.36],
  },
  {
    share: [0.97, 1.01, 0.97],
    limit: [47, 95, 48],
    best: [40, 96, 40],
    gradient2: [0.47, 0.26, 0.48],
    vegas: [0.16, 0.08, 0.18],
  },
  {
    share: [0.98, 0.97, 0.96],
    limit: [78, 159, 81],
    best: [64, 128, 64],
    gradient2: [0.23, 0.12, 0.23],
    vegas: [0.11, 0.06, 0.11],
  },
  {
    share: [0.79, 0.99, 0.87],
    limit: [16, 11, 7],
    best: [4, 8, 8],
    gradient2: [0.7, 0.98, 0.83],
    vegas: [0.87, 0.71, 0.93],
  },
  {
    share: [0.98, 0.96, 0.94],
    limit: [25, 25, 19],
    best: [16, 20, 16],
    gradient2: [0.88, 0.84, 0.93],
    vegas: [0.38, 0.34, 0.37],
  },
  {
    share: [0.97, 0.86, 0.75],
    limit: [47, 153, 94],
    best: [40, 128, 40],
    gradient2: [0.47, 0.12, 0.49],
    vegas: [0.16, 0.05, 0.18],
  },
  {
    share: [0.92, 1.01, 0.97],
    limit: [18, 23, 21],
    best: [16, 16, 20],
    gradient2: [0.9, 0.87, 0.93],
    vegas: [0.41, 0.41, 0.45],
  },
  undefined,
]

/** The scenarios that are drawn: where the capacity doubles, and where requests take longer elsewhere. */
const DRAWN = [
  { index: 0, title: '16, 32, 16 cores; 50 ms of work' },
  { index: 6, title: '8 cores, 20 ms of work; 80, 400, 80 ms elsewhere' },
] as const

interface Result {
  readonly name: string
  readonly share: readonly number[]
  readonly limit: readonly number[]
}

export const adaptiveLimit: Figure = {
  name: 'adaptive',
  file: 'adaptive-limit',
  about: 'how well the adaptive limit follows a service that changes',
  source:
    'an earlier simulation of the rule that ours came from, and of Gradient2 and Vegas as they are known, mean of 3 seeds',
  seeds: SEEDS,
  make(effort, tell) {
    const all = TABLE.map((trial) => {
      tell(trial.name)
      return { trial, runs: runsOf(trial, effort) }
    })
    const results = all.map(({ trial, runs }) => judge(trial, runs, effort.part))
    const timelines = DRAWN.map(({ index, title }) => timelineOf(title, all[index]!, effort.part))
    return {
      aims: aimsOf(results),
      tables: [sharesTable(results), limitsTable(results)],
      pictures: { '': plotAdaptive(timelines, seedsOf(effort, SEEDS).length) },
      data: { results, timelines },
    }
  },
}

function runsOf({ stretches }: Trial, effort: Effort): Second[][] {
  const shortened = stretches.map((stretch) => ({ ...stretch, forMs: phaseMs(stretch.forMs, effort.part) }))
  return seedsOf(effort, SEEDS).map((seed) => simulate(adaptive(), { seed, stretches: shortened }))
}

/** Whole seconds, at least two. */
function phaseMs(forMs: number, part: number): number {
  return Math.max(2_000, 1_000 * Math.round((forMs * part) / 1_000))
}

function judge({ name, stretches, best }: Trial, runs: readonly Second[][], part: number): Result {
  const seconds = phaseMs(stretches[0]!.forMs, part) / 1_000
  const late = best.map((_, phase) =>
    runs.flatMap((run) => run.slice(phase * seconds + Math.floor(seconds / 2), (phase + 1) * seconds)),
  )
  return {
    name,
    share: late.map((each, phase) => mean(each.map(({ served }) => served)) / best[phase]!),
    limit: late.map((each) => mean(each.map(({ limit }) => limit))),
  }
}

function timelineOf(
  title: string,
  { trial, runs }: { readonly trial: Trial; readonly runs: readonly Second[][] },
  part: number,
): Timeline {
  const { stretches, best } = trial
  const bySecond = (of: (second: Second) => number): number[] =>
    runs[0]!.map((_, second) => mean(runs.map((run) => of(run[second]!))))
  return {
    title,
    phaseSeconds: phaseMs(stretches[0]!.forMs, part) / 1_000,
    knees: stretches.map(({ machine }) => kneeOf(machine)),
    best,
    limit: { one: runs[0]!.map(({ limit }) => limit), mean: bySecond(({ limit }) => limit) },
    served: { one: runs[0]!.map(({ served }) => served), mean: bySecond(({ served }) => served) },
  }
}

/** In flight when all cores are at work and nobody waits for one. */
function kneeOf({ cores, workMs, elsewhereMs = 0 }: Machine): number {
  return (cores * (workMs + Number(elsewhereMs))) / workMs
}

function aimsOf(results: readonly Result[]): Aim[] {
  return results.map(({ name, share }, i) => {
    const published = PUBLISHED[i]?.share
    return {
      what: `served / best fixed limit, worst phase: ${name}`,
      published: published && Math.min(...published),
      ours: Math.min(...share),
      goal: { least: 0.9 },
      digits: 2,
    }
  })
}

function sharesTable(results: readonly Result[]): Table {
  return {
    id: 'shares',
    title:
      'Requests served in the second half of each phase, as a part of what the best fixed limit serves, and our limit',
    head: ['', 'ours', 'its limit', 'the rule ours came from', 'Gradient2', 'Vegas'],
    rows: results.map(({ name, share, limit }, i) => [
      name,
      phases(share, 2),
      phases(limit, 0),
      phases(PUBLISHED[i]?.share, 2),
      phases(PUBLISHED[i]?.gradient2, 2),
      phases(PUBLISHED[i]?.vegas, 2),
    ]),
  }
}

function limitsTable(results: readonly Result[]): Table {
  return {
    id: 'limits',
    title: 'Mean limit in the same time',
    head: ['', 'ours', 'the rule ours came from', 'best fixed'],
    rows: results.map(({ name, limit }, i) => [
      name,
      phases(limit, 0),
      phases(PUBLISHED[i]?.limit, 0),
      phases(PUBLISHED[i]?.best, 0),
    ]),
  }
}

function phases(values: readonly number[] | undefined, digits: number): string {
  return values?.map((value) => value.toFixed(digits)).join(' ') ?? '–'
}
