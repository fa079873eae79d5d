import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import type { Random } from '../random.js'
import { seededRandom } from '../testing/seeded-random.js'
import { Climb } from './climb.js'

/** The need of a request, and the part of it that each running request gets per millisecond. */
interface Service {
  workMs: (random: Random) => number
  speed: (running: number, ms: number) => number
  timeoutMs?: number
}

interface Running {
  startedMs: number
  leftMs: number
  shares: boolean
}

/** A request that needs less than this uses no shared resource. */
const QUICK_MS = 2

/**
 * Lets the climb see `forMs` of a service that is always full, and gives up requests after `timeoutMs`. Returns the
 * limits.
 */
function run(
  climb: Climb,
  forMs: number,
  { workMs, speed, timeoutMs = Number.POSITIVE_INFINITY }: Service,
  seed = 1,
): number[] {
  const random = seededRandom(seed)
  const limits = [climb.limit]
  let running: Running[] = []
  let sharing = 0
  for (let ms = 0; ms < forMs && !climb.ended; ms++) {
    for (; running.length < climb.limit; climb.start()) {
      const leftMs = workMs(random)
      const shares = leftMs >= QUICK_MS
      running.push({ startedMs: ms, leftMs, shares })
      if (shares) sharing++
    }
    climb.pass(1, true, running.length)
    const each = speed(sharing, ms)
    const ended: Running[] = []
    for (const one of running) {
      one.leftMs -= one.shares ? each : 1
      if (one.leftMs <= 0 || ms + 1 - one.startedMs >= timeoutMs) ended.push(one)
    }
    if (ended.length > 0) running = running.filter((one) => !ended.includes(one))
    for (const { startedMs, shares, leftMs } of ended) {
      if (shares) sharing--
      climb.complete(ms + 1 - startedMs, leftMs <= 0)
    }
    if (climb.limit !== limits.at(-1)) limits.push(climb.limit)
  }
  return limits
}

function about(meanMs: number): Service['workMs'] {
  return (random) => meanMs * (0.5 + random())
}

function exponential(meanMs: number): Service['workMs'] {
  return (random) => QUICK_MS - meanMs * Math.log(1 - random())
}

/** No bottleneck: the duration of requests is constant. */
function free(workMs: Service['workMs'] = about(50)): Service {
  return { workMs, speed: () => 1 }
}

/** Serves the throughput of `knee` slots, shared by all; each further `knee` of requests reduces it by `thrashing`. */
function kneeAt(knee: number, workMs: Service['workMs'] = about(50), thrashing = 0): Service {
  return {
    workMs,
    speed: (running) => (running <= knee ? 1 : knee / running / (1 + (thrashing * (running - knee)) / knee)),
  }
}

function climbed(seeds: number, service: Service, forMs = 30_000, make = (): Climb => new Climb(20, 640)): number[] {
  return Array.from({ length: seeds }, (_, i) => {
    const climb = make()
    run(climb, forMs, service, i + 1)
    return climb.limit
  })
}

describe('Climb', () => {
  it('doubles the limit while that brings as much more', () => {
    const climb = new Climb(20, 1_000)
    expect(run(climb, 10_000, free())).toEqual([20, 40, 80, 160, 320, 640, 1_000])
    expect(climb).toMatchObject({ ended: true, limit: 1_000, underWay: false })
  })

  it.each([
    [5, 20],
    [20, 20],
    [50, 40],
    // Four times 80 have less than twice the throughput.
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

  it.each([0.2, 0.5, 0.8])('is not misled by hits of a cache, which no bottleneck makes slower: %d of all', (hits) => {
    const misses = exponential(50)
    const mixed = kneeAt(16, (random) => (random() < hits ? 1 : misses(random)), 0.5)
    for (const limit of climbed(8, mixed)) expect(limit).toBeLessThanOrEqual(40)
  })

  it.each([60, 100, 200])(
    'is not misled by a time-out, which shows the same duration at all levels: %d ms',
    (timeoutMs) => {
      for (const limit of climbed(8, { ...kneeAt(30, exponential(50), 0.1), timeoutMs })) {
        expect(limit).toBeLessThanOrEqual(80)
      }
    },
  )

  it('goes on where some time out, whatever the level', () => {
    const some: Service = { ...free((random) => (random() < 0.5 ? 1e9 : 50)), timeoutMs: 1_000 }
    expect(climbed(8, some).filter((limit) => limit < 640).length).toBeLessThanOrEqual(1)
  })

  it('does not go on while requests end and none succeeds', () => {
    const climb = new Climb(20, 1_000)
    expect(run(climb, 60_000, { ...free(() => 1e9), timeoutMs: 300 })).toEqual([20])
    expect(climb.ended).toBe(false)
    expect(run(climb, 20_000, free()).length).toBeGreaterThan(4)
  })

  it('goes on while nothing ends at all: nothing says then that there is too much', () => {
    const climb = new Climb(20, 1_000)
    expect(
      run(
        climb,
        6_100,
        free(() => Number.POSITIVE_INFINITY),
      ),
    ).toEqual([20, 40, 80, 160, 320])
  })

  it('ends too soon by mistake in hardly any run where little ends, and some take long', () => {
    const runs = byWidth(8, 25)
    for (const service of [
      free(exponential(5_000)),
      free((random) => (random() < 0.5 ? 1 : 5_000)),
      free((random) => (random() < 0.1 ? 5_000 : 20)),
    ]) {
      const tooSoon = climbed(runs, service, 20_000, () => new Climb(20, 320)).filter((limit) => limit < 320)
      expect(tooSoon.length).toBeLessThanOrEqual(runs / 8)
    }
  })

  it('is not misled by a time in which all requests become slower, whatever the level', () => {
    for (const [fromMs, untilMs] of [
      [300, 4_000],
      [500, 5_000],
      [700, 6_000],
      [1_000, 7_000],
    ] as const) {
      const climb = new Climb(20, 640)
      const slow = (ms: number): boolean => ms >= fromMs && ms < untilMs
      const limits = run(climb, 30_000, { workMs: about(50), speed: (_, ms) => (slow(ms) ? 0.2 : 1) })
      expect([climb.ended, climb.limit], `${limits}`).toEqual([true, 640])
    }
  })

  it('measures a lower level again when no more are in flight, until enough has ended; all that is under way', () => {
    const climb = new Climb(20, 640)
    let highest = 20
    const stuckThen = (running: number): number => {
      highest = Math.max(highest, climb.limit)
      return highest > climb.limit ? 1e-6 : Math.min(1, 20 / running)
    }
    run(climb, 2_000, { workMs: about(50), speed: stuckThen })
    expect([highest, climb.limit]).toEqual([40, 20])
    const measuresAgain = (): void => {
      climb.pass(1, false, 0)
      expect([climb.limit, climb.ended, climb.underWay]).toEqual([20, false, true])
    }
    for (let ms = 0; ms < 500; ms++) {
      climb.pass(1, true, 21)
      climb.complete(50)
    }
    measuresAgain()
    for (let ms = 0; ms < 5_000; ms++) climb.pass(1, true, climb.limit)
    measuresAgain()
  })

  it('does not wait for requests of minutes to go down to a lower level', () => {
    const climb = new Climb(20, 1_000)
    // Quick ones have become slow at 40, and 30 of those in flight last for minutes.
    while (climb.limit === 20) {
      climb.start()
      climb.pass(1, true, 20)
      climb.complete(1)
    }
    for (let ms = 0; climb.limit === 40 && ms < 60_000; ms++) {
      climb.start()
      climb.pass(1, true, 40)
      if (ms % 2 === 1) climb.complete(100)
    }
    expect(climb).toMatchObject({ limit: 20, ended: false })
    for (let ms = 0; ms < 5_000; ms++) climb.pass(1, true, 30)
    expect(climb).toMatchObject({ limit: 40, ended: true })
  })

  it('is not misled by requests that start together and last equally long', () => {
    for (const lastingMs of [1_500, 2_000, 3_000, 3_500, 5_000, 7_000]) {
      const climb = new Climb(20, 640)
      // Durations grow with the number in flight, but by hardly more than a hundredth.
      run(climb, 30_000, { workMs: () => lastingMs, speed: (running) => 1 - running / 50_000 })
      expect(climb.limit, `${lastingMs}`).toBe(640)
    }
  })

  it('ends where few requests end, if those of each age take longer', () => {
    // Fewer than three per second: levels of 1.5 s have four completions.
    const runs = byWidth(6, 20)
    const limits = climbed(runs, kneeAt(8, exponential(3_000)), 60_000)
    expect(limits.filter((limit) => limit < 640).length).toBeGreaterThanOrEqual(runs - 1)
  })

  it('waits for ten completions as long as requests end, and not longer than 1.5 s after the last', () => {
    const stepsAt = (endsMs: readonly number[]): number => {
      const climb = new Climb(20, 1_000)
      for (let i = 0; i < 20; i++) climb.start()
      for (let ms = 1; ms < 60_000; ms++) {
        climb.pass(1, true, climb.limit)
        if (endsMs.includes(ms)) climb.complete(ms)
        if (climb.limit > 20) return ms
      }
      return Number.POSITIVE_INFINITY
    }
    const everyMs = (ms: number, times: number): number[] => Array.from({ length: times }, (_, i) => (i + 1) * ms)
    expect(stepsAt(everyMs(1_000, 20))).toBe(10_000)
    expect(stepsAt(everyMs(1_000, 4))).toBe(5_500)
    expect(stepsAt(everyMs(100, 20))).toBe(1_500)
    expect(stepsAt([])).toBe(1_500)
  })

  it('looks twice as long at a level that leaves a suspicion', () => {
    // Few requests end in 1.5 s, so random variation occasionally leaves one.
    const spent = Array.from({ length: 30 }, (_, i) => {
      const climb = new Climb(20, 40)
      run(climb, 20_000, free(exponential(5_000)), i + 1)
      return climb.spentMs
    })
    expect(Math.max(...spent) - Math.min(...spent)).toBeGreaterThan(1_400)
  })

  it('counts only time in which somebody waits, and goes on after a break: a slot may be free until the next comes', () => {
    const climb = new Climb(20, 1_000)
    for (let waitedMs = 0; waitedMs < 200; waitedMs += 10) {
      expect(climb.limit).toBe(20)
      for (let ms = 0; ms < 10; ms++) {
        climb.pass(1, true, climb.limit)
        climb.complete(50)
      }
      if (climb.limit > 20) break
      expect(climb.underWay).toBe(true)
      climb.pass(15, false, 19)
      expect(climb.underWay).toBe(false)
    }
    expect(climb.limit).toBe(40)
  })

  it.each([
    ['for longer than requests last', 25, 19],
    ['and hardly anything is in flight', 1, 4],
  ])('begins a round anew if nobody has waited %s', (_, pausedMs, inFlight) => {
    const climb = new Climb(20, 1_000)
    for (let i = 0; i < 100; i++) {
      for (let ms = 0; ms < 150; ms++) {
        climb.pass(1, true, 20)
        climb.complete(20)
      }
      climb.pass(pausedMs, false, inFlight)
    }
    expect(climb.limit).toBe(20)
  })

  it('waits with the verdict where requests were let in that did not run', () => {
    const climb = new Climb(20, 1_000)
    for (let ms = 0; ms < 60_000; ms++) {
      climb.pass(1, true, climb.limit)
      climb.start()
      climb.undo()
    }
    expect(climb).toMatchObject({ limit: 20, ended: false })
  })

  it('goes up by evidence alone when it is careful, however long that takes', () => {
    const careful = (service: Service, max = 1_000): Climb => {
      const climb = new Climb(30, max, true)
      run(climb, 300_000, service)
      return climb
    }
    expect(careful(kneeAt(30))).toMatchObject({ ended: true, limit: 30 })
    // Three per second: a round of 1.5 s would have few completions.
    const slow = careful(kneeAt(9, exponential(3_000)))
    expect(slow).toMatchObject({ ended: true, limit: 30 })
    expect(slow.spentMs).toBeGreaterThan(20_000)
    const never = free(() => Number.POSITIVE_INFINITY)
    expect(careful(never)).toMatchObject({ ended: false, limit: 30 })
    const patient = new Climb(30, 1_000, true, 1, 0, 60_000)
    expect(run(patient, 130_000, never)).toEqual([30, 60, 120])
    expect(careful(free(), 480)).toMatchObject({ ended: true, limit: 480 })
  })

  it('averages over a swing where it knows one', () => {
    // Requests are three times as slow for half of each second.
    const swinging: Service = { workMs: about(50), speed: (_, ms) => (ms % 1_000 < 500 ? 1 : 1 / 3) }
    const reached = (leastMs: number): number[] =>
      climbed(byWidth(4, 10), swinging, 60_000, () => new Climb(20, 640, true, 1, leastMs))
    expect(Math.min(...reached(2_000))).toBe(640)
    const climb = new Climb(20, 640, true, 1, 2_000)
    expect(run(climb, 60_000, kneeAt(20))).toEqual([20, 40, 20])
    expect(climb.ended).toBe(true)
  })

  describe('where requests are slow, and it is seldom full', () => {
    /** One request at a time, of a second each: lets in `perSecond`, as far as the limit does. */
    const slow = (perSecond: number, forMs: number, seed: number, from = 20, min = 1): Climb => {
      const climb = new Climb(from, 640, false, min)
      const random = seededRandom(seed)
      const lasts = (): number => -1_000 * Math.log(1 - random())
      const running: Running[] = []
      let waiting = 0
      for (let ms = 0; ms < forMs && !climb.ended; ms += 10) {
        if (random() < perSecond / 100) waiting++
        for (; waiting > 0 && running.length < climb.limit; waiting--) {
          climb.start()
          running.push({ startedMs: ms, leftMs: lasts(), shares: true })
        }
        climb.pass(10, waiting > 0, running.length)
        const each = 10 / running.length / (1 + 0.1 * Math.max(0, running.length - 1))
        for (const one of running) one.leftMs -= each
        for (const one of running.filter(({ leftMs }) => leftMs <= 0)) {
          running.splice(running.indexOf(one), 1)
          climb.complete(ms + 10 - one.startedMs)
        }
      }
      return climb
    }

    it('takes silence for no pure wait after requests have ended below the level', () => {
      const ends = Array.from({ length: 10 }, (_, i) => slow(0.75, 1_200_000, i + 1))
      expect(ends.filter(({ ended, limit }) => ended && limit < 40).length, ends.map(({ limit }) => limit).join()).toBe(
        10,
      )
    })

    it('never goes below its least level', () => {
      for (let seed = 1; seed <= byWidth(2, 5); seed++) {
        const climb = slow(0.75, 1_200_000, seed, 20, 15)
        expect(climb.limit).toBeGreaterThanOrEqual(15)
        expect(climb.limit).toBeLessThan(40)
      }
    })
  })

  it('sees that requests of 5 s have room, from five slots on', () => {
    const climb = new Climb(5, 200, true)
    const limits = run(
      climb,
      300_000,
      free(() => 5_000),
    )
    expect(limits).toEqual([5, 10, 20, 40, 80, 160, 200])
    expect(climb.spentMs).toBeLessThan(120_000)
  })

  it('knows how long it took', () => {
    const climb = new Climb(20, 1_000)
    run(climb, 10_000, kneeAt(20))
    expect(climb.spentMs).toBeGreaterThanOrEqual(400)
    expect(climb.spentMs).toBeLessThan(1_400)
    expect(climb.settleMs).toBeGreaterThan(40)
    expect(climb.settleMs).toBeLessThan(60)
  })
})
