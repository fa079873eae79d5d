import { fork } from 'node:child_process'
import { once } from 'node:events'
import { node20, node22, node24, node26 } from '@fairlead-testing/runtimes'
import { describe, expect, it } from 'vitest'
import type { Counts, Plan } from './memory-server.js'

const SERVER = new URL('../../dist/bench/memory-server.js', import.meta.url)
const HEAP_MB = 100
/** Real memory and real time: a machine that stands still meanwhile sends all at once, and that can be too much. */
const ASKED_FOR = process.env['FAIRLEAD_MEMORY_RUNS'] !== undefined

async function run(execPath: string, plan: Partial<Plan>): Promise<{ died: boolean; counts: Counts[] }> {
  const execArgv = [`--max-old-space-size=${HEAP_MB}`]
  const child = fork(SERVER, { execPath, execArgv, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  const counts: Counts[] = []
  child.on('message', (one: Counts) => counts.push(one))
  const phases = [
    { seconds: 2, perSecond: 15 },
    { seconds: 3, perSecond: 160 },
  ]
  child.send({ kind: 'array', meanMb: 2.5, roomMb: HEAP_MB, inContainer: false, seed: 1, phases, ...plan })
  const [code] = (await once(child, 'exit')) as [number | null]
  return { died: code !== 0, counts }
}

describe.each([
  ['20', node20],
  ['22', node22],
  ['24', node24],
  ['26', node26],
])('Node %s, asked for four times the heap that V8 may use', { timeout: 120_000 }, (_, node) => {
  it.skipIf(node === undefined || !ASKED_FOR)(
    'dies without Fairlead, and lives with what it does by default',
    async () => {
      const [without, withIt] = await Promise.all([run(node!, { guard: 'none' }), run(node!, { guard: 'fairlead' })])
      expect(without.died).toBe(true)
      expect(withIt.died).toBe(false)
      expect(withIt.counts[1]?.refusedShare).toBeGreaterThan(0.5)
      expect(withIt.counts[1]?.servedPerSecond).toBeGreaterThan(0)
    },
  )
})
