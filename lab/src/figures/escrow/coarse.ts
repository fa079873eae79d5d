import { seededRandom } from '@fairlead/core/testing'
import type { Effort, Findings, Tell } from '../figure.js'
import { seedsOf } from '../measure.js'
import { mean } from '../numbers.js'
import { plotCoarse } from '../plots/escrow-coarse.js'
import { plainCounter, RULES, type RuleOf, TITLES, WAYS, type Way } from './rule.js'
import { percents } from './utilisation.js'
import { play, type Story } from './window.js'

/**
 * Costs that are large relative to the limit: limits of 50 to 200, tenants of weight 1, costs of 1 to `most`, constant
 * for each tenant or drawn anew for each call. A refused call is repeated with the same cost.
 */
export interface CoarseSet {
  readonly title: string
  /** Least and largest number of tenants. */
  readonly tenants: readonly [number, number]
  /**
   * Cost that all tenants together ask for, as a multiple of the limit; Infinity: all that they can, from the start.
   */
  readonly asked: number
  readonly drawn: boolean
  /** Of ours, paced, for the costs below. */
  readonly goals: readonly number[]
}

export const MOST_COSTS = [4, 20, 50] as const
const FIXED = [0.995, 0.98, 0.95]
const DRAWN = [0.99, 0.96, 0.9]
const AT_ONCE = 0.0001

export const COARSE: readonly CoarseSet[] = [
  { title: '2 to 6 tenants, at once', tenants: [2, 6], asked: Number.POSITIVE_INFINITY, drawn: false, goals: FIXED },
  { title: '2 to 6 tenants, at once', tenants: [2, 6], asked: Number.POSITIVE_INFINITY, drawn: true, goals: DRAWN },
  { title: '2 to 20 tenants, at once', tenants: [2, 20], asked: Number.POSITIVE_INFINITY, drawn: false, goals: FIXED },
  { title: '2 to 20 tenants, at once', tenants: [2, 20], asked: Number.POSITIVE_INFINITY, drawn: true, goals: DRAWN },
  { title: '2 to 6 tenants, evenly 300 %', tenants: [2, 6], asked: 3, drawn: false, goals: FIXED },
  { title: '2 to 6 tenants, evenly 300 %', tenants: [2, 6], asked: 3, drawn: true, goals: DRAWN },
]

/** Each with its own limit, tenants and costs. */
export const COARSE_SEEDS: readonly number[] = Array.from({ length: 500 }, (_, i) => 1 + i)

/** Part of the limit that is used: mean over the seeds, each with its own limit, tenants and costs. */
export function coarseUse(set: CoarseSet, most: number, ruleOf: RuleOf, effort: Effort): number {
  return mean(
    seedsOf(effort, COARSE_SEEDS).map((seed) => {
      const story = storyOf(set, most, seed)
      return play(story, ruleOf, seed).used / story.limit
    }),
  )
}

function storyOf({ tenants: [fewest, mostTenants], asked, drawn }: CoarseSet, most: number, seed: number): Story {
  const random = seededRandom(seed)
  const whole = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1))
  const limit = whole(50, 200)
  const count = whole(fewest, mostTenants)
  const askers = Array.from({ length: count }, (_, i) => {
    const cost = whole(1, most)
    const [leastCost, meanCost] = drawn ? [1, (1 + most) / 2] : [cost, cost]
    return {
      name: `tenant-${i}`,
      costs: [drawn ? ([1, most] as const) : cost],
      ...(Number.isFinite(asked)
        ? { every: (meanCost * count) / (limit * asked) }
        : { every: AT_ONCE, requests: 1 + Math.ceil(limit / leastCost) }),
    }
  })
  return { limit, askers }
}

/** Utilisation with costs that are large relative to the limit. */
export function coarse(effort: Effort, tell: Tell): Findings {
  const rows = COARSE.map((set) => {
    tell(`coarse costs: ${set.title}`)
    const byCost = (ruleOf: RuleOf): number[] => MOST_COSTS.map((most) => coarseUse(set, most, ruleOf, effort))
    const used = WAYS.map((way) => [way, byCost(RULES[way])] as const)
    return { set, used: Object.fromEntries(used) as Record<Way, number[]>, counter: byCost(plainCounter) }
  })
  const three = (parts: readonly number[]): string => parts.map(percents).join(' ')
  const [fixed, drawn] = rows
  const chosen = (title: string, of: (row: (typeof rows)[number]) => readonly number[]): string[] => [
    title,
    three(of(fixed!)),
    three(of(drawn!)),
  ]
  return {
    aims: rows.flatMap(({ set: { title, drawn, goals }, used }) =>
      MOST_COSTS.map((most, i) => ({
        what: `used, %: costs of 1 to ${most}, ${drawn ? 'drawn anew' : 'fixed'}, ${title}`,
        published: 100 * used.excess[i]!,
        ours: 100 * used.paced[i]!,
        goal: { least: 100 * goals[i]! },
      })),
    ),
    tables: [
      {
        id: 'chosen',
        title: `Part used, in per cent, of costs up to ${MOST_COSTS.join(', ')}: ${fixed!.set.title}`,
        head: ['', 'each tenant has its cost', 'each call has another'],
        rows: [
          ...WAYS.map((way) => chosen(TITLES[way], ({ used }) => used[way])),
          ['goal', ...[FIXED, DRAWN].map((goals) => goals.map((goal) => 100 * goal).join(' '))],
          chosen('a plain counter', ({ counter }) => counter),
        ],
      },
      {
        id: 'all',
        title: `Costs of 1 to ${MOST_COSTS.join(', ')} beside limits of 50 to 200: part used, in per cent`,
        head: ['', 'costs', ...WAYS.map((way) => TITLES[way]), 'goal', 'a plain counter'],
        rows: rows.map(({ set: { title, drawn, goals }, used, counter }) => [
          title,
          drawn ? 'drawn anew' : 'fixed',
          ...WAYS.map((way) => three(used[way])),
          `≥ ${goals.map((goal) => 100 * goal).join(' ')}`,
          three(counter),
        ]),
      },
    ],
    pictures: { '': plotCoarse([rows[0]!.used, rows[1]!.used], [FIXED, DRAWN], MOST_COSTS) },
    data: rows,
  }
}
