import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Plane } from './claims.js'

const number = (min: number, max: number): fc.Arbitrary<number> => fc.double({ min, max, noNaN: true })
const claimant = fc.record({ weight: number(0.1, 8), passed: number(0, 50) })

/** The rule: the rest of the guarantee. */
function claimOf({ weight, passed }: { weight: number; passed: number }, level: number, faded: number): number {
  return Math.max(0, weight * level - Math.max(passed, weight * faded))
}

describe('a plane', () => {
  it('is what is claimed, or the greater of two, everywhere in its box', () => {
    const one = new Plane()
    const other = new Plane()
    const share = number(0, 1)
    const probes = fc.array(fc.tuple(share, share), { minLength: 1 })
    fc.assert(
      fc.property(
        fc.tuple(claimant, claimant, number(0.1, 3), number(1, 30), share, probes),
        ([own, its, factor, level, tau, points]) => {
          one.claim(own.weight, own.passed, level, level * tau)
          other.claim(its.weight, its.passed, factor * level, factor * level * tau)
          one.raise(other, factor, level, level * tau)
          const lower = (low: number): number => Math.max(0, low)
          const upper = (high: number): number => Math.min(40, high)
          const inside = (low: number, high: number, at: number): number => lower(low) + at * (upper(high) - lower(low))
          for (const [x, z] of [...points, [0, 0] as const, [1, 1] as const]) {
            const at = inside(one.lowLevel, one.highLevel, x)
            const faded = Math.min(at, inside(one.lowFaded, one.highFaded, z))
            if (!one.covers(at, faded)) continue
            const greater = Math.max(claimOf(own, at, faded), claimOf(its, factor * at, factor * faded))
            expect(Math.abs(one.at(at, faded) - greater)).toBeLessThanOrEqual(1e-9)
          }
          // It is valid at its origin, up to rounding.
          expect(one.lowLevel).toBeLessThanOrEqual(level + 1e-9)
          expect(one.highLevel).toBeGreaterThanOrEqual(level - 1e-9)
          expect(one.lowFaded).toBeLessThanOrEqual(level * tau + 1e-9)
          expect(one.highFaded).toBeGreaterThanOrEqual(level * tau - 1e-9)
        },
      ),
      propertyRuns(),
    )
  })

  it('is as wide as both, if neither overtakes the other', () => {
    const own = new Plane()
    const other = new Plane()
    own.claim(4, 10, 100, 0)
    other.claim(1, 1, 100, 0)
    own.raise(other, 1, 100, 0)
    // 4·level − 10 meets level − 1 at 3.
    expect(own).toMatchObject({ weight: 4, fading: 0, passed: 10, highLevel: Number.POSITIVE_INFINITY })
    expect(own.lowLevel).toBeCloseTo(3, 9)
    // And rises above what has faded at 2.5, the other at 1.
    expect(own.highFaded).toBe(1)
  })

  it('claims nothing for a group whose level has sunk to nothing', () => {
    const own = new Plane()
    const other = new Plane()
    own.claim(1, 20, 10, 0)
    other.claim(1, 0, 0, 0)
    own.raise(other, 0, 10, 0)
    expect(own.at(10, 0)).toBe(0)
    expect(own.covers(10, 0)).toBe(true)
    expect(own.covers(19, 0)).toBe(true)
    expect(own.covers(21, 0)).toBe(false)
  })
})
