import type { Aim } from '../aims.js'
import type { IsolationRow } from '../plots/isolation.js'
import type { VariantName } from '../variants.js'
import { SCENARIOS } from './scenarios.js'

/** Upper bound of p99 in the worst of these scenarios, as a part of p99 with exact round robin. */
interface Bound {
  readonly what: string
  readonly variant: VariantName
  /** The prefix of their titles. */
  readonly where: RegExp
  readonly most: number
}

const OTHERS = /cost 5|1000 light|2 servers|perturbed/

const BOUNDS: readonly Bound[] = [
  { what: 'default, 5 to 40 heavy', variant: 'sparseFirst', where: /^(5|10|20|40) heavy$/, most: 0.6 },
  { what: 'default, everywhere', variant: 'sparseFirst', where: /./, most: 0.8 },
  { what: 'per flow without sparse first, everywhere', variant: 'perFlow', where: /./, most: 1 },
  {
    what: '64 hashed queues, 1 to 20 heavy',
    variant: 'hashed',
    where: /^(1|5|10|20) heavy$/,
    most: 1.05,
  },
  { what: '64 hashed queues, other scenarios', variant: 'hashed', where: OTHERS, most: 1.15 },
  { what: 'auto from 64, 40 heavy', variant: 'auto', where: /^40 heavy/, most: 1.1 },
  { what: 'auto from 64, other scenarios', variant: 'auto', where: OTHERS, most: 1.15 },
]

/** Variants in which flows have places of their own, so that none is refused because of another flow. */
const PLACED = ['hashed', 'auto', 'perFlow', 'sparseFirst'] as const

export function goalsOf(rows: readonly IsolationRow[]): Aim[] {
  const ratioOf = ({ measured }: IsolationRow, variant: VariantName): number =>
    measured[variant].p99 / measured.textbook.p99
  const p99At = (title: string): number => rows.find((row) => row.title === title)!.measured.hashed.p99
  return [
    ...BOUNDS.map(({ what, variant, where, most }): Aim => {
      const within = SCENARIOS.flatMap((scenario, i) =>
        where.test(scenario.title) ? [{ scenario, row: rows[i]! }] : [],
      )
      const published = within.flatMap(({ scenario }) => scenario.ratios[variant] ?? [])
      return {
        what: `p99 / that of exact round robin, worst: ${what}`,
        published: Math.max(...published),
        ours: Math.max(...within.map(({ row }) => ratioOf(row, variant))),
        goal: { most },
        digits: 2,
      }
    }),
    {
      what: 'p99 / that without perturbation: 64 hashed queues, 5 heavy, perturbed every 5 s',
      ours: p99At('5 heavy, perturbed every 5 s') / p99At('5 heavy'),
      goal: { most: 1.05 },
      digits: 2,
    },
    {
      what: 'light requests lost, hashed or per flow, everywhere, %',
      ours: 100 * Math.max(...rows.flatMap(({ measured }) => PLACED.map((name) => measured[name].lost))),
      goal: { most: 0 },
      digits: 2,
    },
  ]
}
