import { describe, expect, it } from 'vitest'
import { oldGenerationBytes } from './heap.js'

const MIB = 2 ** 20

/**
 * Reports of four versions of Node, with the flags they were started with; measured on a machine of 24 GiB unless
 * noted.
 */
const setups: [node: string, flags: string[], limitMb: number, oldMb: number][] = [
  ['20', ['--max-old-space-size=200'], 248, 200],
  ['22', ['--max_old_space_size=200'], 248, 200],
  ['24', ['--max-old-space-size=200'], 392, 200],
  ['26', ['--max-old-space-size=200'], 296, 200],
  ['20', ['--max-old-space-size=200', '--max-semi-space-size=64'], 392, 200],
  ['20', ['--max-semi-space-size=64'], 4288, 4096],
  ['26', ['--max-semi-space-size=5'], 4120, 4096],
  ['22', ['--max-old-space-size=300', '--max-old-space-size=200'], 248, 200],
  ['24', ['--max-old-space-size-percentage=5'], 1397, 1205],
  ['20 in 300 MiB', [], 259, 256],
  ['26 in 300 MiB', [], 268, 256],
  ['24 in 1 GiB', [], 560, 512],
  ['24', [], 4288, 4096],
  ['20', [], 4144, 4096],
  ['26', [], 4192, 4096],
]

describe('oldGenerationBytes', () => {
  it.each(setups)('Node %s %j: %i MiB in all', (_, flags, limitMb, oldMb) => {
    const memoryBytes = 24_105 * MIB
    const bytes = oldGenerationBytes({ heapSizeLimit: limitMb * MIB, flags, memoryBytes })
    // At most the size at which V8 fails, and not much less.
    expect(bytes / MIB).toBeLessThanOrEqual(oldMb + 1)
    expect(bytes / MIB).toBeGreaterThanOrEqual(0.92 * oldMb)
  })

  it('is what a worker thread was given, unless a flag beats it', () => {
    const given = { heapSizeLimit: 292 * MIB, oldGenerationMb: 100, memoryBytes: 16 * 1024 * MIB }
    expect(oldGenerationBytes({ ...given, flags: [] }) / MIB).toBeCloseTo(100, 9)
    const flags = ['--max-old-space-size=200']
    expect(oldGenerationBytes({ ...given, flags }) / MIB).toBeCloseTo(200, 9)
  })

  it('does not believe a flag that V8 did not follow', () => {
    const flags = ['--max-old-space-size=9000']
    const bytes = oldGenerationBytes({ heapSizeLimit: 248 * MIB, flags, memoryBytes: 16 * 1024 * MIB })
    expect(bytes / MIB).toBeLessThan(248)
  })
})
