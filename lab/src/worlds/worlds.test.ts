import { describe, expect, it } from 'vitest'
import { simulate } from './engine.js'
import { FAMILY_LISTS } from './families.js'
import { entitlements, judge, mean, sum, yardstickOf } from './harm.js'
import { RULES, type Rule } from './rules.js'
import { GATES, missed, type Summary, summaryOf, tryWorld } from './trial.js'
import { type Resource, type World, worldOf } from './world.js'

const none = RULES.get('none')!
const never: Rule = () => ({ admit: () => 1000 })
const bucket = { kind: 'bucket', perSecond: 10, burst: 20, late: 0, changes: [] } as const

/** 600 s of crowds, each with a name, flows, and requests per second, before one resource. */
function plain(resource: Resource, crowds: readonly (readonly [string, number, number])[]): World {
  return {
    seed: 1,
    families: [],
    seconds: 600,
    processes: 1,
    balancer: 'random',
    resource,
    crowds: crowds.map(([name, flows, perSecond]) => ({ name, flows, perSecond, between: [0, 600] })),
    costs: null,
    unrelated: null,
    reports: { lost: 0, late: 0 },
    endsAt: null,
    jumps: [],
    restarts: [],
  }
}

describe('a world', () => {
  it('is plain data, and the same each time', () => {
    for (const list of Object.values(FAMILY_LISTS))
      for (let seed = 1; seed <= 100; seed++) {
        const world = worldOf(seed, list)
        expect(JSON.parse(JSON.stringify(world))).toEqual(world)
        expect(worldOf(seed, list)).toEqual(world)
      }
  })

  it('stays what its seed stands for', () => {
    expect([1, 2, 3, 4, 5].map((seed) => worldOf(seed).families.join(', '))).toEqual([
      'slow store',
      'fleet',
      'slow store, costs, closed loops, fleet',
      'closed loops',
      'changing capacity, weights, fleet',
    ])
    expect([1, 2, 3, 4, 5].map((seed) => worldOf(seed).seconds)).toEqual([170, 300, 90, 430, 230])
  })

  it('meets each family of each list', () => {
    for (const list of Object.values(FAMILY_LISTS)) {
      const met = new Set(Array.from({ length: 300 }, (_, i) => worldOf(i + 1, list).families).flat())
      expect([...met]).toEqual(expect.arrayContaining(list.families.map(({ name }) => name)))
    }
  })
})

describe('the engine', () => {
  it('serves the rate and the burst of a bucket, no more and no less', () => {
    const { served } = simulate(plain(bucket, [['flow', 10, 30]]), none)
    expect(Math.abs(sum(served) - (600 * 10 + 20))).toBeLessThanOrEqual(2)
  })

  it.each([1, 2])('serves with a store of one what comes in the gaps, of %d times the capacity', (load) => {
    const { served } = simulate(plain({ ...bucket, burst: 1 }, [['flow', 10, 10 * load]]), none)
    expect(sum(served) / (600 * 10)).toBeCloseTo(load / (load + 1), 1.5)
  })

  it('serves by a changed rate from the time of the change', () => {
    const { served } = simulate(plain({ ...bucket, changes: [{ at: 300, times: 0.5 }] }, [['flow', 10, 30]]), none)
    expect(Math.abs(sum(served) - (300 * 10 + 300 * 5 + 20))).toBeLessThanOrEqual(2)
  })

  it('fails for a while, again and again', () => {
    const unrelated = { share: 1, from: 0, to: 600, rounds: 4 }
    const { asked } = simulate({ ...plain(bucket, [['flow', 10, 5]]), unrelated }, none)
    // Requests that fail in any case are not asked.
    for (let w = 0; w < 60; w++) {
      const isOn = w % 15 < 5
      expect(asked.filter((_, i) => i % 60 === w).some((cost) => cost > 0)).toBe(!isOn)
    }
  })

  it('loses in a pool without a line what Erlang said', () => {
    const pool = { kind: 'pool', workers: 5, meanSeconds: 0.1, line: 0, patience: 1, late: 0, changes: [] } as const
    const { failed, admitted } = simulate(plain(pool, [['flow', 10, 40]]), none)
    expect(failed / admitted).toBeCloseTo(erlang(5, 40 * 0.1), 1.7)
  })

  it('starts a process anew, and sets its clock', () => {
    const told: number[] = []
    let made = 0
    const rule: Rule = (_seed, clock) => {
      made++
      const admit = () => {
        told.push(clock())
        return () => {}
      }
      return { admit }
    }
    const changed = { jumps: [{ at: 100, process: 0, by: -50 }], restarts: [{ at: 300, process: 0 }] }
    simulate({ ...plain(bucket, [['flow', 1, 5]]), ...changed }, rule)
    expect(made).toBe(2)
    const backwards = told.findIndex((at, i) => at < (told[i - 1] ?? 0))
    expect(told[backwards - 1]).toBeLessThan(100_000)
    expect(told[backwards]).toBeGreaterThanOrEqual(50_000)
    expect(told.at(-1)).toBeLessThan(550_000)
  })
})

describe('the oracle', () => {
  const oracle = RULES.get('oracle')!

  it('lets in what a bucket serves, no more and no less, in however many processes', () => {
    const run = simulate({ ...plain(bucket, [['flow', 10, 30]]), processes: 3 }, oracle)
    expect(run.failed).toBe(0)
    expect(Math.abs(sum(run.served) - (600 * 10 + 20))).toBeLessThanOrEqual(2)
  })

  it('cannot prevent that some of what a pool can serve in the mean comes while all its workers are busy', () => {
    const pool = { kind: 'pool', workers: 5, meanSeconds: 0.1, line: 0, patience: 1, late: 0, changes: [] } as const
    const run = simulate(plain(pool, [['flow', 10, 150]]), oracle)
    expect(run.failed / run.admitted).toBeGreaterThan(0.1)
    expect(run.failed / run.admitted).toBeLessThan(erlang(5, 5))
  })
})

describe('what is due', () => {
  it('is a max-min share', () => {
    const run = simulate(
      plain(bucket, [
        ['light', 4, 4],
        ['heavy', 2, 60],
      ]),
      none,
    )
    const entitled = entitlements(run)
    for (const { row, crowd } of run.flows) {
      const perSecond = sum(entitled.subarray(row, row + run.windows)) / 600
      expect(Math.abs(perSecond - (crowd === 0 ? 1 : 3))).toBeLessThan(0.2)
    }
  })
})

describe('harm', () => {
  const harmOf = (seed: number, rule: Rule): number => {
    const world = worldOf(seed)
    return judge(yardstickOf(world, simulate(world, none)), simulate(world, rule)).harm
  }

  it('is all there can be if everything is refused', () => {
    expect(harmOf(1, never)).toBe(1)
  })

  it('is none without control, and hardly any by a placebo', () => {
    const trials = Array.from({ length: 10 }, (_, i) => tryWorld('first', i + 1, ['none', 'placebo']))
    for (const { measures } of trials) expect(measures['none']!.harm).toBe(0)
    expect(mean(trials.map(({ measures }) => measures['placebo']!.harm))).toBeLessThan(0.005)
  })

  it('is needless where nothing is short', () => {
    const world = plain(bucket, [['flow', 10, 5]])
    const yardstick = yardstickOf(world, simulate(world, none))
    expect(judge(yardstick, simulate(world, never)).needless).toBe(1)
    expect(judge(yardstick, yardstick.none).needless).toBe(0)
  })
})

describe.each(GATES)('the gate of %s', (_list, _last, bounds) => {
  const kept: Summary = {
    ...summaryOf([], 'fair-clock'),
    ...Object.fromEntries(bounds.map(([name, , bound]) => [name, bound])),
  }

  it('lets pass what keeps each bound just so', () => {
    expect(missed(kept, bounds)).toEqual([])
  })

  it.each(bounds)('names %s if it is not %s %d', (name, side, bound) => {
    const worse = side === 'at most' ? bound + 0.01 : bound - 0.01
    expect(missed({ ...kept, [name]: worse }, bounds)).toEqual([expect.stringContaining(`${name} is`)])
    expect(missed({ ...kept, [name]: Number.NaN }, bounds)).toHaveLength(1)
  })
})

/** Part of the requests that is lost, by Erlang's formula B. */
function erlang(workers: number, load: number): number {
  let lost = 1
  for (let n = 1; n <= workers; n++) lost = (load * lost) / (n + load * lost)
  return lost
}
