import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Outcome, outcomes } from '../admission/outcome.js'
import { manualClock } from '../testing/manual-clock.js'
import { type AdaptiveCapacity, adaptive } from './adaptive-capacity.js'

/**
 * Fills `capacity` `times` times: requests start until none fits, and all end `durationMs(running)` later. Returns the
 * limit after each round.
 */
function rounds(
  capacity: AdaptiveCapacity,
  clock: ReturnType<typeof manualClock>,
  times: number,
  durationMs: (limit: number) => number,
  { width = 1, outcome = 'success' }: { width?: number; outcome?: Outcome } = {},
): number[] {
  return Array.from({ length: times }, () => {
    let running = 0
    while (capacity.tryTake(width, clock())) running++
    const lastedMs = durationMs(running * width)
    clock.advance(lastedMs)
    for (let i = 0; i < running; i++) capacity.release(width, outcome, lastedMs, clock())
    return capacity.limit
  })
}

/** 50 ms for up to 30 requests at once, and in proportion to the number beyond. */
function thirtyAtOnce(running: number): number {
  return 50 * Math.max(1, running / 30)
}

describe('adaptive', () => {
  it('starts where it is told to', () => {
    expect(adaptive().snapshot()).toEqual({
      kind: 'adaptive',
      limit: 20,
      inFlight: 0,
      min: 1,
      max: 1_000,
      climbing: false,
      looking: false,
      durationMs: undefined,
      baselineMs: undefined,
    })
    expect(adaptive({ initial: 5, min: 2, max: 9 })).toMatchObject({ limit: 5, maximum: 9 })
    expect(adaptive({ max: 7 }).limit).toBe(7)
    expect(adaptive({ min: 30 }).limit).toBe(30)
  })

  it.each([
    [{ min: 0 }, 'min'],
    [{ min: 1.5 }, 'min'],
    [{ min: Number.NaN }, 'min'],
    [{ min: 10, max: 9 }, 'max'],
    [{ max: Number.POSITIVE_INFINITY }, 'max'],
    [{ max: 20.5 }, 'max'],
    [{ initial: 0 }, 'initial'],
    [{ initial: 1_001 }, 'initial'],
    [{ initial: 4, min: 5 }, 'initial'],
    [{ initial: 19.5 }, 'initial'],
  ])('refuses %o by name', (options, name) => {
    expect(() => adaptive(options)).toThrow(RangeError)
    expect(() => adaptive(options)).toThrow(new RegExp(`^${name} must be`))
  })

  it('refuses options that it does not have', () => {
    const options: object = { inital: 20 }
    expect(() => adaptive(options)).toThrow('adaptive has no option "inital"; it knows initial, max, min')
    expect(() => adaptive(JSON.parse('null'))).toThrow(TypeError)
  })

  it('finds the knee, and tells what it knows', () => {
    const capacity = adaptive()
    const clock = manualClock()
    rounds(capacity, clock, 500, thirtyAtOnce)
    const late = rounds(capacity, clock, 500, thirtyAtOnce)
    const mean = late.reduce((sum, limit) => sum + limit, 0) / late.length
    expect(mean).toBeGreaterThan(30)
    expect(mean).toBeLessThan(45)
    const { durationMs, baselineMs } = capacity.snapshot()
    expect(baselineMs).toBeGreaterThanOrEqual(49)
    expect(baselineMs).toBeLessThan(60)
    expect(durationMs).toBeGreaterThanOrEqual(49)
    expect(durationMs).toBeLessThan(80)
  })

  it('climbs again where that may bring more, and not where its looks say that it brings nothing', () => {
    const climbs = (durationMs: (running: number) => number): number => {
      const capacity = adaptive({ max: 60 })
      const clock = manualClock()
      rounds(capacity, clock, 1_000, durationMs)
      let seen = 0
      for (const untilMs = clock() + 600_000; clock() < untilMs; ) {
        const before = capacity.snapshot().climbing
        rounds(capacity, clock, 1, durationMs)
        if (capacity.snapshot().climbing && !before) seen++
      }
      return seen
    }
    expect(climbs(() => 50)).toBeGreaterThan(5)
    expect(climbs(thirtyAtOnce)).toBeLessThanOrEqual(1)
  })

  it('counts slots, not requests', () => {
    const mean = (width: number): number => {
      const capacity = adaptive()
      const clock = manualClock()
      rounds(capacity, clock, 1_000, thirtyAtOnce, { width })
      const late = rounds(capacity, clock, 500, thirtyAtOnce, { width })
      return late.reduce((sum, limit) => sum + limit, 0) / late.length
    }
    for (const width of [0.5, 2, 3]) expect(mean(width) / mean(1)).toBeCloseTo(1, 0)
  })

  it('lets in alone what is wider than the limit, and never what is wider than it can be', () => {
    const capacity = adaptive({ initial: 4, max: 50 })
    expect(capacity.tryTake(51, 0)).toBe(false)
    expect(capacity.tryTake(50, 0)).toBe(true)
    expect(capacity.inFlight).toBe(50)
    expect(capacity.tryTake(1, 0)).toBe(false)
    capacity.release(50, 'success', 10, 10)
    expect(capacity.tryTake(1, 10)).toBe(true)
    expect(capacity.tryTake(4, 10)).toBe(false)
    expect(capacity.tryTake(3, 10)).toBe(true)
  })

  it('wakes waiting requests when the limit grows, with nothing else free', () => {
    const capacity = adaptive({ initial: 10 })
    const clock = manualClock()
    let running = 0
    let most = 0
    const fill = (): void => {
      while (capacity.tryTake(1, clock())) running++
      most = Math.max(most, running)
    }
    capacity.onAvailable(fill)
    fill()
    for (let i = 0; i < 20_000; i++) {
      clock.advance(50 / running)
      running--
      capacity.release(1, 'success', 50, clock())
      expect(running).toBeGreaterThanOrEqual(capacity.limit)
    }
    expect(most).toBeGreaterThan(500)
  })

  it('lets in more with time while somebody waits and nothing ends, and tells', () => {
    const capacity = adaptive()
    const clock = manualClock()
    const fill = (): void => {
      while (capacity.tryTake(1, clock()));
    }
    capacity.onAvailable(fill)
    fill()
    expect(capacity.inFlight).toBe(20)
    for (let i = 0; i < 50; i++) {
      clock.advance(100)
      capacity.wake(clock())
    }
    expect(capacity.inFlight).toBe(160)
    expect(capacity.snapshot().climbing).toBe(true)
  })

  it('learns nothing from what did not run', () => {
    const capacity = adaptive()
    const clock = manualClock()
    for (let i = 0; i < 1_000; i++) {
      let running = 0
      while (capacity.tryTake(1, clock())) running++
      clock.advance(10)
      while (running-- > 0) capacity.undo(1, clock())
    }
    expect(capacity.snapshot()).toMatchObject({ limit: 20, durationMs: undefined })
  })

  it('takes ignored requests for successes until one succeeds: streams that only clients end are no losses', () => {
    const [capacity, other] = [adaptive(), adaptive()]
    rounds(capacity, manualClock(), 5, () => 50)
    rounds(other, manualClock(), 5, () => 50, { outcome: 'ignored' })
    expect(other.snapshot()).toEqual(capacity.snapshot())
    const failing = adaptive()
    rounds(failing, manualClock(), 500, () => 50, { outcome: 'failure' })
    expect(failing.limit).toBe(20)
  })

  describe.each(['failure', 'ignored'] as const)('where requests time out, with the outcome %s', (outcome) => {
    /** 50 ms for up to `knee` requests at once, and in proportion to the number beyond; given up after 300 ms. */
    const until300 = (capacity: AdaptiveCapacity, clock: ReturnType<typeof manualClock>, knee: number): number[] =>
      Array.from({ length: 200 }, () => {
        const least = 50 * Math.max(1, capacity.limit / knee)
        return rounds(capacity, clock, 1, () => Math.min(300, least), least > 300 ? { outcome } : {})[0]!
      })

    it('comes down to where some succeed, and goes up again when all do', () => {
      const capacity = adaptive()
      const clock = manualClock()
      until300(capacity, clock, 30)
      const full = until300(capacity, clock, 3)
      expect(full.at(-1)).toBeLessThanOrEqual(18)
      until300(capacity, clock, 30)
      const late = until300(capacity, clock, 30)
      expect(Math.min(...late)).toBeGreaterThan(20)
      expect(Math.max(...late)).toBeLessThan(60)
    })

    it('halves once for what was in flight, and climbs again when that has ended', () => {
      const capacity = adaptive({ initial: 64, max: 64 })
      const clock = manualClock()
      rounds(capacity, clock, 20, () => 50)
      const limits = rounds(capacity, clock, 4, () => 1_000, { outcome })
      expect(limits[1]).toBe(limits[0]! >> 1)
      expect(limits[2]).toBe(limits[1])
      rounds(capacity, clock, 100, () => 50)
      expect(capacity.limit).toBe(64)
    })

    it('does not come down where some do so, whatever the limit', () => {
      const capacity = adaptive()
      const clock = manualClock()
      const ends: Outcome[][] = Array.from({ length: 31_000 }, () => [])
      for (let ms = 0, started = 0; ms < 30_000; ms += 10) {
        for (const end of ends[ms]!) capacity.release(1, end, end === 'success' ? 50 : 300, clock())
        for (; capacity.tryTake(1, clock()); started++) {
          const succeeds = started % 2 === 0
          ends[ms + (succeeds ? 50 : 300)]!.push(succeeds ? 'success' : outcome)
        }
        clock.advance(10)
      }
      expect(capacity.limit).toBeGreaterThan(500)
    })
  })

  it.each(['failure', 'ignored'] as const)(
    'takes a fast end without success for as slow as the others: %s',
    (outcome) => {
      const capacity = adaptive({ initial: 50, max: 50 })
      const clock = manualClock()
      rounds(capacity, clock, 20, () => 50)
      expect(capacity.snapshot().durationMs).toBeCloseTo(50, 9)
      for (let i = 0; i < 200; i++) {
        rounds(capacity, clock, 1, () => 50)
        for (let j = 0; j < 500; j++) {
          capacity.tryTake(1, clock())
          clock.advance(0.1)
          capacity.release(1, outcome, 0.1, clock())
        }
      }
      expect(capacity.snapshot().durationMs).toBeCloseTo(50, 9)
    },
  )

  it('takes a clock that jumps back, or is no number, for no time passed', () => {
    const [steady, jumping] = [adaptive(), adaptive()]
    const clock = manualClock(1_000_000)
    let offsetMs = 0
    for (let i = 0; i < 5_000; i++) {
      for (const [capacity, nowMs] of [
        [steady, clock()],
        [jumping, clock() - offsetMs],
      ] as const)
        while (capacity.tryTake(1, nowMs));
      clock.advance(1)
      for (const [capacity, nowMs] of [
        [steady, clock()],
        [jumping, clock() - offsetMs],
      ] as const)
        capacity.release(1, 'success', 20, nowMs)
      if (i % 100 === 0) {
        offsetMs += 12_345
        jumping.tryTake(1, clock() - offsetMs)
      }
    }
    expect(jumping.snapshot()).toEqual(steady.snapshot())
    jumping.release(1, 'success', Number.NaN, Number.POSITIVE_INFINITY)
    jumping.release(1, 'success', -1, Number.NaN)
    while (jumping.inFlight > 0) jumping.undo(1, clock())
    const { limit } = jumping
    rounds(jumping, clock, 500, thirtyAtOnce)
    expect(jumping.limit).not.toBe(limit)
    expect(jumping.snapshot().durationMs).toBeGreaterThan(40)
    expect(jumping.snapshot().durationMs).toBeLessThan(100)
  })

  it('recovers from a machine that slept', () => {
    const capacity = adaptive()
    const clock = manualClock()
    rounds(capacity, clock, 500, thirtyAtOnce)
    rounds(capacity, clock, 1, () => 36e5)
    rounds(capacity, clock, 3_000, thirtyAtOnce)
    expect(capacity.limit).toBeGreaterThan(25)
    expect(capacity.limit).toBeLessThan(50)
  })

  it('never leaves its range, nor loses count, whatever happens', () => {
    const step = fc.record({
      take: fc.nat(40),
      width: fc.constantFrom(0.25, 1, 1, 2, 7),
      end: fc.nat(40),
      undo: fc.boolean(),
      outcome: fc.constantFrom(...outcomes),
      durationMs: fc.oneof(fc.double(), fc.double({ min: 0, max: 1_000 })),
      elapsedMs: fc.oneof(fc.double({ min: -1e3, max: 1e3 }), fc.double({ min: 0, max: 1e5 }), fc.double()),
    })
    const range = fc.tuple(fc.integer({ min: 1, max: 10 }), fc.nat(20)).map(([min, more]) => ({ min, max: min + more }))
    let least = 0
    let largest = 0
    fc.assert(
      fc.property(range, fc.array(step, { minLength: 20, maxLength: 150 }), ({ min, max }, steps) => {
        const capacity = adaptive({ min, max })
        const running: number[] = []
        let nowMs = 0
        for (const { take, width, end, undo, outcome, durationMs, elapsedMs } of steps) {
          for (let i = 0; i < take; i++) {
            // The limit may change with time alone.
            capacity.wake(nowMs)
            const alone = running.length === 0
            const fits = alone ? width <= max : capacity.inFlight + width <= capacity.limit
            // A thousand `expect`s would take longer than what they look at.
            if (capacity.tryTake(width, nowMs) !== fits) expect.fail(`${width} of ${max}: ${fits} expected`)
            if (fits) running.push(width)
          }
          nowMs += elapsedMs
          for (let i = 0; i < end; i++) {
            const width = running.shift()
            if (width === undefined) break
            if (undo) capacity.undo(width, nowMs)
            else capacity.release(width, outcome, durationMs, nowMs)
          }
          expect(capacity.limit).toBeGreaterThanOrEqual(min)
          expect(capacity.limit).toBeLessThanOrEqual(max)
          expect(Number.isInteger(capacity.limit)).toBe(true)
          expect(capacity.inFlight).toBe(running.reduce((sum, width) => sum + width, 0))
          if (capacity.limit === min) least++
          if (capacity.limit === max) largest++
        }
      }),
      { numRuns: byWidth(50, 100) },
    )
    expect(least).toBeGreaterThan(0)
    expect(largest).toBeGreaterThan(0)
  })
})
