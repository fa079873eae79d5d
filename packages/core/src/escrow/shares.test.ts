import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { weightedMaxMin } from './shares.js'

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** Unit-wise water-filling: the one with the least per weight that wants more gets the next unit. */
function oneByOne(demands: readonly number[], weights: readonly number[], limit: number): number[] {
  const shares = demands.map(() => 0)
  for (let unit = 0; unit < limit; unit++) {
    let least = -1
    for (const [i, demand] of demands.entries())
      if (shares[i]! < demand && (least < 0 || shares[i]! / weights[i]! < shares[least]! / weights[least]!)) least = i
    if (least < 0) break
    shares[least]!++
  }
  return shares
}

/**
 * The documented split of whole numbers, in exact fractions: all shares are w·a/b, or the demand if that is less;
 * rounded down; and the rest distributed one by one to the least share per weight, the first of equals.
 */
function inFractions(demands: readonly bigint[], weights: readonly bigint[], limit: bigint): number[] {
  const all = (numbers: readonly bigint[]): bigint => numbers.reduce((total, number) => total + number, 0n)
  const indices = demands.map((_, i) => i)
  // A demand below an even share leaves the rest to the others, repeatedly until there is none.
  let hungry = indices
  let level: [bigint, bigint] = [0n, 1n]
  for (let before = -1; hungry.length !== before; ) {
    before = hungry.length
    const content = indices.filter((i) => !hungry.includes(i))
    level = [limit - all(content.map((i) => demands[i]!)), all(hungry.map((i) => weights[i]!))]
    hungry = hungry.filter((i) => demands[i]! * level[1] > weights[i]! * level[0])
  }
  const shares = indices.map((i) => (hungry.includes(i) ? (weights[i]! * level[0]) / level[1] : demands[i]!))
  for (let left = limit - all(shares); left > 0n; left--) {
    const wanting = indices.filter((i) => shares[i]! < demands[i]!)
    if (wanting.length === 0) break
    const least = wanting.reduce((i, j) => (shares[j]! * weights[i]! < shares[i]! * weights[j]! ? j : i))
    shares[least]!++
  }
  return shares.map(Number)
}

/** The level at which the limit is used up, by bisection. */
function bySearch(demands: readonly number[], weights: readonly number[], limit: number): number[] {
  const at = (level: number): number[] => demands.map((demand, i) => Math.min(demand, weights[i]! * level))
  let low = 0
  let high = Math.max(1, ...demands.map((demand, i) => demand / weights[i]!))
  if (sum(at(high)) <= limit) return at(high)
  for (let step = 0; step < 200; step++) {
    const middle = (low + high) / 2
    if (sum(at(middle)) <= limit) low = middle
    else high = middle
  }
  return at(low)
}

const weight = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.double({ min: 0.01, max: 100, noNaN: true }))
const whole = fc.array(fc.tuple(fc.nat(60), weight), { maxLength: 8 })
const real = fc.array(fc.tuple(fc.double({ min: 0, max: 1e6, noNaN: true }), weight), { maxLength: 40 })

describe('weightedMaxMin', () => {
  it('splits by weight what everybody wants', () => {
    expect(weightedMaxMin([1000, 1000], [4, 1], 1000)).toEqual([800, 200])
  })

  it('gives what some leave to those who want more, by weight', () => {
    expect(weightedMaxMin([100, 1000, 1000], [1, 1, 2], 1000)).toEqual([100, 300, 600])
  })

  it('gives everybody all they want if there is enough', () => {
    expect(weightedMaxMin([3, 0.5, 0], [1, 2, 3], 10)).toEqual([3, 0.5, 0])
    expect(weightedMaxMin([], [], 10)).toEqual([])
  })

  it('hands the remainder of whole numbers out one by one, to the least per weight, the first of equals', () => {
    expect(weightedMaxMin([9, 9, 9], [1, 1, 1], 11)).toEqual([4, 4, 3])
    expect(weightedMaxMin([9, 9, 9], [3, 2, 2], 10)).toEqual([4, 3, 3])
    expect(weightedMaxMin([10, 10], [1, 100], 1)).toEqual([1, 0])
  })

  it('gives, of whole numbers, the same sum as the exact split, and nobody a whole unit off', () => {
    fc.assert(
      fc.property(whole, fc.nat(200), (tenants, limit) => {
        const demands = tenants.map(([demand]) => demand)
        const weights = tenants.map(([, each]) => each)
        const shares = weightedMaxMin(demands, weights, limit)
        const exact = bySearch(demands, weights, limit)
        expect(shares.every(Number.isInteger)).toBe(true)
        expect(sum(shares)).toBe(Math.min(limit, sum(demands)))
        for (const [i, share] of shares.entries()) {
          expect(share).toBeLessThanOrEqual(demands[i]!)
          expect(Math.abs(share - exact[i]!)).toBeLessThan(1 + 1e-9)
        }
      }),
      propertyRuns(),
    )
  })

  it('of whole numbers and weights, is what it is said to be, unit for unit', () => {
    const tenants = fc.array(fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 9 })), { maxLength: 8 })
    fc.assert(
      fc.property(tenants, fc.nat(200), (some, limit) => {
        const demands = some.map(([demand]) => demand)
        const weights = some.map(([, each]) => each)
        const expected = inFractions(demands.map(BigInt), weights.map(BigInt), BigInt(limit))
        expect(weightedMaxMin(demands, weights, limit)).toEqual(expected)
      }),
      propertyRuns(),
    )
  })

  it('of whole numbers and equal weights, is filling one by one', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60), { maxLength: 8 }), fc.nat(200), (demands, limit) => {
        const weights = demands.map(() => 1)
        expect(weightedMaxMin(demands, weights, limit)).toEqual(oneByOne(demands, weights, limit))
      }),
      propertyRuns(),
    )
  })

  it('is the split at one level', () => {
    fc.assert(
      fc.property(real, fc.double({ min: 0, max: 1e6, noNaN: true }), (tenants, limit) => {
        const demands = tenants.map(([demand]) => demand + 0.5)
        const weights = tenants.map(([, each]) => each)
        const shares = weightedMaxMin(demands, weights, limit)
        const exact = bySearch(demands, weights, limit)
        for (const [i, share] of shares.entries()) {
          expect(share).toBeLessThanOrEqual(demands[i]!)
          expect(Math.abs(share - exact[i]!)).toBeLessThan(1e-9 * (limit + 1))
        }
      }),
      propertyRuns(),
    )
  })

  it('refuses bad input by name', () => {
    expect(() => weightedMaxMin([1], [1, 2], 1)).toThrow('weights must be as many as demands, got 2 for 1')
    expect(() => weightedMaxMin([1, -1], [1, 1], 1)).toThrow('demands[1] must be a number >= 0, got -1')
    expect(() => weightedMaxMin([1], [0], 1)).toThrow('weights[0] must be a number from 1e-9 to 1000000000000, got 0')
    expect(() => weightedMaxMin([1], [1], Number.NaN)).toThrow('limit must be a number >= 0, got NaN')
  })
})
