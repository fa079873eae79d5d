import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import { logistic } from './curve.js'
import { bench, identity } from './fixtures/bench.js'
import { LoadShedder } from './load-shedder.js'
import type { LoadSignal, SignalHost } from './signal.js'

describe('sampling', () => {
  it('happens on the first call after the period, however long ago that was', () => {
    const { clock, shedder, state } = bench()
    for (const [ms, reads] of [
      [99, 0],
      [1, 1],
      [0, 1],
      [60_000, 2],
      [99, 2],
    ] as const) {
      clock.advance(ms)
      shedder.tryAdmit()
      expect(state.reads).toBe(reads)
    }
  })

  it('samples after silence before it decides', () => {
    const { clock, shedder, state } = bench()
    clock.advance(60_000)
    state.load = 1
    expect(shedder.tryAdmit().admitted).toBe(false)
  })

  it('is twice as frequent until three samples have taught something', () => {
    const { clock, shedder, state } = bench({ kind: 'reserved' })
    const readAtMs: number[] = []
    for (let ms = 10; ms <= 500; ms += 10) {
      clock.advance(10)
      const { reads } = state
      shedder.tryAdmit()
      if (state.reads > reads) readAtMs.push(ms)
    }
    expect(readAtMs).toEqual([50, 100, 150, 250, 350, 450])
  })

  it('reads a live signal at each decision', () => {
    const { shedder, state } = bench({ kind: 'live' })
    for (let i = 0; i < 3; i++) shedder.tryAdmit()
    expect(state.reads).toBe(3)
  })

  it('reads a live signal that stands until a time again at that time, and at each decision while it refuses some', () => {
    const state = { load: 0, reads: 0, standsUntilMs: 10 }
    const signal: LoadSignal = {
      name: 'load',
      kind: 'live',
      curve: logistic({ from: 0.5, to: 0.9 }),
      get standsUntilMs() {
        return state.standsUntilMs
      },
      read: () => {
        state.reads++
        return state.load
      },
    }
    const clock = manualClock(5)
    const shedder = new LoadShedder({ signals: [signal], clock, random: () => 0 })
    for (let i = 0; i < 100; i++) shedder.tryAdmit()
    expect(state.reads).toBe(1)
    clock.advance(5)
    state.standsUntilMs = 20
    state.load = 0.7
    expect(shedder.tryAdmit().admitted).toBe(false)
    expect(state.reads).toBe(2)
    shedder.tryAdmit()
    expect(state.reads).toBe(3)
  })

  it('obeys a new curve at once, of a signal that does not say until when the curve stands', () => {
    const signal = { name: 'load', kind: 'sampled' as const, curve: logistic({ from: 0.5, to: 0.9 }), read: () => 0.2 }
    const shedder = new LoadShedder({ signals: [signal], clock: manualClock(5), random: () => 0 })
    expect(shedder.tryAdmit().admitted).toBe(true)
    signal.curve = logistic({ from: 0.05, to: 0.1 })
    expect(shedder.tryAdmit().admitted).toBe(false)
  })

  it('decides at once by a reading that comes by itself, however calm it was', () => {
    const hosts: SignalHost[] = []
    const curve = logistic({ from: 0.5, to: 0.9 })
    const signal: LoadSignal = { name: 'load', curve, read: () => 0.1, attach: (host) => hosts.push(host) }
    const shedder = new LoadShedder({ signals: [signal], clock: manualClock(5), random: () => 0 })
    for (let i = 0; i < 10; i++) expect(shedder.tryAdmit().admitted).toBe(true)
    hosts[0]!.collected(0.8)
    expect(shedder.tryAdmit().admitted).toBe(false)
  })

  it('takes no sample from a clock that jumps back, and goes on from there', () => {
    const { clock, shedder, state } = bench()
    clock.advance(-4_000)
    shedder.tryAdmit()
    expect(state.reads).toBe(0)
    clock.advance(100)
    shedder.tryAdmit()
    expect(state.reads).toBe(1)
  })

  it('starts nothing and reads nothing when it is made or looked at', () => {
    const { shedder, state } = bench()
    shedder.snapshot()
    expect(state.reads).toBe(0)
  })

  it('refuses exactly those who meet a load that refuses, however calm it was', () => {
    const burst = fc.record({
      rise: fc.double({ min: -0.2, max: 0.2, noNaN: true }),
      asks: fc.integer({ min: 0, max: 60 }),
      finishes: fc.double({ min: 0, max: 1, noNaN: true }),
      collected: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.array(burst, { minLength: 5, maxLength: 40 }),
        fc.constantFrom(-2, -1, 0, 1, 2),
        (bursts, priority) => {
          let host: SignalHost | undefined
          const clock = manualClock(5_000)
          let load = 0.1
          const signal: LoadSignal = {
            name: 'load',
            curve: logistic({ from: 0.5, to: 0.9 }),
            read: () => load,
            attach: (one) => {
              host = one
            },
          }
          const shedder = new LoadShedder({ signal, trickleMs: 1e9, clock, random: () => 0 })
          const running: (() => void)[] = []
          shedder.tryAdmit()
          for (const { rise, asks, finishes, collected } of bursts) {
            load = Math.min(1, Math.max(0, load + rise))
            if (collected) host?.push(0.9 * load)
            clock.advance(100)
            // The first decision takes the reading; then only the requests in flight change.
            for (let i = 0; i < asks; i++) {
              const chance = shedder.snapshot().signals[0]?.probabilities[priority + 2] ?? 0
              const decision = shedder.tryAdmit({ priority })
              if (i > 0) expect(decision.admitted).toBe(chance === 0)
              if (decision.admitted) running.push(decision.finish)
            }
            for (const finish of running.splice(0, Math.floor(finishes * running.length))) finish()
          }
        },
      ),
      { numRuns: byWidth(25, 100) },
    )
  })

  it('reserves what was let in since', () => {
    const { clock, shedder, state, signal } = bench({ kind: 'reserved' })
    for (let sample = 1; sample <= 20; sample++) {
      for (let i = 0; i < 10; i++) shedder.tryAdmit()
      state.load = sample * 0.01
      clock.advance(100)
    }
    shedder.tryAdmit()
    for (let i = 0; i < 100; i++) shedder.tryAdmit()
    expect(signal()).toMatchObject({ observed: 0.2, growth: expect.closeTo(0.001, 4) })
    expect(signal()?.reserved).toBeCloseTo(0.1, 2)
    expect(signal()?.load).toBeCloseTo(0.3, 2)
  })
})

describe('a pushed reading', () => {
  it('counts from when it was taken, and the timed one bounds it', () => {
    const clock = manualClock()
    let host: SignalHost | undefined
    let used = 0.9
    const shedder = new LoadShedder({
      signal: {
        name: 'heap',
        limit: 1,
        curve: identity,
        read: () => used,
        attach: (given) => {
          host = given
        },
      },
      clock,
      random: () => 0,
    })
    const load = () => {
      shedder.tryAdmit()
      return shedder.snapshot().signals[0]?.load
    }
    expect(load()).toBe(0.9)
    clock.advance(10)
    host?.push(0.6)
    expect(load()).toBe(0.6)
    clock.advance(15)
    expect(shedder.tryAdmit()).toMatchObject({ detail: { load: 0.6, ageMs: 15 } })
    clock.advance(100)
    used = 0.5
    expect(load()).toBe(0.5)
    for (const bad of [Number.NaN, -1, Number.POSITIVE_INFINITY]) host?.push(bad)
    expect(load()).toBe(0.5)
    expect(shedder.snapshot().signals[0]).toMatchObject({ badSamples: 3 })
  })
})

describe.each(['push', 'collected'] as const)('a reading that arrives by %s', (how) => {
  it('comes after all requests before it, even if nobody asked for the state meanwhile', () => {
    // A snapshot counts the requests so far; a shedder must not need one.
    const [once, watched] = [false, true].map((isWatched) => {
      const clock = manualClock()
      let host: SignalHost | undefined
      const attach = (given: SignalHost): void => {
        host = given
      }
      const signal: LoadSignal = { name: 'memory', curve: identity, attach, read: () => 0.5 }
      const shedder = new LoadShedder({ signals: [signal], clock, random: () => 0.999 })
      const ends: (() => void)[] = []
      for (let i = 0; i < 60; i++) {
        clock.advance(20)
        for (let asked = 0; asked <= i % 4; asked++) {
          const decision = shedder.tryAdmit()
          if (decision.admitted) ends.push(decision.finish)
        }
        if (i % 3 === 0) ends.shift()?.()
        if (isWatched) shedder.snapshot()
        if (i % 5 === 0) host?.[how](0.2 + 0.002 * ends.length + 0.001 * (i % 7))
      }
      return shedder.snapshot().signals
    })
    expect(once).toEqual(watched)
  })
})

describe('what was let in since a pushed reading', () => {
  it('is reserved too, at the size learned from pushed readings', () => {
    const clock = manualClock()
    let host: SignalHost | undefined
    const attach = (given: SignalHost): void => {
      host = given
    }
    const signal: LoadSignal = { name: 'heap', limit: 1, curve: identity, read: () => 0.99, attach }
    const shedder = new LoadShedder({ signal, clock, random: () => 0.999 })
    const admit = (count: number) => Array.from({ length: count }, () => shedder.tryAdmit())
    for (let push = 0; push <= 10; push++) {
      host?.push(0.3 + push * 0.02)
      admit(20)
    }
    host?.push(0.5)
    const admitted = admit(100)
    shedder.tryAdmit()
    expect(shedder.snapshot().signals[0]?.load).toBeCloseTo(0.6, 1)
    for (const decision of admitted) if (decision.admitted) decision.finish()
    shedder.tryAdmit()
    expect(shedder.snapshot().signals[0]?.load).toBeLessThan(0.57)
  })
})

describe('a broken meter', () => {
  const breakdowns: [string, () => number][] = [
    [
      'throws',
      () => {
        throw new Error('no such file')
      },
    ],
    [
      'throws what is no error',
      () => {
        throw Object.create(null)
      },
    ],
    ['is NaN', () => Number.NaN],
    ['is infinite', () => Number.POSITIVE_INFINITY],
    ['is negative', () => -0.001],
  ]

  it.each(breakdowns)('that %s changes nothing but the age for a while, then refuses nothing', (_, broken) => {
    let read = () => 0.7
    const clock = manualClock()
    const curve = logistic({ from: 0.5, to: 0.9 })
    const shedder = new LoadShedder({
      signals: [{ name: 'meter', kind: 'sampled', curve, read: () => read() }],
      clock,
      random: () => 0.49,
      trickleMs: 1e9,
    })
    shedder.tryAdmit()
    read = broken
    for (let sample = 1; sample <= 9; sample++) {
      clock.advance(100)
      expect(shedder.tryAdmit()).toMatchObject({ admitted: false, detail: { load: 0.7, ageMs: sample * 100 } })
    }
    expect(shedder.snapshot().signals[0]).toMatchObject({ badSamples: 9, stale: false })
    clock.advance(100)
    expect(shedder.tryAdmit().admitted).toBe(true)
    const after = shedder.snapshot().signals[0]
    expect(after).toMatchObject({ badSamples: 10, stale: true, probability: 0, load: null, observed: 0.7 })
    expect(after?.problem).toMatch(/^(read threw: no such file|bad sample: .+)$/)
    read = () => 0.7
    clock.advance(100)
    expect(shedder.tryAdmit().admitted).toBe(false)
    expect(shedder.snapshot().signals[0]).toMatchObject({ stale: false, problem: null, badSamples: 10 })
  })

  it('goes on reserving', () => {
    const { clock, shedder, state, signal } = bench({ kind: 'reserved' })
    for (let sample = 1; sample <= 20; sample++) {
      for (let i = 0; i < 10; i++) shedder.tryAdmit()
      state.load = sample * 0.01
      clock.advance(100)
    }
    shedder.tryAdmit()
    state.load = Number.NaN
    for (let i = 0; i < 100; i++) {
      clock.advance(5)
      shedder.tryAdmit()
    }
    expect(signal()?.load).toBeCloseTo(0.3, 2)
  })

  it('that never worked refuses nothing, and is called stale after ten periods', () => {
    const { clock, shedder, state, signal } = bench()
    const never = new LoadShedder({ signal: () => Number.NaN, from: 0.1, to: 0.2, clock, random: () => 0 })
    for (let ms = 0; ms <= 900; ms += 50) {
      expect(never.tryAdmit().admitted).toBe(true)
      expect(never.snapshot().signals[0]).toMatchObject({ stale: false, observed: null, ageMs: null })
      clock.advance(50)
    }
    clock.advance(100)
    never.tryAdmit()
    expect(never.snapshot().signals[0]?.stale).toBe(true)
    expect(signal()?.stale).toBe(false)
    expect(state.reads + shedder.snapshot().refused).toBe(0)
  })

  it('leaves the other signals alone', () => {
    const shedder = new LoadShedder({
      signals: [
        { name: 'broken', kind: 'live', curve: identity, read: () => Number.NaN },
        { name: 'good', kind: 'live', curve: identity, read: () => 0.6 },
      ],
      clock: manualClock(),
      random: () => 0.5,
    })
    shedder.tryAdmit()
    expect(shedder.tryAdmit()).toMatchObject({ admitted: false, detail: { signal: 'good' } })
  })
})
