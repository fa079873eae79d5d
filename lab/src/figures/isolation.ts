import type { Effort, Figure, Table } from './figure.js'
import { measure, type Shape } from './measure.js'
import { beside, digits, percent } from './numbers.js'
import { type IsolationRow, plotIsolation } from './plots/isolation.js'
import { VARIANTS, type VariantName } from './variants.js'

/**
 * How long light flows wait beside heavy ones: 10 servers of 10 ms (exponential), 200 light flows that together ask for
 * 40 % of the capacity, and heavy flows that ask for twice the capacity each. 50 requests may wait in a queue, for 5 s.
 */
interface Scenario {
  readonly title: string
  readonly shape: Shape
  /** Published p99 of light requests, in milliseconds, of runs of 60 s; `textbook` of runs like ours. */
  readonly published: Partial<Record<VariantName, number>>
  /** Published p99 as a part of that of textbook round robin, of runs like ours. */
  readonly ratios: Partial<Record<VariantName, number>>
}

const SCENARIOS: readonly Scenario[] = [
  {
    title: '1 heavy',
    shape: { heavy: 1 },
    published: { arrivalOrder: 3310, evicting1: 11.5, evicting2: 12.9, evicting4: 17.1, textbook: 10.8 },
    ratios: { foreignArrival: 1, foreignTurns: 1, auto: 1, perFlow: 1, sparseFirst: 0.73 },
  },
  {
    title: '5 heavy',
    shape: { heavy: 5 },
    published: { arrivalOrder: 3324, evicting1: 385, evicting2: 158, evicting4: 47.6, textbook: 22.8 },
    ratios: { foreignArrival: 1, foreignTurns: 1, auto: 1, perFlow: 1, sparseFirst: 0.43 },
  },
  {
    title: '10 heavy',
    shape: { heavy: 10 },
    published: { arrivalOrder: 3321, evicting1: 729, evicting2: 1398, evicting4: 2052, textbook: 37 },
    ratios: { foreignArrival: 1.01, foreignTurns: 1, auto: 1, perFlow: 1, sparseFirst: 0.49 },
  },
  {
    title: '20 heavy',
    shape: { heavy: 20 },
    published: { evicting1: 1293, evicting2: 2274, evicting4: 3250, textbook: 70.5 },
    ratios: { foreignArrival: 1.16, foreignTurns: 1, auto: 1, perFlow: 1, sparseFirst: 0.53 },
  },
  {
    title: '40 heavy',
    shape: { heavy: 40 },
    published: { textbook: 154 },
    ratios: { foreignArrival: 19, foreignTurns: 1.22, auto: 1, perFlow: 1, sparseFirst: 0.54 },
  },
  {
    title: '40 heavy at 50/s each',
    shape: { heavy: 40, heavyRate: 50 },
    published: { textbook: 151 },
    ratios: { foreignArrival: 21, foreignTurns: 1.03, auto: 1.01, perFlow: 1, sparseFirst: 0.53 },
  },
  {
    title: '8 heavy of cost 5',
    shape: { heavy: 8, heavyCost: 5 },
    published: { textbook: 69 },
    ratios: { foreignArrival: 1.13, foreignTurns: 1.09, auto: 1.09, perFlow: 1, sparseFirst: 0.72 },
  },
  {
    title: '8 heavy, 1000 light',
    shape: { heavy: 8, light: 1000 },
    published: { textbook: 29.4 },
    ratios: { foreignArrival: 1.01, foreignTurns: 1, auto: 1, perFlow: 1, sparseFirst: 0.29 },
  },
  {
    title: '6 heavy, 2 servers',
    shape: { heavy: 6, servers: 2 },
    published: { textbook: 138 },
    ratios: { foreignArrival: 1, foreignTurns: 1, auto: 1, perFlow: 1, sparseFirst: 0.6 },
  },
  {
    title: '10 heavy, perturbed every 5 s',
    shape: { heavy: 10, perturbEveryMs: 5_000 },
    published: { textbook: 37.2 },
    ratios: { foreignTurns: 1 },
  },
]

const PUBLISHED: readonly VariantName[] = ['arrivalOrder', 'evicting1', 'evicting2', 'evicting4', 'textbook']
/** In order of arrival: they refuse whoever comes to a full queue. */
const REFUSING: readonly VariantName[] = ['first', 'shortestOf2', 'shortestOf4', 'foreignArrival']
const OURS: readonly VariantName[] = ['foreignArrival', 'foreignTurns', 'auto', 'perFlow', 'sparseFirst']
const ALL: readonly VariantName[] = [...new Set([...PUBLISHED, ...REFUSING, ...OURS])]

export const isolation: Figure = {
  name: 'isolation',
  file: 'sfq-isolation',
  about: 'how long light flows wait beside heavy ones',
  make(effort, tell) {
    const rows = SCENARIOS.map(({ title, shape }) => {
      tell(title)
      return { title, heavy: shape.heavy, measured: measureAll(shape, effort) }
    })
    return {
      tables: [longLines(rows), ratios(rows), losses(rows)],
      pictures: { '': plotIsolation(rows.slice(0, 5)) },
      data: rows,
    }
  },
}

function measureAll(shape: Shape, effort: Effort): IsolationRow['measured'] {
  const entries = ALL.map((name) => {
    const { p50, p99, lost } = measure(shape, (seed) => VARIANTS[name].make(seed), effort)
    return [name, { p50, p99, lost }] as const
  })
  return Object.fromEntries(entries) as IsolationRow['measured']
}

function longLines(rows: readonly IsolationRow[]): Table {
  const columns = [...PUBLISHED, 'sparseFirst'] as const
  return {
    title: 'p99 wait of light requests in ms, ours / published',
    head: ['', ...columns.map((name) => VARIANTS[name].title)],
    rows: rows.map(({ title, measured }, i) => [
      title,
      ...columns.map((name) => {
        const { published, ratios } = SCENARIOS[i]!
        const ratio = ratios[name]
        const product = ratio === undefined ? undefined : ratio * published.textbook!
        const known = published[name] ?? product
        return beside(digits(measured[name].p99), known === undefined ? undefined : digits(known))
      }),
    ]),
  }
}

function ratios(rows: readonly IsolationRow[]): Table {
  return {
    title: 'p50 / p99 of textbook round robin in ms, and p99 as a part of that, ours / published',
    head: ['', VARIANTS.textbook.title, ...OURS.map((name) => VARIANTS[name].title)],
    rows: rows.map(({ title, measured }, i) => [
      title,
      `${digits(measured.textbook.p50)} / ${digits(measured.textbook.p99)}`,
      ...OURS.map((name) => {
        const ratio = measured[name].p99 / measured.textbook.p99
        return beside(ratio.toFixed(2), SCENARIOS[i]!.ratios[name]?.toFixed(2))
      }),
    ]),
  }
}

function losses(rows: readonly IsolationRow[]): Table {
  const columns = ['arrivalOrder', ...REFUSING, 'foreignTurns', 'sparseFirst'] as const
  return {
    title:
      'What ships, in order of arrival: p99 wait of light requests in ms, and those refused or expired, in per cent',
    head: ['', ...columns.map((name) => VARIANTS[name].title)],
    rows: rows.map(({ title, measured }) => [
      title,
      ...columns.map((name) => `${digits(measured[name].p99)}, ${percent(measured[name].lost)} %`),
    ]),
  }
}
