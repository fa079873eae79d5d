import { type Discipline, fairQueue } from '../simulation/sfq/index.js'
import type { Figure } from './figure.js'
import { measure, SEEDS, type Shape } from './measure.js'
import { beside } from './numbers.js'
import { plotShares, type ServedShare } from './plots/shares.js'

/** 5 heavy flows of these weights; 200 light ones of weight 1 ask for 40 %. */
const WEIGHTS = [4, 2, 1, 1, 1] as const
const SHAPE: Shape = { heavy: WEIGHTS.length, seconds: 20 }
const weightOf = (flow: string): number => (flow.startsWith('heavy-') ? WEIGHTS[Number(flow.slice(6))]! : 1)

interface Row {
  readonly title: string
  /** Cost served per heavy flow. */
  readonly published?: readonly number[]
  make(seed: number): Discipline
}

const ROWS: readonly Row[] = [
  {
    title: 'per flow, round robin',
    published: [4780, 2389, 1195, 1195, 1195],
    make: () => fairQueue({ sparseFirst: false, weightOf }),
  },
  {
    title: 'per flow, sparse first (default)',
    make: () => fairQueue({ weightOf }),
  },
  {
    title: '4 hashed queues',
    published: [4770, 2394, 1197, 1197, 1197],
    make: (seed) => fairQueue({ queues: 4, sparseFirst: false, weightOf, seed }),
  },
]

/** Flows of one weight with increasing costs. */
const COSTS = [1, 2, 5, 10, 20] as const
const COSTLY: Shape = { heavy: COSTS.length, heavyCostOf: (i) => COSTS[i]!, seconds: 40 }

export const weights: Figure = {
  name: 'weights',
  file: 'sfq-weights',
  about: 'cost served by flow, with different weights and costs',
  source: 'an earlier simulation that this code was written to meet',
  seeds: SEEDS,
  make(effort, tell) {
    const total = sum(WEIGHTS)
    const rows = ROWS.map(({ title, published, make }) => {
      tell(title)
      const served = heavyServed(measure(SHAPE, make, effort).served, WEIGHTS.length)
      return { title, ...(published && { published }), served }
    })
    tell('costs')
    const byCost = heavyServed(measure(COSTLY, () => fairQueue({}), effort).served, COSTS.length)
    const share = (served: readonly number[], i: number): number => served[i]! / sum(served)
    const byWeight: ServedShare[] = WEIGHTS.map((weight, i) => ({
      label: `weight ${weight}`,
      served: share(rows[1]!.served, i),
      entitled: weight / total,
    }))
    const equal: ServedShare[] = COSTS.map((cost, i) => ({
      label: `cost ${cost}`,
      served: share(byCost, i),
      entitled: 1 / COSTS.length,
    }))
    return {
      aims: [
        ...rows.map(({ title, served, published }) => ({
          what: `furthest from what its weight entitles a flow to, %: ${title}`,
          published: published && furthest(published, WEIGHTS),
          ours: furthest(served, WEIGHTS),
          goal: { most: 3 },
        })),
        {
          what: 'the same, flows of one weight whose requests cost 1 to 20: by default',
          ours: furthest(
            byCost,
            COSTS.map(() => 1),
          ),
          goal: { most: 3 },
        },
      ],
      tables: [
        {
          id: 'weights',
          title: 'Cost served per heavy flow, ours / published',
          head: ['weight', ...WEIGHTS.map(String)],
          rows: rows.map(({ title, served, published }) => [
            title,
            ...served.map((cost, i) => beside(cost.toFixed(0), published?.[i]?.toFixed(0))),
          ]),
        },
        {
          id: 'shares',
          title: 'Shares of the service of heavy flows, by default, in per cent',
          head: ['', ...byWeight.map(({ label }) => label), ...equal.map(({ label }) => label)],
          rows: [
            ['served', ...[...byWeight, ...equal].map(({ served }) => (100 * served).toFixed(1))],
            ['entitled', ...[...byWeight, ...equal].map(({ entitled }) => (100 * entitled).toFixed(1))],
          ],
        },
      ],
      pictures: { '': plotShares(byWeight, equal) },
      data: { rows, byWeight, byCost: equal },
    }
  },
}

/** Largest deviation of the worst-off, or the best-off, flow from its share by weight; in per cent of that share. */
function furthest(served: readonly number[], weights: readonly number[]): number {
  const perWeight = sum(served) / sum(weights)
  return Math.max(...served.map((cost, i) => 100 * Math.abs(cost / (perWeight * weights[i]!) - 1)))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function heavyServed(served: ReadonlyMap<string, number>, count: number): number[] {
  return Array.from({ length: count }, (_, i) => served.get(`heavy-${i}`) ?? 0)
}
