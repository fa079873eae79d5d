import { weightedMaxMin } from '@fairlead/core'
import type { Effort, Findings, Tell } from '../figure.js'
import { seedsOf } from '../measure.js'
import { mean } from '../numbers.js'
import { type AskerShare, plotAskers } from '../plots/escrow-askers.js'
import { RULES, TITLES, WAYS, type Way } from './rule.js'
import { type Asker, play, type Story } from './window.js'

const SEEDS = Array.from({ length: 20 }, (_, i) => 1 + i)

/** Tenants of unlike weights. The heaviest is idle but for one unit; of the rest, those that weigh least ask most. */
const SKEWED: Story = {
  limit: 1_000,
  askers: [
    { name: 'idle, weight 5', weight: 5, costs: [1], every: 1, from: 0, enough: 1 },
    { name: 'weight 4', weight: 4, costs: [1], every: 1 / 1_000 },
    { name: 'weight 1, asks 10 times as often', weight: 1, costs: [1], every: 1 / 10_000 },
  ],
}

/** What each tenant of the window was admitted: means over the seeds. */
export function sharesOf(way: Way, effort: Effort): number[] {
  const runs = seedsOf(effort, SEEDS).map((seed) => play(SKEWED, RULES[way], seed))
  return SKEWED.askers.map(({ name }) => mean(runs.map(({ by }) => by.get(name)!)))
}

/** Weighted max-min of what they ask for. */
export const ENTITLED: readonly number[] = weightedMaxMin(
  SKEWED.askers.map(demandOf),
  SKEWED.askers.map(({ weight = 1 }) => weight),
  SKEWED.limit,
)

function demandOf({ every, enough }: Asker): number {
  return enough ?? 1 / every
}

/** Who gets what an idle tenant leaves. */
export function shares(effort: Effort, tell: Tell): Findings {
  tell('weights')
  const got = Object.fromEntries(WAYS.map((way) => [way, sharesOf(way, effort)])) as Record<Way, number[]>
  const names = SKEWED.askers.map(({ name }) => name)
  const total = (units: readonly number[]): number => units.reduce((sum, each) => sum + each, 0)
  const row = (title: string, units: readonly number[]): string[] => [
    title,
    ...units.map((each) => each.toFixed(0)),
    (total(units) / SKEWED.limit).toFixed(3),
  ]
  return {
    tables: [
      {
        title: `Who gets what an idle tenant leaves: units of ${SKEWED.limit}`,
        head: ['', ...names, 'used'],
        rows: [...WAYS.map((way) => row(TITLES[way], got[way])), row('goal: weighted max-min', ENTITLED)],
      },
    ],
    pictures: {
      shares: plotAskers(
        names.slice(1).map((name, i): AskerShare => {
          const units = (values: readonly number[]): number => values[i + 1]!
          return { name, byWay: mapWays((way) => units(got[way])), entitled: units(ENTITLED) }
        }),
      ),
    },
    data: { names, got, entitled: ENTITLED },
  }
}

function mapWays(of: (way: Way) => number): Record<Way, number> {
  return Object.fromEntries(WAYS.map((way) => [way, of(way)])) as Record<Way, number>
}
