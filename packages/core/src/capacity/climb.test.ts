import { describe, expect, it } from 'vitest'
import { Climb } from './climb.js'

interface Flow {
  /** Completions per second at a limit, and how long each takes. */
  perSecond: (limit: number) => number
  durationMs: (limit: number) => number
}

/** Lets the climb see `forMs` of a service that is always full, with regular completions. Gives the limits. */
function run(climb: Climb, forMs: number, { perSecond, durationMs }: Flow): number[] {
  const limits = [climb.limit]
  let due = 0
  for (let ms = 0; ms < forMs && !climb.ended; ms++) {
    climb.pass(1, true)
    due += perSecond(climb.limit) / 1_000
    for (; due >= 1; due--) climb.complete(durationMs(climb.limit))
    if (climb.limit !== limits.at(-1)) limits.push(climb.limit)
  }
  return limits
}

/** Nothing is short: as many more completions as slots, each as long as ever. */
const free: Flow = { perSecond: (limit) => limit / 0.05, durationMs: () => 50 }

/** Serves what `knee` slots do, and the rest waits. */
function kneeAt(knee: number): Flow {
  return {
    perSecond: (limit) => Math.min(limit, knee) / 0.05,
    durationMs: (limit) => 50 * Math.max(1, limit / knee),
  }
}

describe('Climb', () => {
  it('doubles the limit while that brings as much more', () => {
    const climb = new Climb(20, 1_000)
    expect(run(climb, 10_000, free)).toEqual([20, 40, 80, 160, 320, 640, 1_000])
    expect(climb).toMatchObject({ ended: true, limit: 1_000, underWay: false })
  })

  it.each([
    [5, 20],
    [20, 20],
    [50, 40],
    // Four times 80 bring less than twice as much.
    [150, 80],
    [200, 160],
  ])(
    'goes back to the lowest level from which k times the slots brought less than √k times as much: a knee at %d gives %d',
    (knee, limit) => {
      const climb = new Climb(20, 1_000)
      run(climb, 10_000, kneeAt(knee))
      expect([climb.ended, climb.limit]).toEqual([true, limit])
    },
  )

  it('goes on while nothing ends at all: nothing says then that there is too much', () => {
    const climb = new Climb(20, 1_000)
    expect(run(climb, 6_100, { perSecond: () => 0, durationMs: () => 0 })).toEqual([20, 40, 80, 160, 320])
  })

  it('is not ended by the first completions of a level, if those that follow make up for them', () => {
    const climb = new Climb(20, 40)
    let sinceMs = 0
    for (let ms = 0; ms < 5_000 && !climb.ended; ms++) {
      climb.pass(1, true)
      if (climb.limit === 40) sinceMs++
      // One a millisecond from 20 slots; from 40 one in two, which last longer, and after a third of a second ten.
      const slow = sinceMs > 0 && sinceMs < 330
      const completions = slow ? ms % 2 : sinceMs > 0 ? 10 : 1
      for (let i = 0; i < completions; i++) climb.complete(slow ? 60 : 50)
    }
    expect(climb).toMatchObject({ ended: true, limit: 40 })
  })

  it("needs durations that are as much longer as Little's law asks for, where few say how long they are", () => {
    const lasting = (longer: number): number => {
      const climb = new Climb(20, 80)
      // Ten a second whatever the limit: with four times in flight they would last four times as long.
      const durations = [20, 60, 200, 600, 40, 400, 100, 300]
      let i = 0
      run(climb, 60_000, {
        perSecond: () => 10,
        durationMs: (limit) => (durations[i++ % durations.length] ?? 0) * (limit > 20 ? longer : 1),
      })
      return climb.limit
    }
    expect(lasting(1)).toBe(80)
    expect(lasting(4)).toBe(20)
  })

  it('takes what stays as quick as it was for a sign that there is room', () => {
    const climb = new Climb(20, 1_000)
    // As many end per second whatever the limit, for a few slow ones hold it; those that end take as long as ever.
    run(climb, 10_000, { perSecond: () => 400, durationMs: () => 1 })
    expect(climb.limit).toBe(1_000)
  })

  it('counts only time in which somebody waits, without a break', () => {
    const climb = new Climb(20, 1_000)
    for (let i = 0; i < 1_000; i++) {
      for (let ms = 0; ms < 150; ms++) {
        climb.pass(1, true)
        climb.complete(50)
      }
      expect(climb.underWay).toBe(true)
      climb.pass(1, false)
      expect(climb.underWay).toBe(false)
    }
    expect(climb.limit).toBe(20)
  })

  it('waits with the verdict where requests were let in that did not run', () => {
    const climb = new Climb(20, 1_000)
    for (let ms = 0; ms < 60_000; ms++) {
      climb.pass(1, true)
      climb.undo()
    }
    expect(climb).toMatchObject({ limit: 20, ended: false })
  })

  it('goes on until ten requests have ended where fewer say that it has gone too far', () => {
    const climb = new Climb(20, 1_000)
    // Nine in the longest round: against four times as many slots, that is too few.
    const slow: Flow = { perSecond: () => 6, durationMs: (limit) => 50 * limit }
    expect(run(climb, 60_000, slow)).toEqual([20, 40, 80, 160, 20])
    expect(climb.ended).toBe(true)
  })

  it('knows nothing of a level at which hardly anything ends, and goes on after six seconds', () => {
    const climb = new Climb(20, 80)
    const stuck: Flow = { perSecond: (limit) => (limit > 20 ? 1 : 4), durationMs: (limit) => 50 * limit }
    expect(run(climb, 60_000, stuck)).toEqual([20, 40, 80])
    expect(climb).toMatchObject({ ended: true, limit: 80 })
    expect(climb.spentMs).toBeGreaterThan(1_500 + 2 * 6_000)
  })

  it('goes up by evidence alone when it is careful, however long that takes', () => {
    const careful = (flow: Flow): Climb => {
      const climb = new Climb(30, 1_000, true)
      run(climb, 600_000, flow)
      return climb
    }
    expect(careful(kneeAt(30))).toMatchObject({ ended: true, limit: 30 })
    // Ten a second: a round of 1.5 s would have few completions.
    const slow = careful({ perSecond: () => 10, durationMs: (limit) => 100 * limit })
    expect(slow).toMatchObject({ ended: true, limit: 30 })
    expect(slow.spentMs).toBeGreaterThan(3_000 + 12_000)
    expect(careful({ perSecond: () => 0, durationMs: () => 0 })).toMatchObject({ ended: false, limit: 30 })
    expect(careful(free)).toMatchObject({ ended: true, limit: 1_000 })
  })

  it('sees that requests of 5 s have room, from five slots on', () => {
    const climb = new Climb(5, 200, true)
    const limits = run(climb, 300_000, { perSecond: (limit) => limit / 5, durationMs: () => 5_000 })
    expect(limits).toEqual([5, 10, 20, 40, 80, 160, 200])
    expect(climb.spentMs).toBeLessThan(120_000)
  })

  it('knows how long it took', () => {
    const climb = new Climb(20, 1_000)
    run(climb, 10_000, kneeAt(20))
    expect(climb.spentMs).toBeGreaterThanOrEqual(400)
    expect(climb.spentMs).toBeLessThan(1_400)
    expect(climb.settleMs).toBe(50)
  })
})
