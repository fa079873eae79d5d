import { fork } from 'node:child_process'
import { once } from 'node:events'
import { node20, node22, node24, node26 } from '@fairlead-testing/runtimes'
import { describe, expect, it } from 'vitest'
import type { Counts, Plan } from './memory-server.js'

const SERVER = new URL('../../dist/bench/memory-server.js', import.meta.url)
/** Sizes of heap, in MB, and how often each is tried; all Nodes and sizes only where that is asked for. */
const DEEP = process.env['FAIRLEAD_MEMORY_RUNS']
const RUNS = Number(DEEP ?? 1)
const SIZES = DEEP === undefined ? [100] : [100, 500, 1_000, 2_000]
const NODES: [string, string | undefined][] = [
  ['20', node20],
  ['22', node22],
  ['24', node24],
  ['26', node26],
]

async function run(
  execPath: string,
  heapMb: number,
  plan: Partial<Plan>,
): Promise<{ died: boolean; counts: Counts[] }> {
  const execArgv = [`--max-old-space-size=${heapMb}`]
  const child = fork(SERVER, { execPath, execArgv, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  const counts: Counts[] = []
  child.on('message', (one: Counts) => counts.push(one))
  const phases = [
    { seconds: 2, perSecond: 15 },
    { seconds: 3, perSecond: 160 },
  ]
  const meanMb = heapMb / 40
  child.send({ kind: 'array', meanMb, roomMb: heapMb, inContainer: false, seed: 1, phases, byTurns: true, ...plan })
  const [code] = (await once(child, 'exit')) as [number | null]
  return { died: code !== 0, counts }
}

describe.each(DEEP === undefined ? NODES.slice(1, 2) : NODES)('Node %s, asked for four times the heap', (_, node) => {
  it.skipIf(node === undefined).each(SIZES)(
    'dies without Fairlead, and lives with what it does by default: %i MB',
    { timeout: 600_000 },
    async (heapMb) => {
      const without = await run(node!, heapMb, { guard: 'none' })
      expect(without.died).toBe(true)
      for (let seed = 1; seed <= RUNS; seed++) {
        const { died, counts } = await run(node!, heapMb, { guard: 'fairlead', seed })
        expect(died).toBe(false)
        expect(counts[1]?.refusedShare).toBeGreaterThan(0.5)
        expect(counts[1]?.servedPerSecond).toBeGreaterThan(0)
      }
    },
  )
})
