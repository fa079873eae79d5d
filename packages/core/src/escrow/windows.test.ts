import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Windows } from './budget.js'
import { WeightedFairEscrow } from './escrow.js'
import { hierarchy } from './hierarchy.js'
import { FairShare } from './shares.js'

const TREE = hierarchy({ name: 'all', children: [{ name: 'a' }] })

interface Shared {
  limit: number
  windowMs: number
  clock: () => number
}

/** The numbers next to one, and itself. */
function around(number: number): number[] {
  const bits = new DataView(new ArrayBuffer(8))
  return [-2n, -1n, 0n, 1n, 2n].map((steps) => {
    bits.setFloat64(0, number)
    bits.setBigInt64(0, bits.getBigInt64(0) + steps)
    return bits.getFloat64(0)
  })
}

describe('windows', () => {
  it('begin at multiples of their length, the first one when somebody looks', () => {
    const windows = new Windows(100)
    expect(windows.begins(250)).toBe(true)
    expect(windows).toMatchObject({ startMs: 200, endMs: 300, count: 1 })
    expect(windows.begins(299.9)).toBe(false)
    expect(windows.begins(300)).toBe(true)
    expect(windows).toMatchObject({ startMs: 300, endMs: 400, count: 2 })
  })

  it('are left out if nobody looks, and may lie before time 0', () => {
    const windows = new Windows(100)
    expect(windows.begins(-150)).toBe(true)
    expect(windows).toMatchObject({ startMs: -200, endMs: -100 })
    expect(windows.begins(1250)).toBe(true)
    expect(windows).toMatchObject({ startMs: 1200, endMs: 1300, count: 2 })
  })

  it('begin once each, also where their length is no number that can be written down', () => {
    const length = fc.oneof(
      fc.integer({ min: 1, max: 1000 }).map((parts) => 60_000 / parts),
      fc.double({ min: 1, max: 1e6, noNaN: true }),
    )
    fc.assert(
      fc.property(length, fc.integer({ min: 1, max: 1e9 }), (lengthMs, index) => {
        const windows = new Windows(lengthMs)
        windows.begins((index - 0.5) * lengthMs)
        for (const next of [index, index + 1]) {
          const { count } = windows
          for (const nowMs of around(next * lengthMs)) {
            windows.begins(nowMs)
            expect(windows.endMs).toBeGreaterThanOrEqual(nowMs)
          }
          expect(windows.count).toBe(count + 1)
        }
      }),
      propertyRuns(10),
    )
  })
})

describe.each([
  ['an escrow', (options: Shared) => new WeightedFairEscrow(options)],
  ['a fair share', (options: Shared) => new FairShare(options)],
  ['a hierarchy', (options: Shared) => new WeightedFairEscrow({ ...options, tree: TREE })],
] as const)('%s, at the very end of a window whose length is rounded', (_form, make) => {
  it('admits no more than its limit', () => {
    // 939 854 windows of a 46th of a second, of which this number is a hair less.
    const nowMs = 20_431_173.913_043_477
    const escrow = make({ limit: 10, windowMs: 1000 / 46, clock: () => nowMs })
    expect(escrow.check('a', 10).allowed).toBe(true)
    const { allowed, resetAfterMs } = escrow.check('a', 10)
    expect(allowed).toBe(false)
    expect(resetAfterMs).toBeGreaterThanOrEqual(0)
  })
})
