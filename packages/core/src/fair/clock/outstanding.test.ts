import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Outstanding } from './outstanding.js'

const numbered = (serial: number) => ({ serial, at: 0, total: serial })

/**
 * Admits `count` requests, each reported `late` admissions later unless `isLost`; yields what is under way after each.
 */
function* traffic(outstanding: Outstanding, count: number, late: number, isLost: (serial: number) => boolean) {
  for (let serial = 1; serial <= count; serial++) {
    outstanding.admit()
    const due = serial - late
    if (due >= 1 && !isLost(due)) outstanding.report(numbered(due))
    yield outstanding.count
  }
}

describe('requests under way', () => {
  it('are counted exactly where every outcome comes, late or not', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 500 }), (late) => {
        let admitted = 0
        for (const count of traffic(new Outstanding(), 5_000, late, () => false))
          expect(count).toBe(Math.min(++admitted, late))
      }),
      { numRuns: 20 },
    )
  })

  it('are counted right although many are never heard of', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 100 }), fc.integer({ min: 2, max: 10 }), (late, every) => {
        const counts = [...traffic(new Outstanding(), 20_000, late, (serial) => serial % every === 0)]
        // What is lost is known after three batches, each of at least 64, and of four times as many as come until an
        // outcome does.
        for (const count of counts.slice(10_000)) expect(count).toBeLessThan(20 * (late + 64))
        for (const count of counts) expect(count).toBeGreaterThanOrEqual(0)
      }),
      { numRuns: 20 },
    )
  })

  it('are forgotten when they hang for ever, and their outcome then changes nothing', () => {
    const outstanding = new Outstanding()
    for (let i = 0; i < 5; i++) outstanding.admit()
    expect(outstanding.count).toBe(5)
    for (let serial = 6; serial <= 1_000; serial++) {
      outstanding.admit()
      outstanding.report(numbered(serial))
    }
    expect(outstanding.count).toBe(0)
    outstanding.report(numbered(1))
    expect(outstanding.count).toBe(0)
  })

  it('are followed as before after one that hung for very long', () => {
    const outstanding = new Outstanding()
    outstanding.admit()
    let last = 1
    const pass = (count: number, isLost: (serial: number) => boolean): void => {
      for (const end = last + count; last < end; ) {
        outstanding.admit()
        if (!isLost(++last)) outstanding.report(numbered(last))
      }
    }
    pass(100_000, () => false)
    outstanding.report(numbered(1))
    pass(1_000, (serial) => serial % 2 === 0)
    // Half of the three batches that are followed, and of the next.
    expect(outstanding.count).toBeLessThanOrEqual((4 * 64) / 2)
  })

  it('are news if they were admitted after the last correction', () => {
    const outstanding = new Outstanding()
    outstanding.admit()
    outstanding.correct()
    outstanding.admit()
    expect(outstanding.isNews(numbered(1))).toBe(false)
    expect(outstanding.isNews(numbered(2))).toBe(true)
  })
})
