// Goals and results of processes that share a clock, beside one process, processes on their own, and the published
// rule. A cell has the worst over random, sticky and skewed routing. The report interval suits the store: four reports
// while it lasts. goals.js SEEDS K,K… LOST,LOST… MOST_DELAY_SECONDS PERIOD_MS|quarter GROUP,GROUP…
import { printTable } from '../../bench/table.js'
import { fairClock } from '../../fair/controller.js'
import { HELD_OUT } from '../../fair/held-out.js'
import { type Measures, measure } from '../../fair/measures.js'
import type { Scenario } from '../../fair/scenario.js'
import { simulate } from '../../fair/simulate.js'
import { FEW, meanOf } from './populations.js'
import { balanced, type Processes } from './processes.js'

const [
  seeds = '1',
  ks = '1,2,4,8,16',
  losses = '0,0.05',
  delay = '0.01',
  periods = 'quarter',
  only = 'api,noisy,big,held out',
] = process.argv.slice(2)
const ROUTINGS = ['random', 'sticky', 'skewed'] as const
/** Milliseconds. */
const LONGEST = 250

type Goal = readonly [group: string, key: keyof Measures, kind: 'at least' | 'at most', value: number]
const GOALS: readonly Goal[] = [
  ['api', 'jain', 'at least', 0.97],
  ['api', 'goodWorst', 'at least', 0.88],
  ['noisy', 'goodMean', 'at least', 0.98],
  ['noisy', 'goodWorst', 'at least', 0.97],
  ['big', 'goodWorst', 'at least', 0.9],
  ['held out', 'windowed', 'at least', 0.995],
  ['held out', 'goodMean', 'at least', 0.96],
  ...['api', 'noisy', 'big', 'held out'].flatMap((group): Goal[] => [
    [group, 'failures', 'at most', 0.03],
    [group, 'utilisation', 'at least', 0.98],
  ]),
]

function periodFor({ resource }: Scenario): number {
  if (periods !== 'quarter') return Number(periods)
  return resource.kind === 'bucket' ? Math.min(LONGEST, (250 * resource.burst) / resource.rate) : 100
}

function run(scenarios: readonly Scenario[], make: (scenario: Scenario) => Parameters<typeof simulate>[1]): Measures[] {
  return scenarios.flatMap((scenario) =>
    Array.from({ length: Number(seeds) }, (_, i) => measure(scenario, simulate(scenario, make(scenario), i + 1))),
  )
}

const groups = new Map<string, readonly Scenario[]>([
  ...FEW.filter(({ name }) => GOALS.some(([group]) => group === name)).map((each) => [each.name, [each]] as const),
  ['held out', HELD_OUT],
])
for (const [group, scenarios] of groups) {
  if (!only.split(',').includes(group)) continue
  const goals = GOALS.filter(([name]) => name === group)
  const rows: string[][] = []
  const add = (processes: string, way: string, fleets: readonly Measures[][]): void => {
    const cells = goals.map(([, key, kind]) => {
      const figures = fleets.map((found) => meanOf(found, key))
      return (kind === 'at least' ? Math.min(...figures) : Math.max(...figures)).toFixed(3)
    })
    rows.push([processes, way, ...cells])
  }
  const fleet = (some: Pick<Processes, 'processes' | 'way' | 'lost'>): Measures[][] =>
    ROUTINGS.map((routing) =>
      run(scenarios, (scenario) => balanced({ ...some, routing, delay: Number(delay), periodMs: periodFor(scenario) })),
    )
  add('1', 'one process', [run(scenarios, () => fairClock)])
  for (const processes of ks.split(',').map(Number)) {
    if (processes > 1) {
      add(String(processes), 'published rule, on their own', fleet({ processes, way: 'blue' }))
      add(String(processes), 'on their own', fleet({ processes, way: 'alone' }))
    }
    for (const lost of losses.split(',').map(Number))
      add(String(processes), `one clock, ${100 * lost} % lost`, fleet({ processes, way: 'shared', lost }))
  }
  rows.push(['', 'goal', ...goals.map(([, , kind, value]) => `${kind} ${value}`)])
  printTable(['processes', group, ...goals.map(([, key]) => key)], rows)
}
