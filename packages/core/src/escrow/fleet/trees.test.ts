import { describe, expect, it } from 'vitest'
import { World } from '../../testing/world.js'
import { hierarchy } from '../hierarchy.js'
import { FederatedFairEscrow, LeasedFairEscrow, RegionFairPool } from './escrows.js'
import { farStore, settled } from './fixtures/stores.js'
import type { LeasedDecision, LeasedEscrowOptions } from './options.js'
import { type LeaseAnswer, type LeaseCall, type PoolStore, PoolStoreError } from './store.js'
import { MemoryPoolStore } from './stores.js'

const SHARED = { pool: 'api', limit: 1_000, windowMs: 1_000, quantum: 10 }
const TREE = hierarchy({
  name: 'all',
  children: [
    {
      name: 'acme',
      weight: 3,
      children: [
        { name: 'acme/web' },
        { name: 'acme/ops', weight: 2, children: [{ name: 'ops/1' }, { name: 'ops/2' }] },
      ],
    },
    { name: 'globex', weight: 1, children: [] },
    { name: 'solo' },
  ],
})
const groupOf = (tenant: string): string | undefined => (tenant.startsWith('globex') ? 'globex' : undefined)

/** Processes on one store, which answers synchronously and keeps all calls. */
function rig(options: Partial<LeasedEscrowOptions> = {}) {
  const world = new World()
  const pools = new MemoryPoolStore({ clock: world.clock })
  const calls: { readonly call: LeaseCall; readonly answer: LeaseAnswer }[] = []
  const state = { isAway: false }
  const store: PoolStore = {
    lease: (call) => {
      if (state.isAway) throw new PoolStoreError('network', 'the store is away')
      const answer = pools.lease(call)
      calls.push({ call, answer })
      return answer
    },
  }
  const process = (): LeasedFairEscrow =>
    new LeasedFairEscrow({
      ...{ ...SHARED, store, tree: TREE, groupOf, clock: world.clock, after: world.after },
      ...options,
    })
  return { world, calls, state, process }
}

function check(escrow: LeasedFairEscrow | FederatedFairEscrow, tenant: string, cost = 1): LeasedDecision {
  const decision = escrow.check(tenant, cost)
  if (decision instanceof Promise) throw new Error('a store in this process answers at once')
  return decision
}

/** They ask in turn, every millisecond, until the window ends; returns the admissions of each. */
function drain(
  world: World,
  asks: readonly (readonly [LeasedFairEscrow | FederatedFairEscrow, string, number])[],
): Record<string, number> {
  const got: Record<string, number> = {}
  for (const [, tenant] of asks) got[tenant] = 0
  for (; world.clock() < 999; world.advance(1))
    for (const [escrow, tenant, times] of asks)
      for (let at = 0; at < times; at++) if (check(escrow, tenant).allowed) got[tenant]!++
  return got
}

describe('a fleet with a tree', () => {
  it('shares by the weights of each group, in whatever process its tenants are, and however often they ask', () => {
    const { world, process, calls } = rig()
    const [a, b, c] = [process(), process(), process()]
    const got = drain(world, [
      [a, 'acme/web', 5],
      [b, 'ops/1', 1],
      [c, 'ops/2', 3],
      [a, 'globex/1', 3],
      [c, 'globex/2', 1],
      [b, 'solo', 2],
    ])
    // Of five parts three are acme's, of which the operators have two thirds.
    const ideals = { 'acme/web': 200, 'ops/1': 200, 'ops/2': 200, 'globex/1': 100, 'globex/2': 100, solo: 200 }
    for (const [tenant, ideal] of Object.entries(ideals))
      expect(Math.abs(got[tenant]! - ideal), `${tenant}: ${got[tenant]}`).toBeLessThanOrEqual(25)
    const sum = Object.values(got).reduce((total, each) => total + each, 0)
    expect(sum).toBeLessThanOrEqual(1_000)
    expect(sum).toBeGreaterThan(960)
    // Each group has its own pool, named by its path.
    expect(new Set(calls.map(({ call }) => call.pool.name))).toEqual(
      new Set(['api', 'api/acme', 'api/acme/acme%2Fops', 'api/globex']),
    )
  })

  it('leaves to a group what it is due, whatever others ask for before', () => {
    const { world, process } = rig({ weightOf: () => 1 })
    const [a, b] = [process(), process()]
    check(a, 'acme/web')
    check(b, 'globex/1')
    for (let at = 0; at < 500; at++) check(b, 'globex/1')
    // Two more than its guarantee of a fourth, at most: its claim was not there when it asked first.
    expect(b.snapshot().groups![0]!.used).toBeLessThanOrEqual(260)
    let got = 1
    while (check(a, 'acme/web').allowed) got++
    expect(got).toBeGreaterThanOrEqual(730)
    expect(world.clock()).toBe(0)
  })

  it('has a pool for each group, whatever its name', () => {
    const names = ['a/b', 'a', '\ud800', '\ud801', '(others)', '__proto__', '😀', ' ']
    const tree = hierarchy({
      name: 'all',
      children: names.map((name, at) => ({ name, weight: 1, children: [{ name: `t${at}` }] })),
    })
    const { process, calls } = rig({ tree })
    const escrow = process()
    for (const at of names.keys()) expect(check(escrow, `t${at}`).allowed).toBe(true)
    expect(new Set(calls.map(({ call }) => call.pool.name)).size).toBe(names.length + 1)
  })

  it('refuses tenants without a place, and does not ask the store', () => {
    const { process, calls } = rig()
    const escrow = process()
    expect(check(escrow, 'nobody')).toMatchObject({
      ...{ allowed: false, reason: 'unknown', retryAfterMs: Number.POSITIVE_INFINITY, tenant: 'nobody' },
    })
    expect(escrow.peek('nobody', 1).reason).toBe('unknown')
    expect(calls).toEqual([])
    expect(escrow.settle(check(escrow, 'nobody'), 1)).toEqual({ settled: false, unpaid: 0 })
  })

  it('gives what costs less back, and lets a group above have it again', () => {
    const { world, process } = rig()
    const [a, b] = [process(), process()]
    const decision = check(a, 'acme/web', 600)
    expect(decision).toMatchObject({ allowed: true, tenant: 'acme/web' })
    expect(check(b, 'globex/1', 700).allowed).toBe(false)
    expect(a.settle(decision, 10)).toEqual({ settled: true, unpaid: 0 })
    world.advance(300)
    // Idle credit is returned from the group's pool to the one above, and from there to others.
    expect(check(b, 'globex/1', 700).allowed).toBe(true)
    expect(() => b.settle(decision, 1)).toThrow(/decision must come from check of this escrow/)
  })

  it('takes what a call needs once from the group above, also if the call is sent again', async () => {
    const world = new World()
    const pools = new MemoryPoolStore({ clock: world.clock })
    let isLost = true
    const store: PoolStore = {
      lease: (call) => {
        const answer = pools.lease(call)
        return call.pool.name !== 'api' && isLost ? new Promise(() => {}) : Promise.resolve(answer)
      },
    }
    const shared = { ...SHARED, store, tree: TREE, groupOf, clock: world.clock, after: world.after }
    const escrow = new LeasedFairEscrow(shared)
    const pass = async (ms: number): Promise<void> => {
      for (let at = 0; at < ms; at += 10) {
        world.advance(10)
        await settled()
      }
    }
    const first = escrow.check('acme/web', 100)
    await settled()
    await pass(200)
    // As the group's pool does not answer, the tenant spends what its group has in the one above.
    expect(await first).toMatchObject({ allowed: true, tenant: 'acme/web' })
    isLost = false
    expect((await escrow.check('acme/web', 100)).allowed).toBe(true)
    await pass(50)
    const { used, groups } = escrow.snapshot()
    expect(groups![0]!.granted).toBe(100)
    // Two calls, and what the group's pool has granted for the first.
    expect(used).toBe(300)
  })

  it('draws ahead for the next window on every level, so that its first checks do not wait for a store far away', async () => {
    const world = new World()
    const pools = new MemoryPoolStore({ clock: world.clock })
    const store = farStore(pools, 50, world.after)
    const far = { windowMs: 20_000, limit: 20_000, quantum: 200, storeTimeoutMs: 500 }
    const escrow = new LeasedFairEscrow({
      ...{ ...SHARED, ...far, store, tree: TREE, groupOf, clock: world.clock, after: world.after },
    })
    const tenants = ['acme/web', 'ops/1', 'globex/1', 'globex/2', 'solo']
    // In the first half of a second of each window.
    const waited: number[] = []
    let [waitedLater, refused] = [0, 0]
    for (let ms = 0; ms < 100_000; ms += 2) {
      const answer = escrow.check(tenants[(ms / 2) % 5]!)
      const win = Math.floor(ms / 20_000)
      if (answer instanceof Promise) {
        if (ms % 20_000 < 500) waited[win] = (waited[win] ?? 0) + 1
        else waitedLater++
      }
      void Promise.resolve(answer).then(({ allowed }) => (refused += allowed ? 0 : 1))
      world.advance(2)
      await settled()
    }
    expect(waited[0]).toBeGreaterThan(20)
    expect(waited.slice(1)).toEqual([])
    // One group borrows the others' unused budget, which is more than its demand.
    expect(refused).toBe(0)
    expect(waitedLater / 50_000).toBeLessThan(0.006)
  })

  it('hands back what groups held of the next window when it ends, so that others have it all', async () => {
    const world = new World()
    const pools = new MemoryPoolStore({ clock: world.clock })
    const calls: LeaseCall[] = []
    const store: PoolStore = {
      lease: (call) =>
        new Promise((resolve) => {
          calls.push(call)
          world.after(1, () => resolve(pools.lease(call)))
        }),
    }
    const shared = { ...SHARED, store, tree: TREE, groupOf, clock: world.clock, after: world.after }
    const [first, second] = [new LeasedFairEscrow(shared), new LeasedFairEscrow(shared)]
    const pass = async (ms: number): Promise<void> => {
      for (let at = 0; at < ms; at++) {
        world.advance(1)
        await settled()
      }
    }
    for (let at = 0; at < 95; at++) {
      void first.check('acme/web')
      await pass(10)
    }
    const held = new Map(calls.map(({ pool, ahead }) => [pool.name, ahead]))
    for (const name of ['api', 'api/acme']) expect(held.get(name), name).toBeGreaterThan(0)
    const closed = first.close()
    await pass(20)
    await closed
    for (const name of ['api', 'api/acme'])
      expect(calls.findLast(({ pool }) => pool.name === name)?.ahead, name).toBe(0)
    await pass(1_000 - (world.clock() % 1_000))
    const all = second.check('solo', 1_000)
    await pass(10)
    expect((await all).allowed).toBe(true)
  })

  it('goes on by the shares of groups when the store is away', () => {
    const { world, process, state } = rig({ onStoreError: 'last-share' })
    const [a, b] = [process(), process()]
    const asks = (): void => {
      for (let at = 0; at < 5; at++) {
        check(a, 'acme/web')
        check(b, 'globex/1')
      }
    }
    for (; world.clock() < 1_990; world.advance(5)) asks()
    state.isAway = true
    world.advance(1_050)
    let [acme, globex] = [0, 0]
    for (; world.clock() < 3_990; world.advance(1)) {
      for (let at = 0; at < 5; at++) {
        if (check(a, 'acme/web').allowed) acme++
        if (check(b, 'globex/1').allowed) globex++
      }
    }
    expect(acme + globex).toBeLessThanOrEqual(1_000)
    expect(Math.abs(acme - 750), `acme ${acme}`).toBeLessThanOrEqual(30)
    expect(Math.abs(globex - 250), `globex ${globex}`).toBeLessThanOrEqual(30)
  })

  it('lets no group owe what one of its tenants cost while the store was away', () => {
    const { world, process, state } = rig({ onStoreError: 'last-share' })
    const escrow = process()
    for (; world.clock() < 1_990; world.advance(5)) check(escrow, 'acme/web')
    state.isAway = true
    world.advance(1_050)
    const decision = check(escrow, 'acme/web')
    expect(decision).toMatchObject({ allowed: true, reason: 'store-error', tenant: 'acme/web' })
    expect(escrow.settle(decision, Number.MAX_SAFE_INTEGER)).toMatchObject({ settled: true })
    state.isAway = false
    for (; world.clock() < 4_500; world.advance(5)) check(escrow, 'solo')
    for (const cost of [100, 50, 50]) expect(check(escrow, 'ops/1', cost).allowed).toBe(true)
    expect(escrow.snapshot().used).toBeLessThanOrEqual(1_000)
  })

  it('counts a group by another weight as soon as it is told', () => {
    const { world, process } = rig()
    const escrows = [process(), process()]
    for (const escrow of escrows) escrow.setWeight('globex', 3)
    const [a, b] = escrows as [LeasedFairEscrow, LeasedFairEscrow]
    const got = drain(world, [
      [a, 'acme/web', 3],
      [b, 'globex/1', 3],
    ])
    expect(Math.abs(got['globex/1']! - 500), `globex ${got['globex/1']}`).toBeLessThanOrEqual(25)
    expect(() => a.setWeight('solo', 2)).toThrow(/group must be one group of the tree/)
    expect(() => a.setWeight('acme', 0)).toThrow(/weight/)
    expect(() =>
      rig({ tree: undefined as never, groupOf: undefined as never })
        .process()
        .setWeight('acme', 1),
    ).toThrow(/group must be one of a tree/)
  })

  it('tells sums of all its groups, and each by itself', () => {
    const { process } = rig()
    const escrow = process()
    for (const tenant of ['acme/web', 'globex/1', 'solo', 'nobody']) check(escrow, tenant)
    const { allowed, refused, groups, storeCalls, used } = escrow.snapshot()
    expect({ allowed, refused }).toEqual({ allowed: 3, refused: 1 })
    expect(groups!.map(({ name, used: own }) => [name, own])).toEqual([
      ['api/acme', 1],
      ['api/globex', 1],
    ])
    expect(storeCalls).toBeGreaterThanOrEqual(4)
    // Credit of a group is used, as the pool above sees it.
    expect(used).toBe(21)
    void escrow.close()
    expect(escrow.snapshot().used).toBe(3)
  })

  it('is there for regions, too', () => {
    const world = new World()
    const pool = new RegionFairPool({ limit: 1_000, windowMs: 1_000, clock: world.clock })
    const shared = { pool, tree: TREE, groupOf, after: world.after }
    const [east, west] = ['east', 'west'].map((region) => new FederatedFairEscrow({ ...shared, region }))
    const got = drain(world, [
      [east!, 'acme/web', 3],
      [west!, 'globex/1', 3],
    ])
    expect(Math.abs(got['acme/web']! - 750), `acme ${got['acme/web']}`).toBeLessThanOrEqual(25)
  })

  it('names what is wrong with its options', () => {
    expect(() => rig({ tree: {} as never }).process()).toThrow(/tree must be made by hierarchy/)
    expect(() => rig({ tree: undefined as never, groupOf }).process()).toThrow(/groupOf needs a tree/)
    const { process } = rig({ groupOf: () => 'nowhere' })
    expect(() => process().check('x')).toThrow(/must be the name of one group/)
  })

  it('sets the limit of groups that nobody has asked in yet, too', () => {
    const { process } = rig({ limit: 100, quantum: 10 })
    const escrow = process()
    escrow.setLimit(1_000)
    expect(check(escrow, 'ops/1', 500)).toMatchObject({ allowed: true })
    expect(escrow.snapshot().groups!.map(({ limit, quantum }) => [limit, quantum])).toEqual([
      [1_000, 100],
      [1_000, 100],
    ])
  })
})
