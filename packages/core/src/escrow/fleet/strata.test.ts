import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/seeded-random.js'
import { type Layer, layer, type Strata, stratumOf } from './strata.js'

describe('strata', () => {
  it('are narrow, in order of what was used per weight, from nothing to the most there is', () => {
    expect(stratumOf(0)).toBe(0)
    for (let share = 1e-3; share < 1e6; share *= 1.3) {
      expect(stratumOf(share * 1.03)).toBeGreaterThan(stratumOf(share))
      expect(stratumOf(share * 1.05) - stratumOf(share)).toBeLessThanOrEqual(9)
    }
    expect(stratumOf(2 ** 53 / 1e-9)).toBeGreaterThan(stratumOf(1e24))
  })

  it('are the sums of those that are in, and none is left when all are out again', () => {
    const random = seededRandom(3)
    const strata: Strata = []
    const some: Layer[] = Array.from({ length: 500 }, () => {
      const [weight, used] = [0.1 + random(), 100 * random()]
      return { at: stratumOf(used / weight), weight, used, ask: random() }
    })
    for (const one of some) layer(strata, one, 1)
    expect(strata.map(({ at }) => at)).toEqual([...new Set(some.map(({ at }) => at))].sort((a, b) => a - b))
    for (const { at, count, weight, used } of strata) {
      const these = some.filter((one) => one.at === at)
      expect(count).toBe(these.length)
      expect(weight).toBeCloseTo(
        these.reduce((sum, one) => sum + one.weight, 0),
        9,
      )
      expect(used).toBeCloseTo(
        these.reduce((sum, one) => sum + one.used, 0),
        9,
      )
    }
    for (const one of some.sort(() => random() - 0.5)) layer(strata, one, -1)
    expect(strata).toEqual([])
  })
})
