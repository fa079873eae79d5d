import { expect, it } from 'vitest'
import { createGate, loadShedder } from '../index.js'
import { seededRandom } from '../testing/seeded-random.js'
import { memorySignal } from './memory.js'

/**
 * True if a process runs out of memory whose own part stays at .92 of the limit: for two minutes its requests are
 * small, so that the shedder forgets the resident part, and for ten seconds each of most takes a hundredth.
 */
function runsOut(seed: number): boolean {
  const random = seededRandom(seed)
  let nowMs = 1e6
  let held = 0
  const used = () => ({ rss: (0.92 + held) * 1e9, heapTotal: 0, heapUsed: 0, arrayBuffers: 0 })
  const machine = {
    ...{ readFile: () => undefined, physicalBytes: () => 1e9, constrainedBytes: () => undefined, memoryUsage: used },
    ...{ collect: () => {}, watch: () => () => {} },
  }
  const shed = loadShedder({ signals: [memorySignal({ machine })] })
  const gate = createGate({ clock: () => nowMs, random: seededRandom(seed + 1), fair: false, shed })
  let running: { endsAtMs: number; end: () => void }[] = []
  for (let atMs = 10; atMs <= 131_000; atMs += 10) {
    nowMs += 10
    for (const { end } of running.filter(({ endsAtMs }) => endsAtMs <= atMs)) end()
    running = running.filter(({ endsAtMs }) => endsAtMs > atMs)
    const isLate = atMs > 120_000 && atMs <= 130_000
    if (random() >= (isLate ? 0.3 : 0.2)) continue
    const isLarge = isLate && random() < 0.8
    const permit = gate.admit({ flow: `flow-${Math.floor(random() * 20)}` })
    if ('then' in permit || !permit.admitted) continue
    const size = isLarge ? 0.01 * (0.5 + random()) : 0.0003
    held += size
    if (0.92 + held >= 1) return true
    const end = (): void => {
      held -= size
      permit.finish('success')
    }
    running.push({ endsAtMs: atMs + (isLarge ? 300 * (0.5 + random()) : 100), end })
  }
  return false
}

it('a process beside a large resident set survives large requests that follow small ones', () => {
  const ends = Array.from({ length: 60 }, (_, i) => runsOut(i + 1))
  // 3 runs of 60 end. If the discount left room below the range, 14 would.
  expect(ends.filter(Boolean).length).toBeLessThanOrEqual(6)
})
