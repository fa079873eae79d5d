import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/seeded-random.js'
import { runService } from '../fixtures/service.js'

const QUIET = Array.from({ length: 18 }, (_, flow) => flow)
const RATES = [...QUIET.map(() => 10 / 3), 50, 50]
const SEEDS = byWidth([1], [1, 2, 3])

/** What quiet flows beside two loud ones keep where each request declares the cost 1, and nobody ever settles it. */
function quiet(
  capacity: number,
  makeCosts: () => (flow: number) => number,
  fair: object | false,
  seed: number,
): number {
  const service = { ratesAt: () => RATES, mostAsked: 160, capacityAt: () => capacity, burst: capacity / 2, seconds: 60 }
  const { tally } = runService({ ...service, fair, costOf: makeCosts(), declaredOf: () => 1 }, seed)
  return tally.share(QUIET, 15, 60)
}

describe('costs that are declared too low and never settled', () => {
  it.each<[string, number, (flow: number) => number]>([
    ['by all alike', 300, () => 3],
    ['by those who ask for most', 130, (flow) => (flow < QUIET.length ? 1 : 2)],
  ])('leave quiet flows what they ask: %s', (_, capacity, costOf) => {
    for (const seed of SEEDS) {
      expect(quiet(capacity, () => costOf, {}, seed)).toBeGreaterThan(0.96)
      expect(quiet(capacity, () => costOf, false, seed)).toBeLessThan(0.85)
    }
  })

  const loud =
    (times: number): (() => (flow: number) => number) =>
    () =>
    (flow) =>
      flow === 19 ? times : 1
  const atRandom = (): (() => number) => {
    const random = seededRandom(7)
    return () => (random() < 0.1 ? 10 : 1)
  }
  // Requests that take more than they declare fail first, which is no shortage of what the others need.
  it.each<[string, number, () => (flow: number) => number]>([
    ['twice by one loud flow', 100, loud(2)],
    ['three times by one loud flow', 100, loud(3)],
    ['five times by one loud flow', 100, loud(5)],
    ['ten times by each tenth request', 190, atRandom],
  ])('cost quiet flows no more than without control: %s', (_, capacity, makeCosts) => {
    for (const seed of SEEDS) {
      const without = quiet(capacity, makeCosts, false, seed)
      expect(quiet(capacity, makeCosts, {}, seed)).toBeGreaterThan(without)
    }
  })
})
