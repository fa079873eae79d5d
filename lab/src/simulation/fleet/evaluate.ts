// The evaluator's populations before several processes: on their own, by the published rule, and with one clock.
// evaluate.js published|held-out SEEDS K,K… PERIOD_MS MOST_DELAY_SECONDS
import { printTable } from '../../bench/table.js'
import { HELD_OUT } from '../../fair/held-out.js'
import { type Measures, measure } from '../../fair/measures.js'
import type { Scenario } from '../../fair/scenario.js'
import { PUBLISHED } from '../../fair/scenarios.js'
import { simulate } from '../../fair/simulate.js'
import { balanced, type Processes } from './processes.js'

const [what = 'published', seeds = '2', ks = '1,2,4,8,16', periodMs = '100', delay = '0.01'] = process.argv.slice(2)

/** README's neighbours with a store of a second, and a larger service whose store is a tenth of one. */
const MORE: readonly Scenario[] = [
  {
    name: 'noisy, store of 1 s',
    seconds: 120,
    resource: { kind: 'bucket', rate: 100, burst: 100 },
    crowds: [
      { name: 'quiet', flows: 18, rate: 3.33 },
      { name: 'noisy', flows: 2, rate: 50 },
    ],
  },
  {
    name: 'big',
    seconds: 60,
    resource: { kind: 'bucket', rate: 1_000, burst: 100 },
    crowds: [
      { name: 'modest', flows: 950, rate: 0.8 },
      { name: 'heavy', flows: 50, rate: 30 },
    ],
  },
]

const WAYS: Readonly<Record<string, Pick<Processes, 'way' | 'routing' | 'lost'>>> = {
  'published rule': { way: 'blue', routing: 'random' },
  'on their own': { way: 'alone', routing: 'random' },
  'one clock': { way: 'shared', routing: 'random' },
  'one clock, 5 % of messages lost': { way: 'shared', routing: 'random', lost: 0.05 },
  'one clock, flows at home': { way: 'shared', routing: 'sticky' },
  'one clock, skewed': { way: 'shared', routing: 'skewed' },
}
const KEYS = ['jain', 'windowed', 'goodMean', 'goodWorst', 'failures', 'utilisation'] as const

function mean(found: readonly Measures[], key: keyof Measures): string {
  const values = found.map((each) => each[key]).filter((value) => !Number.isNaN(value))
  return (values.reduce((sum, value) => sum + value, 0) / values.length).toFixed(3)
}

const published = PUBLISHED.filter(({ name }) => name === 'api' || name === 'noisy')
const groups = what === 'published' ? [...published, ...MORE].map((each) => [each]) : [HELD_OUT]
for (const scenarios of groups) {
  const rows: string[][] = []
  for (const processes of ks.split(',').map(Number))
    for (const [name, way] of Object.entries(WAYS)) {
      if (processes === 1 && way.way === 'shared') continue
      const make = balanced({ processes, ...way, delay: Number(delay), periodMs: Number(periodMs) })
      const found = scenarios.flatMap((scenario) =>
        Array.from({ length: Number(seeds) }, (_, i) => measure(scenario, simulate(scenario, make, i + 1))),
      )
      rows.push([String(processes), name, ...KEYS.map((key) => mean(found, key))])
    }
  console.log(scenarios.length > 1 ? `held out, ${scenarios.length} scenarios` : scenarios[0]?.name)
  printTable(['processes', 'way', ...KEYS], rows)
}
