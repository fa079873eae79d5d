// Goals and results of processes that share a clock: the worst over all numbers of processes and kinds of routing,
// beside one process. The report interval suits the store: four reports while it lasts. goals.js SEEDS K,K… LOST
// MOST_DELAY_SECONDS PERIOD_MS|quarter GROUP,GROUP…
import { printTable } from '../../bench/table.js'
import { fairClock } from '../../fair/controller.js'
import { HELD_OUT } from '../../fair/held-out.js'
import { type Measures, measure } from '../../fair/measures.js'
import type { Scenario } from '../../fair/scenario.js'
import { simulate } from '../../fair/simulate.js'
import { FEW, meanOf } from './populations.js'
import { balanced } from './processes.js'

const [
  seeds = '2',
  ks = '2,4,8,16',
  lost = '0.05',
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
  const rows: string[][] = []
  const one = run(scenarios, () => fairClock)
  const fleets = ks.split(',').flatMap((processes) =>
    ROUTINGS.map((routing) => {
      const found = run(scenarios, (scenario) =>
        balanced({
          processes: Number(processes),
          way: 'shared',
          routing,
          lost: Number(lost),
          delay: Number(delay),
          periodMs: periodFor(scenario),
        }),
      )
      return { found, name: `${processes}, ${routing}` }
    }),
  )
  for (const [, key, kind, value] of GOALS.filter(([name]) => name === group)) {
    const sign = kind === 'at least' ? 1 : -1
    const [worst] = fleets.toSorted((x, y) => sign * (meanOf(x.found, key) - meanOf(y.found, key)))
    if (worst === undefined) continue
    const figure = meanOf(worst.found, key)
    const isMet = sign * (figure - value) >= 0
    rows.push([
      key,
      `${kind} ${value}`,
      meanOf(one, key).toFixed(3),
      figure.toFixed(3),
      worst.name,
      isMet ? 'met' : 'missed',
    ])
  }
  printTable([group, 'goal', 'one process', 'worst fleet', 'of', ''], rows)
}
