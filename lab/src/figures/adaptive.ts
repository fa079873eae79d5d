import { adaptive, type Capacity } from '@fairlead/core/queue'
import {
  type Machine,
  NEEDED,
  type Second,
  simulate,
  TABLE,
  type Trial,
  UNBOUNDED,
  type Unbounded,
  unbounded,
} from '../simulation/capacity/index.js'
import type { Aim } from './aims.js'
import type { Effort, Figure, Table } from './figure.js'
import { seedsOf } from './measure.js'
import { mean } from './numbers.js'
import { plotAdaptive, type Timeline } from './plots/adaptive.js'
import { PUBLISHED_LIMITS } from './published-limits.js'

/**
 * The adaptive limit in services that change and change back, with a request always waiting. The scenarios are those of
 * the rule's tests; each phase is judged in its second half, against the best fixed limit for it.
 */
const SEEDS = Array.from({ length: 48 }, (_, i) => 9_001 + i)

/** Ours and the published ones, on the same seeds. */
const RULES = [{ name: 'ours', make: (): Capacity => adaptive() }, ...PUBLISHED_LIMITS]

/** The scenarios of the picture: the capacity doubles, and requests take longer elsewhere. */
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
  seeds: SEEDS,
  make(effort, tell) {
    const all = TABLE.map((trial) => {
      tell(trial.name)
      const runs = RULES.map(({ make }) => runsOf(make, trial, effort))
      return { trial, runs, results: runs.map((each) => judge(trial, each, effort.part)) }
    })
    const free = UNBOUNDED.map((service) => {
      tell(service.name)
      return { name: service.name, rules: RULES.map(({ make }) => servedOf(make, service, effort)) }
    })
    const ours = all.map(({ results }) => results[0]!)
    const timelines = DRAWN.map(({ index, title }) => {
      const { trial, runs } = all[index]!
      return timelineOf(title, { trial, runs: runs[0]! }, effort.part)
    })
    return {
      aims: aimsOf(ours),
      tables: [
        sharesTable(all.map(({ results }) => results)),
        unboundedTable(free),
        limitsTable(all.map(({ results }) => results)),
      ],
      pictures: { '': plotAdaptive(timelines, seedsOf(effort, SEEDS).length) },
      data: { results: all.map(({ results }) => results), unbounded: free, timelines },
    }
  },
}

function runsOf(make: () => Capacity, { stretches }: Trial, effort: Effort): Second[][] {
  const shortened = stretches.map((stretch) => ({ ...stretch, forMs: phaseMs(stretch.forMs, effort.part) }))
  return seedsOf(effort, SEEDS).map((seed) => simulate(make(), { seed, stretches: shortened }))
}

/** Served of asked in the first and in the last fifth of the time. */
function servedOf(make: () => Capacity, service: Unbounded, effort: Effort): [number, number] {
  const runs = seedsOf(effort, SEEDS).map((seed) => {
    const scenario = unbounded(service, seed)
    const [stretch] = scenario.stretches
    return simulate(make(), { ...scenario, stretches: [{ ...stretch!, forMs: phaseMs(stretch!.forMs, effort.part) }] })
  })
  const asked = (1_000 * NEEDED) / service.meanMs
  const fifth = Math.floor(phaseMs(300_000, effort.part) / 5_000)
  const share = (part: (run: Second[]) => Second[]): number =>
    mean(runs.flatMap(part).map(({ served }) => served)) / asked
  return [share((run) => run.slice(0, fifth)), share((run) => run.slice(-fifth))]
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

/** Requests in flight when all cores are busy and none waits for one. */
function kneeOf({ cores, workMs, elsewhereMs = 0 }: Machine): number {
  return (cores * (workMs + Number(elsewhereMs))) / workMs
}

function aimsOf(results: readonly Result[]): Aim[] {
  return results.map(({ name, share }) => ({
    what: `served / best fixed limit, worst phase: ${name}`,
    ours: Math.min(...share),
    goal: { least: 0.9 },
    digits: 2,
  }))
}

const HEAD = RULES.map(({ name }) => name)

function sharesTable(trials: readonly (readonly Result[])[]): Table {
  const all = RULES.map((_, rule) => trials.flatMap((results) => [...results[rule]!.share]))
  return {
    id: 'shares',
    title: "Requests served in the second half of each phase, as a part of the best fixed limit's",
    head: ['', ...HEAD],
    rows: [
      ...trials.map((results) => [results[0]!.name, ...results.map(({ share }) => phases(share, 2))]),
      ['mean of all', ...all.map((shares) => mean(shares).toFixed(2))],
      ['worst', ...all.map((shares) => Math.min(...shares).toFixed(2))],
    ],
  }
}

function unboundedTable(services: readonly { name: string; rules: readonly (readonly number[])[] }[]): Table {
  const all = RULES.map((_, rule) => services.flatMap(({ rules }) => [...rules[rule]!]))
  return {
    id: 'unbounded',
    title: 'Where nothing runs short and 200 slots would do: served of asked in the first and in the fifth minute',
    head: ['', ...HEAD],
    rows: [
      ...services.map(({ name, rules }) => [name, ...rules.map((shares) => phases(shares, 2))]),
      ['mean of all', ...all.map((shares) => mean(shares).toFixed(2))],
      ['worst', ...all.map((shares) => Math.min(...shares).toFixed(2))],
    ],
  }
}

function limitsTable(trials: readonly (readonly Result[])[]): Table {
  return {
    id: 'limits',
    title: 'Mean limit in the second half of each phase',
    head: ['', ...HEAD],
    rows: trials.map((results) => [results[0]!.name, ...results.map(({ limit }) => phases(limit, 0))]),
  }
}

function phases(values: readonly number[], digits: number): string {
  return values.map((value) => value.toFixed(digits)).join(' ')
}
