import { type Discipline, fairQueue } from '../simulation/sfq/index.js'
import type { Aim } from './aims.js'
import type { Effort, Figure, Table } from './figure.js'
import { hashedLines } from './hashed-lines.js'
import { measure, SEEDS, type Shape, servedEach } from './measure.js'
import { beside, digits } from './numbers.js'
import { VARIANTS, type VariantName } from './variants.js'

const LIGHT = 200
const HEAVY = 5

/**
 * 200 light flows together ask for 120 %, so that they also wait; 5 heavy ones for 200 % each. No request waits longer
 * than 2 s.
 */
const EVERYBODY: Shape = { heavy: HEAVY, light: LIGHT, lightLoad: 1.2, waitLimitMs: 2_000, seconds: 25 }
/** No bound on the total: the order of turns is examined. */
const UNBOUNDED = 20_000

/** Cost served per heavy and per light flow, as published. */
const PUBLISHED: Partial<Record<VariantName, readonly [heavy: number, light: number]>> = {
  perFlow: [111, 110],
  sparseFirst: [110, 110],
  hashed: [97, 110],
  shortestOf4: [1184, 83],
}
const ROWS = ['perFlow', 'sparseFirst', 'hashed', 'auto', 'shortestOf4'] as const

/** One heavy flow among 20 light ones that also wait: how many shares does it get? */
const LONE: Shape = { heavy: 1, light: 20, lightLoad: 1.5, waitLimitMs: 2_000 }
const HANDS = [1, 2, 4, 8] as const
/** With the shortest of several queues. */
const PUBLISHED_SHARES = [1.1, 1.25, 1.67, 2.46] as const

export const everybodyWaits: Figure = {
  name: 'everybody-waits',
  file: 'sfq-everybody-waits',
  about: 'cost served per flow while all flows wait',
  source: 'an earlier simulation that this code was written to meet',
  seeds: SEEDS,
  make(effort, tell) {
    const shares = ROWS.map((name) => {
      tell(VARIANTS[name].title)
      const measured = measure(EVERYBODY, (seed) => VARIANTS[name].make(seed, UNBOUNDED), effort)
      return { name, heavy: servedEach(measured, 'heavy', HEAVY), light: servedEach(measured, 'light', LIGHT) }
    })
    const inflation = inflations(effort, tell)
    return {
      aims: goalsOf(shares, inflation),
      tables: [shareTable(shares), inflationTable(inflation)],
      pictures: {},
      data: { shares, inflation },
    }
  },
}

/**
 * The share of a lone heavy flow as a multiple of its fair share: with our hashed queues, and with hashed lines by
 * hand.
 */
interface Inflation {
  readonly ours: number
  readonly lines: readonly number[]
}

function inflations(effort: Effort, tell: (step: string) => void): Inflation {
  tell('a lone heavy flow')
  const share = (make: (seed: number) => Discipline): number => servedEach(measure(LONE, make, effort), 'heavy', 1)
  const rest = { sparseFirst: false, maxWaiting: UNBOUNDED }
  const fair = share(() => fairQueue(rest))
  return {
    ours: share((seed) => fairQueue({ ...rest, queues: 64, seed })) / fair,
    lines: HANDS.map((hand) => share((seed) => hashedLines({ lines: 64, hand, seed, overflow: 'refuse' })) / fair),
  }
}

/** Cost served per heavy and per light flow. */
interface Shares {
  readonly name: (typeof ROWS)[number]
  readonly heavy: number
  readonly light: number
}

/**
 * Flows that wait all the time are served alike; flows with few requests may ask for a little less than their share.
 */
function goalsOf(shares: readonly Shares[], inflation: Inflation): Aim[] {
  return [
    ...shares
      .filter(({ name }) => name === 'perFlow' || name === 'sparseFirst')
      .map(({ name, heavy, light }): Aim => {
        const published = PUBLISHED[name]
        return {
          what: `served, heavy : light, ${VARIANTS[name].title}`,
          published: published && published[0] / published[1],
          ours: heavy / light,
          goal: { least: 0.97, most: 1.03 },
          digits: 2,
        }
      }),
    {
      what: `share of a lone heavy flow, ${VARIANTS.hashed.title}`,
      published: 1,
      ours: inflation.ours,
      goal: { most: 1.01 },
      digits: 2,
    },
  ]
}

function shareTable(shares: readonly Shares[]): Table {
  return {
    id: 'shares',
    title: 'Cost served per flow while all flows wait, ours / published',
    head: ['', 'per heavy flow', 'per light flow', 'heavy : light'],
    rows: shares.map(({ name, heavy, light }) => {
      const published = PUBLISHED[name]
      return [
        VARIANTS[name].title,
        beside(digits(heavy), published && digits(published[0])),
        beside(digits(light), published && digits(published[1])),
        beside((heavy / light).toFixed(2), published && (published[0] / published[1]).toFixed(2)),
      ]
    }),
  }
}

function inflationTable({ ours, lines }: Inflation): Table {
  return {
    id: 'inflation',
    title: 'Share of a lone heavy flow, as a multiple of its fair share, ours / published',
    head: ['', ...HANDS.map((hand) => `shortest of ${hand}`), VARIANTS.hashed.title],
    rows: [
      [
        'share',
        ...lines.map((each, i) => beside(each.toFixed(2), PUBLISHED_SHARES[i]!.toFixed(2))),
        beside(ours.toFixed(2), '1.00'),
      ],
    ],
  }
}
