import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RateBudget } from './rate-budget.js'

/** Takes units of 1 whenever available, every `everyMs`; returns the number taken in each second. */
function perSecond(budget: RateBudget, capacity: number, seconds: number, everyMs = 5, fromMs = 0): number[] {
  const taken = Array.from({ length: seconds }, () => 0)
  for (let atMs = 0; atMs < seconds * 1_000; atMs += everyMs)
    while (budget.take(1, capacity, fromMs + atMs)) taken[Math.floor(atMs / 1_000)]!++
  return taken
}

describe('a rate, spent second by second', () => {
  it('is spent as it comes, and is there again with the next second', () => {
    const budget = new RateBudget(false)
    for (let i = 0; i < 10; i++) expect(budget.take(1, 10, 100)).toBe(true)
    expect(budget.take(1, 10, 100)).toBe(false)
    expect(budget.take(1, 10, 1_099)).toBe(false)
    expect(budget.nextMs(1, 10, 1_099)).toBe(1_100)
    expect(budget.take(1, 10, 1_100)).toBe(true)
    expect(budget.spent(10, 1_100)).toBe(1)
  })

  it.each([
    [2.5, [2, 3, 2, 3, 2, 3]],
    [2.7, [2, 3, 3, 2, 3, 3]],
    [0.5, [0, 1, 0, 1, 0, 1]],
    [3, [3, 3, 3, 3, 3, 3]],
    [0.4, [0, 0, 1, 0, 1, 0]],
  ])('keeps the fraction of %d for the next second', (capacity, taken) => {
    expect(perSecond(new RateBudget(false), capacity, 6)).toEqual(taken)
  })

  it('loses what was not spent in its second', () => {
    const budget = new RateBudget(false)
    budget.take(1, 10, 0)
    expect(perSecond(budget, 10, 1, 5, 60_000)).toEqual([10])
  })

  it('spreads a second over its parts when it is to be smooth', () => {
    const budget = new RateBudget(true)
    for (let part = 0; part < 50; part++) {
      let taken = 0
      while (budget.take(1, 100, part * 20)) taken++
      expect(taken).toBe(2)
      expect(budget.nextMs(1, 100, part * 20 + 7)).toBeCloseTo((part + 1) * 20, 6)
    }
    expect(perSecond(budget, 100, 2, 5, 1_000)).toEqual([100, 100])
    expect(perSecond(new RateBudget(true), 130, 3)).toEqual([130, 130, 130])
    expect(perSecond(new RateBudget(true), 33.5, 4)).toEqual([33, 34, 33, 34])
  })

  it('does not spend a second at once that is to be smooth from now on', () => {
    const budget = new RateBudget(true)
    expect(budget.take(1, 0, 0)).toBe(false)
    const taken = [0, 0, 0]
    for (let atMs = 400; atMs < 3_400; atMs += 5)
      while (budget.take(1, 50, atMs)) taken[Math.floor((atMs - 400) / 1_000)]!++
    expect(taken).toEqual([50, 50, 50])
  })

  it('begins no more than one part when parts become shorter after a pause', () => {
    const budget = new RateBudget(true)
    budget.take(1, 0.5, 0)
    let taken = 0
    while (budget.take(1, 50, 10_900)) taken++
    expect(taken).toBe(1)
  })

  it('has no parts of less than a unit, or less than 20 ms', () => {
    for (const [capacity, parts] of [
      [4, 4],
      [30, 30],
      [1_000, 50],
      [0.5, 1],
    ] as const) {
      const budget = new RateBudget(true)
      const starts = new Set<number>()
      for (let atMs = 0; atMs < 1_000; atMs++) {
        budget.take(1e9, capacity, atMs)
        starts.add(Math.round(budget.nextMs(1e-9, capacity, atMs)))
      }
      expect(starts.size).toBe(parts)
    }
  })

  it('saves up for a cost of more than a second, and gives the savings to no other caller', () => {
    const budget = new RateBudget(false)
    expect(budget.take(5, 2, 0)).toBe(false)
    expect(budget.nextMs(5, 2, 0)).toBe(2_000)
    expect(budget.take(5, 2, 1_000)).toBe(false)
    for (let i = 0; i < 2; i++) expect(budget.take(1, 2, 2_000)).toBe(true)
    expect(budget.take(1, 2, 2_000)).toBe(false)
    expect(budget.take(5, 2, 2_000)).toBe(false)
    expect(budget.take(5, 2, 3_000)).toBe(true)
    expect(budget.take(1, 2, 3_000)).toBe(false)
  })

  it('forgets what was saved up and not taken', () => {
    const budget = new RateBudget(false)
    budget.take(5, 2, 0)
    for (const atMs of [1_000, 2_000, 3_000, 4_000]) budget.spent(2, atMs)
    expect(budget.take(5, 2, 4_000)).toBe(false)
  })

  it('lets all pass without a limit, none at 0, and counts meanwhile', () => {
    const budget = new RateBudget(false)
    for (let i = 0; i < 1_000; i++) expect(budget.take(3, -1, 0)).toBe(true)
    expect(budget.take(1, 10, 1)).toBe(false)
    expect(budget.take(1, 10, 1_000)).toBe(true)
    expect(budget.take(1e-6, 0, 1_001)).toBe(false)
    expect(budget.nextMs(1, 0, 1_001)).toBe(Number.POSITIVE_INFINITY)
    expect(budget.take(1e-6, 0, 9_000)).toBe(false)
  })

  it('keeps nothing back once the capacity is 0', () => {
    const budget = new RateBudget(false)
    budget.take(9, 2.5, 0)
    budget.take(9, 2.5, 2_000)
    for (const atMs of [2_001, 3_000, 9_000])
      for (const cost of [0.1, 1, 5]) expect(budget.take(cost, 0, atMs)).toBe(false)
    // It has not saved up meanwhile, either.
    expect(budget.take(4, 2.5, 10_000)).toBe(false)
  })

  it('begins with a whole second after one without a limit', () => {
    const budget = new RateBudget(false)
    expect(budget.take(1, -1, 0)).toBe(true)
    for (let i = 0; i < 3; i++) expect(budget.take(1, 3, 1_000)).toBe(true)
    expect(budget.take(1, 3, 1_000)).toBe(false)
  })

  it('grows and shrinks in the middle of a second', () => {
    const budget = new RateBudget(false)
    for (let i = 0; i < 6; i++) budget.take(1, 10, 0)
    expect(budget.take(1, 5, 100)).toBe(false)
    expect(budget.take(1, 7, 200)).toBe(true)
    expect(budget.take(1, 7, 300)).toBe(false)
    expect(budget.take(5, 12, 400)).toBe(true)
    expect(budget.take(1, 12, 500)).toBe(false)
    // No debt: the units spent under the larger capacity were allowed.
    expect(perSecond(budget, 5, 1, 5, 1_000)).toEqual([5])
  })

  it('pays what was forced out of the seconds that come', () => {
    const budget = new RateBudget(false)
    budget.force(25, 10, 0)
    expect(perSecond(budget, 10, 4)).toEqual([0, 0, 5, 10])
  })

  it('takes back within the second, and not after it', () => {
    const budget = new RateBudget(false)
    budget.take(4, 4, 100)
    budget.giveBack(1, 100, 4, 200)
    expect(budget.take(2, 4, 300)).toBe(false)
    expect(budget.take(1, 4, 300)).toBe(true)
    budget.take(1, 4, 1_100)
    budget.giveBack(1, 100, 4, 1_200)
    expect(budget.spent(4, 1_200)).toBe(1)
  })

  const asks = fc.array(
    fc.record({
      afterMs: fc.oneof(
        fc.constant(0),
        fc.integer({ min: 0, max: 3_000 }),
        fc.double({ min: 0, max: 30, noNaN: true }),
      ),
      cost: fc.oneof(fc.constant(1), fc.double({ min: 0.01, max: 20, noNaN: true })),
    }),
    { minLength: 50, maxLength: 400 },
  )
  const capacities = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.double({ min: 0.05, max: 200, noNaN: true }))

  it('is never exceeded: units of 1 in any second of its own, and everything since the beginning', () => {
    fc.assert(
      fc.property(asks, capacities, fc.boolean(), (asks, capacity, smooth) => {
        const budget = new RateBudget(smooth)
        const parts = smooth ? Math.max(1, Math.min(50, Math.floor(capacity))) : 1
        const lengthMs = 1_000 / parts
        const ones: number[] = []
        // The first second begins with the first ask.
        budget.spent(capacity, 0)
        let nowMs = 0
        let all = 0
        for (const { afterMs, cost } of asks) {
          nowMs += afterMs
          for (let again = 0; again < 30; again++) {
            if (!budget.take(again === 0 ? cost : 1, capacity, nowMs)) continue
            all += again === 0 ? cost : 1
            if (again > 0 || cost === 1) ones.push(nowMs)
          }
          const windows = Math.floor(nowMs / lengthMs + 1e-6) + 1
          expect(all).toBeLessThanOrEqual(windows * (capacity / parts) + 1e-6)
        }
        // The largest sum over a second that begins with a part.
        for (const atMs of ones) {
          const startMs = Math.floor(atMs / lengthMs + 1e-6) * lengthMs
          const within = ones.filter((other) => other > startMs - 1e-6 && other < startMs + 1_000 - 1e-6).length
          expect(within).toBeLessThanOrEqual(Math.ceil(capacity - 1e-9))
        }
      }),
      { numRuns: byWidth(25, 100) },
    )
  })

  it('says when a cost will pass, and it then does', () => {
    fc.assert(
      fc.property(asks, capacities, fc.boolean(), (asks, capacity, smooth) => {
        const budget = new RateBudget(smooth)
        let nowMs = 0
        for (const { afterMs, cost } of asks) {
          nowMs += afterMs
          // Without other callers, a few rounds at most, because a part of a unit may be lost by rounding.
          for (let round = 0; !budget.take(cost, capacity, nowMs); round++) {
            const nextMs = budget.nextMs(cost, capacity, nowMs)
            expect(nextMs).toBeGreaterThan(nowMs)
            expect(nextMs - nowMs).toBeLessThanOrEqual((cost / capacity) * 1_000 + 2_000)
            expect(round).toBeLessThan(3)
            nowMs = nextMs
          }
        }
      }),
    )
  })
})
