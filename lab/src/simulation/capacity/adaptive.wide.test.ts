import { type AdaptiveCapacity, adaptive, type Capacity, fixed } from '@fairlead/core/queue'
import { describe, expect, it } from 'vitest'
import {
  afterShortage,
  alternating,
  CACHED,
  FALL_S,
  fallen,
  HOLD_OUTS,
  NEEDED,
  queueless,
  SHORTAGE_MS,
  STREAMS,
  SWINGING_ASKED,
  swinging,
  swingingBehindCores,
  TABLE,
  type Trial,
  UNBOUNDED,
  unbounded,
} from './scenarios.js'
import type { Machine } from './service.js'
import { type Second, simulate } from './simulate.js'

/** Seeds by which nothing was chosen. */
const SEEDS = Array.from({ length: 24 }, (_, i) => 9_001 + i)

function mean(seconds: readonly Second[], of: (second: Second) => number): number {
  return seconds.reduce((sum, second) => sum + of(second), 0) / seconds.length
}

/** Throughput in the second half of each phase, as a share of the best fixed limit's. */
function shares({ stretches, best }: Trial, seeds: readonly number[]): number[] {
  const runs = seeds.map((seed) => simulate(adaptive(), { seed, stretches }))
  const phase = stretches[0]!.forMs / 1_000
  return best.map((most, index) => {
    const from = index * phase + Math.floor(phase / 2)
    return (
      mean(
        runs.flatMap((seconds) => seconds.slice(from, (index + 1) * phase)),
        ({ served }) => served,
      ) / most
    )
  })
}

const cores16: Machine = { kind: 'sharing', cores: 16, workMs: 50 }
const MINUTE = 60

/** Served of the capacity of cores that are always asked for: from the second to the fifth minute, and to the 30th. */
function sharesOf(cores: number, workMs: number, max = 1_000): [number, number] {
  const stretches = [{ forMs: 1_800_000, machine: { kind: 'sharing', cores, workMs } as const }]
  const runs = SEEDS.map((seed) => simulate(adaptive({ max }), { seed, stretches }))
  const served = (fromS: number, toS: number): number =>
    mean(
      runs.flatMap((run) => run.slice(fromS, toS)),
      (second) => second.served,
    )
  const capacity = (cores / workMs) * 1_000
  return [served(60, 300) / capacity, served(600, 1_800) / capacity]
}

describe('adaptive, as a share of the best fixed limit', () => {
  it.each(TABLE)('$name', (trial) => {
    const found = shares(trial, SEEDS)
    for (const [index, least] of trial.least.entries()) expect(found[index], `${found}`).toBeGreaterThanOrEqual(least)
  })
  it.each(HOLD_OUTS)('held out: $name', (trial) => {
    const found = shares(trial, SEEDS.slice(0, 12))
    for (const [index, least] of trial.least.entries()) expect(found[index], `${found}`).toBeGreaterThanOrEqual(least)
  })
})

describe('adaptive, behind a cache', () => {
  it.each(CACHED)('keeps the knee of the misses: %o', (machine) => {
    const stretches = [{ forMs: 240_000, machine }]
    const fixedTo = (limit: number): number =>
      mean(simulate(fixed(limit), { seed: 1, stretches }).slice(10), ({ served }) => served)
    const best = Math.max(...[16, 18, 21].map(fixedTo))
    const runs = SEEDS.slice(0, 6).map((seed) => simulate(adaptive(), { seed, stretches }))
    for (let minute = 0; minute < 4; minute++) {
      const served = runs.map((run) => mean(run.slice(minute * MINUTE, (minute + 1) * MINUTE), (each) => each.served))
      expect(Math.min(...served) / best, `${served}`).toBeGreaterThan(0.75)
      expect(mean(runs.flat(), (each) => each.served) / best).toBeGreaterThan(machine.thrashing === 0.1 ? 0.92 : 0.86)
    }
  })
})

describe('adaptive, where requests are given up', () => {
  it.each([
    [200, 'exponential', 0.5],
    [300, 'exponential', 0.6],
    [1_000, 'exponential', 0.6],
    [300, 'none', 0.7],
    [1_000, 'none', 0.5],
  ] as const)('comes down in a fall and up after it: after %d ms, spread %s', (timeoutMs, spread, least) => {
    const served = (run: Second[], fromS: number, toS: number): number =>
      mean(run.slice(fromS, toS), (each) => each.served)
    const runs = SEEDS.slice(0, 6).map((seed) => simulate(adaptive(), fallen(timeoutMs, spread, seed)))
    const fell = runs.map((run) => served(run, FALL_S.from, FALL_S.until) / 60)
    const after = runs.map((run) => served(run, FALL_S.until + 20, FALL_S.end) / 320)
    expect(fell.reduce((sum, share) => sum + share, 0) / fell.length, `${fell}`).toBeGreaterThan(least)
    expect(Math.min(...after), `${after}`).toBeGreaterThan(0.9)
  })
})

describe('adaptive, where nothing runs short', () => {
  it.each(UNBOUNDED)('grows to what is asked: $name', (service) => {
    const asked = (NEEDED / service.meanMs) * 1_000
    const runs = SEEDS.slice(0, 3).map((seed) => simulate(adaptive(), unbounded(service, seed)))
    const served = (fromS: number, toS: number): number[] =>
      runs.map((run) => mean(run.slice(fromS, toS), (second) => second.served) / asked).sort((a, b) => a - b)
    const [first, fifth] = [served(0, 60), served(240, 300)]
    expect(first[1], `${first}`).toBeGreaterThan(0.8)
    expect(fifth[1], `${fifth}`).toBeGreaterThan(0.97)
    // A few climbs end too soon, because hardly any requests end in a round. The next ones compensate.
    expect((first[0]! + first[1]! + first[2]!) / 3).toBeGreaterThan(0.6)
    expect(fifth[0], `${fifth}`).toBeGreaterThan(0.9)
  })

  it.each([...UNBOUNDED.filter(({ together }) => together === undefined), STREAMS])(
    'does so without a queue: $name',
    (service) => {
      const asked = (NEEDED / service.meanMs) * 1_000
      const seeds = SEEDS.slice(0, service.meanMs < 500 ? 1 : 8)
      const runs = seeds.map((seed) => simulate(adaptive(), queueless(service, seed)))
      const first = mean(
        runs.flatMap((run) => run.slice(0, 60)),
        ({ served }) => served,
      )
      const fifth = runs.map((run) => mean(run.slice(240), ({ served }) => served) / asked)
      expect(first / asked).toBeGreaterThan(0.5)
      // One climb in forty ends too soon by chance, and the next begins after minutes.
      expect(fifth.reduce((sum, share) => sum + share, 0) / fifth.length, `${fifth}`).toBeGreaterThan(0.85)
    },
  )

  it('grows where streams fill the slots, among quick requests', () => {
    const asked = (NEEDED / STREAMS.meanMs) * 1_000
    for (const seed of SEEDS.slice(0, 4)) {
      const scenario = unbounded(STREAMS, seed)
      const stretches = scenario.stretches.map((stretch) => ({ ...stretch, forMs: 900_000 }))
      const run = simulate(adaptive(), { ...scenario, stretches })
      expect(mean(run.slice(60, 300), ({ served }) => served) / asked).toBeGreaterThan(0.5)
      expect(mean(run.slice(300), ({ served }) => served) / asked).toBeGreaterThan(0.85)
    }
  })

  it.each(UNBOUNDED)('grows to what is asked after it was full at five: $name', (service) => {
    const asked = (NEEDED / service.meanMs) * 1_000
    // Thousands of requests per second take long to simulate.
    const seeds = SEEDS.slice(0, service.meanMs < 500 ? 1 : 8)
    const runs = seeds.map((seed) => simulate(adaptive(), afterShortage(service, seed)))
    const before = runs.map((run) => mean(run.slice(60, SHORTAGE_MS / 1_000), ({ limit }) => limit))
    expect(Math.max(...before)).toBeLessThan(10)
    const tenth = runs.map((run) => mean(run.slice(-60), ({ served }) => served) / asked)
    // Five slots of six seconds on average end less than one request per second: ten minutes are few completions.
    const least = service.meanMs > 6_000 ? 0.7 : 0.97
    expect(tenth.reduce((sum, share) => sum + share, 0) / tenth.length, `${tenth}`).toBeGreaterThan(least)
  })

  const waves = [200, 500, 1_000, 2_000, 3_000, 4_000, 10_000, 60_000].map(swinging)
  it.each([...waves, alternating(0), alternating(0.9)])(
    'grows to what is asked where all requests become slower and quicker together: $name',
    (service) => {
      const asked = (NEEDED / service.meanMs) * 1_000
      const runs = SEEDS.slice(0, 3).map((seed) => simulate(adaptive(), unbounded(service, seed)))
      const served = (fromS: number, toS: number): number[] =>
        runs.map((run) => mean(run.slice(fromS, toS), (second) => second.served) / asked).sort((a, b) => a - b)
      const [first, fifth] = [served(0, 60), served(240, 300)]
      // In waves of 4 s some runs need a second minute.
      expect((first[0]! + first[1]! + first[2]!) / 3, `${first}`).toBeGreaterThan(0.5)
      expect(fifth[1], `${fifth}`).toBeGreaterThan(0.97)
    },
  )

  it.each([1_000, 2_000, 4_000, 8_000])(
    'does so behind cores that are not full, too, in waves of %d ms',
    (periodMs) => {
      const runs = SEEDS.slice(0, 6).map((seed) => simulate(adaptive(), swingingBehindCores(periodMs, seed)))
      const late = runs.map((run) => mean(run.slice(480), ({ served }) => served) / SWINGING_ASKED)
      expect(late.reduce((sum, share) => sum + share, 0) / late.length, `${late}`).toBeGreaterThan(0.85)
    },
  )

  it('grows where that begins only after the knee of something else was found', () => {
    const run = simulate(adaptive(), {
      seed: 1,
      maxWaiting: 200,
      patienceMs: 2_000,
      stretches: [
        { forMs: 60_000, machine: cores16 },
        { forMs: 240_000, machine: { kind: 'sharing', cores: 1, workMs: 0, elsewhereMs: 2_000 }, perSecond: 100 },
      ],
    })
    expect(mean(run.slice(240), ({ served }) => served) / 100).toBeGreaterThan(0.95)
  })
})

describe('adaptive, before a few cores with slow requests that are asked for less than they can', () => {
  it.each([
    [1, 500, 0.75],
    [1, 1_000, 0.75],
    [2, 1_000, 0.75],
    [4, 500, 0.75],
    [3, 700, 0.9],
    [6, 2_000, 0.9],
  ])('serves what is asked after a queue has formed: %d cores, %d ms, load %d', (cores, workMs, load) => {
    const perSecond = (load * cores * 1_000) / workMs
    const machine: Machine = { kind: 'sharing', cores, workMs }
    const stretches = [{ forMs: 900_000, machine, perSecond }]
    const runs = SEEDS.slice(0, 8).map((seed) =>
      simulate(adaptive(), { seed, stretches, maxWaiting: 200, patienceMs: 2_000 }),
    )
    const late = runs.map((run) => mean(run.slice(300), ({ served }) => served) / perSecond)
    expect(late.reduce((sum, share) => sum + share, 0) / late.length, `${late}`).toBeGreaterThan(0.7)
    expect(Math.min(...late), `${late}`).toBeGreaterThan(0.3)
  })
})

/** Two limits before one service, each with the requests that it lets in, in turn. */
function two(max: number): Capacity {
  const both = [adaptive({ max }), adaptive({ max })]
  const running: { readonly of: Capacity; readonly startMs: number }[] = []
  let turn = 0
  return {
    get limit() {
      return both.reduce((sum, each) => sum + each.limit, 0)
    },
    get inFlight() {
      return running.length
    },
    maximum: 2 * max,
    tryTake(width, nowMs) {
      turn++
      const taker = [both[turn % 2]!, both[(turn + 1) % 2]!].find((each) => each.tryTake(width, nowMs))
      if (taker) running.push({ of: taker, startMs: nowMs })
      return taker !== undefined
    },
    release(width, outcome, durationMs, nowMs) {
      const at = running.findIndex(({ startMs }) => Math.abs(startMs - (nowMs - durationMs)) < 1e-6)
      running.splice(at, 1)[0]!.of.release(width, outcome, durationMs, nowMs)
    },
    undo() {},
    onAvailable(listener) {
      const stops = both.map((each) => each.onAvailable(listener))
      return () => {
        for (const stop of stops) stop()
      }
    },
    snapshot: () => both.map((each) => each.snapshot()),
  }
}

describe('adaptive, with another before the same service', () => {
  it('raises it and is raised by it, unless both are bounded', () => {
    const stretches = [{ forMs: 300_000, machine: cores16 }]
    const served = (max: number): number => {
      const runs = SEEDS.slice(0, 3).map((seed) => simulate(two(max), { seed, stretches }))
      return mean(
        runs.flatMap((run) => run.slice(240)),
        (second) => second.served,
      )
    }
    expect(served(1_000) / 320).toBeLessThan(0.75)
    expect(served(12) / 320).toBeGreaterThan(0.92)
  })
})

describe('adaptive, over time', () => {
  it.each([
    ['16 cores', 16, 1.6, cores16, 305],
    // Excess in-flight requests cost servers in order of arrival nothing, so there is little pressure against them.
    ['16 servers', 16, 3.2, { ...cores16, kind: 'servers' }, 310],
    ['8 cores and 80 ms elsewhere', 40, 1.6, { kind: 'sharing', cores: 8, workMs: 20, elsewhereMs: 80 }, 340],
  ] as const)('keeps just above the knee in each of ten minutes: %s', (_, knee, most, machine, served) => {
    for (const seed of SEEDS.slice(0, 4)) {
      const seconds = simulate(adaptive(), { seed, stretches: [{ forMs: 600_000, machine }] })
      for (let minute = 0; minute < 10; minute++) {
        const limit = mean(seconds.slice(minute * MINUTE, (minute + 1) * MINUTE), (second) => second.limit)
        expect(limit / knee).toBeGreaterThan(1)
        expect(limit / knee).toBeLessThan(most)
      }
      expect(mean(seconds, (second) => second.served)).toBeGreaterThan(0.97 * served)
    }
  })

  it.each([
    [8, 3_000, 0.65, 0.85],
    [4, 1_000, 0.6, 0.85],
    [4, 200, 0.85, 0.9],
  ])('does not climb to the top of a service that ends few requests: %d cores, %d ms', (cores, workMs, soon, later) => {
    // Nearly all requests of the first climb still run when it ends: some runs overshoot, and take long to recover.
    const shares = sharesOf(cores, workMs)
    expect(shares[0]).toBeGreaterThan(soon)
    expect(shares[1]).toBeGreaterThan(later)
  })

  it('overshoots where one or two requests end per second, and serves little for half an hour', () => {
    const [soon, later] = sharesOf(2, 1_000)
    expect(soon).toBeGreaterThan(0.1)
    expect(soon).toBeLessThan(0.35)
    expect(later).toBeGreaterThan(0.3)
    expect(later).toBeLessThan(0.7)
    const [knowing] = sharesOf(2, 1_000, 4)
    expect(knowing).toBeGreaterThan(0.8)
  })

  it('comes down from far too high a start, once what it let in has ended', () => {
    const served = (fromS: number, toS: number, thrashing: number): number => {
      const stretches = [{ forMs: 120_000, machine: { ...cores16, thrashing } }]
      const runs = SEEDS.slice(0, 4).map((seed) => simulate(adaptive({ initial: 500 }), { seed, stretches }))
      return (
        mean(
          runs.flatMap((run) => run.slice(fromS, toS)),
          (second) => second.served,
        ) / 320
      )
    }
    expect(served(10, 30, 0.1)).toBeLessThan(0.5)
    expect(served(60, 120, 0.1)).toBeGreaterThan(0.8)
    expect(served(60, 120, 0.5)).toBeLessThan(0.3)
  })

  it('does not grow while idle, and is ready for the next surge', () => {
    for (const seed of SEEDS.slice(0, 6)) {
      const seconds = simulate(adaptive(), {
        seed,
        stretches: [
          { forMs: 60_000, machine: cores16 },
          { forMs: 60_000, machine: cores16, perSecond: 3.2 },
          { forMs: 60_000, machine: cores16 },
        ],
      })
      // The backlog is gone, and so is a probe that was under way: it needed 50 completions to see that no request
      // arrives.
      const calm = seconds.slice(95, 120)
      const limit = calm[0]!.least
      for (const { least, largest } of calm) expect([least, largest]).toEqual([limit, limit])
      expect(limit).toBeGreaterThan(10)
      expect(limit).toBeLessThan(32)
      expect(mean(seconds.slice(120, 130), (second) => second.served)).toBeGreaterThan(0.85 * 320)
    }
  })

  it('does not grow on a service that is never full', () => {
    const seconds = simulate(adaptive({ initial: 40 }), {
      seed: 3,
      stretches: [{ forMs: 120_000, machine: cores16, perSecond: 150 }],
    })
    expect(Math.max(...seconds.map((second) => second.largest))).toBe(40)
  })

  it('follows the demand at three quarters of the capacity', () => {
    const seconds = simulate(adaptive(), {
      seed: 7,
      stretches: [{ forMs: 120_000, machine: cores16, perSecond: 240 }],
    })
    const late = seconds.slice(10)
    expect(mean(late, (second) => second.served)).toBeGreaterThan(0.98 * 240)
    expect(mean(late, (second) => second.limit)).toBeGreaterThan(16)
    expect(mean(late, (second) => second.limit)).toBeLessThan(45)
  })

  it('keeps nobody waiting at less than one request per second', () => {
    for (const seed of SEEDS.slice(0, 6)) {
      const seconds = simulate(adaptive(), {
        seed,
        stretches: [{ forMs: 600_000, machine: { ...cores16, workMs: 2_000 }, perSecond: 0.9 }],
      })
      expect(mean(seconds, (second) => second.served)).toBeGreaterThan(0.7)
      expect(seconds.reduce((sum, second) => sum + second.waited, 0)).toBe(0)
    }
  })

  it.each([0.5, 0.9])('does not take fast refusals downstream for speed: %d of all', (failing) => {
    for (const seed of SEEDS.slice(0, 4)) {
      const seconds = simulate(adaptive(), {
        seed,
        stretches: [
          { forMs: 30_000, machine: cores16 },
          { forMs: 60_000, machine: cores16, failing },
        ],
      })
      const late = seconds.slice(40)
      expect(mean(late, (second) => second.limit)).toBeLessThan(1.7 * 16)
      expect(mean(late, (second) => second.served)).toBeGreaterThan(0.9 * 320)
    }
  })

  it('learns the same from the same history', () => {
    const run = (capacity: AdaptiveCapacity): Second[] =>
      simulate(capacity, { seed: 5, stretches: [{ forMs: 20_000, machine: cores16 }] })
    expect(run(adaptive())).toEqual(run(adaptive()))
  })
})
