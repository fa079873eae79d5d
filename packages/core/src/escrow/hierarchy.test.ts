import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it, vi } from 'vitest'
import { createGate } from '../create-gate.js'
import { manualClock } from '../testing/manual-clock.js'
import { seededRandom } from '../testing/seeded-random.js'
import { Plane } from './claims.js'
import { WeightedFairEscrow } from './escrow.js'
import { type HierarchyNode, hierarchy } from './hierarchy.js'
import { budgetStage } from './mechanism.js'
import type { EscrowOptions } from './options.js'

const WINDOW_MS = 1000

/** Two organisations of the same weight, one of two teams with two keys each, one of two keys. */
const TREE: HierarchyNode = {
  name: 'all',
  children: [
    {
      name: 'acme',
      weight: 1,
      children: [
        { name: 'search', weight: 3, children: [{ name: 's1' }, { name: 's2' }] },
        { name: 'mail', weight: 1, children: [{ name: 'm1' }, { name: 'm2' }] },
      ],
    },
    { name: 'best', weight: 1, children: [{ name: 'b1' }, { name: 'b2' }] },
  ],
}

function escrowOf(options: Partial<EscrowOptions> = {}) {
  const clock = manualClock()
  const tree = hierarchy(TREE)
  const escrow = new WeightedFairEscrow({
    limit: 1000,
    windowMs: WINDOW_MS,
    estimates: 'asked',
    tree,
    clock,
    ...options,
  })
  const guarantees = (...names: string[]): number[] => names.map((name) => Math.round(escrow.peek(name).guarantee))
  return { clock, escrow, guarantees }
}

function drain(escrow: WeightedFairEscrow, tenant: string, cost = 1): number {
  for (let used = 0; ; used += cost) if (!escrow.check(tenant, cost).allowed) return used
}

describe('a hierarchy', () => {
  it('guarantees by weights from the root down, over the active', () => {
    const { escrow, guarantees } = escrowOf({ reserve: 'strict' })
    escrow.check('s1')
    escrow.check('b1')
    expect(guarantees('s1', 'b1')).toEqual([500, 500])
    escrow.check('m1')
    expect(guarantees('s1', 'm1', 'b1')).toEqual([375, 125, 500])
    escrow.check('s2')
    escrow.check('b2')
    expect(guarantees('s1', 's2', 'm1', 'b1', 'b2')).toEqual([188, 188, 125, 250, 250])
  })

  it('keeps what an organisation leaves for its other teams first', () => {
    const { escrow } = escrowOf({ reserve: 'strict' })
    for (const key of ['s1', 'm1', 'b1']) escrow.check(key, 1)
    expect(drain(escrow, 'b1')).toBe(499)
    // All of acme's half is there for acme; most of it for search, which may have it whenever it asks.
    expect(drain(escrow, 'm1')).toBe(124)
    expect(escrow.check('s1', 374).allowed).toBe(true)
  })

  it('lends inside the organisation what the group is due beyond its members’ claims', () => {
    const { escrow, clock } = escrowOf()
    for (const key of ['s1', 'm1', 'b1']) escrow.check(key, 1)
    clock.advance(500)
    // The guarantees of all three have half passed. Best, which is silent, keeps half of its own.
    expect(drain(escrow, 'm1') + drain(escrow, 's1')).toBeGreaterThanOrEqual(745)
    expect(escrow.check('b1', 249).allowed).toBe(true)
  })

  it('keeps for an organisation what its own teams have let pass, if it is ahead of its pace', () => {
    const { escrow, clock } = escrowOf()
    for (const key of ['s1', 'm1', 'b1']) escrow.check(key, 1)
    escrow.check('s1', 299)
    clock.advance(500)
    expect(drain(escrow, 'b1')).toBe(499)
    expect(escrow.check('s1', 136)).toMatchObject({ allowed: true, borrowed: true })
  })

  it('lends what is too little for a call of the one organisation to the other', () => {
    const { escrow } = escrowOf({ reserve: 'strict' })
    escrow.check('s1', 1)
    escrow.check('b1', 1)
    escrow.check('s1', 494)
    expect(escrow.check('s1', 10).allowed).toBe(false)
    expect(drain(escrow, 'b1')).toBe(504)
  })

  it('lets a late team into what its organisation has left, and nobody outside lose by it', () => {
    const { escrow, guarantees } = escrowOf({ reserve: 'strict' })
    escrow.check('s1', 1)
    escrow.check('b1', 1)
    drain(escrow, 's1')
    expect(escrow.check('m1', 10)).toMatchObject({ allowed: false, reason: 'over-share' })
    expect(guarantees('b1')).toEqual([500])
    expect(escrow.peek('b1', 499).allowed).toBe(true)
  })

  it('gives the surplus to whose turn it is, at every level of the way', () => {
    const { escrow, clock } = escrowOf()
    for (const key of ['s1', 'm1', 'b1']) escrow.check(key, 1)
    let search = 1
    let mail = 1
    for (let t = 0; t < 1000; t++) {
      mail += drain(escrow, 'm1')
      search += drain(escrow, 's1')
      mail += drain(escrow, 'm1')
      clock.advance(0.999)
    }
    expect(search / mail).toBeGreaterThan(2.9)
    expect(search / mail).toBeLessThan(3.1)
    expect(escrow.snapshot().used).toBeGreaterThan(990)
  })

  it('counts tenants that wait for all that is left, also when that is no exact number', () => {
    const children = [
      { name: 'five', weight: 5 },
      { name: 'team', weight: 3, children: [{ name: 'three' }] },
    ]
    const { escrow } = escrowOf({ limit: 10, reserve: 'strict', tree: hierarchy({ name: 'all', children }) })
    for (let i = 0; i < 5; i++) escrow.check('five', 1)
    let three = escrow.check('three', 1).cost
    // 38 tenths over 3 would be more than 63 tenths over 5, for which the other waits.
    for (let refused = 0; refused < 4; refused++) {
      if (escrow.check('five', 0.1).allowed) refused = 0
      if (escrow.check('three', 0.1).allowed) {
        refused = 0
        three += 0.1
      }
    }
    expect(three).toBeCloseTo(3.7, 9)
    expect(escrow.snapshot().remaining).toBeCloseTo(0, 9)
  })

  it('says what may be borrowed next, and admits it', () => {
    const { escrow, clock } = escrowOf()
    for (const key of ['s1', 'm1', 'b1']) escrow.check(key, 1)
    drain(escrow, 'b1')
    clock.advance(500)
    // Of acme's 500, half has passed, and 2 are used: 250 are lent.
    const first = escrow.check('b1', 40)
    expect(first).toMatchObject({ allowed: true, borrowed: true })
    expect(first.remaining).toBeCloseTo(498 - 250 - 40, 9)
    expect(escrow.check('b1', first.remaining + 1)).toMatchObject({ allowed: false, remaining: first.remaining })
    expect(escrow.check('b1', first.remaining)).toMatchObject({ allowed: true, remaining: 0 })
  })

  it('says when what others let pass will be enough', () => {
    const { escrow, clock } = escrowOf()
    escrow.check('s1', 1)
    escrow.check('b1', 1)
    clock.advance(500)
    // Acme keeps 250 of the remaining 998, and half a unit less each millisecond. The amount that b1 lets pass does not
    // matter.
    const refused = escrow.check('b1', 758)
    expect(refused).toMatchObject({ allowed: false, reason: 'over-share' })
    expect(refused.retryAfterMs).toBeCloseTo(20, 9)
    clock.advance(refused.retryAfterMs)
    expect(escrow.check('b1', 758)).toMatchObject({ allowed: true, borrowed: true })
    // Not when it is another's turn, and never later than a twentieth of a window.
    expect(escrow.check('s1', 900)).toMatchObject({ reason: 'exhausted', retryAfterMs: 50 })
  })

  it('looks at what has changed, however many groups there are', () => {
    const clock = manualClock()
    const teams = 500
    const children = Array.from({ length: teams }, (_, i) => ({
      name: `team ${i}`,
      weight: 1 + (i % 3),
      children: [{ name: `a${i}` }, { name: `b${i}` }],
    }))
    const tree = hierarchy({ name: 'all', children })
    const escrow = new WeightedFairEscrow({ limit: 1e6, windowMs: WINDOW_MS, tree, clock })
    const looks = vi.spyOn(Plane.prototype, 'raise')
    const looksPer = (tenants: string, cost: number): number => {
      looks.mockClear()
      for (let i = 0; i < teams; i++) {
        escrow.check(`${tenants}${(i * 7) % teams}`, cost)
        clock.advance(WINDOW_MS / teams / 8)
      }
      return looks.mock.calls.length / teams
    }
    // Teams become active; then further tenants in them; then all spend, borrow, and are refused.
    for (const [tenants, cost] of [
      ['a', 20],
      ['b', 20],
      ['a', 50],
      ['b', 2000],
      ['a', 5000],
      ['a', 1e6],
    ] as const)
      expect(looksPer(tenants, cost)).toBeLessThan(3)
    looks.mockRestore()
  })

  it('settles, and refunds', () => {
    const { escrow, clock } = escrowOf()
    const one = escrow.check('s1', 100)
    expect(escrow.settle(one, 30)).toEqual({ settled: true, unpaid: 0 })
    expect(escrow.settle(one, 30).settled).toBe(false)
    const two = escrow.check('s1', 900)
    expect(escrow.settle(two, 1000)).toEqual({ settled: true, unpaid: 30 })
    expect(escrow.snapshot()).toMatchObject({ used: 1000, remaining: 0, tenants: 1 })
    clock.advance(2 * WINDOW_MS)
    expect(escrow.refund(two)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.refund(escrow.check('m2', 1000)).settled).toBe(true)
    expect(escrow.snapshot()).toMatchObject({ used: 0, tenants: 1 })
  })

  it('raises the levels of a group again, when something comes back to it', () => {
    const { escrow, guarantees } = escrowOf({ reserve: 'strict' })
    for (const key of ['s1', 'm1', 'b1']) escrow.check(key, 1)
    const large = escrow.check('s1', 374)
    escrow.check('m1', 100)
    // Acme has used 475 of its 500: what search has left for a second key is what acme has left.
    expect(escrow.check('s2', 20)).toMatchObject({ allowed: false, reason: 'over-share' })
    escrow.settle(large, 24)
    expect(guarantees('s2')).toEqual([188])
    expect(escrow.check('s2', 20).allowed).toBe(true)
    expect(escrow.peek('b1', 499).allowed).toBe(true)
  })

  it('gives back no more than all there was, whatever rounding makes of it', () => {
    const { escrow } = escrowOf({ limit: 999.9999999999983 })
    escrow.refund(escrow.check('s1', 246.14390512163067))
    expect(escrow.snapshot()).toMatchObject({ used: 0, remaining: 999.9999999999983 })
    expect(escrow.check('s1', escrow.peek('s1', 2000).remaining).allowed).toBe(true)
  })

  it('is a gate’s budget as any other escrow', () => {
    const { escrow } = escrowOf()
    const gate = createGate({ budget: budgetStage(escrow), clock: manualClock() })
    expect(gate.admit({ flow: 'b1', cost: 1000 })).toMatchObject({ admitted: true })
    expect(gate.admit({ flow: 's1' })).toMatchObject({ admitted: false, stage: 'budget', reason: 'exhausted' })
  })

  it('refuses tenants outside it, in a gate, too, and keeps no trace of them', () => {
    const { escrow } = escrowOf()
    escrow.check('s1', 100)
    const before = escrow.snapshot()
    const unknown = { allowed: false, reason: 'unknown', remaining: 0, retryAfterMs: Number.POSITIVE_INFINITY }
    // A group's name is not a tenant.
    for (const stranger of ['stranger', 'acme']) {
      expect(escrow.peek(stranger, 1)).toMatchObject(unknown)
      expect(escrow.check(stranger, 1)).toMatchObject(unknown)
    }
    expect(escrow.settle(escrow.check('stranger', 1), 0)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.snapshot()).toEqual({ ...before, refused: 3 })
    const gate = createGate({ budget: budgetStage(escrow), clock: manualClock() })
    const refused = { admitted: false, stage: 'budget', reason: 'unknown', shortage: false, quota: undefined }
    expect(gate.admit({ flow: 'stranger' })).toMatchObject(refused)
  })

  it('refuses bad input by name', () => {
    const make = (root: object) => () => hierarchy(root as HierarchyNode)
    expect(make({ name: 'a' })).toThrow('hierarchy must have children')
    expect(make({ name: 'a', children: {} })).toThrow('a: children must be an array, got an object')
    expect(make({ name: 'a', children: [{ name: 'b', weight: 0 }] })).toThrow('a/b: weight must be a number from 1e-9')
    expect(make({ name: 'a', children: [{ name: 'b' }, { name: 'b' }] })).toThrow('each tenant once, got "b" twice')
    expect(make({ name: 'a', children: [{ name: '' }] })).toThrow('name must be a non-empty string')
    expect(make({ name: 'a', kids: [] })).toThrow('hierarchy has no option "kids"')
    expect(() => escrowOf({ tree: TREE as never })).toThrow('tree must be made by hierarchy')
    const { escrow } = escrowOf()
    const before = escrow.snapshot()
    expect(() => escrow.check('')).toThrow('tenant must be a non-empty string')
    expect(() => escrow.peek('s1', Number.NaN)).toThrow('cost must be a number > 0')
    expect(() => escrow.check('s1', 0)).toThrow('cost must be a number > 0')
    expect(() => escrow.settle({ ...escrow.peek('s1') }, 1)).toThrow('decision must come from check of this escrow')
    expect(escrow.snapshot()).toEqual(before)
  })
})

describe('a tree whose tenants nobody has written down', () => {
  const ORGANISATIONS = hierarchy({
    name: 'all',
    children: [
      { name: 'acme', weight: 3, children: [] },
      { name: 'globex', weight: 1, children: [{ name: 'globex/ceo', weight: 4 }] },
    ],
  })
  const groupOf = (tenant: string): string | undefined => (tenant.includes('/') ? tenant.split('/')[0] : undefined)

  it('takes each into the group that is named for it, and refuses those for whom none is', () => {
    const { escrow, guarantees } = escrowOf({ tree: ORGANISATIONS, groupOf, reserve: 'strict' })
    for (const key of ['acme/1', 'acme/2', 'acme/3', 'globex/9', 'globex/ceo']) escrow.check(key, 1)
    expect(guarantees('acme/1', 'globex/9', 'globex/ceo')).toEqual([250, 50, 200])
    expect(escrow.check('nobody')).toMatchObject({ allowed: false, reason: 'unknown' })
    expect(() => escrow.check('initech/1')).toThrow('groupOf("initech/1") must be the name of one group of the tree')
  })

  it('lets those share a place, of weight 1, for whom there is none left in their group; never those that are named', () => {
    const { escrow, guarantees } = escrowOf({ tree: ORGANISATIONS, groupOf, maxTenants: 3, reserve: 'strict' })
    for (const key of ['acme/1', 'acme/2', 'globex/ceo']) escrow.check(key, 1)
    for (let i = 3; i < 500; i++) escrow.check(`acme/${i}`, 1)
    expect(guarantees('acme/1', 'acme/2', 'acme/499')).toEqual([250, 250, 250])
    expect(escrow.snapshot().tenants).toBe(4)
    escrow.check('globex/1', 1)
    expect(guarantees('globex/ceo', 'globex/1', 'globex/2')).toEqual([200, 50, 50])
  })

  it('asks weightOf for the weights of tenants, in their groups', () => {
    const weightOf = (tenant: string): number => (tenant.endsWith('gold') ? 4 : 1)
    const { escrow, guarantees } = escrowOf({ tree: ORGANISATIONS, groupOf, weightOf, reserve: 'strict' })
    for (const key of ['acme/gold', 'acme/tin', 'globex/ceo']) escrow.check(key, 1)
    expect(guarantees('acme/gold', 'acme/tin', 'globex/ceo')).toEqual([600, 150, 250])
  })

  it('needs names of their own for groups that are asked for by name', () => {
    const tree = hierarchy({
      name: 'all',
      children: [
        { name: 'a', weight: 1, children: [{ name: 'team', weight: 1, children: [] }] },
        { name: 'b', weight: 1, children: [{ name: 'team', weight: 1, children: [] }] },
      ],
    })
    const { escrow } = escrowOf({ tree, groupOf: () => 'team' })
    expect(() => escrow.check('x')).toThrow('must be the name of one group of the tree, got "team", of which there are')
    expect(() => escrow.setWeight('team', 2)).toThrow('group must be one group of the tree that has a weight')
    expect(() => escrowOf({ groupOf: 3 as never })).toThrow('groupOf must be a function')
    expect(() => escrowOf({ tree: undefined as never, groupOf })).toThrow('groupOf needs a tree')
  })
})

describe('windows of a hierarchy remember', () => {
  it('tells which tenants asked, in which groups, and what the groups are owed', () => {
    const { escrow, clock, guarantees } = escrowOf({ reserve: 'strict' })
    // Acme takes all; best is sent away.
    escrow.check('s1', 1000)
    clock.advance(WINDOW_MS / 2)
    expect(escrow.check('b1', 1).reason).toBe('exhausted')
    clock.advance(WINDOW_MS / 2)
    expect(guarantees('s1', 'b1')).toEqual([500, 500])
    expect(escrow.check('s1', 501).allowed).toBe(false)
    // In this window search gets all of acme's, and wants more; mail comes late and gets none.
    escrow.check('s1', 500)
    escrow.check('b1', 500)
    for (const key of ['s1', 'b1', 'm1']) expect(escrow.check(key, 10).allowed).toBe(false)
    clock.advance(WINDOW_MS)
    expect(guarantees('s1', 'm1', 'b1')).toEqual([375, 125, 500])
  })

  it('keeps claims within what is left, however unlike weights are', () => {
    const children = [
      { name: 'light', weight: 1e-6, children: [{ name: 'l1' }, { name: 'l2' }] },
      { name: 'heavy', weight: 1e6, children: [{ name: 'h1' }] },
    ]
    const { escrow, clock } = escrowOf({ reserve: 'strict', tree: hierarchy({ name: 'all', children }) })
    for (let window = 0; window < 20; window++) {
      for (const tenant of ['l1', 'h1', 'l1', 'l2', 'h1']) while (escrow.check(tenant, 250).allowed);
      const { remaining, reserved } = escrow.snapshot()
      expect(reserved).toBeLessThanOrEqual(remaining + 1e-6)
      clock.advance(WINDOW_MS)
    }
    expect(escrow.peek('h1', 999).allowed).toBe(true)
  })

  it('keeps its numbers, and admits what remains, with weights from 1e-9 to 1e9 and calls above the share of a group', () => {
    const random = seededRandom(3)
    const weights = [1, 1, 1e-9, 1e9, 1e-5, 1e5]
    const weight = (): number => weights[Math.floor(random() * weights.length)]!
    for (let world = 0; world < byWidth(15, 60); world++) {
      const names: string[] = []
      const tenant = (): HierarchyNode => {
        names.push(`t${names.length}`)
        return { name: names.at(-1)!, weight: weight() }
      }
      const group = (name: string, children: HierarchyNode[]): HierarchyNode => ({ name, weight: weight(), children })
      const children = [
        group('a', [tenant(), tenant(), group('b', [tenant()])]),
        group('c', [group('d', [tenant(), tenant()]), tenant()]),
        tenant(),
      ]
      const { escrow, clock } = escrowOf({ reserve: 'strict', tree: hierarchy({ name: 'all', children }) })
      const large = names.map(() => random() < 0.4)
      for (let call = 0; call < 800; call++) {
        clock.advance(WINDOW_MS / 160)
        const at = Math.floor(random() * names.length)
        const { remaining } = escrow.check(names[at]!, Math.ceil((large[at] ? 900 : 40) * random()))
        if (remaining > 0) expect(escrow.peek(names[at]!, remaining).allowed).toBe(true)
        const { reserved, remaining: left } = escrow.snapshot()
        expect(reserved).toBeLessThanOrEqual(left + 1e-5)
      }
    }
  })

  it('pays debts out of one’s own share of the group’s', () => {
    const { escrow, clock } = escrowOf()
    const call = escrow.check('m1', 100)
    escrow.check('s1', 300)
    escrow.check('b1', 500)
    // The rest of its own guarantee is charged, and nothing of its siblings’ claims.
    expect(escrow.settle(call, 1100).unpaid).toBe(975)
    clock.advance(WINDOW_MS)
    // Acme has half of all, and mail an eighth of that beside the other two and one more of its weight.
    expect(escrow.snapshot().used).toBe(62.5)
    expect(escrow.check('s1', 375).allowed).toBe(true)
    expect(escrow.check('b1', 500).allowed).toBe(true)
  })
})

describe('weights and limits that change while it runs', () => {
  it('a group’s weight counts from then on', () => {
    const { escrow, guarantees } = escrowOf({ reserve: 'strict' })
    for (const key of ['s1', 'm1', 'b1']) escrow.check(key, 100)
    escrow.setWeight('acme', 4)
    expect(guarantees('s1', 'm1', 'b1')).toEqual([600, 200, 200])
    escrow.setWeight('best', 100)
    // Acme's 200 are used: best gets all the rest, and no more than there is.
    expect(guarantees('b1')).toEqual([800])
    expect(escrow.check('b1', 700).allowed).toBe(true)
    expect(() => escrow.setWeight('acme', 0)).toThrow('weight must be a number from 1e-9')
    expect(() => escrow.setWeight('s1', 2)).toThrow('group must be one group of the tree that has a weight, got "s1"')
  })

  it('a limit counts from then on, for all groups', () => {
    const { escrow, clock, guarantees } = escrowOf({ reserve: 'strict' })
    for (const key of ['s1', 'm1', 'b1']) escrow.check(key, 100)
    escrow.setLimit(2000)
    expect(guarantees('s1', 'm1', 'b1')).toEqual([750, 250, 1000])
    escrow.setLimit(200)
    expect(escrow.check('b1', 1)).toMatchObject({ allowed: false, reason: 'exhausted', remaining: 0 })
    clock.advance(WINDOW_MS)
    // Acme had got 100 more than best, which was refused: that is made up for.
    expect(guarantees('s1', 'm1', 'b1')).toEqual([38, 13, 150])
  })
})
