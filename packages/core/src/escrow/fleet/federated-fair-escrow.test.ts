import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { FederatedFairEscrow, RegionFairPool } from './escrows.js'
import type { LeasedDecision } from './options.js'
import type { LeaseCall, PoolStore } from './store.js'

const LIMIT = 1_200

/** Regions on one pool in this process; every call to it is kept. */
function rig(weights: Record<string, number> = {}) {
  const clock = manualClock()
  const plain = new RegionFairPool({ limit: LIMIT, windowMs: 1_000, quantum: 10, clock })
  const calls: LeaseCall[] = []
  const store: PoolStore = {
    lease: (call) => {
      calls.push(call)
      return plain.store.lease(call)
    },
  }
  const pool = new RegionFairPool({ limit: LIMIT, windowMs: 1_000, quantum: 10, clock, store })
  const weightOf = (tenant: string): number => weights[tenant] ?? 1
  const escrows = new Map<string, FederatedFairEscrow>()
  const check = (region: string, tenant: string, cost = 1): LeasedDecision => {
    if (!escrows.has(region))
      escrows.set(region, new FederatedFairEscrow({ region, pool, weightOf, after: () => () => {} }))
    const decision = escrows.get(region)!.check(tenant, cost)
    if (decision instanceof Promise) throw new Error('a pool in this process answers at once')
    return decision
  }
  return { clock, calls, check }
}

describe('a federated escrow', () => {
  it('answers at once on a pool in this process, and asks it in quanta', () => {
    const { check, calls } = rig()
    for (let at = 0; at < 100; at++) expect(check('east', 'a').allowed).toBe(true)
    expect(calls).toHaveLength(10)
    expect(new Set(calls.map(({ member }) => member)).size).toBe(1)
    expect(calls[0]!.member).toMatch(/^east\//)
  })

  it('gives a tenant of two regions no more than its weight', () => {
    const { check } = rig()
    const got: Record<string, number> = { both: 0, east: 0, west: 0 }
    for (let any = true; any; ) {
      any = false
      for (const [region, tenant] of [
        ['east', 'both'],
        ['west', 'both'],
        ['east', 'east'],
        ['west', 'west'],
      ] as const)
        if (check(region, tenant).allowed) {
          got[tenant]!++
          any = true
        }
    }
    for (const [tenant, sum] of Object.entries(got))
      expect(Math.abs(sum - 400), `${tenant}: ${sum}`).toBeLessThanOrEqual(21)
  })

  it('does not take what is refused to one tenant for what would be refused to another', () => {
    const { check } = rig({ heavy: 5 })
    expect(check('east', 'heavy', 10).allowed).toBe(true)
    expect(check('east', 'light').allowed).toBe(true)
    // More than its guarantee of 200.
    expect(check('east', 'light', 250).allowed).toBe(false)
    // More than that, by one that has used more per weight: but within its guarantee of 1000.
    expect(check('east', 'heavy', 400).allowed).toBe(true)
  })

  it('reports what each tenant asks for, and its whole weight; the pool computes the split', () => {
    const { check, calls } = rig({ both: 4 })
    for (let at = 0; at < 30; at++) check('east', 'both')
    for (let at = 0; at < 10; at++) check('west', 'both')
    expect(calls.at(-1)!.tenants).toMatchObject([{ tenant: 'both', weight: 4, used: 0 }])
    check('west', 'both')
    expect(calls.at(-1)!.tenants).toMatchObject([{ tenant: 'both', weight: 4, used: 10 }])
    // It asks for three times as much in the east, and has had three times as much there.
    check('east', 'both')
    expect(calls.at(-1)!.tenants).toMatchObject([{ tenant: 'both', weight: 4, used: 30, rate: 3_100 }])
  })

  it('does not take asking again for asking for more', () => {
    const { check, calls, clock } = rig()
    clock.advance(500)
    check('east', 'a', LIMIT)
    for (let at = 0; at < 100; at++) check('east', 'a', 100)
    clock.advance(400)
    check('east', 'a', 100)
    // At its first call it did not know how much of the window was over.
    const rates = calls
      .slice(1)
      .flatMap(({ tenants }) => tenants)
      .map(({ rate }) => rate)
    // After half of the window it had asked for 1300; at that pace that makes 2600 in a window.
    expect(Math.max(...rates)).toBeLessThanOrEqual(2_600.000_001)
  })

  it('tells by its first call in a window what became of the last one', () => {
    const { check, calls, clock } = rig()
    check('east', 'a', 700)
    clock.advance(1_000)
    check('east', 'a', 10)
    expect(calls.at(-1)).toMatchObject({ win: 0, holds: 700, tenants: [{ tenant: 'a', weight: 1, used: 700 }] })
  })

  it('counts tenants above maxTenants as one', () => {
    const clock = manualClock()
    const pool = new RegionFairPool({ limit: LIMIT, windowMs: 1_000, quantum: 1, clock })
    const reported = new Set<string>()
    const store: PoolStore = {
      lease: (call) => {
        for (const { tenant } of call.tenants ?? []) reported.add(tenant)
        return pool.store.lease(call)
      },
    }
    const counted = new RegionFairPool({ limit: LIMIT, windowMs: 1_000, quantum: 1, clock, store })
    const escrow = new FederatedFairEscrow({ region: 'r', pool: counted, maxTenants: 3, after: () => () => {} })
    for (let at = 0; at < 50; at++) escrow.check(`t${at}`)
    expect([...reported]).toEqual(['t0', 't1', '(others)'])
  })

  it('is refused by name what is not good', () => {
    const pool = new RegionFairPool({ limit: LIMIT, windowMs: 1_000 })
    expect(pool.terms).toEqual({ name: 'regions', limit: LIMIT, windowMs: 1_000, quantum: 12 })
    expect(() => new FederatedFairEscrow({ region: '', pool })).toThrow(/^region must be a non-empty string/)
    // @ts-expect-error -- what JavaScript may pass
    expect(() => new FederatedFairEscrow({ region: 'a', pool: {} })).toThrow(
      /^pool must be a RegionFairPool, got an object/,
    )
    // @ts-expect-error -- what JavaScript may pass
    expect(() => new FederatedFairEscrow({ region: 'a', pool, regions: 1 })).toThrow(/no option "regions"/)
    expect(() => new RegionFairPool({ limit: 10, windowMs: 1_000, quantum: 11 })).toThrow(/^quantum must be/)
    // @ts-expect-error -- what JavaScript may pass
    expect(() => new RegionFairPool({ limit: 10, windowMs: 1_000, store: 5 })).toThrow(
      /^store must be a store of pools/,
    )
    // @ts-expect-error -- what JavaScript may pass
    expect(() => new RegionFairPool({ limit: 10, windowMs: 1_000, size: 5 })).toThrow(/no option "size"/)
  })
})
