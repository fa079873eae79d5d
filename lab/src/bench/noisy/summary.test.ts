import { seededRandom } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import type { Answer } from './load.js'
import { arrivals, CLIENTS, FAIR_LEVEL, HEAVY_DUE, RESOURCE } from './scenario.js'
import { summarise } from './summary.js'

const answer = (client: number, status: number, ms = 1): Answer => ({ client, status, ms, lateMs: 0 })
const many = (count: number, client: number, status: number): Answer[] =>
  Array.from({ length: count }, () => answer(client, status))

describe('the scenario', () => {
  it('asks two thirds of the fair level of 18 clients, and ten times it of 2', () => {
    const of = (heavy: boolean): number[] =>
      CLIENTS.filter((client) => client.heavy === heavy).map(({ perSecond }) => perSecond / FAIR_LEVEL)
    expect(of(false)).toHaveLength(18)
    expect(of(true)).toEqual([10, 10])
    for (const level of of(false)) expect(level).toBeCloseTo(2 / 3, 9)
    expect(18 * (2 / 3) * FAIR_LEVEL + 2 * HEAVY_DUE).toBeCloseTo(RESOURCE.perSecond, 9)
  })

  it('sends the Poisson number of requests of each client, in order of time', () => {
    const all = arrivals(200, seededRandom(1))
    expect(all.map(({ atMs }) => atMs)).toEqual(all.map(({ atMs }) => atMs).toSorted((a, b) => a - b))
    for (const [i, { perSecond }] of CLIENTS.entries()) {
      const expected = 200 * perSecond
      const sent = all.filter(({ client }) => client === i).length
      expect(Math.abs(sent - expected)).toBeLessThan(5 * Math.sqrt(expected))
    }
  })
})

describe('summarise', () => {
  it('holds what was served against what was asked, and against the max-min share of it', () => {
    // 120 tokens in a second. Seventeen quiet clients ask for 1 and get it, the last asks for 3 and gets 1; the heavy
    // ones are due 50.
    const quiet = CLIENTS.slice(0, 17).flatMap((_, i) => many(1, i, 200))
    const last = [...many(1, 17, 200), ...many(2, 17, 503)]
    const heavy = [...many(60, 18, 200), ...many(40, 18, 429), ...many(25, 19, 200), ...many(75, 19, 503)]
    const summary = summarise([...quiet, ...last, ...heavy], 1)
    expect(summary.quiet.servedOfAsked).toBeCloseTo(18 / 20, 9)
    expect(summary.quiet.servedOfEntitled).toBeCloseTo((17 + 1 / 3) / 18, 9)
    expect(summary.quiet.worstOfEntitled).toBeCloseTo(1 / 3, 9)
    expect(summary.heavy.servedOfEntitled).toBeCloseTo((60 / 50 + 25 / 50) / 2, 9)
    expect(summary.utilisation).toBeCloseTo((18 + 85) / 120, 9)
    expect(summary).toMatchObject({ asked: 220, refused429: 40, refused503: 77, lost: 0 })
  })

  it('knows times of what was served only, and counts what had no answer', () => {
    const { quiet, heavy, lost } = summarise([answer(0, 200, 7), answer(1, 503, 900), answer(2, 0, 4_000)], 1)
    expect(quiet.p99Ms).toBe(7)
    expect(heavy.p99Ms).toBeNull()
    expect(lost).toBe(1)
  })
})
