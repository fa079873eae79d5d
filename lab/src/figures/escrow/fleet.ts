import type { FleetTenant } from '../../simulation/escrow/index.js'
import type { Aim } from '../aims.js'
import type { Effort, Findings, Tell } from '../figure.js'
import { plotFleet } from '../plots/escrow-fleet.js'
import { CounterStore } from './counter-store.js'
import { type Fleet, fleetOf, greedy, halfPause, type Trial, WINDOW_MS } from './fleet-run.js'
import { manyProcesses } from './many-processes.js'
import { percents } from './utilisation.js'

const LIMIT = 2_000

export const TWO: readonly (readonly FleetTenant[])[] = [[greedy('heavy', 4)], [greedy('light', 1)]]
/** Four processes with two tenants each. */
const FOUR = [
  [greedy('w1', 1), greedy('w2', 2)],
  [greedy('w3', 3), greedy('w4', 4)],
  [greedy('a', 1), greedy('b', 1)],
  [greedy('c', 1), greedy('d', 1)],
]
/** Parts of all calls to the store: lost on the way there, or back; and answered so late that other calls wait. */
const WEATHER = { requestsLost: 0.025, answersLost: 0.01, late: 0.01, lateMs: WINDOW_MS / 50 }

/** Two processes on a plain counter, and on our pool. */
export interface Pair {
  readonly quantum: number
  readonly counter: Fleet
  readonly ours: Fleet
}

interface FleetGoal {
  /** Part of the limit, in per cent. */
  readonly leastUsed?: number
  /** Calls to the store in a window: with all backlogged 1.1 for each quantum and 4 per process, else 1 and 40. */
  readonly mostCalls?: number
}

interface Judged {
  readonly fleet: Fleet
  readonly goal: FleetGoal
}

const QUANTA = [10, 30, 100] as const

/** A fleet of processes on one pool, with inaccurate clocks and a network that loses calls. */
export async function fleet(effort: Effort, tell: Tell): Promise<Findings> {
  const pairs: Pair[] = []
  for (const quantum of QUANTA) {
    tell(`two processes, quanta of ${quantum}`)
    const trial = { limit: 1_000, quantum, processes: TWO }
    const storeOf = (clock: () => number) => new CounterStore(clock)
    pairs.push({
      quantum,
      counter: await fleetOf('counter', { ...trial, storeOf }, effort),
      ours: await fleetOf('ours', trial, effort),
    })
  }
  const trials: readonly (readonly [string, Partial<Trial>, FleetGoal])[] = [
    ['all ask', {}, { leastUsed: 99, mostCalls: 104 }],
    ['half of the processes pause after T/5', { processes: halfPause(FOUR) }, { leastUsed: 97, mostCalls: 240 }],
    ['all ask; calls lost and late', { weather: WEATHER }, { leastUsed: 99 }],
    [
      'the same, and a tenth of the processes crashes in each window',
      { weather: WEATHER, crashes: 0.1 },
      { leastUsed: 99 },
    ],
    ['the same, every second one', { weather: WEATHER, crashes: 0.5 }, {}],
  ]
  const fleets: Judged[] = []
  for (const [title, trial, goal] of trials) {
    tell(title)
    const whole = { limit: LIMIT, quantum: 25, processes: FOUR, ...trial }
    fleets.push({ fleet: await fleetOf(title, whole, effort), goal })
  }
  const split = ({ byTenant }: Fleet): string => `${byTenant['heavy']!.toFixed(0)} : ${byTenant['light']!.toFixed(0)}`
  const many = await manyProcesses(effort, tell)
  return {
    aims: [...aimsOf(pairs, fleets), ...many.aims],
    tables: [
      {
        id: 'pairs',
        title:
          'Two processes, one tenant each, weights 4 : 1, limit 1000: units per window, and most calls to the store',
        head: ['quantum', 'a plain counter', 'ours', 'goal', 'calls, counter', 'calls, ours', 'goal'],
        rows: pairs.map(({ quantum, counter, ours }) => [
          String(quantum),
          split(counter),
          split(ours),
          `800 ± ${quantum}`,
          String(counter.calls),
          String(ours.calls),
          `≤ ${mostCalls(quantum)}`,
        ]),
      },
      {
        id: 'fleets',
        title: `Four processes, limit ${LIMIT}, quanta of 25, clocks up to 1 s apart`,
        head: ['', 'used, %', 'goal', 'most in a window', 'crashes', 'most calls'],
        rows: fleets.map(({ fleet: { title, used, most, crashes, calls }, goal: { leastUsed } }) => [
          title,
          percents(used),
          leastUsed === undefined ? '–' : `≥ ${leastUsed}`,
          String(most),
          String(crashes),
          String(calls),
        ]),
      },
      {
        id: 'tenants',
        title: 'Units per window of tenants of these weights, two in each process, while all ask',
        head: ['', ...FOUR.flat().map(({ name, weight }) => `${name}: ${weight}`)],
        rows: [
          ['ours', ...Object.values(fleets[0]!.fleet.byTenant).map((units) => units.toFixed(1))],
          ['entitled', ...FOUR.flat().map(({ weight }) => ((LIMIT * weight) / 14).toFixed(1))],
        ],
      },
      ...many.tables,
    ],
    pictures: {
      '': plotFleet(
        pairs,
        fleets.map((each) => each.fleet),
      ),
    },
    data: { pairs, fleets, many: many.data },
  }
}

function aimsOf(pairs: readonly Pair[], fleets: readonly Judged[]): Aim[] {
  return [
    ...pairs.flatMap(({ quantum, counter, ours }): Aim[] => [
      {
        what: `two processes, weights 4 : 1, quantum ${quantum}: units of the heavy one, of 1000`,
        published: counter.byTenant['heavy'],
        ours: ours.byTenant['heavy']!,
        goal: { least: 800 - quantum, most: 800 + quantum },
        digits: 0,
      },
      {
        what: 'the same: most calls to the store in a window',
        published: counter.calls,
        ours: ours.calls,
        goal: { most: mostCalls(quantum) },
        digits: 0,
      },
    ]),
    ...fleets.flatMap(({ fleet: { title, used }, goal: { leastUsed } }): Aim[] =>
      leastUsed === undefined
        ? []
        : [{ what: `four processes, used, %: ${title}`, ours: 100 * used, goal: { least: leastUsed } }],
    ),
    ...fleets.flatMap(({ fleet: { title, calls }, goal: { mostCalls } }): Aim[] =>
      mostCalls === undefined
        ? []
        : [
            {
              what: `four processes, most calls in a window: ${title}`,
              ours: calls,
              goal: { most: mostCalls },
              digits: 0,
            },
          ],
    ),
    {
      what: `four processes, most admitted in any window of ${LIMIT}`,
      ours: Math.max(...fleets.map(({ fleet: { most } }) => most)),
      goal: { most: LIMIT },
      digits: 0,
    },
  ]
}

/** Upper bound of calls to the store by two processes in a window: a little more than one for each quantum. */
function mostCalls(quantum: number): number {
  return Math.floor((1.1 * 1_000) / quantum + 4 * 2)
}
