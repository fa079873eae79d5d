import fc from 'fast-check'
import { expect, it } from 'vitest'
import { Lane } from './lane.js'
import { LongestQueue } from './longest-queue.js'

const change = fc.record({
  lane: fc.nat(11),
  cost: fc.oneof(fc.constant(0), fc.constantFrom(2, 2, 3, 4), fc.double({ min: 1e-9, max: 1e12, noNaN: true })),
  weight: fc.constantFrom(0.001, 1, 1, 3, 1000),
})

it('finds a lane at least half as long as the longest, after any changes', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200, size: 'max' }), (changes) => {
      const longest = new LongestQueue<string>()
      const lanes = Array.from({ length: 12 }, (_, i) => new Lane<string>(`${i}`, 1, undefined))
      for (const { lane: index, cost, weight } of changes) {
        const lane = lanes[index]!
        Object.assign(lane, { cost, weight, count: cost > 0 ? 1 : 0 })
        longest.update(lane)
        const most = Math.max(...lanes.map((each) => each.cost / each.weight))
        const found = longest.find()
        if (most === 0) expect(found).toBeUndefined()
        else expect((2 * found!.cost) / found!.weight).toBeGreaterThan(most)
      }
      const left = new Set(lanes.filter(({ count }) => count > 0))
      for (let lane = longest.find(); lane !== undefined; lane = longest.find()) {
        expect(left.delete(lane)).toBe(true)
        lane.count = 0
        longest.update(lane)
      }
      expect(left.size).toBe(0)
    }),
  )
})
