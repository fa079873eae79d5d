import { describe, expect, it } from 'vitest'
import { logistic } from '../shed/curve.js'
import { LoadShedder } from '../shed/load-shedder.js'
import { manualClock } from '../testing/manual-clock.js'
import { type EventLoopDelayOptions, eventLoopDelaySignal, eventLoopUtilizationSignal } from './index.js'

/** A shedder on an event loop that the test turns manually. */
function loop(options: EventLoopDelayOptions = {}) {
  const clock = manualClock(1_000)
  const timers: { atMs: number; fn: () => void }[] = []
  const state = { activeMs: 0, waitedMs: 0, throttledMs: 0, draw: 0.999_999 }
  const signal = eventLoopDelaySignal({
    after(ms, fn) {
      const timer = { atMs: clock() + ms, fn }
      timers.push(timer)
      return () => {
        if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1)
      }
    },
    activeMs: () => state.activeMs,
    waitedMs: () => state.waitedMs,
    throttledMs: () => state.throttledMs,
    ...options,
  })
  const shedder = new LoadShedder({ signal, clock, random: () => state.draw, trickleMs: 1e9 })
  /** Keeps the loop busy for `ms`; then all due timers run. */
  const block = (ms: number): void => {
    clock.advance(ms)
    state.activeMs += ms
    for (const timer of timers.filter(({ atMs }) => atMs <= clock())) {
      timers.splice(timers.indexOf(timer), 1)
      timer.fn()
    }
  }
  /** Other processes have the processor for `ms`: due timers wait. */
  const steal = (ms: number): void => {
    clock.advance(ms)
    state.activeMs += ms
    state.waitedMs += ms
  }
  /** The loop turns freely. */
  const idle = (ms: number): void => {
    for (let passed = 0; passed < ms; passed++) {
      clock.advance(1)
      for (const timer of timers.filter(({ atMs }) => atMs <= clock())) {
        timers.splice(timers.indexOf(timer), 1)
        timer.fn()
      }
    }
  }
  const delay = () => {
    shedder.tryAdmit({ exempt: true })
    return shedder.snapshot().signals[0]?.load
  }
  const range = () => [signal.curve.from, signal.curve.to]
  return { clock, timers, state, signal, shedder, block, steal, idle, delay, range }
}

describe('eventLoopDelaySignal', () => {
  it('starts its heart at the first decision, and none before', () => {
    const { timers, shedder, delay } = loop()
    shedder.snapshot()
    expect(timers).toHaveLength(0)
    expect(delay()).toBe(0)
    expect(delay()).toBe(0)
    expect(timers).toHaveLength(1)
  })

  it('says nothing of a loop that turns freely', () => {
    const { idle, delay } = loop()
    delay()
    for (let i = 0; i < 20; i++) {
      idle(17)
      expect(delay()).toBe(0)
    }
  })

  it('smooths how late the beats are', () => {
    const { block, delay } = loop()
    delay()
    block(110)
    expect(delay()).toBeCloseTo(0.2 * 100, 12)
    block(60)
    expect(delay()).toBeCloseTo(20 + 0.2 * (50 - 20), 12)
    block(10)
    expect(delay()).toBeCloseTo(26 * 0.8, 12)
  })

  it('counts a beat that is overdue as if it came now, within the turn that makes it late', () => {
    const { clock, block, delay } = loop()
    delay()
    const during = [60, 100, 100].map((ms) => {
      clock.advance(ms)
      return delay()
    })
    expect(during).toEqual([expect.closeTo(10), expect.closeTo(30), expect.closeTo(50)])
    block(0)
    expect(delay()).toBeCloseTo(50, 12)
  })

  it('refuses part of what a long turn has read', () => {
    const { clock, shedder, state } = loop({ curve: logistic({ from: 10, to: 60 }) })
    state.draw = 0.5
    shedder.tryAdmit()
    const admitted = Array.from({ length: 100 }, () => {
      clock.advance(4)
      return shedder.tryAdmit().admitted
    })
    expect(admitted.filter(Boolean).length).toBeGreaterThan(20)
    expect(admitted.slice(60)).not.toContain(true)
  })

  it('is not late by what others take', () => {
    const { block, steal, delay, shedder } = loop()
    for (let i = 0; i < 100; i++) {
      delay()
      block(3)
      steal(90)
      expect(delay()).toBe(0)
      block(3)
    }
    expect(shedder.snapshot().signals[0]).toMatchObject({ load: 0, probability: 0 })
  })

  it('is late by what a quota takes, and by that alone where others take time too', () => {
    const { clock, block, steal, state, delay } = loop()
    delay()
    steal(75)
    state.throttledMs += 75
    block(35)
    expect(delay()).toBeCloseTo(0.2 * 100, 12)
    block(10)
    steal(50)
    steal(75)
    // Groups count the time of all their processors: at most the time that this thread waited is its own.
    state.throttledMs += 50
    expect(delay()).toBeCloseTo(16 + 0.2 * (50 - 10 - 16), 12)
    clock.advance(10)
    block(0)
    state.throttledMs += 1_000
    steal(40)
    block(0)
    expect(delay()).toBeLessThan(30)
  })

  it('is late by its own part where others take the rest, within a turn as after it', () => {
    const { clock, block, steal, delay } = loop()
    delay()
    clock.advance(60)
    steal(200)
    expect(delay()).toBeCloseTo(0.2 * 50, 12)
    steal(40)
    expect(delay()).toBeCloseTo(0.2 * 50, 12)
    clock.advance(50)
    expect(delay()).toBeCloseTo(0.2 * 100, 12)
    steal(40)
    block(0)
    expect(delay()).toBeCloseTo(0.2 * 100, 12)
  })

  it('forgets with each beat what was taken before it', () => {
    const { block, steal, delay } = loop()
    delay()
    steal(500)
    block(10)
    delay()
    block(110)
    expect(delay()).toBeCloseTo(0.2 * 100, 12)
  })

  it('counts all lateness if the time taken by others is unknown, and when that count fails later', () => {
    const counts = [0, 1_000, 1_000]
    const { block, delay } = loop({ curve: logistic({ from: 10, to: 60 }), waitedMs: () => counts.shift() ?? 0 })
    delay()
    block(110)
    expect(delay()).toBe(0)
    block(110)
    expect(delay()).toBeCloseTo(0.2 * 100, 12)
    block(110)
    expect(delay()).toBeCloseTo(20 + 0.2 * 80, 12)
  })

  it('asks what others took once a beat, and while a beat is overdue once in its time', () => {
    let asked = 0
    const { clock, block, delay } = loop({
      curve: logistic({ from: 10, to: 60 }),
      waitedMs: () => {
        asked++
        return 0
      },
    })
    delay()
    expect(asked).toBe(1)
    for (let i = 0; i < 100; i++) delay()
    block(10)
    expect(asked).toBe(2)
    for (let i = 0; i < 60; i++) {
      clock.advance(0.5)
      for (let j = 0; j < 10; j++) delay()
    }
    // Overdue for 20 of these 30 ms: at 10.5, 20.5, and not yet at 30.5.
    expect(asked).toBe(4)
  })

  it('stops a second after the last decision, and begins anew with the next', () => {
    const { timers, block, idle, delay } = loop()
    delay()
    block(500)
    expect(delay()).toBeGreaterThan(90)
    idle(900)
    expect(timers).toHaveLength(1)
    idle(200)
    expect(timers).toHaveLength(0)
    idle(100_000)
    expect(delay()).toBe(0)
    expect(timers).toHaveLength(1)
  })

  it('stops at once when the shedder closes', () => {
    const { clock, timers, shedder, delay } = loop()
    delay()
    shedder.close()
    expect(timers).toHaveLength(0)
    clock.advance(60_000)
    expect(delay()).toBe(0)
    expect(timers).toHaveLength(0)
  })

  it('serves one shedder', () => {
    const { signal } = loop()
    expect(() => new LoadShedder({ signal })).toThrow('an eventLoopDelaySignal serves one shedder; make one for each')
  })

  it('names a bad option', () => {
    const wrong: [object, string][] = [
      [{ fromMs: 5 }, 'eventLoopDelaySignal has no option "fromMs"'],
      [{ after: 5 }, 'after must be a function, got 5'],
      [{ activeMs: 5 }, 'activeMs must be a function, got 5'],
      [{ waitedMs: 5 }, 'waitedMs must be a function, got 5'],
    ]
    for (const [options, message] of wrong) expect(() => eventLoopDelaySignal(options)).toThrow(message)
  })

  it('keeps no process alive', () => {
    const before = process.getActiveResourcesInfo()
    const shedder = new LoadShedder({ signal: eventLoopDelaySignal() })
    shedder.tryAdmit()
    expect(process.getActiveResourcesInfo()).toEqual(before)
    shedder.close()
  })
})

describe('the range of eventLoopDelaySignal', () => {
  /** Requests that each compute for `ms`, for about `forMs`, the loop free in between. */
  function serve({ shedder, block, idle }: ReturnType<typeof loop>, ms: number, forMs: number): void {
    for (let passed = 0; passed < forMs; passed += ms + 20) {
      const decision = shedder.tryAdmit()
      block(ms)
      if (decision.admitted) decision.finish()
      idle(20)
    }
  }

  it('is 50 to 250 ms until it knows better, and 10 to 60 ms for light handlers', () => {
    const bench = loop()
    expect(bench.range()).toEqual([50, 250])
    serve(bench, 1, 2_000)
    expect(bench.range()).toEqual([10, 60])
  })

  it('follows the CPU time of a request', () => {
    const bench = loop()
    serve(bench, 8, 2_000)
    expect(bench.range()).toEqual([expect.closeTo(24), expect.closeTo(120)])
  })

  it('leaves out of it what others take meanwhile', () => {
    const bench = loop()
    for (let i = 0; i < 100; i++) {
      const decision = bench.shedder.tryAdmit()
      bench.block(4)
      bench.steal(40)
      bench.block(4)
      if (decision.admitted) decision.finish()
      bench.idle(20)
    }
    expect(bench.range()).toEqual([expect.closeTo(24), expect.closeTo(120)])
  })

  it('ends at 200 to 1000 ms, however heavy the handler', () => {
    const bench = loop()
    serve(bench, 200, 10_000)
    expect(bench.range()).toEqual([200, 1_000])
  })

  it('comes closer to news by three tenths', () => {
    const bench = loop()
    serve(bench, 8, 2_000)
    serve(bench, 12, 650)
    const [from = 0] = bench.range()
    expect(from).toBeGreaterThan(24)
    expect(from).toBeLessThan(36)
  })

  it('learns nothing from fewer than ten requests', () => {
    const bench = loop()
    for (let i = 0; i < 9; i++) {
      const decision = bench.shedder.tryAdmit()
      bench.block(20)
      if (decision.admitted) decision.finish()
      bench.idle(80)
    }
    expect(bench.range()).toEqual([50, 250])
  })

  it('learns what heavy handlers cost though it refuses most of them', () => {
    const bench = loop()
    serve(bench, 1, 2_000)
    expect(bench.range()).toEqual([10, 60])
    bench.state.draw = 0
    const refusedOf = (rounds: number): number => {
      const before = bench.shedder.snapshot().refused
      for (let i = 0; i < rounds; i++) {
        const decisions = [bench.shedder.tryAdmit({ exempt: true }), bench.shedder.tryAdmit()]
        for (const decision of decisions) {
          if (!decision.admitted) continue
          bench.block(60)
          decision.finish()
        }
      }
      return bench.shedder.snapshot().refused - before
    }
    // A delay of 60 ms is too late for light handlers, but normal for these.
    expect(refusedOf(20)).toBeGreaterThan(10)
    refusedOf(80)
    expect(refusedOf(100)).toBe(0)
    expect(bench.range()[0]).toBeGreaterThan(150)
  })

  it('does not take the cost of refusals for that of requests', () => {
    const bench = loop()
    serve(bench, 4, 2_000)
    bench.state.draw = 0
    // One request in thirty runs, and refusing the others takes as long as the work of those that run.
    for (let i = 0; i < 1_000; i++) {
      const decision = bench.shedder.tryAdmit({ exempt: true })
      bench.block(100)
      if (decision.admitted) decision.finish()
      for (let j = 0; j < 30; j++) bench.shedder.tryAdmit()
    }
    expect(bench.shedder.snapshot().refused).toBeGreaterThan(20_000)
    expect(bench.range()[0]).toBeLessThan(3 * 5)
  })

  it('is fixed where a curve is given', () => {
    const curve = logistic({ from: 30, to: 150 })
    const bench = loop({ curve })
    serve(bench, 8, 2_000)
    expect(bench.signal.curve).toBe(curve)
  })
})

describe('eventLoopUtilizationSignal', () => {
  it('is a share', () => {
    const signal = eventLoopUtilizationSignal()
    expect(signal.read(0)).toBeGreaterThanOrEqual(0)
    expect(signal.read(0)).toBeLessThanOrEqual(1)
    expect(signal.kind).toBe('sampled')
  })
})
