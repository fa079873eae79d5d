import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maxMin } from './max-min.js'

describe('max-min', () => {
  it.each([
    [[], 10, []],
    [[3, 4], 10, [3, 4]],
    [[3, 20], 10, [3, 7]],
    [[20, 20], 10, [5, 5]],
    [[20, 1, 20, 4], 15, [5, 1, 5, 4]],
    [[5, 5], 0, [0, 0]],
  ])('of %j and a capacity of %i', (wants, capacity, shares) => {
    expect(maxMin(wants, capacity)).toEqual(shares)
  })

  it('goes by weight, and leaves to others what is not wanted', () => {
    expect(maxMin([20, 20, 1], 10, [2, 1, 5])).toEqual([6, 3, 1])
    expect(maxMin([20, 20], 5, [4, 1])).toEqual([4, 1])
  })

  it('gives all that is wanted or there, and nobody who lacks some less than anybody else', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(1_000), { minLength: 1 }), fc.nat(5_000), (wants, capacity) => {
        const shares = maxMin(wants, capacity)
        const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
        expect(sum(shares)).toBeCloseTo(Math.min(sum(wants), capacity), 6)
        const most = Math.max(...shares)
        for (const [i, share] of shares.entries()) {
          expect(share).toBeLessThanOrEqual(wants[i]!)
          if (share < wants[i]! - 1e-9) expect(share).toBeGreaterThan(most - 1e-9)
        }
      }),
    )
  })
})
