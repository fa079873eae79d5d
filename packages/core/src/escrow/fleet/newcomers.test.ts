import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { type ManualClock, manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { LeasedFairEscrow } from './escrows.js'
import { rig } from './fixtures/stores.js'
import type { LeasedDecision } from './options.js'
import { MemoryPoolStore } from './stores.js'

const WINDOW_MS = 1_000
const LIMIT = 1_000
const POLLS = 40

interface Asker {
  name: string
  cost: number
  /** It asks once in each window; by default at each poll, until it is refused. */
  once?: boolean
}

/** Two processes; each tenant asks at one of them, or at both in turn. */
class Fleet {
  readonly weights: Map<string, number> = new Map()
  readonly clock: ManualClock = manualClock()
  readonly processes: LeasedFairEscrow[]
  readonly #places: readonly number[]
  #windows = 0

  constructor(places: readonly number[]) {
    const { clock } = this
    const store = new MemoryPoolStore({ clock })
    const weightOf = (tenant: string): number => this.weights.get(tenant) ?? 1
    const shared = { pool: 'p', limit: LIMIT, windowMs: WINDOW_MS, quantum: 10, store, weightOf, clock }
    const own = { random: seededRandom(1), after: () => () => {}, estimates: 'asked' } as const
    this.processes = [0, 1].map(() => new LeasedFairEscrow({ ...shared, ...own }))
    this.#places = places
  }

  window(askers: readonly Asker[], polls: number = POLLS): Record<string, number> {
    const used: Record<string, number> = Object.fromEntries(askers.map(({ name }) => [name, 0]))
    let turn = 0
    const ask = ({ name, cost }: Asker): boolean => {
      const place = this.#places[turn++ % this.#places.length]!
      const { allowed } = this.processes[(name.charCodeAt(0) + place) % 2]!.check(name, cost) as LeasedDecision
      if (allowed) used[name]! += cost
      return allowed
    }
    for (let poll = 0; poll < polls; poll++) {
      this.clock.advance(this.#windows * WINDOW_MS + (poll * WINDOW_MS) / polls - this.clock())
      let asking = askers.filter(({ once }) => once !== true || poll === 0)
      while (asking.length > 0) asking = asking.filter((asker) => ask(asker) && asker.once !== true)
    }
    this.#windows++
    return used
  }
}

const eager = (...names: string[]): Asker[] => names.map((name) => ({ name, cost: 5 }))
const WAITING: Asker = { name: 'waiting', cost: 900 }

describe.each([
  ['at one process each', [0]],
  ['at both', [0, 0, 1]],
])('in a fleet in which a tenant waits for a cost of many guarantees, tenants %s', (_, places) => {
  it.each([
    ['has not asked before', []],
    ['wanted little before', [{ name: 'new', cost: 1, once: true }]],
  ])('one that %s gets no more than a guarantee before others', (_name, before) => {
    const fleet = new Fleet(places)
    fleet.weights.set('waiting', 0.01)
    const old = eager('a', 'b', 'c', 'd')
    for (let window = 0; window < 8; window++) fleet.window([WAITING, ...old, ...before])
    const used = fleet.window([WAITING, ...old, ...eager('new')])
    // Its part is a fifth.
    expect(used['new']).toBeGreaterThan(190)
    expect(used['new']! - used['a']!).toBeLessThanOrEqual(LIMIT / 4 + 20)
    const next = fleet.window([WAITING, ...old, ...eager('new')])
    expect(Math.abs(next['new']! - next['a']!)).toBeLessThanOrEqual(20)
  })

  it('the waiting one gets no more than its new guarantee, and one more, when its weight grows', () => {
    const fleet = new Fleet(places)
    fleet.weights.set('waiting', 0.01)
    const old = eager('a', 'b', 'c', 'd')
    for (let window = 0; window < 8; window++) fleet.window([WAITING, ...old])
    fleet.weights.set('waiting', 1)
    const used = fleet.window([...eager('waiting'), ...old])
    expect(used['waiting']! - used['a']!).toBeLessThanOrEqual(LIMIT / 4 + 20)
    // It got 900 when it came first, for a weight of 0.01, and still makes up for that.
    const next = fleet.window([...eager('waiting'), ...old])
    expect(next['waiting']! - next['a']!).toBeLessThanOrEqual(20)
    const last = fleet.window([...eager('waiting'), ...old])
    expect(Math.abs(last['waiting']! - last['a']!)).toBeLessThanOrEqual(20)
  })

  it.each(byWidth([900], [150, 450, 900]))('the waiting one gets its part, by costs of %d', (cost) => {
    const fleet = new Fleet(places)
    const windows = Array.from({ length: 40 }, () =>
      fleet.window([{ name: 'waiting', cost }, ...eager('a', 'b', 'c', 'd')]),
    )
    const sum = windows.reduce((total, { waiting }) => total + waiting!, 0)
    expect(sum / 40).toBeGreaterThan(0.85 * (LIMIT / 5))
    expect(sum / 40).toBeLessThan(1.15 * (LIMIT / 5))
  })
})

describe('where a call of a light tenant is worth many guarantees, in a fleet', () => {
  it.each([
    ['two tenants', { a: 1_000, s: 1_000, f: 1 }, { a: 10, s: 10, f: 10 }, ['s']],
    ['a dear one', { big: 1, a: 1, b: 1e-6 }, { big: 600, a: 10, b: 10 }, []],
  ] as [string, Record<string, number>, Record<string, number>, string[]][])(
    '%s use the limit',
    (_, weights, costs, once) => {
      const fleet = new Fleet([0])
      for (const [name, weight] of Object.entries(weights)) fleet.weights.set(name, weight)
      const askers = Object.entries(costs).map(([name, cost]) => ({ name, cost, once: once.includes(name) }))
      const windows = Array.from({ length: byWidth(15, 30) }, () => fleet.window(askers, 5 * POLLS))
      for (const used of windows.slice(1))
        expect(Object.values(used).reduce((sum, one) => sum + one, 0)).toBeGreaterThanOrEqual(0.92 * LIMIT)
    },
  )
})

describe('a change of weight in a fleet', () => {
  it.each([
    [0.5, 150],
    [1, 300],
    [4, 300],
  ])('to %d multiplies nothing that a tenant makes up for', (weight, carried) => {
    const { clock, ask } = rig()
    ask('much', 700)
    ask('little', 300)
    for (const member of ['much', 'little']) ask(member, 10)
    clock.advance(WINDOW_MS)
    expect(ask('much', 0, { weight }).used).toEqual([carried])
    // In the same window, too.
    expect(ask('much', 0, { weight: weight / 2 }).used).toEqual([carried / 2])
    expect(ask('much', 0, { weight }).used).toEqual([carried / 2])
  })
})
