import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Attempts, Peak } from './demand.js'

/** The definition, over all events: each second weighs one less than the next, the present one ten. */
function weighted(events: readonly { atMs: number; cost: number }[], nowMs: number): number {
  const present = Math.floor(nowMs / 1_000)
  let units = 0
  let time = 0
  for (let second = Math.max(0, present - 9); second <= present; second++) {
    const weight = 10 - (present - second)
    for (const { atMs, cost } of events) if (Math.floor(atMs / 1_000) === second) units += weight * cost
    time += weight * (second === present ? (nowMs % 1_000) / 1_000 : 1)
  }
  return units / Math.max(10, time)
}

describe('attempts per second', () => {
  it.each([0.5, 3, 250])('gives a constant %d back, from the first seconds on', (rate) => {
    const attempts = new Attempts(0)
    for (let i = 0; i < rate * 60; i++) {
      const nowMs = (i + 0.5) * (1_000 / rate)
      attempts.add(1, nowMs)
      // With low rates, a second has one event or none.
      const tolerance = rate < 1 ? 0.4 : 0.1
      if (nowMs > 10_000) expect(Math.abs(attempts.perSecond(nowMs) / rate - 1)).toBeLessThan(tolerance)
    }
    expect(Math.abs(attempts.perSecond(60_000) / rate - 1)).toBeLessThan(rate < 1 ? 0.15 : 0.01)
  })

  it('does not take a burst for a rate', () => {
    const attempts = new Attempts(0)
    attempts.add(5, 0)
    expect(attempts.perSecond(1)).toBe(5)
  })

  it('weighs what is recent more, and forgets after ten seconds', () => {
    const attempts = new Attempts(0)
    attempts.add(55, 0)
    const seen = [1_000, 5_000, 9_000, 10_000, 100_000].map((nowMs) => attempts.perSecond(nowMs))
    expect(seen[0]).toBeGreaterThan(seen[1]!)
    expect(seen[1]).toBeGreaterThan(seen[2]!)
    expect(seen.slice(3)).toEqual([0, 0])
  })

  it('is what its definition says', () => {
    const event = fc.record({ ms: fc.nat(400), cost: fc.integer({ min: 1, max: 100 }) })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const attempts = new Attempts(0)
        const all: { atMs: number; cost: number }[] = []
        let atMs = 0
        for (const { ms, cost } of events) {
          atMs += ms
          attempts.add(cost, atMs)
          all.push({ atMs, cost })
          expect(attempts.perSecond(atMs)).toBeCloseTo(weighted(all, atMs), 9)
        }
      }),
    )
  })
})

describe('the peak', () => {
  it('is the most of the last second, and what is there now', () => {
    const step = fc.record({ ms: fc.nat(400), level: fc.nat(50) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const peak = new Peak(0)
        const spans: { untilMs: number; level: number }[] = []
        let nowMs = 0
        let now = 0
        for (const { ms, level } of steps) {
          nowMs += ms
          spans.push({ untilMs: nowMs, level: now })
          now = level
          peak.set(level, nowMs)
          const oldest = (Math.floor(nowMs / 100) - 9) * 100
          const within = spans.filter(({ untilMs }) => untilMs >= oldest).map(({ level }) => level)
          expect(peak.most(nowMs)).toBe(Math.max(now, ...within))
        }
      }),
    )
  })
})
