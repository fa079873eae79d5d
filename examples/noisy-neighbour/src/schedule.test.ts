import { seededRandom } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { schedule } from './schedule.js'

const SECONDS = 100
const RATES = [5, 50, 200]

function arrivalsOf(client: number, seed: number): number[] {
  return schedule(RATES, SECONDS, seededRandom(seed)).flatMap((arrival) =>
    arrival.client === client ? [arrival.atMs] : [],
  )
}

describe('schedule', () => {
  it('repeats itself for the same seed, and only for that', () => {
    const arrivals = schedule(RATES, SECONDS, seededRandom(1))
    expect(schedule(RATES, SECONDS, seededRandom(1))).toEqual(arrivals)
    expect(schedule(RATES, SECONDS, seededRandom(2))).not.toEqual(arrivals)
  })

  it('is in order of time and stays within the phase', () => {
    const times = schedule(RATES, SECONDS, seededRandom(3)).map(({ atMs }) => atMs)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect(times.at(0)).toBeGreaterThan(0)
    expect(times.at(-1)).toBeLessThan(SECONDS * 1_000)
  })

  it.each([...RATES.entries()])('sends a Poisson number of requests for client %i at %i/s', (client, rate) => {
    const expected = rate * SECONDS
    expect(Math.abs(arrivalsOf(client, 4).length - expected)).toBeLessThan(5 * Math.sqrt(expected))
  })

  it('leaves exponential gaps: a share e^-x of them is longer than x times the mean', () => {
    const times = arrivalsOf(2, 5)
    const gaps = times.slice(1).map((atMs, i) => atMs - times[i]!)
    for (const x of [0.1, 0.5, 1, 2, 4]) {
      const longer = gaps.filter((gap) => gap > (x * 1_000) / RATES[2]!).length / gaps.length
      expect(longer).toBeCloseTo(Math.exp(-x), 1.5)
    }
  })
})
