import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it, vi } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import { WeightedFairEscrow } from './escrow.js'
import { type HierarchyNode, hierarchy } from './hierarchy.js'
import type { EscrowOptions } from './options.js'
import { Ranking } from './ordered-sums.js'
import { Node } from './tenants.js'

const WINDOW_MS = 1_000
const LIMIT = 1_000
const WINDOWS = 20

/**
 * A tenant that asks for `cost`, or for one after the other, or for one that depends on the time, at an interval, or,
 * without one, when it is told.
 */
interface Asker {
  name: string
  cost: number | readonly number[] | ((atMs: number) => number)
  everyMs?: number
  weight?: number
}

/** Use of each tenant in each window. */
function use(askers: readonly Asker[], options: Partial<EscrowOptions> = {}): Record<string, number[]> {
  const clock = manualClock()
  const weights = new Map(askers.map(({ name, weight = 1 }) => [name, weight]))
  const escrow = new WeightedFairEscrow({
    ...{ limit: LIMIT, windowMs: WINDOW_MS, estimates: 'asked', clock, weightOf: (name) => weights.get(name) ?? 1 },
    ...options,
  })
  const used = Object.fromEntries(askers.map(({ name }) => [name, Array.from({ length: WINDOWS }, () => 0)]))
  const nextMs = askers.map(() => 0)
  const calls = askers.map(() => 0)
  for (;;) {
    const at = nextMs.indexOf(Math.min(...nextMs))
    clock.advance(Math.max(0, nextMs[at]! - clock()))
    const window = Math.floor(clock() / WINDOW_MS)
    if (window >= WINDOWS) return used
    const { name, cost: costs, everyMs } = askers[at]!
    const next = typeof costs === 'object' ? costs[calls[at]! % costs.length]! : costs
    const cost = typeof next === 'number' ? next : next(clock())
    const { allowed, retryAfterMs } = escrow.check(name, cost)
    if (allowed) {
      used[name]![window]! += cost
      calls[at]!++
    }
    nextMs[at] = clock() + (everyMs ?? Math.max(1, allowed ? 0 : retryAfterMs))
  }
}

const total = (amounts: readonly number[] | undefined): number => amounts!.reduce((sum, amount) => sum + amount, 0)
/** The use of all in each window after the first one. */
const inAll = (used: Record<string, number[]>): number[] =>
  Array.from({ length: WINDOWS - 1 }, (_, at) => total(Object.values(used).map((amounts) => amounts[at + 1]!)))

const leaf = (...names: string[]): HierarchyNode[] => names.map((name) => ({ name }))
const TREES: Record<string, HierarchyNode> = {
  'no groups': { name: 'all', children: leaf('a', 'b') },
  'one group': { name: 'all', children: [{ name: 'one', weight: 1, children: leaf('a', 'b') }] },
  'a group each': {
    name: 'all',
    children: [
      { name: 'one', weight: 1, children: leaf('a') },
      { name: 'two', weight: 1, children: leaf('b') },
    ],
  },
  'a group, and a tenant beside it': {
    name: 'all',
    children: [{ name: 'one', weight: 1, children: leaf('a') }, ...leaf('b')],
  },
  'a group within a group': {
    name: 'all',
    children: [
      {
        name: 'one',
        weight: 1,
        children: [{ name: 'inner', weight: 1, children: leaf('a') }, ...leaf('b')],
      },
    ],
  },
}

describe.each(Object.entries(TREES))('two tenants that ask for nearly all of the limit, with %s', (_, root) => {
  const tree = hierarchy(root)

  it.each([
    ['fixed', 'paced', WINDOW_MS / 40, 990],
    ['fixed', 'paced', WINDOW_MS / 7, 990],
    ['fixed', 'paced', undefined, 990],
    ['fixed', 'strict', WINDOW_MS / 40, 990],
    ['fixed', 'strict', WINDOW_MS / 5, LIMIT],
    ['sliding', 'paced', WINDOW_MS / 40, 990],
  ] as const)('use every %s window (%s, every %s ms) for a call of %d, in turns', (window, reserve, everyMs, cost) => {
    const askers = ['a', 'b'].map((name): Asker => ({ name, cost, ...(everyMs !== undefined && { everyMs }) }))
    const used = use(askers, { tree, window, reserve })
    expect(inAll(used)).toEqual(Array.from({ length: WINDOWS - 1 }, () => cost))
    expect(Math.abs(total(used['a']) - total(used['b']))).toBeLessThanOrEqual(2 * cost)
  })
})

describe.each(['paced', 'strict'] as const)('two tenants of which one is ahead of the other (%s)', (reserve) => {
  // The smaller call is within the part of the limit, but not within what is left of that beside the carried amount.
  it.each([
    [990, 400, WINDOW_MS / 10],
    [990, 400, WINDOW_MS / 33],
    [990, 300, WINDOW_MS / 10],
    [811, 450, WINDOW_MS / 10],
  ])('use every window: for calls of %d and of %d, every %d ms', (large, small, everyMs) => {
    const used = use(
      [
        { name: 'a', cost: large, everyMs },
        { name: 'b', cost: small, everyMs },
      ],
      { reserve },
    )
    expect(Math.min(...inAll(used))).toBeGreaterThanOrEqual(small)
    expect(total(used['a'])).toBeGreaterThanOrEqual((WINDOWS * LIMIT) / 5)
    expect(total(used['b'])).toBeGreaterThanOrEqual((WINDOWS * LIMIT) / 5)
  })
})

describe('in a group that has half of the limit', () => {
  const tree = hierarchy({
    name: 'all',
    children: [
      { name: 'one', weight: 1, children: leaf('a', 'b', 'small') },
      { name: 'two', weight: 1, children: leaf('c', 'd') },
    ],
  })
  const every = (cost: number, ...names: string[]): Asker[] =>
    names.map((name) => ({ name, cost, everyMs: WINDOW_MS / 40 }))

  it('tenants that ask for nearly all of that have turns, and the other group keeps its half', () => {
    const used = use([...every(490, 'a', 'b'), ...every(10, 'c', 'd')], { tree, reserve: 'strict' })
    expect(Math.min(...inAll(used).slice(3))).toBeGreaterThanOrEqual(900)
    expect(Math.abs(total(used['a']) - total(used['b']))).toBeLessThanOrEqual(2 * 490)
    expect(total(used['c']) + total(used['d'])).toBeGreaterThanOrEqual((WINDOWS - 1) * 470)
  })

  it('all four have turns of which nobody is left out', () => {
    const used = use(every(490, 'a', 'b', 'c', 'd'), { tree })
    expect(inAll(used).every((amount) => amount === 980)).toBe(true)
    for (const amounts of Object.values(used)) expect(total(amounts)).toBeGreaterThanOrEqual(4 * 980)
  })

  it('a tenant with small calls beside them gets its part', () => {
    const used = use([...every(490, 'a', 'b'), { name: 'small', cost: 10, everyMs: 5 }, ...every(10, 'c', 'd')], {
      tree,
    })
    expect(total(used['small'])).toBeGreaterThanOrEqual((0.9 * WINDOWS * LIMIT) / 6)
    expect(Math.min(total(used['a']), total(used['b']))).toBeGreaterThanOrEqual(490)
  })
})

describe.each(['paced', 'strict'] as const)('two groups, in which the first one asks for more (%s)', (reserve) => {
  const tree = hierarchy({
    name: 'all',
    children: [
      { name: 'one', weight: 1, children: leaf('a', 'c') },
      { name: 'two', weight: 1, children: leaf('b', 'd') },
    ],
  })

  it.each([
    [[500, 900], [811], 5],
    [[500, 900], [811], 30],
    [[500, 900], [811], 90],
    [[500, 900], [811], 110],
    [[500, 900], [811], 300],
    [[90, 990], [811], 30],
    [[90, 990], [811], undefined],
  ])('use every window: calls of %j beside calls of %j, every %s ms', (costs, others, everyMs) => {
    const asker = (name: string, cost: number[]): Asker => ({ name, cost, ...(everyMs !== undefined && { everyMs }) })
    const used = use([asker('a', costs), asker('b', others), asker('c', costs), asker('d', others)], { tree, reserve })
    expect(Math.min(...inAll(used))).toBeGreaterThanOrEqual(500)
    for (const amounts of Object.values(used)) expect(total(amounts)).toBeGreaterThanOrEqual((WINDOWS * LIMIT) / 10)
  })
})

describe('a tenant that was refused for more than its part of the limit', () => {
  const tree = hierarchy({
    name: 'all',
    children: [
      { name: 'one', weight: 1, children: leaf('a', 'b') },
      { name: 'two', weight: 1, children: leaf('c', 'd') },
    ],
  })
  function refused(...names: string[]): WeightedFairEscrow {
    const clock = manualClock()
    const escrow = new WeightedFairEscrow({ limit: LIMIT, windowMs: WINDOW_MS, reserve: 'strict', clock, tree })
    for (const name of ['a', 'b', 'c', 'd']) escrow.check(name, 10)
    for (const name of names) expect(escrow.check(name, 600).allowed).toBe(false)
    return escrow
  }
  const keeps = (escrow: WeightedFairEscrow, ...names: string[]): void => {
    for (const name of names) expect(escrow.peek(name, 240)).toMatchObject({ allowed: true, borrowed: false })
  }

  it('lends its claim in its group, and others there and elsewhere keep theirs', () => {
    const escrow = refused('a', 'b')
    keeps(escrow, 'a', 'b', 'c', 'd')
    expect(escrow.check('b', 480).allowed).toBe(true)
    keeps(escrow, 'c', 'd')
    expect(escrow.peek('a', 10).allowed).toBe(false)
  })

  it('lends it to another group whose turn it is, and its siblings keep theirs', () => {
    const escrow = refused('a', 'c')
    expect(escrow.check('c', 480).allowed).toBe(true)
    keeps(escrow, 'b', 'd')
    expect(escrow.peek('a', 10).allowed).toBe(false)
  })

  it('keeps it before a group whose turn it is not', () => {
    const escrow = refused('a')
    expect(escrow.check('d', 240).allowed).toBe(true)
    expect(escrow.check('c', 600).allowed).toBe(false)
    // Its group would come farther, per weight, than the other one.
    expect(escrow.check('c', 480).allowed).toBe(false)
    keeps(escrow, 'a', 'b')
  })
})

describe('a tenant with a large call, beside others that used the limit and then ask for little', () => {
  const HEAVY = 8

  /** Whether it is served in each window after the first quiet one. */
  function served(
    cost: number,
    weight: number,
    others: number,
    everyMs: number | undefined,
    isTree: boolean,
  ): boolean[] {
    const clock = manualClock()
    const heavy = Array.from({ length: others }, (_, at) => `heavy ${at}`)
    const tree = hierarchy({
      name: 'all',
      children: [
        { name: 'heavy', weight: others, children: leaf(...heavy) },
        { name: 'waiting', weight },
      ],
    })
    const escrow = new WeightedFairEscrow({
      ...{ limit: LIMIT, windowMs: WINDOW_MS, estimates: 'asked', clock },
      ...(isTree ? { tree } : { weightOf: (name: string) => (name === 'waiting' ? weight : 1) }),
    })
    const got = Array.from({ length: 2 * HEAVY }, () => false)
    let nextMs = 0
    for (let step = 0; step < 200 * got.length; step++) {
      const window = Math.floor(step / 200)
      clock.advance((step * WINDOW_MS) / 200 - clock())
      for (const name of heavy) {
        if (window < HEAVY) while (escrow.check(name, 10).allowed);
        else if (step % 200 === 0) escrow.check(name, 1)
      }
      if (clock() < nextMs) continue
      const { allowed, retryAfterMs } = escrow.check('waiting', cost)
      if (allowed) got[window] = true
      nextMs = everyMs === undefined ? clock() + Math.max(5, retryAfterMs) : nextMs + everyMs
    }
    return got.slice(HEAVY + 1)
  }

  it.each(
    byWidth([25, undefined], [25, 100, undefined]).flatMap((everyMs) =>
      [300, 850].flatMap((cost) =>
        [1, 0.01].flatMap((weight) => byWidth([4], [1, 4]).map((n) => [everyMs, cost, weight, n])),
      ),
    ) as [number | undefined, number, number, number][],
  )(
    'is served in every window: every %s ms, for %d with a weight of %d, beside %d',
    (everyMs, cost, weight, others) => {
      for (const isTree of [false, true]) expect(served(cost, weight, others, everyMs, isTree)).not.toContain(false)
    },
  )
})

describe('a call that is never served', () => {
  it('leaves a polite tenant its demand, however often it comes', () => {
    const used = use([
      { name: 'heavy', cost: 173, everyMs: 20, weight: 4 },
      { name: 'light', cost: 15, everyMs: 140, weight: 4 },
      { name: 'lightest', cost: 5, everyMs: 140 },
      { name: 'polite', cost: 4.55, everyMs: 1_000 / 15 },
      { name: 'giant', cost: 914, everyMs: 100 },
    ])
    expect(total(used['giant'])).toBe(0)
    expect(total(used['polite'])).toBeGreaterThan(0.97 * WINDOWS * 15 * 4.55)
  })
})

describe('a call that cannot be served beside a small one of another tenant', () => {
  const quiet = (cost: number, everyMs: number): Asker => ({ name: 'quiet', cost, everyMs })
  const hungry = (count: number, cost: number): Asker[] =>
    Array.from({ length: count }, (_, at) => ({ name: `hungry ${at}`, cost, everyMs: 10 }))
  const giant = (cost: number): Asker => ({ name: 'giant', cost, everyMs: WINDOW_MS / 50 })

  it.each([
    ['strict', 1, 5, 700, 1],
    ['strict', 1, 100, 700, 1],
    ['strict', 4, 5, 990, 1],
    ['paced', 4, 5, 1_000, 1],
    ['paced', 20, 5, 990, 1],
    ['paced', 1, 5, 900, 8],
    ['paced', 1, 100, 900, 30],
  ] as const)(
    'does not keep hungry tenants out for ever: %s, %d with %d beside %d',
    (reserve, count, cost, large, calls) => {
      const used = use(
        [quiet(calls === 1 ? 1 : 100 / calls, WINDOW_MS / calls), ...hungry(count, cost), giant(large)],
        {
          reserve,
        },
      )
      const got = hungry(count, cost).map(({ name }) => total(used[name]!.slice(WINDOWS / 2)))
      expect(total(used['giant'])).toBe(0)
      expect(total(got)).toBeGreaterThan((LIMIT / 15) * (WINDOWS / 2))
      expect(Math.min(...got)).toBeGreaterThan(0)
    },
  )

  /** At times of a window, the giant asks for 1. */
  const small: Record<string, (partOfWindow: number) => boolean> = {
    never: () => false,
    'at first': (part) => part < 0.03,
    'in the middle': (part) => part > 0.5 && part < 0.53,
    'at last': (part) => part > 0.97,
  }

  it.each(
    (['strict', 'paced'] as const).flatMap((reserve) =>
      Object.keys(small).flatMap((when) =>
        byWidth([4], [1, 4]).flatMap((count) => [
          [reserve, when, count, 900, 8, 12.5] as const,
          [reserve, when, count, 990, 1, 1] as const,
        ]),
      ),
    ),
  )(
    'leaves hungry tenants their parts, whatever else it asks for: %s, 1 %s, %d beside %d',
    (reserve, when, count, large, calls, polite) => {
      const cost = (atMs: number): number => (small[when]!((atMs % WINDOW_MS) / WINDOW_MS) ? 1 : large)
      const askers = [
        quiet(polite, WINDOW_MS / calls),
        ...hungry(count, 5).map((one) => ({ ...one, everyMs: 4 * count })),
        giant(large),
      ]
      const used = use(
        askers.map((one) => (one.name === 'giant' ? { ...one, cost } : one)),
        { reserve },
      )
      const part = LIMIT / (count + 2)
      for (const { name } of hungry(count, 5))
        expect(total(used[name]!.slice(5))).toBeGreaterThan(0.95 * (WINDOWS - 5) * part)
    },
  )

  it('still has its turn, if it can be served', () => {
    const used = use([...hungry(1, 100), giant(900)], { reserve: 'strict' })
    expect(total(used['giant'])).toBeGreaterThanOrEqual((WINDOWS * LIMIT) / 5)
    expect(total(used['hungry 0'])).toBeGreaterThanOrEqual((WINDOWS * LIMIT) / 5)
  })
})

describe.each([false, true])('a large call for which many tenants lend their claims (in a tree: %s)', (isTree) => {
  const MANY = 400
  const names = Array.from({ length: MANY }, (_, at) => `tenant ${at}`)
  const group = (name: string, from: number): HierarchyNode => ({
    ...{ name, weight: 1, children: leaf(...names.filter((_, at) => at % 4 === from)) },
  })
  const halves = [0, 2].map((from) => ({
    ...{ name: `half ${from}`, weight: 1, children: [group(`one ${from}`, from), group(`two ${from}`, from + 1)] },
  }))

  it('is judged without a look at each of them, and each lends once', () => {
    const escrow = new WeightedFairEscrow({
      ...{ limit: 100 * MANY, windowMs: WINDOW_MS, reserve: 'strict', estimates: 'asked', clock: manualClock() },
      ...(isTree && { tree: hierarchy({ name: 'all', children: halves }) }),
    })
    for (const name of names) escrow.check(name, 1)
    const looks = [vi.spyOn(Node.prototype, 'ownClaim'), vi.spyOn(Ranking.prototype, 'sumBelow')]
    const counted = (): number => {
      const count = looks.reduce((sum, { mock }) => sum + mock.calls.length, 0)
      for (const look of looks) look.mockClear()
      return count
    }
    for (const name of names.slice(1, 0.9 * MANY)) {
      expect(escrow.check(name, 98 * MANY).allowed).toBe(false)
      expect(counted()).toBeLessThan(60)
    }
    expect(escrow.peek(names[0]!, 80 * MANY).allowed).toBe(true)
    expect(counted()).toBeLessThan(60)
    expect(escrow.check(names[0]!, 80 * MANY).allowed).toBe(true)
    expect(counted()).toBeLessThan(60 * MANY)
    expect(escrow.snapshot().remaining).toBe((100 - 80) * MANY - MANY)
    counted()
    // Those that have lent all are not looked at again.
    for (const name of names.slice(1, 0.5 * MANY)) escrow.check(name, 19 * MANY)
    expect(counted()).toBeLessThan(30 * MANY)
    for (const look of looks) look.mockRestore()
  })
})

describe('calls above the share of their group', () => {
  const tree = (weight: number): HierarchyNode => ({
    name: 'all',
    children: [
      { name: 'one', weight, children: leaf('a') },
      { name: 'two', weight: 1, children: leaf('b', 'large') },
    ],
  })
  const deep = {
    name: 'all',
    children: [
      { name: 'one', weight: 1, children: leaf('a') },
      { name: 'two', weight: 1, children: [{ name: 'in', weight: 1, children: leaf('b', 'large') }, ...leaf('c')] },
    ],
  }
  const asks = (...names: string[]): Asker[] => names.map((name) => ({ name, cost: 10 }))

  it.each([
    ['half of the limit', tree(1), 510, 1 / 4, asks('a', 'b')],
    ['half of the limit, far more', tree(1), 900, 1 / 4, asks('a', 'b')],
    ['a third', tree(2), 350, 1 / 6, asks('a', 'b')],
    ['a fifth', tree(4), 210, 1 / 10, asks('a', 'b')],
    ['a fifth, far more', tree(4), 400, 1 / 10, asks('a', 'b')],
    ['a quarter, in two levels', deep, 260, 1 / 8, asks('a', 'b', 'c')],
    ['a quarter, in two levels, more than the upper one', deep, 600, 1 / 8, asks('a', 'b', 'c')],
  ] as const)('are served beside smaller ones of a sibling: %s', (_, root, cost, part, others) => {
    const weight = root.children?.[0]?.weight ?? 1
    for (const reserve of ['paced', 'strict'] as const) {
      const used = use([...others, { name: 'large', cost }], { tree: hierarchy(root), reserve })
      expect(total(used['large'])).toBeGreaterThan(0.7 * part * WINDOWS * LIMIT)
      expect(total(used['large'])).toBeLessThan(1.2 * part * WINDOWS * LIMIT + 2 * cost)
      expect(total(used['a'])).toBeGreaterThan(0.9 * (weight / (weight + 1)) * WINDOWS * LIMIT)
      expect(total(inAll(used))).toBeGreaterThan(0.9 * (WINDOWS - 1) * LIMIT)
    }
  })

  it('are found in a tree of many levels, each of which waits for one', () => {
    let [root, askers]: [HierarchyNode, Asker[]] = [{ name: 'lowest' }, [{ name: 'lowest', cost: 600, everyMs: 20 }]]
    for (let level = byWidth(16, 24); level > 0; level--) {
      const names = [`small ${level}`, `large ${level}`]
      root = { name: `group ${level}`, weight: 1, children: [root, ...leaf(...names)] }
      askers = [...askers, ...names.map((name, i) => ({ name, cost: i === 0 ? 5 : 400, everyMs: 20 }))]
    }
    // Twice the work for each level would take hours.
    expect(total(inAll(use(askers, { tree: hierarchy(root) })))).toBeGreaterThan(0.5 * (WINDOWS - 1) * LIMIT)
  })
})

describe('where windows slide, beside small calls', () => {
  const used = (cost: number, every?: number): { large: number; all: number } => {
    const amounts = use(
      [
        { name: 'a', cost: 10, everyMs: 5 },
        { name: 'large', cost, ...(every !== undefined && { everyMs: every }) },
      ],
      { window: 'sliding' },
    )
    return { large: total(amounts['large']) / (WINDOWS * LIMIT), all: total(inAll(amounts)) / ((WINDOWS - 1) * LIMIT) }
  }

  it.each([200, 333, 400, 450, 490, 500])('calls of %d get their part', (cost) => {
    expect(used(cost).large).toBeGreaterThan(0.38)
    expect(used(cost).all).toBeGreaterThan(0.85)
  })

  it.each([550, 700, 900])('calls of %d are served, and no more than one of them is left', (cost) => {
    expect(used(cost).large).toBeGreaterThan(0.2)
    expect(used(cost).all).toBeGreaterThan(0.65)
  })
})
