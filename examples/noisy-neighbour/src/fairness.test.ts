import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { jain, maxMin } from './fairness.js'

const demandsOf = fc.array(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 30 })

describe('maxMin', () => {
  it('gives the modest what they ask and splits the rest evenly', () => {
    expect(maxMin([10, 2, 10], 14)).toEqual([6, 2, 6])
    expect(maxMin([1, 2, 3], 10)).toEqual([1, 2, 3])
    expect(maxMin([5, 5], 0)).toEqual([0, 0])
  })

  it('is the level to which water rises, found by bisection', () => {
    fc.assert(
      fc.property(demandsOf, fc.integer({ min: 0, max: 20_000 }), (demands, capacity) => {
        const held = (level: number): number => demands.reduce((total, demand) => total + Math.min(demand, level), 0)
        let [low, high] = [0, 1_000]
        for (let step = 0; step < 60; step++) {
          const middle = (low + high) / 2
          if (held(middle) > capacity) high = middle
          else low = middle
        }
        for (const [i, share] of maxMin(demands, capacity).entries())
          expect(share).toBeCloseTo(Math.min(demands[i]!, high), 6)
      }),
    )
  })
})

describe('jain', () => {
  it('is 1 for equals and 1/n if one has everything, in any unit', () => {
    expect(jain([3, 3, 3])).toBe(1)
    expect(jain([0, 0, 0, 8])).toBe(1 / 4)
    expect(jain([1, 2, 3])).toBeCloseTo(36 / 42, 12)
    expect(jain([10, 20, 30])).toBeCloseTo(36 / 42, 12)
  })
})
