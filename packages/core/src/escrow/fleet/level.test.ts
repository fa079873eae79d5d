import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Stake } from './store.js'
import { claimOf, claimsAt, levelOf } from './strata.js'

/** Numbers that are not so small that nothing can be divided by them. */
const thousandths = (most: number) => fc.integer({ min: 0, max: most * 1_000 }).map((n) => n / 1_000)

const claimant: fc.Arbitrary<Stake> = fc.record({
  weight: fc.oneof(fc.integer({ min: 1, max: 8 }), thousandths(100), fc.constant(0)),
  used: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 100 }), thousandths(100)),
})
const claimants: fc.Arbitrary<Stake[]> = fc.array(claimant, { minLength: 1, maxLength: 12 })
const part: fc.Arbitrary<number> = fc.oneof(fc.constantFrom(0, 0.5), thousandths(0.999))

describe('the level', () => {
  it('is the largest whose claims fit into what is left', () => {
    fc.assert(
      fc.property(claimants, thousandths(50), part, part, (all, most, some, elapsed) => {
        const left = some * claimsAt(all, most, 0)
        const level = levelOf(all, most, left, elapsed)
        const slack = 1e-9 * (1 + left)
        expect(level).toBeLessThanOrEqual(most)
        expect(claimsAt(all, level, elapsed)).toBeLessThanOrEqual(left + slack)
        // Any higher, and they would not fit: found by trying.
        if (level < most) {
          const higher = Math.min(most, level + 1e-6 * (1 + level))
          const above = claimsAt(all, higher, elapsed)
          if (above > claimsAt(all, level, elapsed) + 2 * slack) expect(above).toBeGreaterThan(left - slack)
          else expect(claimsAt(all, most, elapsed)).toBeGreaterThan(left)
        }
      }),
      propertyRuns(10),
    )
  })

  it('is the even share while nobody had more than it', () => {
    const all = [
      { weight: 4, used: 100 },
      { weight: 1, used: 0 },
    ]
    expect(levelOf(all, 200, 900, 0)).toBe(200)
  })

  it('falls so far that a latecomer shares only what is left', () => {
    // The early one has 600 of 1000; both are worth the same, and 400 are left for what they lack together.
    const all = [
      { weight: 1, used: 600 },
      { weight: 1, used: 0 },
    ]
    expect(levelOf(all, 500, 400, 0)).toBe(400)
    expect(levelOf(all, 500, 0, 0)).toBe(0)
  })
})

describe('a claim', () => {
  it('is the guarantee less what was used', () => {
    expect(claimOf({ weight: 4, used: 100 }, 200, 0)).toBe(700)
    expect(claimOf({ weight: 4, used: 900 }, 200, 0)).toBe(0)
  })

  it('fades evenly for a member that is behind the pace, and not for one that keeps it', () => {
    expect(claimOf({ weight: 1, used: 0 }, 200, 0.25)).toBe(150)
    expect(claimOf({ weight: 1, used: 50 }, 200, 0.25)).toBe(150)
    expect(claimOf({ weight: 1, used: 60 }, 200, 0.25)).toBe(140)
  })
})
