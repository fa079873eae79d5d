// The evaluator's populations before several processes: one rule for all, each on its own, and one clock.
import { printTable } from '../../bench/table.js'
import { HELD_OUT } from '../../fair/held-out.js'
import { type Measures, measure } from '../../fair/measures.js'
import type { Scenario } from '../../fair/scenario.js'
import { PUBLISHED } from '../../fair/scenarios.js'
import { simulate } from '../../fair/simulate.js'
import { balanced, type Processes } from './processes.js'

const [what = 'published', seedsText = '3', only = '', ksText = '1,2,4,8,16'] = process.argv.slice(2)
const seeds = Array.from({ length: Number(seedsText) }, (_, i) => i + 1)
const ks = ksText.split(',').map(Number)
const named = (n: string) => PUBLISHED.find(({ name }) => name === n)!
const bucket = (rate: number, burst: number) => ({ kind: 'bucket', rate, burst }) as const
const SCENARIOS: Scenario[] = [
  named('api'),
  { ...named('noisy'), name: 'noisy100', seconds: 120, resource: bucket(100, 100) },
  named('noisy'),
  {
    name: 'big',
    seconds: 60,
    resource: bucket(1000, 100),
    crowds: [
      { name: 'modest', flows: 950, rate: 0.8 },
      { name: 'heavy', flows: 50, rate: 30 },
    ],
  },
]
const KEYS = ['jain', 'windowed', 'goodMean', 'goodWorst', 'failures', 'utilisation'] as const
const meanBy = (all: readonly Measures[], key: keyof Measures) => {
  const values = all.map((each) => each[key]).filter((v) => !Number.isNaN(v))
  return values.reduce((s, v) => s + v, 0) / values.length
}
function periodFor({ resource }: Scenario): number {
  const store = resource.kind === 'bucket' ? resource.burst / resource.rate : 1
  return Math.min(250, Math.max(20, Math.round(250 * store)))
}
const P = process.env['PERIOD'] ?? 'fit'
const ways = (process.env['WAYS'] ?? 'blue,alone,shared,sharedlost,sticky,skewed').split(',')
const wayOf = (way: string, processes: number, s: Scenario): Processes => {
  const periodMs = P === 'fit' ? periodFor(s) : Number(P)
  const base = { processes, periodMs, delay: Number(process.env['DELAY'] ?? 0.01) }
  switch (way) {
    case 'blue': return { ...base, way: 'blue', routing: 'random' }
    case 'alone': return { ...base, way: 'alone', routing: 'random' }
    case 'alonesticky': return { ...base, way: 'alone', routing: 'sticky' }
    case 'sharedlost': return { ...base, way: 'shared', routing: 'random', lost: 0.05 }
    case 'sticky': return { ...base, way: 'shared', routing: 'sticky' }
    case 'skewed': return { ...base, way: 'shared', routing: 'skewed' }
    default: return { ...base, way: 'shared', routing: 'random' }
  }
}
const list = (what === 'published' ? SCENARIOS : HELD_OUT).filter(({ name }) => only === '' || only === 'all' || name === only)
const rows: string[][] = []
const all = new Map<string, Measures[]>()
for (const scenario of list)
  for (const k of ks)
    for (const way of ways) {
      if (k === 1 && way !== 'alone' && way !== 'blue') continue
      const found = seeds.map((seed) => measure(scenario, simulate(scenario, balanced(wayOf(way, k, scenario)), seed)))
      const id = `${k} ${way}`
      all.set(id, [...(all.get(id) ?? []), ...found])
      rows.push([scenario.name, String(k), way, ...KEYS.map((key) => meanBy(found, key).toFixed(3))])
      if (what === 'published') console.log(rows.at(-1)!.join('\t'))
    }
if (what !== 'published') {
  if (process.env['EACH']) printTable(['', 'K', 'way', ...KEYS], rows)
  printTable(['K', ...KEYS], [...all].map(([id, found]) => [id, ...KEYS.map((key) => meanBy(found, key).toFixed(3))]))
}
