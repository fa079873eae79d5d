import { describe, expect, it } from 'vitest'
import { calmFrom, entitlements, spellsOf, suppliedBetween, wellBehaved } from './entitlement.js'
import type { Scenario } from './scenario.js'

const SURGE: Scenario = {
  name: 'surge',
  seconds: 100,
  resource: { kind: 'bucket', rate: 10, burst: 5 },
  crowds: [
    { name: 'light', flows: 4, rate: 1 },
    { name: 'heavy', flows: 2, rate: 6, between: [20, 60] },
  ],
}

describe('entitlements', () => {
  it('give the modest what they ask and split the rest by weight', () => {
    expect(entitlements([10, 2, 10], [1, 1, 1], 14)).toEqual([6, 2, 6])
    expect(entitlements([10, 2, 10], [1, 1, 3], 14)).toEqual([3, 2, 9])
    expect(entitlements([1, 2, 3], [1, 1, 1], 10)).toEqual([1, 2, 3])
    expect(entitlements([5, 5], [1, 2], 0)).toEqual([0, 0])
  })

  it('are the level to which water rises', () => {
    const demands = [0.5, 3, 7, 7, 20]
    const weights = [1, 2, 1, 4, 2]
    const shares = entitlements(demands, weights, 22)
    const level = Math.max(...shares.map((share, i) => share / weights[i]!))
    for (const [i, share] of shares.entries()) expect(share).toBeCloseTo(Math.min(demands[i]!, level * weights[i]!), 9)
    expect(shares.reduce((sum, share) => sum + share)).toBeCloseTo(22, 9)
  })
})

describe('a scenario that changes', () => {
  it('falls into spells', () => {
    const spells = spellsOf({ ...SURGE, steps: [{ at: 50, times: 0.5 }] })
    expect(spells.map(({ from, to, capacity }) => [from, to, capacity])).toEqual([
      [0, 20, 10],
      [20, 50, 10],
      [50, 60, 5],
      [60, 100, 5],
    ])
    expect(spells.map(({ demands }) => demands[5])).toEqual([0, 6, 6, 0])
    expect(suppliedBetween(spells, 45, 55)).toBe(75)
  })

  it('is calm from the end of the last overload', () => {
    expect(calmFrom(SURGE)).toBe(60)
    expect(calmFrom({ ...SURGE, steps: [{ at: 80, times: 0.3 }] })).toBe(Number.POSITIVE_INFINITY)
    expect(calmFrom({ ...SURGE, crowds: SURGE.crowds.slice(0, 1) })).toBe(0)
  })

  it('has well-behaved flows: those that never ask for more than their share', () => {
    expect(wellBehaved(SURGE)).toEqual([true, true, true, true, false, false])
    expect(wellBehaved({ ...SURGE, steps: [{ at: 30, times: 0.5 }] })).not.toContain(true)
    expect(wellBehaved({ ...SURGE, steps: [{ at: 30, times: 0 }] }).filter(Boolean)).toHaveLength(4)
  })
})
