import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { steady, systemAfter } from './clock.js'
import { createGate } from './index.js'

describe('steady', () => {
  /** The time that has passed by the steady clock after each of these readings. */
  const passed = (readings: readonly number[]): number[] => {
    let i = 0
    const clock = steady(() => readings[Math.min(i, readings.length - 1)]!)
    const first = clock()
    return readings.map((_, at) => {
      i = at
      return clock() - first
    })
  }
  const step = (least: number, most: number) => fc.integer({ min: least, max: most })

  it('never runs backwards, and goes on from a jump of more than 128 ms back', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(step(0, 1e6), step(-1e6, -129)), { minLength: 1 }), (steps) => {
        const forward = steps.map((_, i) => steps.slice(0, i + 1).reduce((sum, by) => sum + Math.max(0, by), 0))
        const readings = steps.map((_, i) => steps.slice(0, i + 1).reduce((sum, by) => sum + by, 0))
        expect(passed([0, ...readings])).toEqual([0, ...forward])
      }),
    )
  })

  it('runs no faster than a noisy clock, however often that steps back and forth', () => {
    fc.assert(
      fc.property(fc.array(step(0, 128), { minLength: 1 }), (noise) => {
        const readings = noise.map((ms, i) => 10 * i + ms)
        const times = passed([0, ...readings])
        for (const [i, ms] of times.entries()) {
          expect(ms).toBeGreaterThanOrEqual(times[i - 1] ?? 0)
          expect(ms).toBeLessThanOrEqual(10 * i + 128)
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
