import { describe, expect, it } from 'vitest'
import { type Course, NODES, run } from './memory-run.js'
import type { Plan } from './memory-server.js'

/** Number of runs for each heap size; all Nodes and sizes, in MB, only if this is set. */
const DEEP = process.env['FAIRLEAD_MEMORY_RUNS']
const RUNS = Number(DEEP ?? 1)
const SIZES = DEEP === undefined ? [100] : [100, 500, 1_000, 2_000]

function asked(node: string, heapMb: number, guard: string, seed = 1): Promise<Course> {
  const phases = [
    { seconds: 2, perSecond: 15 },
    { seconds: 3, perSecond: 160 },
  ]
  const plan: Plan = { guard, kind: 'array', meanMb: heapMb / 40, roomMb: heapMb, inContainer: false, seed, phases }
  return run({ node, heapMb }, { ...plan, byTurns: true })
}

describe.each(DEEP === undefined ? [['22', NODES[22]]] : Object.entries(NODES))(
  'Node %s, asked for four times the heap',
  (_, node) => {
    it.skipIf(node === undefined).each(SIZES)(
      'dies without Fairlead, and lives with what it does by default: %i MB',
      { timeout: 600_000 },
      async (heapMb) => {
        const without = await asked(node!, heapMb, 'none')
        expect(without.died).toBe(true)
        for (let seed = 1; seed <= RUNS; seed++) {
          const { died, counts } = await asked(node!, heapMb, 'fairlead', seed)
          expect(died).toBe(false)
          expect(counts[1]?.refusedShare).toBeGreaterThan(0.5)
          expect(counts[1]?.servedPerSecond).toBeGreaterThan(0)
        }
      },
    )
  },
)
