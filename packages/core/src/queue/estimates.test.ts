import { describe, expect, it } from 'vitest'
import { DrainRate, RetrySchedule } from './estimates.js'

/** Starts a request of `cost` every `everyMs`. */
function serve(drain: DrainRate, fromMs: number, untilMs: number, everyMs: number, cost = 1): void {
  for (let nowMs = fromMs + everyMs; nowMs <= untilMs; nowMs += everyMs) drain.started(cost, nowMs)
}

describe('the rate of drain', () => {
  it('is unknown until ten have started', () => {
    const drain = new DrainRate()
    drain.set(true, 0)
    for (let i = 1; i <= 9; i++) drain.started(1, 10 * i)
    expect(drain.perMs(90)).toBeUndefined()
    drain.started(1, 100)
    expect(drain.perMs(100)).toBeCloseTo(0.1, 2)
  })

  it('does not count time in which nothing waits', () => {
    const drain = new DrainRate()
    let nowMs = 0
    for (let burst = 0; burst < 5; burst++) {
      drain.set(true, nowMs)
      serve(drain, nowMs, nowMs + 200, 10, 2)
      drain.set(false, nowMs + 200)
      nowMs += 3_600_000
    }
    expect(drain.perMs(nowMs)).toBeCloseTo(0.2, 3)
  })

  it('follows a change by half in 5 s, and falls when nothing starts', () => {
    const drain = new DrainRate()
    drain.set(true, 0)
    serve(drain, 0, 60_000, 10)
    serve(drain, 60_000, 65_000, 5)
    expect(drain.perMs(65_000)).toBeCloseTo(0.15, 2)
    const before = drain.perMs(65_000)!
    expect(drain.perMs(70_000)! / before).toBeCloseTo(0.5, 2)
  })

  it('stays above 0 for days in which nothing starts', () => {
    const drain = new DrainRate()
    drain.set(true, 0)
    serve(drain, 0, 60_000, 10)
    for (const days of [0.1, 1, 100]) expect(drain.perMs(days * 86_400_000)).toBeGreaterThan(0)
  })

  it('soon forgets an outage that is over', () => {
    const drain = new DrainRate()
    drain.set(true, 0)
    serve(drain, 0, 60_000, 10)
    // Nothing starts for a minute, then all have left, and for half a minute no request arrives.
    drain.set(false, 120_000)
    const outage = drain.perMs(120_000)!
    expect(outage).toBeLessThan(0.001)
    expect(drain.perMs(150_000)).toBeCloseTo(outage, 9)
    drain.set(true, 150_000)
    serve(drain, 150_000, 151_000, 10)
    expect(drain.perMs(151_000)).toBeGreaterThan(0.06)
  })

  it.each([1, 1_000, 20_000])('is corrected by what a request has really cost, %i ms later', (laterMs) => {
    const [declared, told] = [new DrainRate(), new DrainRate()]
    for (const drain of [declared, told]) {
      drain.set(true, 0)
      serve(drain, 0, 1_000, 10)
    }
    const mark = declared.started(1e9, 1_000)
    told.started(1, 1_000)
    for (const drain of [declared, told]) serve(drain, 1_000, 1_000 + laterMs, 10)
    declared.correct(1 - 1e9, mark)
    expect(declared.perMs(1_000 + laterMs)).toBeCloseTo(told.perMs(1_000 + laterMs)!, 6)
  })

  it('is the same however long nothing waits', () => {
    const drain = new DrainRate()
    drain.set(false, 3_600_000)
    drain.set(true, 3_600_000)
    serve(drain, 3_600_000, 3_610_000, 10)
    drain.set(false, 3_610_000)
    const before = drain.perMs(3_610_000)!
    expect(drain.perMs(1e12)).toBeCloseTo(before, 9)
  })

  it('takes a clock that jumps back as no time passed', () => {
    const drain = new DrainRate()
    drain.set(true, 1_000)
    for (let i = 0; i < 10; i++) drain.started(1, 2_000)
    expect(drain.perMs(500)).toBe(drain.perMs(400))
  })
})

describe('the retry schedule', () => {
  it('are one after the other, at the rate at which a line is served', () => {
    const retries = new RetrySchedule()
    const told = [1, 2, 3].map(() => retries.schedule('a', 2_000, 500, 0))
    expect(told).toEqual([2_000, 2_500, 3_000])
    expect(retries.schedule('a', 2_000, 500, 1_000)).toBe(2_500)
  })

  it('of one line do not put off another', () => {
    const retries = new RetrySchedule()
    for (let i = 0; i < 100; i++) retries.schedule('a', 2_000, 500, 0)
    expect(retries.schedule('b', 1_500, 500, 0)).toBe(1_500)
  })

  it('are from a second to a minute away, and no line grows beyond that', () => {
    const retries = new RetrySchedule()
    expect(retries.schedule('a', 0, 1, 0)).toBe(1_000)
    for (let i = 0; i < 100; i++) retries.schedule('b', 50_000, 10_000, 0)
    expect(retries.schedule('b', 50_000, 10_000, 0)).toBe(60_000)
    expect(retries.schedule('b', 0, 1, 60_000)).toBe(1_000)
  })

  it('are forgotten when nobody is to come any more, and never more than ten thousand', () => {
    const retries = new RetrySchedule()
    for (let i = 0; i < 50; i++) retries.schedule(`a${i}`, 1_000, 100, i)
    expect(retries.size).toBe(50)
    retries.schedule('b', 1_000, 100, 1_125)
    expect(retries.size).toBe(25)
    for (let i = 0; i < 20_000; i++) retries.schedule(`c${i}`, 1_000, 100, 1_200)
    expect(retries.size).toBeLessThanOrEqual(10_000)
    retries.clear()
    expect(retries.size).toBe(0)
  })
})
