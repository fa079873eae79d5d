// The evaluator's populations before several processes: on their own, by the published rule, and with one clock.
// evaluate.js published|held-out SEEDS K,K… PERIOD_MS MOST_DELAY_SECONDS
import { printTable } from '../../bench/table.js'
import { HELD_OUT } from '../../fair/held-out.js'
import { measure } from '../../fair/measures.js'
import { simulate } from '../../fair/simulate.js'
import { FEW, meanOf } from './populations.js'
import { balanced, type Processes } from './processes.js'

const [what = 'published', seeds = '2', ks = '1,2,4,8,16', periodMs = '100', delay = '0.01'] = process.argv.slice(2)

const WAYS: Readonly<Record<string, Pick<Processes, 'way' | 'routing' | 'lost'>>> = {
  'published rule': { way: 'blue', routing: 'random' },
  'on their own': { way: 'alone', routing: 'random' },
  'one clock': { way: 'shared', routing: 'random' },
  'one clock, 5 % of messages lost': { way: 'shared', routing: 'random', lost: 0.05 },
  'one clock, flows at home': { way: 'shared', routing: 'sticky' },
  'one clock, skewed': { way: 'shared', routing: 'skewed' },
}
const KEYS = ['jain', 'windowed', 'goodMean', 'goodWorst', 'failures', 'utilisation'] as const

const groups = what === 'published' ? FEW.map((each) => [each]) : [HELD_OUT]
for (const scenarios of groups) {
  const rows: string[][] = []
  for (const processes of ks.split(',').map(Number))
    for (const [name, way] of Object.entries(WAYS)) {
      if (processes === 1 && way.way === 'shared') continue
      const make = balanced({ processes, ...way, delay: Number(delay), periodMs: Number(periodMs) })
      const found = scenarios.flatMap((scenario) =>
        Array.from({ length: Number(seeds) }, (_, i) => measure(scenario, simulate(scenario, make, i + 1))),
      )
      rows.push([String(processes), name, ...KEYS.map((key) => meanOf(found, key).toFixed(3))])
    }
  console.log(scenarios.length > 1 ? `held out, ${scenarios.length} scenarios` : scenarios[0]?.name)
  printTable(['processes', 'way', ...KEYS], rows)
}
