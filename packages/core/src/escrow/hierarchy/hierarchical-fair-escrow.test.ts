import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createGate } from '../../create-gate.js'
import { manualClock } from '../../testing/manual-clock.js'
import type { EscrowDecision } from '../decision.js'
import { WeightedFairEscrow } from '../escrow.js'
import { propertyRuns } from '../fixtures/property-runs.js'
import { type Trace, traces } from '../fixtures/trace.js'
import { type HierarchicalEscrowOptions, HierarchicalFairEscrow } from './hierarchical-fair-escrow.js'
import { type HierarchyNode, hierarchy } from './tree.js'

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

function escrowOf(options: Partial<HierarchicalEscrowOptions> = {}) {
  const clock = manualClock()
  const tree = hierarchy(TREE)
  const escrow = new HierarchicalFairEscrow({ limit: 1000, windowMs: WINDOW_MS, tree, clock, ...options })
  const guarantees = (...names: string[]): number[] => names.map((name) => Math.round(escrow.peek(name).guarantee))
  return { clock, escrow, guarantees }
}

function drain(escrow: HierarchicalFairEscrow, tenant: string, cost = 1): number {
  for (let used = 0; ; used += cost) if (!escrow.check(tenant, cost).allowed) return used
}

/** What is left of a tenant's guarantee. */
function claimOf(escrow: HierarchicalFairEscrow, tenant: string, crumb: number): number {
  const peeked = escrow.peek(tenant, crumb)
  return peeked.allowed && !peeked.borrowed ? peeked.remaining : 0
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

  it('settles, refunds, and starts anew with the window', () => {
    const { escrow, clock } = escrowOf()
    const one = escrow.check('s1', 100)
    expect(escrow.settle(one, 30)).toEqual({ settled: true, unpaid: 0 })
    expect(escrow.settle(one, 30).settled).toBe(false)
    const two = escrow.check('s1', 900)
    expect(escrow.settle(two, 1000)).toEqual({ settled: true, unpaid: 30 })
    expect(escrow.snapshot()).toMatchObject({ used: 1000, remaining: 0, tenants: 1 })
    clock.advance(WINDOW_MS)
    expect(escrow.refund(two)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.refund(escrow.check('m2', 1000)).settled).toBe(true)
    expect(escrow.snapshot()).toMatchObject({ used: 0, tenants: 1 })
  })

  it('is a gate’s budget as any other escrow', () => {
    const { escrow } = escrowOf()
    const gate = createGate({ budget: escrow, clock: manualClock() })
    expect(gate.admit({ flow: 'b1', cost: 1000 })).toMatchObject({ admitted: true })
    expect(gate.admit({ flow: 's1' })).toMatchObject({ admitted: false, stage: 'budget', reason: 'exhausted' })
  })

  it('refuses bad input by name', () => {
    const make = (root: object) => () => hierarchy(root as HierarchyNode)
    expect(make({ name: 'a' })).toThrow('hierarchy must have children')
    expect(make({ name: 'a', children: [] })).toThrow('a: children must be an array of at least one node')
    expect(make({ name: 'a', children: [{ name: 'b', weight: 0 }] })).toThrow('a/b: weight must be a number from 1e-9')
    expect(make({ name: 'a', children: [{ name: 'b' }, { name: 'b' }] })).toThrow('each tenant once, got "b" twice')
    expect(make({ name: 'a', children: [{ name: '' }] })).toThrow('name must be a non-empty string')
    expect(make({ name: 'a', kids: [] })).toThrow('hierarchy has no option "kids"')
    expect(() => escrowOf({ tree: TREE as never })).toThrow('tree must be made by hierarchy')
    const { escrow } = escrowOf()
    const before = escrow.snapshot()
    expect(() => escrow.check('acme')).toThrow('tenant must be one of the hierarchy, got "acme"')
    expect(() => escrow.check('s1', 0)).toThrow('cost must be a number > 0')
    expect(() => escrow.settle({ ...escrow.peek('s1') }, 1)).toThrow('decision must come from check of this escrow')
    expect(escrow.snapshot()).toEqual(before)
  })
})

/** Tenants put into groups at random: `weights` are theirs, every third group has one of its own if `weighted`. */
function treeOf({ weights }: Trace, cuts: readonly number[], weighted: boolean): HierarchyNode {
  let level: HierarchyNode[] = weights.map((weight, i) => ({ name: `t${i}`, weight }))
  for (const [depth, cut] of cuts.entries()) {
    const groups: HierarchyNode[] = []
    for (let i = 0; i < level.length; i += cut) {
      const group: HierarchyNode = { name: `g${depth}-${i}`, children: level.slice(i, i + cut) }
      if (weighted && (i / cut + depth) % 3 !== 0) group.weight = 1 + ((i + depth) % 4)
      groups.push(group)
    }
    level = groups
  }
  return { name: 'all', children: level }
}

const cuts = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 })

describe.each(['whole', 'fractions'] as const)('over random traces of %s numbers', (kind) => {
  it('a hierarchy in which only tenants have weights is the flat escrow, decision for decision', () => {
    fc.assert(
      fc.property(traces(kind), cuts, (trace, groups) => {
        const { limit, windowMs, reserve, weights } = trace
        const clock = manualClock()
        const weightOf = (tenant: string): number => weights[Number(tenant.slice(1))]!
        const flat = new WeightedFairEscrow({ limit, windowMs, reserve, weightOf, clock })
        const tree = hierarchy(treeOf(trace, groups, false))
        const deep = new HierarchicalFairEscrow({ limit, windowMs, reserve, tree, clock })
        const decisions: [EscrowDecision, EscrowDecision][] = []
        for (const step of trace.steps) {
          clock.advance(step.afterMs)
          if (step.type === 'check') {
            const pair: [EscrowDecision, EscrowDecision] = [
              flat.check(step.tenant, step.cost),
              deep.check(step.tenant, step.cost),
            ]
            const [one, two] = pair.map(({ allowed, borrowed, reason }) => ({ allowed, borrowed, reason }))
            expect(two).toEqual(one)
            decisions.push(pair)
          } else if (step.type === 'settle') {
            const pair = decisions[decisions.length - 1 - step.which]
            if (pair === undefined) continue
            const actual = pair[0].cost * step.factor
            expect(deep.settle(pair[1], actual).settled).toBe(flat.settle(pair[0], actual).settled)
          }
          const gap = Math.abs(deep.snapshot().reserved - flat.snapshot().reserved)
          expect(gap).toBeLessThanOrEqual(Math.min(1e-3, 1e-9 * limit))
        }
      }),
      propertyRuns(),
    )
  })

  it('T1, T2: never more than the limit, and every claim is admitted at once, whatever others ask', () => {
    const share = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(traces(kind), cuts, fc.array(fc.tuple(fc.nat(50), fc.nat(50), share)), (trace, groups, asks) => {
        const { limit, windowMs, reserve, weights, steps } = trace
        const clock = manualClock()
        const tree = hierarchy(treeOf(trace, groups, true))
        const escrow = new HierarchicalFairEscrow({ limit, windowMs, reserve, tree, clock })
        const slack = Math.min(1e-3, 1e-9 * limit)
        const names = weights.map((_, i) => `t${i}`)
        const decisions: EscrowDecision[] = []
        let admitted = new Set<string>()
        let windowEndMs = 0
        const check = (name: string, cost: number): EscrowDecision => {
          const peeked = escrow.peek(name, cost)
          const decision = escrow.check(name, cost)
          if (decision.resetAtMs !== windowEndMs) admitted = new Set()
          windowEndMs = decision.resetAtMs
          if (decision.allowed) admitted.add(name)
          if (JSON.stringify(peeked) !== JSON.stringify(decision)) throw new Error(JSON.stringify([peeked, decision]))
          const { used, remaining, reserved } = escrow.snapshot()
          if (used > limit + slack || reserved > Math.max(0, remaining) + slack)
            throw new Error(`used ${used}, kept ${reserved} of ${remaining}`)
          return decision
        }
        for (const step of steps) {
          clock.advance(step.afterMs)
          if (step.type === 'check') decisions.push(check(step.tenant, step.cost))
          else if (step.type === 'settle') {
            const decision = decisions[decisions.length - 1 - step.which]
            if (decision !== undefined) escrow.settle(decision, decision.cost * step.factor)
          }
        }
        const crumb = limit / 1e6
        const active = names.filter((name) => admitted.has(name) && escrow.peek(name, crumb).resetAtMs === windowEndMs)
        const claims = new Map(active.map((name) => [name, claimOf(escrow, name, crumb)]))
        for (const [owner, other, part] of asks) {
          const name = active[owner % active.length]
          const greedy = active[other % active.length]
          if (name === undefined || greedy === undefined) return
          if (greedy !== name) {
            check(greedy, Math.max(limit / 100, part * limit))
            claims.set(greedy, claimOf(escrow, greedy, crumb))
          }
          const claim = claims.get(name)!
          if (claim < 1e-3) continue
          expect(check(name, claim).allowed).toBe(true)
          claims.set(name, 0)
        }
      }),
      propertyRuns(),
    )
  })
})
