/**
 * Does the process survive? Child processes with little memory, whose requests hold some of it for a while: a quiet
 * load, four times the load that fits, and a quiet load again. Each guard, on each supported Node, several times.
 *
 *     pnpm bench:memory [--heap 200] [--runs 3] [--node 24] [--kind buffer --container 300] [--guard none]
 *
 * Prints deaths, served per second at four times the load, and the share refused in the quiet ten seconds after. `at
 * most n` are fixed limits: guards are measured against the best one without a death.
 */
import { parseArgs } from 'node:util'
import { container } from './container.js'
import { type Course, NODES, run } from './memory-run.js'
import type { Counts } from './memory-server.js'
import { printTable } from './table.js'

const FIXED = [0.5, 0.6, 0.7, 0.8]
const MEAN_SHARE = 0.025

const { values } = parseArgs({
  options: {
    node: { type: 'string', multiple: true, default: Object.keys(NODES) },
    heap: { type: 'string', default: '200' },
    container: { type: 'string' },
    kind: { type: 'string', default: 'array' },
    runs: { type: 'string', default: '3' },
    guard: { type: 'string', multiple: true },
  },
})
const inContainer = values.container !== undefined
const roomMb = Number(values.container ?? values.heap)
const meanMb = MEAN_SHARE * roomMb
const fits = 1 / MEAN_SHARE
const guards = values.guard ?? [
  'none',
  ...FIXED.map((share) => `at most ${Math.round(share * fits)}`),
  'fairlead',
  'overload-protection',
  'under-pressure',
]

for (const name of values.node) {
  const node = NODES[name]
  if (node === undefined) throw new Error(`Node ${name} is not installed for this platform`)
  const rows: string[][] = []
  for (const guard of guards) {
    const results: Course[] = []
    for (let seed = 1; seed <= Number(values.runs); seed++) {
      const box = inContainer ? container({ memoryMb: roomMb }) : undefined
      const phases = [
        { seconds: 5, perSecond: 0.4 * fits },
        { seconds: 12, perSecond: 4 * fits },
        { seconds: 10, perSecond: 0.4 * fits },
        { seconds: 10, perSecond: 0.4 * fits },
      ]
      try {
        const plan = { guard, kind: values.kind, meanMb, roomMb, inContainer, seed, phases }
        results.push(await run({ node, heapMb: inContainer ? undefined : roomMb, box }, plan))
      } finally {
        box?.remove()
      }
    }
    const mean = (value: (counts: readonly Counts[]) => number | undefined): string => {
      const known = results.flatMap(({ counts }) => value(counts) ?? [])
      return known.length === 0 ? '–' : (known.reduce((sum, one) => sum + one, 0) / known.length).toFixed(2)
    }
    const by: Record<string, number> = {}
    for (const { counts } of results)
      for (const [name, number] of Object.entries(counts[3]?.refusedBy ?? {})) by[name] = (by[name] ?? 0) + number
    rows.push([
      guard,
      `${results.filter(({ died }) => died).length} of ${results.length}`,
      mean((counts) => counts[1]?.servedPerSecond),
      mean((counts) => counts[0]?.refusedShare),
      mean((counts) => counts[2]?.refusedShare),
      mean((counts) => counts[3]?.refusedShare),
      Object.entries(by)
        .map(([name, number]) => `${number} ${name}`)
        .join(', '),
    ])
  }
  const where = inContainer ? `a container of ${roomMb} MB` : `--max-old-space-size=${roomMb}`
  console.log(`Node ${name}, ${where}, ${values.kind}, requests of ${meanMb.toFixed(1)} MB held for 1 s`)
  printTable(['guard', 'died', 'served/s at × 4', 'refused before', '10 s after', '20 s after', 'by'], rows)
}
