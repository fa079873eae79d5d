import type { Effort, Figure, Table } from './figure.js'
import { goalsOf } from './isolation/goals.js'
import { SCENARIOS } from './isolation/scenarios.js'
import { measure, SEEDS, type Shape } from './measure.js'
import { beside, digits, percent } from './numbers.js'
import { type IsolationRow, plotIsolation } from './plots/isolation.js'
import { VARIANTS, type VariantName } from './variants.js'

const EVICTING: readonly VariantName[] = ['evicting1', 'evicting2', 'evicting4']
/** In order of arrival: a full queue refuses the new request. */
const REFUSING: readonly VariantName[] = ['first', 'shortestOf2', 'shortestOf4']
const OURS: readonly VariantName[] = ['hashed', 'auto', 'perFlow', 'sparseFirst']
const ALL: readonly VariantName[] = [
  ...new Set<VariantName>(['arrivalOrder', ...EVICTING, 'textbook', ...REFUSING, ...OURS]),
]

export const isolation: Figure = {
  name: 'isolation',
  file: 'sfq-isolation',
  about: 'how long light flows wait beside heavy ones',
  source: 'an earlier simulation that this code was written to meet',
  seeds: SEEDS,
  make(effort, tell) {
    const rows = SCENARIOS.map(({ title, shape }) => {
      tell(title)
      return { title, heavy: shape.heavy, measured: measureAll(shape, effort) }
    })
    return {
      aims: goalsOf(rows),
      tables: [waits(rows), ratios(rows), losses(rows)],
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

/** For the published waits. */
function waits(rows: readonly IsolationRow[]): Table {
  const columns = ['arrivalOrder', ...EVICTING, 'textbook', 'sparseFirst'] as const
  return {
    id: 'waits',
    title: 'p99 wait of light requests in ms, ours / published',
    head: ['', ...columns.map((name) => VARIANTS[name].short)],
    rows: SCENARIOS.flatMap(({ title, published }, i) =>
      Object.keys(published).length === 0
        ? []
        : [[title, ...columns.map((name) => besideDigits(rows[i]!.measured[name].p99, published[name]))]],
    ),
  }
}

function ratios(rows: readonly IsolationRow[]): Table {
  return {
    id: 'ratios',
    title: 'p50 and p99 of exact round robin in ms; p99 as a part of that; ours / published',
    head: ['', 'exact: p50', 'p99', ...OURS.map((name) => VARIANTS[name].short)],
    rows: SCENARIOS.map(({ title, textbook: [p50, p99], ratios }, i) => {
      const { measured } = rows[i]!
      return [
        title,
        besideDigits(measured.textbook.p50, p50),
        besideDigits(measured.textbook.p99, p99),
        ...OURS.map((name) =>
          beside((measured[name].p99 / measured.textbook.p99).toFixed(2), ratios[name]?.toFixed(2)),
        ),
      ]
    }),
  }
}

function besideDigits(ours: number, published: number | undefined): string {
  return beside(digits(ours), published === undefined ? undefined : digits(published))
}

function losses(rows: readonly IsolationRow[]): Table {
  const columns = ['arrivalOrder', ...REFUSING, 'hashed', 'sparseFirst'] as const
  return {
    id: 'losses',
    title:
      'Lines that refuse a request when full: p99 wait of light requests in ms, and those refused or expired, in per cent',
    head: ['', ...columns.map((name) => VARIANTS[name].title)],
    rows: rows.map(({ title, measured }) => [
      title,
      ...columns.map((name) => `${digits(measured[name].p99)}, ${percent(measured[name].lost)} %`),
    ]),
  }
}
