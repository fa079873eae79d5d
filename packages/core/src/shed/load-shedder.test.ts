import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import { seededRandom } from '../testing/seeded-random.js'
import { linear, logistic } from './curve.js'
import { bench, identity, passage, undo } from './fixtures/bench.js'
import { LoadShedder } from './load-shedder.js'
import type { LoadSignal } from './signal.js'

describe('LoadShedder', () => {
  it('admits everything below the range, nothing from its top on, and by one draw in between', () => {
    const { clock, shedder, state } = bench({ curve: identity })
    for (const [load, draw, admitted] of [
      [0, 0, true],
      [0.3, 0.3, true],
      [0.3, 0.299, false],
      [0.999, 0.9989, false],
      [1, 0.999_999, false],
    ] as const) {
      clock.advance(100)
      Object.assign(state, { load, draw })
      expect(shedder.tryAdmit().admitted).toBe(admitted)
    }
  })

  it('hears the rejection of a chance that is async by mistake: it would end the process', async () => {
    const rejecting: object = { random: () => Promise.reject(new Error('no chance')) }
    const shedder = new LoadShedder({ signal: () => 0.6, from: 0.5, to: 0.9, clock: manualClock(), ...rejecting })
    for (let i = 0; i < 10; i++) expect(shedder.tryAdmit().admitted).toBe(true)
    await new Promise((resolve) => setImmediate(resolve))
  })

  it('refuses the share that the curve says', () => {
    const shedder = new LoadShedder({
      signal: () => 0.6,
      curve: linear({ from: 0.5, to: 0.9 }),
      clock: manualClock(),
      random: seededRandom(1),
    })
    for (let i = 0; i < 20_000; i++) shedder.tryAdmit()
    // Without reservation: with nothing learned there is nothing to add.
    expect(shedder.snapshot().refused / 20_000).toBeCloseTo(0.25, 2)
  })

  it('explains a refusal', () => {
    const { clock, shedder, state } = bench({ curve: identity })
    clock.advance(100)
    Object.assign(state, { load: 0.75, draw: 0 })
    shedder.tryAdmit()
    clock.advance(40)
    expect(shedder.tryAdmit()).toEqual({
      admitted: false,
      stage: 'shed',
      reason: 'overload',
      shortage: true,
      retryAfterMs: 4_000,
      detail: { signal: 'load', load: 0.75, reserved: 0, probability: 0.75, ageMs: 40 },
    })
  })

  it('sends clients away for longer the more it refuses, from one to five seconds', () => {
    const retries = [0.01, 0.5, 1].map((load) => {
      const { clock, shedder, state } = bench({ curve: identity })
      clock.advance(100)
      Object.assign(state, { load, draw: 0 })
      const decision = shedder.tryAdmit()
      return decision.admitted ? Number.NaN : decision.retryAfterMs
    })
    expect(retries).toEqual([1_040, 3_000, 5_000])
  })

  it('gives up low priorities first and high ones last', () => {
    const { clock, shedder, state } = bench({ curve: logistic({ from: 0.5, to: 0.9 }) })
    clock.advance(100)
    state.load = 0.8
    const admitted = [-2, -1, 0, 1, 2].filter((priority) => shedder.tryAdmit({ priority }).admitted)
    expect(admitted).toEqual([1, 2])
  })

  it('spares a flow with credit, except at the top', () => {
    const { clock, shedder, state } = bench({ curve: logistic({ from: 0.5, to: 0.9 }) })
    clock.advance(100)
    Object.assign(state, { load: 0.72, draw: 0.4 })
    expect(shedder.tryAdmit({ credit: 1 }).admitted).toBe(true)
    expect(shedder.tryAdmit({ credit: 0.9 }).admitted).toBe(false)
    expect(shedder.tryAdmit().admitted).toBe(false)
    clock.advance(100)
    state.load = 0.9
    expect(shedder.tryAdmit({ credit: 50 }).admitted).toBe(false)
  })

  it('never refuses what is exempt, and counts it', () => {
    const { clock, shedder, state } = bench({ curve: identity })
    clock.advance(100)
    Object.assign(state, { load: 1, draw: 0 })
    const decision = shedder.tryAdmit({ exempt: true })
    expect(decision.admitted).toBe(true)
    expect(shedder.snapshot()).toMatchObject({ admitted: 2, inFlight: 2, exempted: 1, refused: 0 })
    if (decision.admitted) decision.finish()
    expect(shedder.snapshot()).toMatchObject({ finished: 1, inFlight: 1 })
  })

  it('rejects a request that is none', () => {
    const { shedder } = bench()
    expect(() => shedder.tryAdmit({ priority: 3 })).toThrow('priority must be an integer from -2 to 2, got 3')
    expect(() => shedder.tryAdmit({ priority: 0.5 })).toThrow('priority must be an integer from -2 to 2, got 0.5')
  })

  it('lets one in when none has been for a second, exempt ones not counting', () => {
    const { clock, shedder, state } = bench({ curve: identity, trickleMs: 1_000 })
    Object.assign(state, { load: 1, draw: 0 })
    clock.advance(999)
    expect(shedder.tryAdmit({ exempt: true }).admitted).toBe(true)
    expect(shedder.tryAdmit().admitted).toBe(false)
    clock.advance(1)
    expect(shedder.tryAdmit().admitted).toBe(true)
    expect(shedder.tryAdmit().admitted).toBe(false)
    expect(shedder.snapshot().trickled).toBe(1)
  })

  it('meets the largest of several probabilities, and draws once', () => {
    const loads = { memory: 0.2, loop: 0.6 }
    let draws = 0
    const clock = manualClock()
    const shedder = new LoadShedder({
      signals: [
        { name: 'memory', kind: 'live', curve: identity, read: () => loads.memory },
        { name: 'loop', kind: 'live', curve: identity, read: () => loads.loop },
      ],
      clock,
      random: () => {
        draws++
        return 0.5
      },
    })
    shedder.tryAdmit()
    draws = 0
    expect(shedder.tryAdmit()).toMatchObject({ detail: { signal: 'loop', probability: 0.6 } })
    Object.assign(loads, { memory: 0.7, loop: 0.1 })
    expect(shedder.tryAdmit()).toMatchObject({ detail: { signal: 'memory', probability: 0.7 } })
    expect(draws).toBe(2)
    loads.memory = 0.4
    expect(shedder.tryAdmit().admitted).toBe(true)
  })
})

describe('as a stage', () => {
  it('takes the time from the passage, and hands out one hold for all', () => {
    let clockReads = 0
    const clock = () => {
      clockReads++
      return 0
    }
    const ageing: number[] = []
    const curve = logistic({ from: 0.5, to: 0.9 })
    const shedder = new LoadShedder({
      signal: { name: 'load', kind: 'sampled', curve, read: (nowMs) => ageing.push(nowMs) * 0 },
      clock,
    })
    clockReads = 0
    const holds = [0, 50, 100, 250].map((nowMs) => shedder.admit(passage({ nowMs })))
    expect(new Set(holds).size).toBe(1)
    expect(ageing).toEqual([0, 100, 250])
    expect(clockReads).toBe(0)
    expect(shedder.name).toBe('shed')
  })

  it('counts a finish with any outcome, and an undone admission as none', () => {
    const shedder = new LoadShedder({ signal: () => 0, from: 0.5, to: 0.9, clock: manualClock() })
    for (const outcome of ['success', 'failure', 'ignored'] as const) {
      const hold = shedder.admit(passage())
      if (!('admitted' in hold)) hold.finish(outcome, 1, 0)
    }
    undo(shedder, 0)
    expect(shedder.snapshot()).toMatchObject({ admitted: 4, finished: 3, inFlight: 0 })
  })

  it('reserves nothing for what was undone', () => {
    const { clock, shedder, state, signal } = bench({ kind: 'reserved' })
    for (let sample = 1; sample <= 20; sample++) {
      for (let i = 0; i < 10; i++) shedder.tryAdmit()
      state.load = sample * 0.01
      clock.advance(100)
    }
    shedder.tryAdmit()
    for (let i = 0; i < 100; i++) {
      undo(shedder, clock())
    }
    expect(signal()?.reserved).toBeCloseTo(0.001, 4)
  })

  it('is told of rank by the passage', () => {
    const curve = logistic({ from: 0.5, to: 0.9 })
    const signal: LoadSignal = { name: 'load', kind: 'live', curve, read: () => 0.72 }
    const shedder = new LoadShedder({ signal, clock: manualClock(), random: () => 0.4 })
    shedder.admit(passage())
    expect(shedder.admit(passage())).toMatchObject({ admitted: false })
    expect(shedder.admit(passage({ credit: 2 }))).not.toHaveProperty('admitted')
    expect(shedder.admit(passage({ priority: 1 }))).not.toHaveProperty('admitted')
    expect(shedder.admit(passage({ exempt: true }))).not.toHaveProperty('admitted')
  })

  it('closes its signals', () => {
    let closed = 0
    const signal: LoadSignal = { name: 'load', curve: identity, read: () => 0, close: () => closed++ }
    new LoadShedder({ signal }).close()
    expect(closed).toBe(1)
  })
})

describe('counts', () => {
  it('survive ten thousand double finishes', () => {
    const shedder = new LoadShedder({ signal: () => 0, from: 0.5, to: 0.9, clock: manualClock() })
    for (let i = 0; i < 10_000; i++) {
      const decision = shedder.tryAdmit()
      if (!decision.admitted) continue
      decision.finish()
      decision.finish()
    }
    expect(shedder.snapshot()).toMatchObject({ admitted: 10_000, finished: 10_000, inFlight: 0 })
  })

  it('ignore a second finish of one request, even with others in flight', () => {
    const shedder = new LoadShedder({ signal: () => 0, from: 0.5, to: 0.9, clock: manualClock() })
    const [one] = [shedder.tryAdmit(), shedder.tryAdmit()]
    if (one?.admitted) one.finish()
    if (one?.admitted) one.finish()
    expect(shedder.snapshot()).toMatchObject({ finished: 1, inFlight: 1 })
  })

  it('survive a hold that is finished more often than it was handed out', () => {
    const shedder = new LoadShedder({ signal: () => 0, from: 0.5, to: 0.9, clock: manualClock() })
    const hold = shedder.admit(passage())
    for (let i = 0; i < 3; i++) if (!('admitted' in hold)) hold.finish('success', 1, 0)
    undo(shedder, 0)
    expect(shedder.snapshot()).toMatchObject({ finished: 1, inFlight: 0 })
  })

  it('are never negative, and nothing is in flight at rest', () => {
    const steps = fc.array(fc.constantFrom('admit', 'finish', 'again', 'undo', 'wait', 'break'), { maxLength: 300 })
    fc.assert(
      fc.property(steps, fc.integer(), (list, seed) => {
        const clock = manualClock()
        const random = seededRandom(seed)
        let broken = false
        const read = () => (broken ? Number.NaN : random())
        const shedder = new LoadShedder({ signal: read, from: 0.5, to: 0.9, clock, random })
        const permits: { finish(): void }[] = []
        for (const one of list) {
          if (one === 'admit') {
            const decision = shedder.tryAdmit()
            if (decision.admitted) permits.push(decision)
          } else if (one === 'finish') permits.shift()?.finish()
          else if (one === 'again') permits[0]?.finish()
          else if (one === 'undo') undo(shedder, clock())
          else if (one === 'wait') clock.advance(60)
          else broken = !broken
          const { inFlight, signals } = shedder.snapshot()
          expect(inFlight).toBeGreaterThanOrEqual(0)
          expect(signals[0]?.reserved).toBeGreaterThanOrEqual(0)
        }
        for (const permit of permits) permit.finish()
        expect(shedder.snapshot().inFlight).toBe(0)
      }),
    )
  })

  it('are plain JSON', () => {
    const { shedder } = bench()
    const snapshot = shedder.snapshot()
    expect(JSON.parse(JSON.stringify(snapshot))).toEqual(snapshot)
  })
})

describe('options', () => {
  const signal: LoadSignal = { name: 'memory', curve: identity, read: () => 0 }
  // Mistakes that the type checker would catch.
  const wrong: [string, object, string][] = [
    ['none', {}, 'shed needs either signal or signals, got neither'],
    ['both', { signal, signals: [signal] }, 'shed needs either signal or signals, got both'],
    ['both, one a function', { signal: () => 0, signals: [signal] }, 'shed needs either signal or signals, got both'],
    ['unknown', { signal, sampelEveryMs: 5 }, 'shed has no option "sampelEveryMs"'],
    ['no range', { signal: () => 0 }, 'from must be a number >= 0, got undefined'],
    ['no top', { signal: () => 0, from: 1 }, 'to must be a number >= 0, got undefined'],
    ['NaN', { signal: () => 0, from: Number.NaN, to: 1 }, 'from must be a number >= 0, got NaN'],
    ['negative', { signal: () => 0, from: -1, to: 1 }, 'from must be a number >= 0, got -1'],
    ['a string', { signal: () => 0, from: '1', to: 1 }, 'from must be a number >= 0, got "1"'],
    ['upside down', { signal: () => 0, from: 2, to: 1 }, 'from must be below to, got 2 and 1'],
    ['range and curve', { signal: () => 0, from: 0, to: 1, curve: identity }, 'curve has its own from and to'],
    ['a range for a signal', { signal, from: 1, to: 2 }, 'from goes with a signal that is a function'],
    ['a curve for signals', { signals: [signal], curve: identity }, 'curve goes with a signal that is a function'],
    ['no curve', { signal: () => 0, curve: 'logistic' }, 'curve must be a curve: { from, to, probability }'],
    ['a curve of nothing', { signal: () => 0, curve: {} }, 'curve.from must be a number >= 0, got undefined'],
    ['no signals', { signals: [] }, 'signals must be an array of at least one signal'],
    ['not an array', { signals: signal }, 'signals must be an array of at least one signal, got an object'],
    ['no signal', { signals: [null] }, 'signals[0] must be a signal: { name, curve, read }, got null'],
    ['no name', { signal: { ...signal, name: '' } }, 'signal.name must be a non-empty string, got ""'],
    ['no read', { signal: { ...signal, read: 5 } }, 'signal.read must be a function, got 5'],
    ['a bad kind', { signal: { ...signal, kind: 'lively' } }, 'signal.kind must be one of "reserved"'],
    ['a bad limit', { signal: { ...signal, limit: 0 } }, 'signal.limit must be a number > 0, got 0'],
    ['twice the name', { signals: [signal, { ...signal }] }, 'signals[1].name must be unique, got "memory"'],
    ['a bad period', { signal, sampleEveryMs: 0 }, 'sampleEveryMs must be a number >= 1, got 0'],
    ['an endless period', { signal, sampleEveryMs: Number.POSITIVE_INFINITY }, 'sampleEveryMs must be a number >= 1'],
    ['a bad trickle', { signal, trickleMs: 0 }, 'trickleMs must be a number > 0, got 0'],
    ['a bad clock', { signal, clock: 5 }, 'clock must be a function, got 5'],
    ['a bad random', { signal, random: 0.5 }, 'random must be a function, got 0.5'],
  ]

  it.each(wrong)('are refused by name and value: %s', (_, options, message) => {
    expect(() => new LoadShedder(options)).toThrow(message)
  })

  it('may be a function with a range, or with a curve of its own', () => {
    for (const options of [{ from: 10, to: 20 }, { curve: linear({ from: 10, to: 20 }) }]) {
      const shedder = new LoadShedder({ signal: () => 20, ...options, clock: manualClock() })
      shedder.tryAdmit()
      expect(shedder.tryAdmit()).toMatchObject({ admitted: false, detail: { signal: 'signal', load: 20 } })
    }
  })

  it('may all be left at their defaults', () => {
    const decision = new LoadShedder({ signal: () => 0, from: 1, to: 2 }).tryAdmit()
    expect(decision.admitted).toBe(true)
  })
})
