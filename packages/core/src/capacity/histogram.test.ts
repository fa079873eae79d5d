import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { DurationHistogram } from './window.js'

function filled(durations: readonly number[]): DurationHistogram {
  const histogram = new DurationHistogram()
  for (const durationMs of durations) histogram.add(durationMs)
  return histogram
}

describe('DurationHistogram', () => {
  it('tells quantiles to a bucket of 5 %, whatever the distribution', () => {
    const random = seededRandom(1)
    const draws = Array.from({ length: 20_000 }, () => -50 * Math.log(1 - random()))
    const sorted = draws.toSorted((a, b) => a - b)
    for (const p of [0.1, 1 / 3, 0.9]) {
      const exact = sorted[Math.floor(p * sorted.length)]!
      expect(Math.abs(Math.log(filled(draws).quantileMs(p) / exact))).toBeLessThan(0.05)
    }
    expect(filled([]).quantileMs(0.5)).toBe(0)
  })

  it('gives the mean, and forgets', () => {
    const histogram = filled([10, 20, 60])
    expect(histogram).toMatchObject({ count: 3, meanMs: 30 })
    histogram.clear()
    expect(histogram.count).toBe(0)
    expect(histogram.meanMs).toBeNaN()
  })

  it('counts what is no duration as the shortest, and what is too long as the longest', () => {
    const odd = filled([Number.NaN, -1, 0, Number.NEGATIVE_INFINITY, 0.001])
    expect(odd.quantileMs(0.5)).toBeLessThan(0.0106)
    expect(odd.meanMs).toBeGreaterThanOrEqual(0)
    const long = filled([1e300, Number.POSITIVE_INFINITY])
    expect(long.quantileMs(0.5)).toBeCloseTo(filled([1e9, 1e9]).quantileMs(0.5), 9)
  })
})
