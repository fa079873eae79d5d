import type { Figure } from './figure.js'
import { type Measured, measure, SEEDS, type Shape } from './measure.js'
import { beside, digits, percent } from './numbers.js'
import { VARIANTS, type VariantName } from './variants.js'

/**
 * As many heavy flows as queues: as in `isolation`, but each heavy flow asks for 50 a second, so that there can be many
 * of them. Hashed queues isolate while few of the 64 are occupied; the others do not depend on their number.
 */
const HEAVY = [10, 20, 40, 80, 160] as const
const shapeOf = (heavy: number): Shape => ({ heavy, heavyRate: 50 })

/** Published for 40 of them: p99 as a part of that of textbook round robin, which was 151 ms. */
const PUBLISHED: Partial<Record<VariantName, number>> = {
  hashed: 1.03,
  auto: 1.01,
  sparseFirst: 0.53,
}

const COLUMNS = [
  'first',
  'shortestOf4',
  'hashed',
  'auto',
  'perFlow',
  'sparseFirst',
] as const satisfies readonly VariantName[]

export const manyHeavy: Figure = {
  name: 'many-heavy',
  file: 'sfq-many-heavy',
  about: 'light flows beside as many heavy flows as queues',
  source: 'an earlier simulation that this code was written to meet',
  seeds: SEEDS,
  make(effort, tell) {
    const results = HEAVY.map((heavy) => {
      tell(`${heavy} heavy`)
      const run = (name: VariantName): Omit<Measured, 'served'> => {
        const { p50, p99, lost } = measure(shapeOf(heavy), (seed) => VARIANTS[name].make(seed, 20_000), effort)
        return { p50, p99, lost }
      }
      return { heavy, textbook: run('textbook'), others: COLUMNS.map((name) => ({ name, ...run(name) })) }
    })
    const ratioOf = (name: VariantName, heavy: (typeof HEAVY)[number]): number => {
      const { textbook, others } = results.find((result) => result.heavy === heavy)!
      return others.find((each) => each.name === name)!.p99 / textbook.p99
    }
    return {
      aims: [
        {
          what: 'p99 / that of exact round robin: default, 40 heavy',
          published: PUBLISHED.sparseFirst,
          ours: ratioOf('sparseFirst', 40),
          goal: { most: 0.6 },
          digits: 2,
        },
        {
          what: 'the same, worst of 10 to 160 heavy',
          ours: Math.max(...HEAVY.map((heavy) => ratioOf('sparseFirst', heavy))),
          goal: { most: 0.8 },
          digits: 2,
        },
        {
          what: 'auto from 64, turns, 40 heavy',
          published: PUBLISHED.auto,
          ours: ratioOf('auto', 40),
          goal: { most: 1.1 },
          digits: 2,
        },
      ],
      tables: [
        {
          id: 'ratios',
          title: 'p99 of textbook round robin in ms; p99 as a part of that, ours / published, and light requests lost',
          head: ['heavy flows', VARIANTS.textbook.title, ...COLUMNS.map((name) => VARIANTS[name].title)],
          rows: results.map(({ heavy, textbook, others }) => [
            String(heavy),
            digits(textbook.p99),
            ...others.map(({ name, p99, lost }) => {
              const ratio = (p99 / textbook.p99).toFixed(2)
              const shown = heavy === 40 ? beside(ratio, PUBLISHED[name]?.toFixed(2)) : ratio
              return lost === 0 ? shown : `${shown}, ${percent(lost)} % lost`
            }),
          ]),
        },
      ],
      pictures: {},
      data: results,
    }
  },
}
