import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PlainRoundRobin } from './plain-round-robin.js'

/**
 * Each flow's service from a fluid that is always divided by weight between all flows that still want some:
 * water-filling.
 */
function fluid(wants: readonly number[], weights: readonly number[], total: number): number[] {
  const at = (level: number): number[] => wants.map((want, i) => Math.min(want, weights[i]! * level))
  let [low, high] = [0, total]
  for (let step = 0; step < 100; step++) {
    const middle = (low + high) / 2
    if (at(middle).reduce((sum, each) => sum + each, 0) < total) low = middle
    else high = middle
  }
  return at(high)
}

describe('the fluid', () => {
  it('is worked out by hand in a few cases', () => {
    const near = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 6))
    expect(fluid([10, 10], [1, 1], 6)).toEqual(near([3, 3]))
    expect(fluid([1, 10], [1, 1], 6)).toEqual(near([1, 5]))
    expect(fluid([10, 10], [3, 1], 8)).toEqual(near([6, 2]))
    expect(fluid([2, 10, 10], [3, 1, 1], 8)).toEqual(near([2, 3, 3]))
    expect(fluid([4, 4], [1, 1], 8)).toEqual(near([4, 4]))
  })
})

describe.each([
  ['papers write it', false, true],
  ['it ships', false, false],
  ['it ships, sparse flows first', true, false],
])('round robin as %s', (_, sparseFirst, eager) => {
  it('takes turns where costs are alike, each flow in its own order', () => {
    const queue = new PlainRoundRobin<string>(sparseFirst, eager)
    for (const item of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) queue.enqueue(item[0]!, item, 1)
    const served = Array.from({ length: 6 }, () => queue.dequeue()?.item)
    expect(served).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
    expect(queue.dequeue()).toBeUndefined()
    expect(queue.flows).toEqual([])
  })

  it('is never further from the fluid than turns and costs are large', () => {
    const flow = fc.record({
      weight: fc.integer({ min: 1, max: 4 }),
      costs: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 150, size: 'max' }),
    })
    fc.assert(
      fc.property(fc.array(flow, { minLength: 1, maxLength: 6 }), (flows) => {
        const queue = new PlainRoundRobin<number>(sparseFirst, eager)
        const weights = flows.map(({ weight }) => weight)
        const wants = flows.map(({ costs }) => costs.reduce((sum, cost) => sum + cost, 0))
        for (const [i, { costs, weight }] of flows.entries())
          for (const cost of costs) queue.enqueue(String(i), i, cost, weight)
        const served = flows.map(() => 0)
        let total = 0
        for (let next = queue.dequeue(); next; next = queue.dequeue()) {
          served[next.item]! += next.cost
          total += next.cost
          const even = fluid(wants, weights, total)
          // A quantum is worth at most 5 per weight, and so is a request that did not fit; the lightest flow has weight
          // 1.
          for (const [i, weight] of weights.entries())
            expect(Math.abs(served[i]! - even[i]!)).toBeLessThanOrEqual((5 + 2 * 5) * (weight + 1))
        }
        expect(served).toEqual(wants)
      }),
      { numRuns: 15 },
    )
  })
})
