import { describe, expect, it } from 'vitest'
import type { Client } from './population.js'
import { summarise } from './summary.js'
import { Tally } from './tally.js'

const CLIENTS: readonly Client[] = [
  { name: 'a', manner: 'quiet', asksPerSecond: 1 },
  { name: 'b', manner: 'quiet', asksPerSecond: 1 },
  { name: 'c', manner: 'heavy', asksPerSecond: 1 },
]

/** Ten seconds in which each client was answered as listed; served requests took `latencyMs`. */
function tallyOf(answers: readonly (readonly (number | 'lost')[])[], latencyMs = 5): Tally {
  const tally = new Tally(CLIENTS)
  for (const [client, statuses] of answers.entries())
    for (const status of statuses) {
      tally.asked(client, 0)
      tally.answered(client, 10_000 - latencyMs, { status, atMs: 10_000 })
    }
  return tally
}

function times<T>(count: number, value: T): T[] {
  return Array.from({ length: count }, () => value)
}

describe('summarise', () => {
  it('holds what was served against demand and entitlement', () => {
    // Capacity 100 in all: a and b are entitled to their 20 and 10, c to the remaining 70 of its 170.
    const tally = tallyOf([
      [...times(10, 200), ...times(10, 503)],
      times(10, 200),
      [...times(70, 200), ...times(60, 429), ...times(40, 503)],
    ])
    const { quiet, heavy, ...phase } = summarise(tally, 10, 10)
    expect(phase).toMatchObject({ seconds: 10, asked: 200, served: 90, refusedUnfair: 60, refusedShort: 50, lost: 0 })
    expect(phase.utilisation).toBeCloseTo(0.9, 9)
    // Ratios 0.5, 1 and 1.
    expect(phase.jain).toBeCloseTo(2.5 ** 2 / (3 * 2.25), 9)
    expect(quiet).toMatchObject({ clients: 2, asked: 1.5, served: 1, worstOfEntitled: 0.5, servedOfEntitled: 0.75 })
    expect(quiet.servedOfAsked).toBeCloseTo(20 / 30, 9)
    expect(heavy).toMatchObject({ clients: 1, asked: 17, entitled: 7, served: 7, servedOfEntitled: 1 })
  })

  it('takes demand as the measure where there is enough for all', () => {
    const { utilisation, jain } = summarise(tallyOf([times(5, 200), times(5, 200), times(20, 200)]), 10, 10)
    expect(utilisation).toBe(1)
    expect(jain).toBe(1)
  })

  it('counts as lost what had no answer, or one that makes no sense', () => {
    expect(summarise(tallyOf([['lost'], [500], []]), 10, 10).lost).toBe(2)
  })

  it('knows latency only of what was served, to 1 %', () => {
    const { quiet, heavy } = summarise(tallyOf([times(10, 200), [], times(10, 503)], 80), 10, 10)
    expect(quiet.p50Ms! / 80).toBeCloseTo(1, 2)
    expect(quiet.p99Ms! / 80).toBeCloseTo(1, 2)
    expect(heavy.p50Ms).toBeNull()
  })
})
