import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Line, mostWithin } from './group.js'
import { Node } from './tenants.js'

const one = fc.record({
  weight: fc.integer({ min: 1, max: 8 }),
  passed: fc.integer({ min: 0, max: 200 }),
  cost: fc.integer({ min: 1, max: 20 }),
})

describe('a line', () => {
  it('owes those with a lower tag what brings them as far, and lets one reach as far as there is room for both', () => {
    fc.assert(
      fc.property(
        fc.array(one, { maxLength: 12 }),
        one,
        fc.boolean(),
        fc.integer({ min: 1, max: 400 }),
        (others, self, waits, room) => {
          const line = new Line()
          const put = (slot: number, { weight, passed, cost }: typeof self): void => {
            line.put(Object.assign(new Node(weight, undefined, slot), { passed }), cost)
          }
          for (const [slot, other] of others.entries()) put(slot, other)
          const slot = others.length
          if (waits) put(slot, self)
          const waitsFor = waits ? self.cost : Number.POSITIVE_INFINITY
          const { weight, passed } = self
          const tagOf = (it: typeof self): number => (it.passed + it.cost) / it.weight
          const leastTag = line.leastTag(Number.POSITIVE_INFINITY, slot)
          expect(leastTag).toBe(Math.min(...others.map(tagOf)))
          const owed = (cost: number): number => {
            const tag = (passed + cost) / weight
            const first = others.filter((other) => tagOf(other) * (1 + 1e-9) < tag)
            return first.reduce((sum, other) => sum + other.weight * tag - other.passed, 0)
          }
          const asked = (cost: number): number =>
            line.owed((passed + cost) / weight, leastTag, weight, passed, waitsFor)
          for (const cost of [1, 7, 50, 300]) expect(asked(cost)).toBeCloseTo(owed(cost), 6)
          // The stated amount is available; and no more than the amount for which tenants with precedence wait.
          const most = mostWithin(room, {
            owed: asked,
            get slope() {
              return line.weight / weight
            },
          })
          let [low, high] = [0, room]
          for (let step = 0; step < 60; step++) {
            const middle = (low + high) / 2
            if (middle + owed(middle) <= room) low = middle
            else high = middle
          }
          expect(most).toBeLessThanOrEqual(low + 1e-6)
          expect(most).toBeGreaterThanOrEqual(low - others.reduce((sum, { cost }) => sum + cost, 0) - 1e-6)
        },
      ),
      propertyRuns(),
    )
  })
})
