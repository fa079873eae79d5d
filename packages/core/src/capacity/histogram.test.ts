import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { DurationHistogram } from './window.js'

function filled(durations: readonly number[]): DurationHistogram {
  const histogram = new DurationHistogram()
  for (const durationMs of durations) histogram.add(durationMs)
  return histogram
}

function exponential(count: number, mean: number, seed: number): number[] {
  const random = seededRandom(seed)
  return Array.from({ length: count }, () => -mean * Math.log(1 - random()))
}

describe('DurationHistogram', () => {
  it('knows how much longer durations are, as a logarithm, to a bucket of 5 %', () => {
    for (const p of [0.1, 1 / 3, 0.9]) {
      const draws = exponential(20_000, 50, 1)
      const shift = filled(draws.map((ms) => 3 * ms)).quantile(p).log - filled(draws).quantile(p).log
      expect(Math.abs(shift - Math.log(3))).toBeLessThan(0.05)
    }
  })

  it('knows its own error, whatever the distribution', () => {
    for (const mean of [1, 5_000]) {
      const runs = Array.from({ length: 400 }, (_, i) => filled(exponential(60, mean, i + 1)).quantile(1 / 3))
      const middle = runs.reduce((sum, { log }) => sum + log, 0) / runs.length
      const spread = Math.sqrt(runs.reduce((sum, { log }) => sum + (log - middle) ** 2, 0) / runs.length)
      const told = runs.reduce((sum, { error }) => sum + error, 0) / runs.length
      expect(told / spread).toBeGreaterThan(0.85)
      expect(told / spread).toBeLessThan(1.2)
    }
  })

  it('says that it does not know with hardly any durations', () => {
    expect(filled([10, 20]).quantile(1 / 3).error).toBe(Number.POSITIVE_INFINITY)
    expect(filled(Array.from({ length: 30 }, () => 10)).quantile(1 / 3).error).toBeLessThan(0.05)
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
    expect(odd.quantile(0.5).log).toBeLessThan(0.05)
    expect(odd.meanMs).toBeGreaterThanOrEqual(0)
    const long = filled([1e300, Number.POSITIVE_INFINITY])
    expect(long.quantile(0.5).log).toBeCloseTo(filled([1e9, 1e9]).quantile(0.5).log, 9)
  })
})
