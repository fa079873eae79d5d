import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Curve, linear, logistic, startOf, step } from './curve.js'
import { riseOf } from './load-shedder.js'

const PRIORITIES = [-2, -1, 0, 1, 2] as const

/** A range from tiny units to bytes of memory. */
const ranges = fc
  .tuple(fc.double({ min: 0, max: 1e10, noNaN: true }), fc.double({ min: 1e-6, max: 1e10, noNaN: true }))
  .map(([from, width]) => ({ from, to: from + Math.max(width, from * 1e-6) }))
const curves = fc
  .tuple(ranges, fc.constantFrom<(range: { from: number; to: number }) => Curve>(step, linear, logistic))
  .map(([range, make]) => make(range))
const rises = fc.constantFrom(...PRIORITIES.map((priority) => riseOf(priority, undefined)))

describe('logistic', () => {
  const GIB_3 = 3_221_225_472
  const published = logistic({ from: 3e9, to: GIB_3 })
  const middle = 3_110_612_736

  it('gives the published figures of the worked example', () => {
    // The published article truncates ln 99 to 4.595119 before it divides.
    const k = 4.595_119 / (GIB_3 - middle)
    expect(k.toPrecision(9)).toBe('4.15424043e-8')
    for (const load of [3e9, 3.05e9, middle, 3.2e9, GIB_3 - 1])
      expect(published.probability(load)).toBeCloseTo(1 / (1 + Math.exp(-k * (load - middle))), 7)
    expect(published.probability(3e9)).toBeCloseTo(0.01, 12)
    expect(published.probability(middle)).toBe(0.5)
    expect(published.probability(GIB_3 - 1e-3)).toBeCloseTo(0.99, 9)
  })

  it('is exact at the ends: refuses nothing below, everything from the top on', () => {
    expect(published.probability(3e9 - 1e-3)).toBe(0)
    expect(published.probability(GIB_3)).toBe(1)
    expect(published.probability(GIB_3 * 2)).toBe(1)
  })

  it('is worth the edge at its start and just below its top', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-4, max: 0.49, noNaN: true }), (edge) => {
        const curve = logistic({ from: 1, to: 2, edge })
        expect(curve.probability(1)).toBeCloseTo(edge, 9)
        expect(curve.probability(2 - 1e-12)).toBeCloseTo(1 - edge, 6)
      }),
    )
  })

  it('starts at 0.01 for every priority, where the priority says', () => {
    const curve = logistic({ from: 0.75, to: 0.95 })
    for (const [priority, start] of [
      [-2, 0.55],
      [-1, 0.65],
      [0, 0.75],
      [1, 0.9],
      [2, 0.93],
    ] as const) {
      const rise = riseOf(priority, undefined)
      expect(startOf(curve, rise)).toBeCloseTo(start, 12)
      expect(curve.probability(start - 1e-9, rise)).toBe(0)
      expect(curve.probability(start + 1e-9, rise)).toBeCloseTo(0.01, 6)
      expect(curve.probability(0.95 - 1e-12, rise)).toBeCloseTo(0.99, 6)
      expect(curve.probability(0.95, rise)).toBe(1)
    }
  })
})

describe('curves', () => {
  it('differ in between: all at once, evenly, or gently at both ends', () => {
    const range = { from: 10, to: 20 }
    expect([9.9, 10, 15, 19.9, 20].map((load) => step(range).probability(load))).toEqual([0, 1, 1, 1, 1])
    expect([9.9, 10, 12.5, 20].map((load) => linear(range).probability(load))).toEqual([0, 0, 0.25, 1])
    expect(logistic(range).probability(12.5)).toBeLessThan(linear(range).probability(12.5))
    expect(logistic(range).probability(17.5)).toBeGreaterThan(linear(range).probability(17.5))
  })

  it('are probabilities, 0 below the start and 1 from the top on, for every priority', () => {
    fc.assert(
      fc.property(curves, rises, fc.double({ min: 0, max: 3e10, noNaN: true }), (curve, rise, load) => {
        const probability = curve.probability(load, rise)
        expect(probability).toBeGreaterThanOrEqual(0)
        expect(probability).toBeLessThanOrEqual(1)
        if (load < startOf(curve, rise)) expect(probability).toBe(0)
        if (load >= curve.to) expect(probability).toBe(1)
      }),
    )
  })

  it('never fall as load grows', () => {
    fc.assert(
      fc.property(
        curves,
        rises,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1 }),
        (c, s, a, b) => {
          const load = (share: number) => c.to * 1.1 * share
          const [low, high] = [Math.min(a, b), Math.max(a, b)]
          expect(c.probability(load(high), s)).toBeGreaterThanOrEqual(c.probability(load(low), s))
        },
      ),
    )
  })

  it('never refuse a higher priority more', () => {
    fc.assert(
      fc.property(curves, fc.double({ min: 0, max: 1.1, noNaN: true }), (curve, share) => {
        const chances = PRIORITIES.map((priority) => curve.probability(curve.to * share, riseOf(priority, undefined)))
        expect(chances).toEqual(chances.toSorted((a, b) => b - a))
      }),
    )
  })

  it('refuse nothing without load, at any priority', () => {
    fc.assert(
      fc.property(curves, rises, (curve, rise) => {
        fc.pre(curve.from > 0)
        expect(curve.probability(0, rise)).toBe(0)
      }),
    )
  })

  it('take a load that is not a number for no load', () => {
    expect(logistic({ from: 1, to: 2 }).probability(Number.NaN)).toBe(0)
  })

  it('say which option is wrong, and what it was', () => {
    expect(() => logistic({ from: 2, to: 1 })).toThrow(new RangeError('from must be below to, got 2 and 1'))
    expect(() => step({ from: 1, to: 1 })).toThrow('from must be below to, got 1 and 1')
    expect(() => linear({ from: Number.NaN, to: 1 })).toThrow(new RangeError('from must be a number >= 0, got NaN'))
    expect(() => logistic({ from: -1, to: 1 })).toThrow('from must be a number >= 0, got -1')
    expect(() => logistic({ from: 0, to: Number.POSITIVE_INFINITY })).toThrow('to must be a number >= 0, got Infinity')
    expect(() => logistic(undefined as never)).toThrow('logistic must be an object, got undefined')
    expect(() => logistic({ from: 0, to: 1, edge: 0 })).toThrow('edge must be a number > 0, got 0')
    expect(() => logistic({ from: 0, to: 1, edge: 0.5 })).toThrow('edge must be a number < 0.5, got 0.5')
    expect(() => logistic(Object.assign({ from: 0, to: 1 }, { steepness: 3 }))).toThrow('no option "steepness"')
  })
})

describe('the rise of a request', () => {
  it('grows with priority, and ignores what is none', () => {
    expect(PRIORITIES.map((priority) => riseOf(priority, undefined))).toEqual([-1, -0.5, 0, 0.75, 0.9])
    for (const priority of [3, -3, 0.5, Number.NaN]) expect(riseOf(priority, undefined)).toBe(0)
  })

  it('is at least a half for a flow with credit, and never less for it', () => {
    for (const [priority, rise] of [
      [-2, 0.5],
      [0, 0.5],
      [1, 0.75],
      [2, 0.9],
    ] as const) {
      expect(riseOf(priority, 1)).toBe(rise)
      expect(riseOf(priority, 0.99)).toBe(riseOf(priority, undefined))
      expect(riseOf(priority, Number.NaN)).toBe(riseOf(priority, undefined))
    }
  })
})
