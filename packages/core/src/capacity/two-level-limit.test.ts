import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { TwoLevelLimit } from './two-level-limit.js'

/** Lets the rule read `times` windows of a service whose durations are `durationMs(limit)`, always full. */
function steady(rule: TwoLevelLimit, times: number, durationMs: (limit: number) => number): number[] {
  return Array.from({ length: times }, () => {
    const { limit } = rule
    const lastedMs = durationMs(limit)
    rule.read({ durationMs: lastedMs, lastedMs, meanInFlight: limit, peak: limit, meanWidth: 1, ...NATURAL })
    return rule.limit
  })
}

/** The rule after its first look, at a limit of 20 with a baseline of 100 ms. */
function settled(): TwoLevelLimit {
  const rule = new TwoLevelLimit(20, 1, 1_000)
  steady(rule, 2, () => 100)
  return rule
}

/** 100 ms up to the knee, and in proportion to the limit beyond. */
function knee(at: number): (limit: number) => number {
  return (limit) => 100 * Math.max(1, limit / at)
}

/** A window of natural length. */
const NATURAL = { elapsedMs: 500, drift: Number.NaN, effective: 50 }

describe('TwoLevelLimit', () => {
  it('looks at three quarters of the limit first', () => {
    const rule = new TwoLevelLimit(20, 1, 1_000)
    expect(rule.limit).toBe(20)
    expect(steady(rule, 1, () => 100)).toEqual([15])
    expect(rule).toMatchObject({ looking: true, settleMs: 100 })
    expect(rule.baselineMs).toBeNaN()
    expect(steady(rule, 1, () => 90)).toEqual([20])
    expect(rule).toMatchObject({ looking: false, settleMs: 90, baselineMs: 90 })
    steady(rule, 1, () => 100)
    expect(rule.settleMs).toBe(0)
  })

  it('cuts to where the lower level is no longer too much, look after look', () => {
    const rule = new TwoLevelLimit(100, 1, 1_000)
    expect(steady(rule, 6, knee(30))).toEqual([75, 56, 42, 31, 23, 31])
    expect(rule.looking).toBe(false)
  })

  it('ends a look by what it has shown in four windows, and takes nothing away if that is little', () => {
    const rule = new TwoLevelLimit(20, 1, 1_000)
    steady(rule, 1, () => 100)
    expect(rule).toMatchObject({ looking: true, lookMs: 100 + 4 * 500 })
    const nothing = {
      durationMs: Number.NaN,
      lastedMs: Number.NaN,
      meanInFlight: 15,
      peak: 15,
      meanWidth: 1,
      ...NATURAL,
    }
    rule.read(nothing, true)
    expect(rule).toMatchObject({ looking: false, limit: 20, settleMs: 100, baselineMs: 125 })
    expect(steady(rule, 3, () => 100).at(-1)).toBeGreaterThan(30)
    const full = new TwoLevelLimit(20, 1, 1_000)
    steady(full, 1, () => 100)
    full.read({ ...nothing, durationMs: 75, lastedMs: 75 }, true)
    expect(full).toMatchObject({ looking: true, limit: 11 })
  })

  it('settles at about 1.3 times the knee, from below and from above', () => {
    for (const initial of [1, 20, 40, 300]) {
      const rule = new TwoLevelLimit(initial, 1, 1_000)
      steady(rule, 60, knee(40))
      const late = steady(rule, 200, knee(40))
      expect(late.reduce((sum, limit) => sum + limit, 0) / 200 / 40).toBeCloseTo(1.25, 1)
    }
  })

  it('grows by up to 10 % a window, and by up to 50 % after two calm ones', () => {
    const rule = settled()
    expect(steady(rule, 1, () => 115)).toEqual([21])
    expect(steady(rule, 1, () => 100)).toEqual([23])
    expect(steady(rule, 1, () => 100)).toEqual([30])
  })

  it('falls by the square root of what durations say, and by no more than it grows', () => {
    const falls = (durationMs: number): number[] => {
      const rule = new TwoLevelLimit(100, 1, 1_000)
      steady(rule, 2, () => 100)
      return steady(rule, 1, () => durationMs)
    }
    expect(falls(150)).toEqual([93])
    expect(falls(169)).toEqual([90])
    expect(falls(190)).toEqual([90])
  })

  it('does not fall because durations swing by themselves within a few windows', () => {
    for (const period of [2, 3, 4, 5, 7]) {
      const rule = new TwoLevelLimit(20, 1, 1_000)
      let at = 0
      const swing = (): number => 150 + 100 * Math.cos((2 * Math.PI * at++) / period)
      steady(rule, 300, swing)
      expect(rule.swing, `${period}`).toBeGreaterThan(1.2)
      const { limit } = rule
      expect(steady(rule, 300, swing).at(-1), `${period}`).toBeGreaterThanOrEqual(Math.min(0.75 * limit, 750))
    }
  })

  it('lengthens windows where durations swing, and neither looks nor cuts because of it', () => {
    const rule = settled()
    let nowMs = 0
    const windows = (forMs: number): number => {
      const untilMs = nowMs + forMs
      let looks = 0
      while (nowMs < untilMs) {
        const { limit, looking } = rule
        const elapsedMs = Math.max(NATURAL.elapsedMs, rule.windowMs)
        const wave = (ms: number): number => Math.sin((2 * Math.PI * ms) / 2_000)
        const mean = (fromMs: number, lastingMs: number): number =>
          Array.from({ length: 50 }, (_, i) => 150 + 100 * wave(fromMs + (i * lastingMs) / 50)).reduce(
            (a, b) => a + b,
          ) / 50
        const halves = mean(nowMs, elapsedMs / 2) / mean(nowMs + elapsedMs / 2, elapsedMs / 2)
        const durationMs = mean(nowMs, elapsedMs)
        const drift = Math.abs(Math.log(halves))
        const effective = elapsedMs / 10
        const each = { meanInFlight: limit, peak: limit, meanWidth: 1 }
        rule.read({ ...each, durationMs, lastedMs: durationMs, elapsedMs, drift, effective })
        nowMs += elapsedMs
        if (rule.looking && !looking) looks++
      }
      return looks
    }
    windows(120_000)
    expect(rule.windowMs).toBeGreaterThanOrEqual(1_000)
    const { limit } = rule
    expect(windows(300_000)).toBeLessThanOrEqual(300_000 / rule.windowMs / 10)
    expect(rule.limit).toBeGreaterThanOrEqual(limit)
    expect(rule.limit).toBeGreaterThan(200)
  })

  it('does not take a service that becomes slower or quicker for one that swings', () => {
    for (const factor of [0.2, 5]) {
      const rule = settled()
      for (let i = 0; i < 10; i++) {
        steady(rule, 60, () => 100 * factor ** (i % 2))
        expect(rule.swing, `${factor}`).toBe(1)
      }
    }
  })

  it('does not take the chance of 50 completions for a swing, and settles as if durations were exact', () => {
    const random = seededRandom(5)
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    const rule = new TwoLevelLimit(300, 1, 1_000)
    const noisy = (limit: number): number => knee(40)(limit) * Math.exp(normal() / Math.sqrt(50))
    steady(rule, 500, noisy)
    expect(rule.swing).toBeLessThan(1.3)
    const late = steady(rule, 2_000, noisy)
    const mean = late.reduce((sum, limit) => sum + limit, 0) / late.length / 40
    expect(mean).toBeGreaterThan(1)
    expect(mean).toBeLessThan(1.4)
  })

  it('remembers the swings of the rule that it continues', () => {
    const before = new TwoLevelLimit(20, 1, 1_000)
    let at = 0
    steady(before, 300, () => (at++ % 2 === 0 ? 50 : 250))
    expect(new TwoLevelLimit(40, 1, 1_000, before).swing).toBe(before.swing)
    expect(new TwoLevelLimit(40, 1, 1_000).swing).toBe(1)
  })

  it('confirms a fall by a look, so that a slower service is not taken for a fuller one', () => {
    const rule = settled()
    expect(steady(rule, 2, () => 169)).toEqual([18, 13])
    expect(rule.looking).toBe(true)
    expect(steady(rule, 1, () => 169)).toEqual([18])
    expect(rule.baselineMs).toBe(169)
    const [next] = steady(rule, 1, () => 169)
    expect(next).toBeGreaterThan(18)
  })

  it.each([79, 196])('looks when a window surprises: %d ms', (durationMs) => {
    const rule = settled()
    steady(rule, 1, () => 130)
    expect(rule.looking).toBe(false)
    steady(rule, 1, () => durationMs)
    expect(rule.looking).toBe(true)
  })

  it('does not let the first window after a look surprise it', () => {
    const rule = settled()
    steady(rule, 1, () => 196)
    expect(rule.looking).toBe(false)
  })

  it('looks every 16 windows', () => {
    const rule = settled()
    steady(rule, 15, () => 130)
    expect(rule.looking).toBe(false)
    steady(rule, 1, () => 130)
    expect(rule.looking).toBe(true)
  })

  it('is saturated while a third more slots bring less than the square root of that', () => {
    expect(new TwoLevelLimit(20, 1, 1_000).saturated).toBe(false)
    for (const [durationMs, saturated] of [
      [100, false],
      [115, false],
      [116, true],
      [130, true],
    ] as const) {
      const rule = settled()
      steady(rule, 10, () => durationMs)
      expect([durationMs, rule.saturated]).toEqual([durationMs, saturated])
    }
  })

  it('is not taken for saturated, or the other way round, by a single window', () => {
    for (const [usualMs, onceMs, saturated] of [
      [100, 140, false],
      [130, 100, true],
    ] as const) {
      const rule = settled()
      steady(rule, 10, () => usualMs)
      steady(rule, 1, () => onceMs)
      expect(rule.saturated).toBe(saturated)
    }
  })

  it('is not taken for saturated by what it was before the service became another', () => {
    const rule = settled()
    steady(rule, 10, () => 130)
    expect(rule.saturated).toBe(true)
    // All last fifty times as long, at both levels.
    while (!rule.looking) steady(rule, 1, () => 5_000)
    expect(rule.saturated).toBe(false)
    while (rule.looking) steady(rule, 1, () => 5_000)
    expect(rule.saturated).toBe(false)
  })

  it('learns nothing from windows that are not busy, but how long requests take', () => {
    const rule = settled()
    for (const [meanInFlight, peak] of [
      [20, 19],
      [15.9, 20],
      [9, 20],
      [0.1, 1],
    ] as const)
      for (let i = 0; i < 50; i++)
        rule.read({ durationMs: 80, lastedMs: 80, meanInFlight, peak, meanWidth: 1, ...NATURAL })
    expect(rule).toMatchObject({ limit: 20, looking: false, baselineMs: 80 })
    rule.read({ durationMs: 120, lastedMs: 120, meanInFlight: 1, peak: 1, meanWidth: 1, ...NATURAL })
    expect(rule.baselineMs).toBe(100)
  })

  it('gives a look up when the demand goes away', () => {
    const rule = new TwoLevelLimit(20, 1, 1_000)
    steady(rule, 1, () => 100)
    rule.read({ durationMs: 40, lastedMs: 40, meanInFlight: 3, peak: 5, meanWidth: 1, ...NATURAL })
    expect(rule).toMatchObject({ limit: 20, looking: false })
    expect(rule.baselineMs).toBeNaN()
    steady(rule, 1, () => 100)
    expect(rule.looking).toBe(true)
  })

  it('keeps a cut, and what it has seen, when the demand goes away after it', () => {
    const rule = new TwoLevelLimit(100, 1, 1_000)
    expect(steady(rule, 2, knee(30))).toEqual([75, 56])
    rule.read({ durationMs: 40, lastedMs: 40, meanInFlight: 30, peak: 40, meanWidth: 1, ...NATURAL })
    expect(rule).toMatchObject({ limit: 75, looking: false, baselineMs: 250 })
  })

  it('does not go on looking where it cannot cut', () => {
    const rule = new TwoLevelLimit(20, 20, 1_000)
    steady(rule, 1, () => 100)
    steady(rule, 1, () => 50)
    expect(rule).toMatchObject({ limit: 20, looking: false, baselineMs: 50 })
  })

  it('takes slots that the next request does not fit into for used', () => {
    const rule = settled()
    for (let i = 0; i < 3; i++)
      rule.read({ durationMs: 100, lastedMs: 100, meanInFlight: 16, peak: 16, meanWidth: 8, ...NATURAL })
    expect(rule.limit).toBeGreaterThan(20)
    const fractions = settled()
    for (let i = 0; i < 3; i++)
      fractions.read({ durationMs: 100, lastedMs: 100, meanInFlight: 19.5, peak: 19.8, meanWidth: 0.3, ...NATURAL })
    expect(fractions.limit).toBeGreaterThan(20)
  })

  it('does not wait long for a machine that slept to settle', () => {
    const rule = settled()
    steady(rule, 2, () => 36e5)
    expect(rule.looking).toBe(true)
    expect(rule.settleMs).toBe(60_000)
  })

  it('never leaves its range, and is always a whole number', () => {
    const reading = fc.record({
      durationMs: fc.oneof(fc.double(), fc.double({ min: 0, max: 1e4 })),
      lastedMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
      meanInFlight: fc.oneof(fc.double(), fc.double({ min: 0, max: 300 })),
      peak: fc.oneof(fc.double(), fc.double({ min: 0, max: 300 })),
      meanWidth: fc.oneof(fc.double(), fc.double({ min: 0, max: 4 })),
      elapsedMs: fc.double(),
      drift: fc.double(),
      effective: fc.double(),
      full: fc.boolean(),
    })
    const range = fc
      .tuple(fc.integer({ min: 1, max: 50 }), fc.nat(50), fc.nat(100))
      .map(([min, more, most]) => ({ min, initial: min + more, max: min + more + most }))
    fc.assert(
      fc.property(range, fc.array(reading, { maxLength: 200 }), ({ min, initial, max }, readings) => {
        const rule = new TwoLevelLimit(initial, min, max)
        for (const { full, ...reading } of readings) {
          const { limit } = rule
          rule.read(full ? { ...reading, meanInFlight: limit, peak: limit, meanWidth: 1, ...NATURAL } : reading)
          expect(rule.limit).toBeGreaterThanOrEqual(min)
          expect(rule.limit).toBeLessThanOrEqual(max)
          expect(Number.isInteger(rule.limit)).toBe(true)
          expect(rule.settleMs).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })
})
