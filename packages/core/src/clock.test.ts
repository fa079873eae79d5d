import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { steady, systemAfter } from './clock.js'
import { createGate } from './index.js'

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
    let reading = 5
    const clock = steady(() => reading)
    const first = clock()
    reading = odd
    expect(clock()).toBe(first)
    reading = 8
    expect(clock() - first).toBe(3)
  })

  it.each<[string, () => unknown, string]>([
    ['gives no number', () => Number.NaN, 'NaN'],
    ['never comes', () => Number.POSITIVE_INFINITY, 'Infinity'],
    ['gives a date', () => new Date(0), 'an object'],
    ['is async', async () => 1, 'a promise'],
    [
      'is async and rejects',
      async () => {
        throw new Error('no time')
      },
      'a promise',
    ],
  ])('refuses a clock that %s, by name', (_, clock, got) => {
    const message = `clock() must be finite, got ${got}`
    expect(() => steady(clock as never)).toThrow(message)
    expect(() => createGate({ clock: clock as never })).toThrow(message)
  })
})

describe('the platform’s timer', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('rings when it is time, unless it is cancelled', () => {
    const ring = vi.fn()
    systemAfter(100, ring)
    systemAfter(50, ring)()
    vi.advanceTimersByTime(99)
    expect(ring).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(ring).toHaveBeenCalledOnce()
  })

  it.each([2 ** 31, 1e12, Number.POSITIVE_INFINITY])('does not ring at once for a wait of %d ms', (ms) => {
    const ring = vi.fn()
    systemAfter(ms, ring)
    vi.advanceTimersByTime(2 ** 31 - 2)
    expect(ring).not.toHaveBeenCalled()
    vi.advanceTimersByTime(1)
    expect(ring).toHaveBeenCalledOnce()
  })
})
