import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { steady } from './clock.js'

describe('steady', () => {
  it('never runs backwards, and keeps every step forward', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1e6, max: 1e6 }), { minLength: 1 }), (readings) => {
        let i = 0
        const clock = steady(() => readings[Math.min(i, readings.length - 1)]!)
        let before = clock()
        for (i = 1; i < readings.length; i++) {
          const now = clock()
          expect(now - before).toBe(Math.max(0, readings[i]! - readings[i - 1]!))
          before = now
        }
      }),
    )
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('passes over a reading of %s', (odd) => {
    let reading = odd
    const clock = steady(() => reading)
    const start = clock()
    reading = 5
    const first = clock()
    reading = odd
    expect(clock()).toBe(first)
    reading = 8
    expect(clock() - first).toBe(3)
    expect(Number.isFinite(start)).toBe(true)
  })
})
