import { weightedMaxMin } from '@fairlead/core/escrow'
import type { Effort, Findings, Tell } from '../figure.js'
import { seedsOf } from '../measure.js'
import { mean } from '../numbers.js'
import { type AskerShare, plotAskers } from '../plots/escrow-askers.js'
import { RULES, TITLES, WAYS, type Way } from './rule.js'
import { SEEDS } from './seeds.js'
import { percents } from './utilisation.js'
import { play, type Story } from './window.js'

/**
 * Tenants of unlike weights. The heaviest asks for one unit only; of the rest, the lightest asks ten times as often. A
 * heavier tenant asks for that multiple of the limit.
 */
function skewed(times: number): Story {
  return {
    limit: LIMIT,
    askers: [
      { name: 'idle, weight 5', weight: 5, costs: [1], every: 1, from: 0, enough: 1 },
      { name: 'weight 4', weight: 4, costs: [1], every: 1 / (times * LIMIT) },
      { name: 'weight 1, asks 10 times as often', weight: 1, costs: [1], every: 1 / (10 * times * LIMIT) },
    ],
  }
}

const LIMIT = 1_000
export const EAGER: Story = skewed(4)
/**
 * Asks for exactly the limit, at an even pace: it does not want more than its guarantee before two fifths of the
 * window.
 */
const EVEN: Story = skewed(1)

/** Units that each tenant of the window was admitted: means over the seeds. */
export function sharesOf(story: Story, way: Way, effort: Effort): number[] {
  const runs = seedsOf(effort, SEEDS).map((seed) => play(story, RULES[way], seed))
  return story.askers.map(({ name }) => mean(runs.map(({ by }) => by.get(name)!)))
}

/** Weighted max-min shares of their demands in the whole window. */
export function entitledOf({ askers, limit }: Story): number[] {
  return weightedMaxMin(
    askers.map(({ every, enough }) => enough ?? Math.floor(1 / every)),
    askers.map(({ weight = 1 }) => weight),
    limit,
  )
}

/** Distribution of the units that an idle tenant leaves. */
export function shares(effort: Effort, tell: Tell): Findings {
  tell('weights')
  const got = Object.fromEntries(WAYS.map((way) => [way, sharesOf(EAGER, way, effort)])) as Record<Way, number[]>
  const even = sharesOf(EVEN, 'paced', effort)
  const entitled = entitledOf(EAGER)
  const names = EAGER.askers.map(({ name }) => name)
  const row = (title: string, units: readonly number[]): string[] => [
    title,
    ...units.map((each) => each.toFixed(0)),
    percents(units.reduce((sum, each) => sum + each, 0) / LIMIT),
  ]
  return {
    aims: names.slice(1).map((name, i) => ({
      what: `what an idle tenant leaves: units for ${name}`,
      published: got.excess[i + 1],
      ours: got.paced[i + 1]!,
      // Up to a unit or two for the rounding of a window's last calls.
      goal: { least: Math.floor(0.99 * entitled[i + 1]!), most: Math.ceil(1.01 * entitled[i + 1]!) },
      digits: 0,
    })),
    tables: [
      {
        id: 'shares',
        title: `Distribution of the units that an idle tenant leaves, of ${LIMIT}`,
        head: ['', ...names, 'used, %'],
        rows: [
          ...WAYS.map((way) => row(TITLES[way], got[way])),
          row('goal: weighted max-min', entitled),
          row('ours, paced; weight 4 asks at an even pace, for the limit', even),
        ],
      },
    ],
    pictures: {
      shares: plotAskers(
        EAGER.askers.map(({ name }, i): AskerShare => {
          const byWay = Object.fromEntries(WAYS.map((way) => [way, got[way][i]!])) as Record<Way, number>
          return { name, byWay, entitled: entitled[i]! }
        }),
      ),
    },
    data: { names, got, even, entitled },
  }
}
