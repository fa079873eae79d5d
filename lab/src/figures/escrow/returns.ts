import { type Client, type ClientWindow, simulateClients } from '../../simulation/escrow/index.js'
import type { Effort, Figure } from '../figure.js'
import { seedsOf } from '../measure.js'
import { mean } from '../numbers.js'
import { percents } from './utilisation.js'

const SEEDS = [1, 2, 3]
const LIMIT = 30_000
const WINDOW_MS = 60_000
const WINDOWS = 2
/** Tenants that pause leave the rest after this part of their share. */
const PAUSES_AT = 0.2

/** Weights of the tenants, of which every second one pauses. */
const FLEETS = [
  { title: '4 tenants', weights: [1, 1, 1, 1] },
  { title: '4 tenants, weights 4 : 1', weights: [4, 4, 1, 1] },
  { title: '40 tenants', weights: Array.from({ length: 40 }, () => 1) },
  { title: '100 tenants', weights: Array.from({ length: 100 }, () => 1) },
] as const
const COSTS = [1, 150] as const
/** Clients return later than told by up to this part of a window. Whole seconds of a minute are a sixtieth. */
const LATE = [
  ['when told', 0],
  ['up to T/1000 late', 1 / 1_000],
  ['up to T/60 late', 1 / 60],
  ['up to T/20 late', 1 / 20],
] as const

interface Returns {
  /** Part of the limit. */
  readonly used: number
  /** The largest difference between two tenants that do not pause, per weight, as part of the limit. */
  readonly apart: number
  /** Calls in a window. */
  readonly asked: number
  readonly allowed: number
}

/**
 * Results of a window in which every second tenant pauses, and the rest returns late by up to `late`: means over seeds.
 */
export function returnsOf(weights: readonly number[], cost: number, late: number, effort: Effort): Returns {
  const clients = weights.map((weight, i): Client => {
    const client = { weight, cost, returns: 'as-told', lateMs: late * WINDOW_MS } as const
    return i % 2 === 1 ? { ...client, pausesAt: PAUSES_AT } : client
  })
  const settings = { limit: LIMIT, windowMs: WINDOW_MS, windows: WINDOWS, reserve: 'paced', clients } as const
  const windows = seedsOf(effort, SEEDS).flatMap((seed) => simulateClients({ ...settings, seed }))
  const perWeight = ({ used }: ClientWindow): number[] =>
    used.flatMap((units, i) => (i % 2 === 1 ? [] : [units / weights[i]!]))
  return {
    used: mean(windows.map(({ used }) => used.reduce((sum, units) => sum + units, 0))) / LIMIT,
    apart:
      Math.max(...windows.map((window) => Math.max(...perWeight(window)) - Math.min(...perWeight(window)))) / LIMIT,
    asked: mean(windows.map(({ asked }) => asked)),
    allowed: mean(windows.map(({ allowed }) => allowed)),
  }
}

/** Utilisation by tenants that want the whole limit, and return when told, or later. */
export const escrowReturns: Figure = {
  name: 'escrow-returns',
  file: 'escrow-returns',
  about: 'how much of a budget is used by tenants that come back late',
  seeds: SEEDS,
  make(effort, tell) {
    const sets = COSTS.map((cost) => ({
      cost,
      rows: FLEETS.map(({ title, weights }) => {
        tell(`${title}, calls of ${cost}`)
        return { title, byLateness: LATE.map(([_, late]) => returnsOf(weights, cost, late, effort)) }
      }),
    }))
    const both = ({ used, apart }: Returns): string => `${percents(used)}, ${percents(apart)}`
    return {
      aims: sets[0]!.rows.flatMap(({ title, byLateness }) =>
        byLateness.slice(0, -1).map(({ used }, i) => ({
          what: `used, %: ${title}, who come back ${LATE[i]![0]}`,
          ours: 100 * used,
          goal: { least: 99 },
        })),
      ),
      tables: sets.map(({ cost, rows }) => ({
        id: `calls-of-${cost}`,
        title:
          `Half of the tenants pause after a fifth of their share, the others want all, by calls of ${cost}; limit ` +
          `${LIMIT}. In per cent: what is used, and by how much two of the others differ per weight, at most`,
        head: ['%, of the limit', ...LATE.map(([title]) => title), 'calls, when told', 'of those allowed'],
        rows: rows.map(({ title, byLateness }) => [
          title,
          ...byLateness.map(both),
          byLateness[0]!.asked.toFixed(0),
          byLateness[0]!.allowed.toFixed(0),
        ]),
      })),
      pictures: {},
      data: sets,
    }
  },
}
