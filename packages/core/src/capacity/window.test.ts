import { describe, expect, it } from 'vitest'
import { Window } from './window.js'

/** Runs `lanes` requests at a time, one after the other in each lane, for `forMs`. */
function run(window: Window, lanes: number, durationMs: number, forMs: number, width = 1): void {
  window.take(lanes * width)
  for (let elapsedMs = durationMs; elapsedMs <= forMs; elapsedMs += durationMs) {
    window.pass(durationMs, lanes * width)
    for (let lane = 0; lane < lanes; lane++) window.complete(width, durationMs)
  }
}

describe('Window', () => {
  it("measures the mean duration by Little's law", () => {
    const window = new Window()
    run(window, 10, 20, 400)
    expect(window.durationMs).toBeCloseTo(20, 9)
    expect(window.meanInFlight).toBeCloseTo(10, 9)
    expect(window.peak).toBe(10)
    expect(window.meanWidth).toBe(1)
  })

  it('counts what still runs', () => {
    const window = new Window()
    // 4 end after 25 ms each, repeatedly, beside 4 that never end.
    for (let i = 0; i < 40; i++) {
      window.pass(25, 8)
      for (let j = 0; j < 4; j++) window.complete(1, 25)
    }
    expect(window.durationMs).toBeCloseTo(50, 9)
  })

  it('counts a request as often as it is wide', () => {
    const window = new Window()
    window.pass(100, 3)
    window.complete(1, 100)
    window.pass(200, 2)
    window.complete(2, 300)
    expect(window.durationMs).toBeCloseTo((100 + 2 * 300) / 3, 9)
    expect(window.meanWidth).toBe(1.5)
  })

  it('leaves out what it passes over, which changes no mean', () => {
    const window = new Window()
    run(window, 10, 20, 400)
    for (let i = 0; i < 500; i++) {
      window.pass(1, 1)
      window.passOver(1, 1)
    }
    expect(window.durationMs).toBeCloseTo(20, 9)
    expect(window.meanWidth).toBe(1)
  })

  it('knows the time in flight for each success, and for each end', () => {
    const window = new Window()
    // One in four times out.
    for (let i = 0; i < 50; i++) {
      window.pass(100, 4)
      for (let j = 0; j < 3; j++) window.complete(1, 100)
      window.lose(1, 100)
    }
    expect(window.durationMs).toBeCloseTo(400 / 3, 9)
    expect(window.lastedMs).toBeCloseTo(100, 9)
    expect(window.typicalMs).toBeCloseTo(100, 9)
    expect(window.isDone).toBe(true)
  })

  it('is not done while nothing succeeds', () => {
    const window = new Window()
    for (let i = 0; i < 50; i++) {
      window.pass(100, 4)
      for (let j = 0; j < 4; j++) window.lose(1, 100)
    }
    expect(window.isDone).toBe(false)
  })

  it('leaves out no more of a request than falls into the window', () => {
    const window = new Window()
    window.pass(100, 2)
    window.passOver(1, 1_000)
    window.complete(1, 100)
    expect(window.durationMs).toBeCloseTo(100, 9)
  })

  it('starts anew when it is opened, with what is in flight', () => {
    const window = new Window()
    run(window, 10, 20, 400)
    window.open(4)
    expect(window.peak).toBe(4)
    expect(window.isDone).toBe(false)
    run(window, 4, 50, 1_000)
    expect(window.durationMs).toBeCloseTo(50, 9)
    expect(window.meanInFlight).toBeCloseTo(4, 9)
  })

  it.each([
    ['200 ms', 50, 10, 190, 200],
    ['two mean durations', 50, 500, 500, 1_000],
    ['50 completions', 1, 10, 490, 500],
    ['50 completions, however long that takes', 1, 1_000, 49_000, 50_000],
  ])('takes %s', (_, lanes, durationMs, tooShortMs, enoughMs) => {
    const window = new Window()
    window.open(0)
    run(window, lanes, durationMs, tooShortMs)
    expect(window.isDone).toBe(false)
    window.open(0)
    run(window, lanes, durationMs, enoughMs)
    expect(window.isDone).toBe(true)
  })

  it('is not done while nothing has ended, or only what it passes over', () => {
    const window = new Window()
    window.pass(60_000, 5)
    expect(window.isDone).toBe(false)
    for (let i = 0; i < 1_000; i++) window.passOver(1, 1)
    expect(window.isDone).toBe(false)
  })

  it('takes more completions where durations vary much, for 5 s', () => {
    const window = new Window()
    // One in ten takes 100 times as long: a squared coefficient of variation of 7.4.
    const durations = [1_000, ...Array.from({ length: 9 }, () => 10)]
    const complete = (times: number, eachMs: number): void => {
      for (let i = 0; i < times; i++)
        for (const durationMs of durations) {
          window.pass(eachMs, 1)
          window.complete(1, durationMs)
        }
    }
    complete(30, 10)
    expect(window.isDone).toBe(false)
    complete(15, 10)
    expect(window.isDone).toBe(true)
    window.open(0)
    complete(6, 50)
    expect(window.isDone).toBe(false)
    complete(10, 50)
    expect(window.isDone).toBe(true)
  })

  it('takes more completions where widths vary much', () => {
    const window = new Window()
    const complete = (times: number): void => {
      for (let i = 0; i < times; i++) {
        window.pass(20, 1)
        window.complete(i % 10 === 0 ? 30 : 1, 10)
      }
    }
    complete(100)
    expect(window.isDone).toBe(false)
    complete(350)
    expect(window.isDone).toBe(true)
  })

  it('forgets what is no duration', () => {
    const window = new Window()
    for (const durationMs of [Number.NaN, Number.POSITIVE_INFINITY, -5]) window.complete(1, durationMs)
    window.open(0)
    run(window, 10, 20, 5_000)
    expect(window.isDone).toBe(true)
    expect(window.durationMs).toBeCloseTo(20, 9)
  })
})
