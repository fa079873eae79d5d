import { byWidth } from '@fairlead-testing/oracles'
import { expect, it } from 'vitest'
import { simulate } from './engine.js'
import { sum } from './harm.js'
import { RULES } from './rules.js'
import type { World } from './world.js'

/** Windows of 10 s until a shortage is proven. */
const PROOF = 2

/** Flows with equal demands, or two heavy ones beside others that ask for 60 % of the capacity. */
function worldOf(perSecond: number, burst: number, load: number, isNoisy: boolean, seconds = 120, seed = 1): World {
  const crowd = (name: string, flows: number, part: number) => {
    return { name, flows, perSecond: part * perSecond, between: [0, seconds] } as const
  }
  const crowds = isNoisy ? [crowd('light', 18, 0.6), crowd('heavy', 2, load - 0.6)] : [crowd('light', 10, load)]
  return {
    seed,
    families: [],
    seconds,
    processes: 1,
    balancer: 'random',
    resource: { kind: 'bucket', perSecond, burst, late: 0, changes: [] },
    crowds,
    costs: null,
    unrelated: null,
    reports: { lost: 0, late: 0 },
    endsAt: null,
    jumps: [],
    restarts: [],
  }
}

const SEEDS = byWidth([1], [1, 2, 3, 4])
const STORES: [number, number][] = [
  [5, 0.87],
  [10, 0.93],
  [20, 0.97],
]

it.each(byWidth(STORES.slice(0, 1), STORES))(
  'a process alone before a store of %d serves at least %d of what is served without control',
  (burst, least) => {
    const parts: number[] = []
    for (const perSecond of [100, 300])
      for (const load of [1.2, 1.5])
        for (const isNoisy of [false, true]) {
          const world = worldOf(perSecond, burst, load, isNoisy)
          const [rule, none] = ['fair-clock', 'none'].map((name) =>
            sum(simulate(world, RULES.get(name)!).known.served.slice(PROOF)),
          )
          parts.push(rule! / none!)
        }
    expect(sum(parts) / parts.length).toBeGreaterThan(least)
  },
)

it('keeps that for minutes: a store of five, by seeds', () => {
  const parts = SEEDS.map((seed) => {
    const world = worldOf(100, 5, 1.5, false, 300, seed)
    const [rule, none] = ['fair-clock', 'none'].map((name) =>
      sum(simulate(world, RULES.get(name)!).known.served.slice(25)),
    )
    return rule! / none!
  })
  expect(Math.min(...parts)).toBeGreaterThan(0.85)
  expect(sum(parts) / parts.length).toBeGreaterThan(0.9)
})

it('serves most of it with a store of two at ordinary loads, too, although it may take that for a shortage', () => {
  const parts = [0.5, 0.7, 0.9].flatMap((load) =>
    SEEDS.map((seed) => {
      const world = worldOf(200, 2, load, false, 300, seed)
      const [rule, none] = ['fair-clock', 'none'].map((name) =>
        sum(simulate(world, RULES.get(name)!).known.served.slice(10)),
      )
      return rule! / none!
    }),
  )
  expect(Math.min(...parts)).toBeGreaterThan(0.7)
  expect(sum(parts) / parts.length).toBeGreaterThan(0.9)
})

it('a process alone before a pool of slow requests protects the flows that ask for little', () => {
  const resource = { kind: 'pool', workers: 30, meanSeconds: 3, line: 0, patience: 1, late: 0, changes: [] } as const
  const parts = SEEDS.map((seed) => {
    const world = { ...worldOf(10, 1, 1.9, true, 300, seed), resource }
    const served = ['fair-clock', 'none'].map((name) => {
      const { flows, asked, served, windows } = simulate(world, RULES.get(name)!)
      const last = (column: Float64Array, row: number) => sum(column.slice(row + windows / 2, row + windows))
      const quiet = flows.filter(({ crowd }) => crowd === 0)
      return sum(quiet.map(({ row }) => last(served, row))) / sum(quiet.map(({ row }) => last(asked, row)))
    })
    return served
  })
  const mean = (which: number): number => sum(parts.map((each) => each[which]!)) / parts.length
  expect(mean(0)).toBeGreaterThan(0.75)
  expect(mean(1)).toBeLessThan(0.6)
})

it('a process alone before a pool at ordinary loads serves most of what is served without control', () => {
  const parts = byWidth([5], [5, 10, 20]).flatMap((workers) =>
    [0.7, 0.9].flatMap((load) =>
      SEEDS.map((seed) => {
        const resource = {
          kind: 'pool',
          workers,
          meanSeconds: 0.1,
          line: 0,
          patience: 1,
          late: 0,
          changes: [],
        } as const
        const world = { ...worldOf(10 * workers, 1, load, false, 240, seed), resource }
        const [rule, none] = ['fair-clock', 'none'].map((name) =>
          sum(simulate(world, RULES.get(name)!).known.served.slice(6)),
        )
        return rule! / none!
      }),
    ),
  )
  expect(Math.min(...parts)).toBeGreaterThan(0.85)
  expect(sum(parts) / parts.length).toBeGreaterThan(0.9)
})

it('uses more of a pool whose workers double, long before its proof is tested', () => {
  const changes = [{ at: 120, times: 2 }]
  const resource = { kind: 'pool', workers: 10, meanSeconds: 0.1, line: 0, patience: 1, late: 0, changes } as const
  const parts = [1, 2, 3, 4].map((seed) => {
    const world = { ...worldOf(100, 1, 4, true, 400, seed), resource }
    const [rule, none] = ['fair-clock', 'none'].map((name) =>
      sum(simulate(world, RULES.get(name)!).known.served.slice(25)),
    )
    return rule! / none!
  })
  expect(sum(parts) / parts.length).toBeGreaterThan(0.73)
})

const PAUSES: [number, number][] = [
  [0.1, 2],
  [0.3, 3],
  [1, 10],
]

it.each(byWidth(PAUSES.slice(0, 1), PAUSES))(
  'a resource that pauses for %d s every %d s serves most of what it serves without control',
  (length, every) => {
    const rounds = Array.from({ length: 100 / every }, (_, round) => 20 + round * every)
    const changes = rounds.flatMap((at) => [
      { at, times: 0 },
      { at: at + length, times: 1 },
    ])
    const parts = SEEDS.map((seed) => {
      const world = worldOf(500, 20, 2, false, 120, seed)
      const [rule, none] = ['fair-clock', 'none'].map((name) =>
        sum(simulate({ ...world, resource: { ...world.resource, changes } }, RULES.get(name)!).known.served.slice(8)),
      )
      return rule! / none!
    })
    expect(sum(parts) / parts.length).toBeGreaterThan(0.85)
  },
)
