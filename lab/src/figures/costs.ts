import type { Figure } from './figure.js'
import { measure, SEEDS, type Shape } from './measure.js'
import { beside, digits } from './numbers.js'
import { VARIANTS, type VariantName } from './variants.js'

const COSTLY = 20

/** 5 heavy flows; requests of the first one cost twenty times as much. */
const ONE_COSTLY: Shape = { heavy: 5, heavyCostOf: (i) => (i === 0 ? COSTLY : 1) }

/** Waits of light requests beside them, p50 and p99 in ms, as published. */
const WAITS: readonly [VariantName, readonly [p50: number, p99: number] | undefined][] = [
  ['textbook', [11, 29.6]],
  ['perFlow', undefined],
  ['sparseFirst', [1.4, 13.2]],
]

interface Shares {
  readonly title: string
  readonly shape: Shape
  readonly isCostly: (index: number) => boolean
  /** Cost served per flow of costly and of ordinary requests, as published. */
  readonly published: readonly [costly: number, ordinary: number]
}

/**
 * Waiting is limited to 5 s, so that most of the costly requests die in the queue. That must cost their flow nothing.
 */
const SHARES: readonly Shares[] = [
  {
    title: '1 flow of cost 20, 4 of cost 1',
    shape: { ...ONE_COSTLY, seconds: 40 },
    isCostly: (i) => i === 0,
    published: [4293, 4307],
  },
  {
    title: '10 flows of cost 20, 10 of cost 1',
    shape: { heavy: 20, heavyCostOf: (i) => (i % 2 === 0 ? COSTLY : 1), seconds: 40 },
    isCostly: (i) => i % 2 === 0,
    published: [1080, 1090],
  },
]

export const costs: Figure = {
  name: 'costs',
  file: 'sfq-costs',
  about: 'flows whose requests cost twenty times as much',
  source: 'an earlier simulation that this code was written to meet',
  seeds: SEEDS,
  make(effort, tell) {
    const waits = WAITS.map(([name, published]) => {
      tell(VARIANTS[name].title)
      const { p50, p99 } = measure(ONE_COSTLY, (seed) => VARIANTS[name].make(seed), effort)
      return { name, p50, p99, published }
    })
    const shares = SHARES.map(({ title, shape, isCostly, published }) => {
      tell(title)
      const { served } = measure(shape, (seed) => VARIANTS.perFlow.make(seed), effort)
      const each = (costly: boolean): number => {
        const flows = Array.from({ length: shape.heavy }, (_, i) => i).filter((i) => isCostly(i) === costly)
        return flows.reduce((sum, i) => sum + (served.get(`heavy-${i}`) ?? 0), 0) / flows.length
      }
      return { title, costly: each(true), ordinary: each(false), published }
    })
    return {
      aims: [
        ...shares.map(({ title, costly, ordinary, published }) => ({
          what: `served, cost 20 : cost 1, most of cost 20 dying in the queue: ${title}`,
          published: published[0] / published[1],
          ours: costly / ordinary,
          goal: { least: 0.97, most: 1.03 },
          digits: 3,
        })),
        ...waits.flatMap(({ name, p99, published }) =>
          published === undefined
            ? []
            : [{ what: `p99 of light requests, ms: ${VARIANTS[name].title}`, published: published[1], ours: p99 }],
        ),
      ],
      tables: [
        {
          id: 'waits',
          title: 'Waits of light requests beside 5 heavy flows, one of cost 20, in ms, ours / published',
          head: ['', 'p50', 'p99'],
          rows: waits.map(({ name, p50, p99, published }) => [
            VARIANTS[name].title,
            beside(digits(p50), published && digits(published[0])),
            beside(digits(p99), published && digits(published[1])),
          ]),
        },
        {
          id: 'served',
          title: 'Cost served per heavy flow, most requests of cost 20 dying in the queue, ours / published',
          head: ['', 'flow of cost 20', 'flow of cost 1', 'ratio'],
          rows: shares.map(({ title, costly, ordinary, published }) => [
            title,
            beside(digits(costly), digits(published[0])),
            beside(digits(ordinary), digits(published[1])),
            beside((costly / ordinary).toFixed(3), (published[0] / published[1]).toFixed(3)),
          ]),
        },
      ],
      pictures: {},
      data: { waits, shares },
    }
  },
}
