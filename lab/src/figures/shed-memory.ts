import { type Result, simulate } from '../simulation/shed/index.js'
import type { Aim } from './aims.js'
import type { Effort, Figure, Table, Tell } from './figure.js'
import { seedsOf } from './measure.js'
import { beside, mean, percent } from './numbers.js'
import { plotMemory } from './plots/memory.js'
import { courseOf } from './shed/course.js'
import {
  COLUMNS,
  type Column,
  type LotGoal,
  POLICIES,
  type PolicyName,
  type Published,
  ROWS,
  type Row,
  type Trial,
} from './shed/trials.js'

/** Rare huge requests dominate if sizes have a heavy tail: over 20 seeds the mean moves by a quarter of an event. */
const SEEDS = Array.from({ length: 100 }, (_, i) => 1 + i)
const EVEN_SEEDS = SEEDS.slice(0, 20)

/** Means over the seeds. */
interface Lot {
  readonly outOfMemory: number
  readonly goodput: number
  /** Part of the requests that was refused in the last 30 s. */
  readonly lateParts: number
}

const MATRIX = ['none', 'step', 'linear', 'logistic', 'reservedLinear', 'reserved'] as const

type Cells = Readonly<Record<(typeof MATRIX)[number], Lot>>

export const shedMemory: Figure = {
  name: 'shed-memory',
  file: 'shed-memory',
  about: 'whether a process runs out of memory, by how it sheds and how often it looks',
  source: 'an earlier simulation, of 10 or 20 seeds, which this code was written to meet',
  seeds: EVEN_SEEDS,
  make(effort, tell) {
    const cells = COLUMNS.map(({ title, trial }) => {
      tell(title)
      return Object.fromEntries(MATRIX.map((name) => [name, lotOf(name, trial, effort)])) as Cells
    })
    const lots = ROWS.map(({ title, policy, trial }) => {
      tell(title)
      return lotOf(policy, trial, effort)
    })
    return {
      aims: [...columnAims(cells), ...rowAims(lots)],
      tables: [matrix(cells), besideTable(cells), others(lots)],
      pictures: { '': picture(effort, tell) },
      data: { spike: cells, others: ROWS.map(({ title, policy }, i) => ({ title, policy, ...lots[i]! })) },
    }
  },
}

function lotOf(policy: PolicyName, { sampleEveryMs, ...trial }: Trial, effort: Effort): Lot {
  const seeds = seedsOf(effort, isHeavyTailed(trial.sigma) ? SEEDS : EVEN_SEEDS)
  const makeShedder = POLICIES[policy].make(sampleEveryMs)
  const demand = shortened(trial.demand, effort)
  const runs = seeds.map((seed) => simulate({ ...trial, demand, seed, makeShedder }))
  const meanOf = (of: (run: Result) => number): number => mean(runs.map(of))
  return {
    outOfMemory: meanOf((run) => run.outOfMemory),
    goodput: meanOf((run) => run.goodput),
    lateParts: meanOf((run) => run.refusedLate),
  }
}

function shortened(demand: Trial['demand'], { part }: Effort): Trial['demand'] {
  return demand.map(({ untilMs, perSecond }) => ({ untilMs: untilMs * part, perSecond }))
}

function columnAims(cells: readonly Cells[]): Aim[] {
  return COLUMNS.flatMap(({ title, trial, published, goal }, i) =>
    lotAims(`spike, ${title}${seedsNote(trial)}`, cells[i]!.reserved, published.reserved, undefined, goal),
  )
}

function rowAims(lots: readonly Lot[]): Aim[] {
  return ROWS.flatMap(({ title, trial, published, publishedLate, goal = {} }, i) =>
    lotAims(`${title}${seedsNote(trial)}`, lots[i]!, published, publishedLate, goal),
  )
}

function seedsNote({ sigma }: Trial): string {
  return isHeavyTailed(sigma) ? ` (${SEEDS.length} seeds)` : ''
}

function isHeavyTailed(sigma: number): boolean {
  return sigma > 1
}

/** The rows with a goal. */
function lotAims(
  title: string,
  { outOfMemory, goodput, lateParts }: Lot,
  published: Published | undefined,
  publishedLate: number | undefined,
  { mostOutOfMemory, leastGoodput, mostLate }: LotGoal,
): Aim[] {
  const aims: Aim[] = []
  const [events, served] = published ?? []
  if (mostOutOfMemory !== undefined)
    aims.push({
      what: `${title}: out of memory`,
      published: events,
      ours: outOfMemory,
      goal: { most: mostOutOfMemory },
      digits: 2,
    })
  if (leastGoodput !== undefined)
    aims.push({
      what: `${title}: served per second`,
      published: served,
      ours: goodput,
      goal: { least: leastGoodput },
      digits: 0,
    })
  if (mostLate !== undefined)
    aims.push({
      what: `${title}: refused in the last 30 s, %`,
      published: publishedLate === undefined ? undefined : 100 * publishedLate,
      ours: 100 * lateParts,
      goal: { most: 100 * mostLate },
      // Published in whole per cent.
      digits: publishedLate === undefined ? 2 : 0,
    })
  return aims
}

function matrix(cells: readonly Cells[]): Table {
  return {
    id: 'spike',
    title: 'Times out of memory / requests served per second',
    head: ['', ...COLUMNS.map(({ title }) => title)],
    rows: MATRIX.map((name) => [POLICIES[name].title, ...cells.map((cell) => events(cell[name]))]),
  }
}

function besideTable(cells: readonly Cells[]): Table {
  const published = (column: Column, name: PolicyName): string => {
    const known = column.published[name]
    return known === undefined ? '–' : eventsOf(known)
  }
  return {
    id: 'beside',
    title: 'The same, as published',
    head: ['', ...COLUMNS.map(({ title }) => title)],
    rows: MATRIX.filter((name) => COLUMNS.some((column) => column.published[name] !== undefined)).map((name) => [
      POLICIES[name].title,
      ...cells.map((_, i) => published(COLUMNS[i]!, name)),
    ]),
  }
}

function others(lots: readonly Lot[]): Table {
  const late = (part: number | undefined): string => (part === undefined ? '–' : percent(part))
  return {
    id: 'others',
    title: 'Times out of memory / served per second, ours and published, and refused in the last 30 s, in per cent',
    head: ['', 'policy', 'ours', 'published', 'refused at last, ours / published'],
    rows: ROWS.map(({ title, policy, published, publishedLate }: Row, i) => [
      title,
      POLICIES[policy].title,
      events(lots[i]!),
      published === undefined ? '–' : eventsOf(published),
      beside(late(lots[i]!.lateParts), publishedLate === undefined ? undefined : late(publishedLate)),
    ]),
  }
}

function events({ outOfMemory, goodput }: Lot): string {
  return eventsOf([outOfMemory, goodput])
}

function eventsOf([outOfMemory, goodput]: Published): string {
  return `${outOfMemory === 0 ? '0' : outOfMemory.toFixed(1)} / ${goodput.toFixed(0)}`
}

function picture(effort: Effort, tell: Tell): string {
  tell('memory over time')
  const { trial } = COLUMNS[1]!
  const { sampleEveryMs, ...rest } = trial
  const panels = (['none', 'logistic', 'reserved'] as const).map((name) => {
    const makeShedder = POLICIES[name].make(sampleEveryMs)
    const scenario = { ...rest, demand: shortened(trial.demand, effort), seed: SEEDS[0]!, makeShedder }
    return { title: POLICIES[name].title, course: courseOf(scenario) }
  })
  return plotMemory(panels, sampleEveryMs)
}
