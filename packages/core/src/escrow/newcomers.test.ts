import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ManualClock, manualClock } from '../testing/manual-clock.js'
import { WeightedFairEscrow } from './escrow.js'
import { hierarchy } from './hierarchy.js'

const WINDOW_MS = 1_000
const LIMIT = 1_000
const POLLS = 40
/** The least part of the limit that is used in a window, by random tenants of which one always asks. */
const USED = 0.6

interface Asker {
  name: string
  cost: number
  /** It asks once in each window; by default at each poll, until it is refused. */
  once?: boolean
}

/** A budget for all, or for a group that gets half of it. */
class World {
  readonly weights: Map<string, number> = new Map()
  readonly clock: ManualClock = manualClock()
  readonly escrow: WeightedFairEscrow
  readonly #isGroup: boolean
  #windows = 0

  constructor(isGroup = false) {
    this.#isGroup = isGroup
    const tree = hierarchy({
      name: 'all',
      children: [
        { name: 'group', weight: 1, children: [] },
        { name: 'other', weight: 1 },
      ],
    })
    this.escrow = new WeightedFairEscrow({
      ...{ limit: isGroup ? 2 * LIMIT : LIMIT, windowMs: WINDOW_MS, estimates: 'asked', clock: this.clock },
      weightOf: (tenant) => this.weights.get(tenant) ?? 1,
      ...(isGroup && { tree, groupOf: () => 'group' }),
    })
  }

  /** Use by name, in the next window, of those that ask in it. */
  window(askers: readonly Asker[], polls: number = POLLS): Record<string, number> {
    const used: Record<string, number> = Object.fromEntries(askers.map(({ name }) => [name, 0]))
    const ask = ({ name, cost }: Asker): boolean => {
      const { allowed } = this.escrow.check(name, cost)
      if (allowed) used[name]! += cost
      return allowed
    }
    for (let poll = 0; poll < polls; poll++) {
      this.clock.advance(this.#windows * WINDOW_MS + (poll * WINDOW_MS) / polls - this.clock())
      if (this.#isGroup) while (this.escrow.check('other', 25).allowed);
      let asking = askers.filter(({ once }) => once !== true || poll === 0)
      while (asking.length > 0) asking = asking.filter((asker) => ask(asker) && asker.once !== true)
    }
    this.#windows++
    return used
  }
}

const eager = (...names: string[]): Asker[] => names.map((name) => ({ name, cost: 10 }))
const WAITING: Asker = { name: 'waiting', cost: 1_000 }

describe.each([
  ['in a budget', false],
  ['in a group', true],
])('%s in which a tenant waits for a cost of many guarantees', (_, isGroup) => {
  it.each([
    ['has not asked before', []],
    ['wanted little before', [{ name: 'new', cost: 1, once: true }]],
  ])('a tenant that %s gets no more than a guarantee before others', (_name, before) => {
    const world = new World(isGroup)
    world.weights.set('waiting', 0.01)
    const old = eager('a', 'b', 'c', 'd')
    for (let window = 0; window < 8; window++) world.window([WAITING, ...old, ...before])
    const used = world.window([WAITING, ...old, ...eager('new')])
    // Its part is a fifth.
    expect(used['new']).toBeGreaterThan(190)
    expect(used['new']! - used['a']!).toBeLessThanOrEqual(LIMIT / 4 + 20)
    const next = world.window([WAITING, ...old, ...eager('new')])
    expect(Math.abs(next['new']! - next['a']!)).toBeLessThanOrEqual(20)
  })

  it('the waiting tenant is served, in its turn', () => {
    const world = new World(isGroup)
    const windows = Array.from({ length: 25 }, () => world.window([WAITING, ...eager('a', 'b', 'c', 'd')]))
    const served = windows.filter(({ waiting }) => waiting === WAITING.cost).length
    expect(served).toBeGreaterThanOrEqual(4)
    expect(served).toBeLessThanOrEqual(6)
  })

  it('it gets no more than its new guarantee, and one more, when its weight grows', () => {
    const world = new World(isGroup)
    world.weights.set('waiting', 0.01)
    const old = eager('a', 'b', 'c', 'd')
    for (let window = 0; window < 8; window++) world.window([WAITING, ...old])
    world.weights.set('waiting', 1)
    const used = world.window([...eager('waiting'), ...old])
    expect(used['waiting']! - used['a']!).toBeLessThanOrEqual(LIMIT / 4 + 20)
    const next = world.window([...eager('waiting'), ...old])
    expect(Math.abs(next['waiting']! - next['a']!)).toBeLessThanOrEqual(isGroup ? 60 : 20)
  })
})

describe('a change of weight', () => {
  it.each([
    [1, 400, 600],
    [0.5, 266.666_67, 733.333_33],
    [2, 600, 400],
    [100, 988.118_81, 11.881_19],
  ])('to %d multiplies nothing that a tenant makes up for', (weight, much, little) => {
    const world = new World()
    world.escrow.check('much', 900)
    world.clock.advance(500)
    for (const name of ['little', 'much', 'little', 'much']) world.escrow.check(name, 100)
    world.clock.advance(500)
    // It got 200 more than the level of the little one; with half of the weight, it makes up for half of that.
    world.weights.set('much', weight)
    world.escrow.check('much', 1)
    expect(world.escrow.peek('much', 1).guarantee).toBeCloseTo(much, 4)
    expect(world.escrow.peek('little', 1).guarantee).toBeCloseTo(little, 4)
  })
})

describe('over random worlds', () => {
  const tenant = fc.record({ weight: fc.integer({ min: 1, max: 4 }), cost: fc.integer({ min: 1, max: 20 }) })
  const waiter = fc.record({
    weight: fc.constantFrom(0.01, 0.3, 1, 3),
    cost: fc.integer({ min: 100, max: 0.6 * LIMIT }),
  })

  it('those that go on asking lose no more than a window to a newcomer, together', () => {
    fc.assert(
      fc.property(
        fc.array(tenant, { minLength: 1, maxLength: 5 }),
        fc.array(waiter, { maxLength: 3 }),
        tenant,
        fc.boolean(),
        fc.integer({ min: 2, max: 12 }),
        (tenants, waiters, newcomer, wasThere, windows) => {
          const world = new World()
          const askers = (of: readonly { weight: number; cost: number }[], kind: string): Asker[] =>
            of.map(({ weight, cost }, at) => {
              world.weights.set(kind + at, weight)
              return { name: kind + at, cost }
            })
          const old = [...askers(waiters, 'waiter'), ...askers(tenants, 'old')]
          const [entrant] = askers([newcomer], 'new') as [Asker]
          const before = wasThere ? [{ name: entrant.name, cost: 1, once: true }] : []
          for (let window = 0; window < windows; window++) world.window([...old, ...before])
          const total: Record<string, number> = {}
          for (let window = 0; window < 4; window++) {
            for (const [name, used] of Object.entries(world.window([...old, entrant])))
              total[name] = (total[name] ?? 0) + used
            // The waiting tenants that were served, with their large costs, let the others differ, too.
            const served = waiters.filter((_, i) => total[`waiter${i}`]! > 0)
            const largest = Math.max(0, ...served.map((other) => other.cost / other.weight))
            let lost = 0
            let costs = 0
            for (const [at, { weight, cost }] of tenants.entries()) {
              lost += Math.max(0, (weight * total[entrant.name]!) / newcomer.weight - total[`old${at}`]!)
              costs += cost + weight * (newcomer.cost / newcomer.weight + largest)
            }
            expect(lost).toBeLessThanOrEqual(LIMIT + 2 * costs)
          }
        },
      ),
      propertyRuns(),
    )
  })

  it('a call that is worth many guarantees leaves the limit to the others', () => {
    // Silent tenants that weigh much keep the budget for most of the window, as they may.
    const light = fc
      .record({ power: fc.integer({ min: -6, max: 3 }), cost: fc.integer({ min: 1, max: 10 }), once: fc.boolean() })
      .map(({ power, cost, once }) => ({ weight: 10 ** (once ? Math.min(-1, power) : power), cost, once }))
    const dear = fc.record({
      weight: fc.integer({ min: -6, max: 3 }).map((power) => 10 ** power),
      cost: fc.integer({ min: 100, max: 0.6 * LIMIT }),
    })
    fc.assert(
      fc.property(fc.array(light, { maxLength: 5 }), fc.array(dear, { maxLength: 2 }), (lights, dears) => {
        const world = new World()
        const askers = [...lights, ...dears].map((asker, at): Asker => {
          world.weights.set(`t${at}`, asker.weight)
          return { ...asker, name: `t${at}` }
        })
        const all = [...askers, ...eager('greedy')]
        for (let window = 0; window < 10; window++) {
          const used = Object.values(world.window(all)).reduce((sum, one) => sum + one, 0)
          expect(used).toBeGreaterThanOrEqual(USED * LIMIT)
        }
      }),
      propertyRuns(),
    )
  })
})

describe('where a call of a light tenant is worth many guarantees', () => {
  it.each([
    ['two tenants', { a: 1_000, s: 1_000, f: 1 }, { a: 10, s: 10, f: 10 }, ['s']],
    ['two equal tenants', { a: 1, s: 1, f: 0.001 }, { a: 10, s: 10, f: 10 }, ['s']],
    ['a dear one', { big: 1, a: 1, b: 1e-6 }, { big: 600, a: 10, b: 10 }, []],
  ] as [string, Record<string, number>, Record<string, number>, string[]][])(
    '%s use the limit',
    (_, weights, costs, once) => {
      const { weights: weightOf, clock, escrow } = new World()
      for (const [name, weight] of Object.entries(weights)) weightOf.set(name, weight)
      const names = Object.keys(costs)
      const used = Array.from({ length: 30 }, () => 0)
      for (let poll = 0; poll < 200 * used.length; poll++) {
        for (let turn = 0; turn < names.length; turn++) {
          const name = names[(turn + poll) % names.length]!
          if (once.includes(name) && poll % 200 >= 2) continue
          if (escrow.check(name, costs[name]!).allowed) used[Math.floor(poll / 200)]! += costs[name]!
        }
        clock.advance(WINDOW_MS / 200)
      }
      expect(Math.min(...used.slice(1))).toBeGreaterThanOrEqual(0.97 * LIMIT)
    },
  )
})

describe('a budget in which tenants ask for nearly all of it in one call', () => {
  const COST = 990
  const dear = (...names: string[]): Asker[] => names.map((name) => ({ name, cost: COST }))

  /** The tenant served in each window, after the first ones; '' if none was. */
  function turns(world: World, askers: readonly Asker[], windows: number): string[] {
    for (let window = 0; window < 4; window++) world.window(askers)
    return Array.from({ length: windows }, () => {
      const used = world.window(askers)
      return Object.keys(used)
        .filter((name) => used[name]! >= COST)
        .join(' and ')
    })
  }
  const count = (served: readonly string[], name: string): number => served.filter((one) => one === name).length

  it('two take turns', () => {
    const served = turns(new World(), dear('a', 'b'), 10)
    expect(count(served, 'a')).toBe(5)
    expect(served.every((name, at) => at === 0 || name !== served[at - 1])).toBe(true)
    expect(count(served, 'b')).toBe(5)
  })

  it('three take turns by weight', () => {
    const world = new World()
    world.weights.set('a', 2)
    const served = turns(world, dear('a', 'b', 'c'), 16)
    expect(['a', 'b', 'c'].map((name) => count(served, name))).toEqual([8, 4, 4])
  })

  it('a tenant with small calls gets its part beside two, and they are served', () => {
    const world = new World()
    const total: Record<string, number> = { a: 0, b: 0, small: 0 }
    for (let window = 0; window < 30; window++)
      for (const [name, used] of Object.entries(world.window([...dear('a', 'b'), ...eager('small')])))
        total[name]! += used
    expect(total['small']).toBeGreaterThanOrEqual(9 * LIMIT)
    // Large costs fit only where the small ones have had their turn before: a fifth of all windows at least.
    expect(Math.min(total['a']!, total['b']!)).toBeGreaterThanOrEqual(6 * COST)
  })
})

describe('tenants that ask for nearly all of the limit, at any interval', () => {
  /** The amounts admitted in each of ten windows. */
  function use(reserve: 'strict' | 'paced', window: 'fixed' | 'sliding', everyMs: number | undefined, cost: number) {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: LIMIT, windowMs: WINDOW_MS, reserve, window, clock })
    const used = Array.from({ length: 10 }, () => 0)
    const nextMs = [0, 0]
    for (;;) {
      const at = nextMs[0]! <= nextMs[1]! ? 0 : 1
      clock.advance(Math.max(0, nextMs[at]! - clock()))
      const window = Math.floor(clock() / WINDOW_MS)
      if (window >= used.length) return used
      const { allowed, retryAfterMs } = escrow.check(`t${at}`, cost)
      if (allowed) used[window]! += cost
      nextMs[at] = clock() + (everyMs ?? Math.max(1, retryAfterMs))
    }
  }

  it.each([
    ['fixed', 'paced', WINDOW_MS / 40, 990],
    ['fixed', 'paced', WINDOW_MS / 7, 990],
    ['fixed', 'paced', undefined, 990],
    ['fixed', 'paced', undefined, LIMIT],
    ['fixed', 'strict', WINDOW_MS / 40, 990],
    ['fixed', 'strict', WINDOW_MS / 5, 990],
    ['fixed', 'strict', undefined, LIMIT],
    ['sliding', 'paced', WINDOW_MS / 40, 990],
  ] as const)('use every %s window (%s, every %s ms) for a call of %d', (window, reserve, everyMs, cost) => {
    expect(use(reserve, window, everyMs, cost)).toEqual(Array.from({ length: 10 }, () => cost))
  })
})

describe('a memory that has no room for all', () => {
  /** Calls refused to tenants that want half of their part, in each window; all others come before them each time. */
  function refusals(world: { window: 'fixed' | 'sliding'; reserve: 'strict' | 'paced' } & Crowd, windows: number) {
    const { window, reserve, maxTenants, greedy, polite, cost } = world
    const clock = manualClock()
    const options = { limit: LIMIT, windowMs: WINDOW_MS, window, reserve, maxTenants, clock } as const
    const escrow = new WeightedFairEscrow(options)
    const refused = Array.from({ length: windows }, () => 0)
    for (let poll = 0; poll < 10 * windows; poll++) {
      for (let i = 0; i < greedy; i++) while (escrow.check(`greedy-${i}`, cost).allowed);
      for (let i = 0; i < polite && poll >= 30; i++)
        if (!escrow.check(`polite-${i}`, LIMIT / (greedy + polite) / 20).allowed) refused[Math.floor(poll / 10)]!++
      clock.advance(WINDOW_MS / 10)
    }
    return refused
  }
  interface Crowd {
    maxTenants: number
    greedy: number
    polite: number
    cost: number
  }

  it.each([
    ['fixed', 'paced', 5, 100],
    ['fixed', 'strict', 8, 5],
    ['sliding', 'paced', 5, 100],
    ['sliding', 'paced', 5, 5],
    ['sliding', 'strict', 9, 5],
  ] as const)(
    'has some for one that was refused: %s, %s, after %d with calls of %d',
    (window, reserve, greedy, cost) => {
      const refused = refusals({ window, reserve, maxTenants: 10, greedy, polite: 1, cost }, 30)
      expect(refused.slice(20)).toEqual(Array.from({ length: 10 }, () => 0))
    },
  )

  it('has some for all that were refused, over random crowds', () => {
    const worlds = fc.record({
      window: fc.constantFrom<'fixed' | 'sliding'>('fixed', 'sliding'),
      reserve: fc.constantFrom<'strict' | 'paced'>('strict', 'paced'),
      maxTenants: fc.integer({ min: 3, max: 12 }),
      greedy: fc.integer({ min: 1, max: 11 }),
      polite: fc.integer({ min: 1, max: 2 }),
      cost: fc.integer({ min: 3, max: 10 }),
    })
    fc.assert(
      fc.property(worlds, (world) => {
        // All have a name in one window.
        const greedy = Math.min(world.greedy, world.maxTenants - world.polite)
        const late = refusals({ ...world, greedy }, 30).slice(15)
        const asked = 10 * world.polite * late.length
        expect(late.reduce((sum, one) => sum + one, 0) / asked).toBeLessThanOrEqual(0.25)
      }),
      propertyRuns(),
    )
  })

  it.each(['fixed', 'sliding'] as const)('has some in a tree with three places for each group: %s', (window) => {
    const clock = manualClock()
    const tree = hierarchy({ name: 'all', children: ['g', 'h'].map((name) => ({ name, weight: 1, children: [] })) })
    const groupOf = (tenant: string): string => tenant[0]!
    const escrow = new WeightedFairEscrow({
      ...{ limit: LIMIT, windowMs: WINDOW_MS, window, maxTenants: 6, tree, groupOf, clock },
    })
    let refused = 0
    for (let poll = 0; poll < 300; poll++) {
      for (const group of ['g', 'h']) {
        for (const greedy of ['a', 'b']) while (escrow.check(`${group} ${greedy}`, 5).allowed);
        if (!escrow.check(`${group} polite`, LIMIT / 6 / 20).allowed && poll >= 200) refused++
      }
      clock.advance(WINDOW_MS / 10)
    }
    expect(refused / 200).toBeLessThanOrEqual(0.25)
  })

  it('takes nothing from tenants that the tree names, whatever names others invent', () => {
    const clock = manualClock()
    const tree = hierarchy({
      name: 'all',
      children: [{ name: 'named' }, { name: 'strangers', weight: 1, children: [] }],
    })
    const options = { limit: LIMIT, windowMs: WINDOW_MS, maxTenants: 4, tree, groupOf: () => 'strangers', clock }
    const escrow = new WeightedFairEscrow(options)
    let got = 0
    for (let poll = 0; poll < 200; poll++) {
      for (let i = 0; i < 500; i++) escrow.check(`invented ${poll} ${i}`, 1)
      if (escrow.check('named', 25).allowed) got++
      clock.advance(WINDOW_MS / 10)
    }
    // Half of its share, in ten calls a window.
    expect(got).toBeGreaterThan(190)
  })
})

describe('a tenant that was refused for more than its part of the limit', () => {
  function refused(others: number) {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: LIMIT, windowMs: WINDOW_MS, reserve: 'strict', clock })
    for (const name of ['a', 'b', 'c', 'd']) escrow.check(name, 10)
    expect(escrow.check('b', others).allowed).toBe(false)
    expect(escrow.check('a', 600).allowed).toBe(false)
    return { escrow, clock }
  }

  it('keeps its claim while no other one was', () => {
    // `b` waits for a cost that its guarantee would cover.
    const { escrow } = refused(245)
    expect(escrow.peek('a', 240)).toMatchObject({ allowed: true, borrowed: false })
  })

  it('keeps it while smaller calls are asked for, and lends it to another such tenant that comes before it', () => {
    const { escrow } = refused(600)
    expect(escrow.peek('a', 240)).toMatchObject({ allowed: true, borrowed: false })
    expect(escrow.peek('c', 245).allowed).toBe(false)
    // The claims of `c` and `d` are kept.
    expect(escrow.check('b', 480).allowed).toBe(true)
    expect(escrow.peek('c', 240)).toMatchObject({ allowed: true, borrowed: false })
    expect(escrow.peek('d', 240)).toMatchObject({ allowed: true, borrowed: false })
    expect(escrow.peek('a', 10).allowed).toBe(false)
  })
})

describe('new names without end, where a tenant waits for a cost of many guarantees', () => {
  it('take no more than a guarantee, each, from those that are there', () => {
    const world = new World()
    world.weights.set('waiting', 0.01)
    const old = eager('a', 'b', 'c', 'd')
    for (let window = 0; window < 8; window++) world.window([WAITING, ...old])
    for (let window = 8; window < 16; window++) {
      const used = world.window([WAITING, ...old, ...eager(`new ${window}`)])
      expect(used['a']).toBeGreaterThan(120)
      expect(used[`new ${window}`]! - used['a']!).toBeLessThanOrEqual(LIMIT / 4 + 20)
    }
  })
})
