import { describe, expect, it } from 'vitest'
import type { After } from '../../clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { World } from '../../testing/world.js'
import { LeasedFairEscrow } from './escrows.js'
import { farStore, HeldStore, settled } from './fixtures/stores.js'
import type { LeasedDecision, LeasedEscrowOptions } from './options.js'
import type { StoreFailure } from './store.js'
import { graceOf, type LeaseAnswer, type LeaseCall, type PoolMark, type PoolStore, PoolStoreError } from './store.js'
import { MemoryPoolStore } from './stores.js'

const SHARED = { pool: 'api', limit: 1_000, windowMs: 1_000, quantum: 100 }

const ANSWER: LeaseAnswer = {
  ...{
    win: 0,
    leftMs: 1,
    mark: { epoch: 1, rev: 1, total: 1, ahead: 0, members: 1 },
    grant: 1,
    ahead: 0,
    held: 0,
    part: 1,
    turn: Number.MAX_VALUE,
    room: 0,
    waitMs: 0,
  },
  ...{ shares: [], used: [] },
}

/** A call of another process on the same pool. */
function otherCall(more: Partial<LeaseCall>): LeaseCall {
  const none = { weight: 0, used: 0 }
  return {
    ...{ pool: { ...SHARED, name: 'api' }, member: 'other', seq: 1, win: -1, holds: 0, spent: 0 },
    ...{
      mark: { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 },
      quiet: none,
      tenants: [],
      need: 0,
      ...more,
    },
  }
}

/** An escrow whose store answers at once. */
function direct(options: Partial<LeasedEscrowOptions> = {}) {
  const world = new World()
  const store = new MemoryPoolStore({ clock: world.clock })
  const escrow = new LeasedFairEscrow({ ...SHARED, store, clock: world.clock, after: world.after, ...options })
  const check = (tenant: string, cost?: number): LeasedDecision => {
    const decision = escrow.check(tenant, cost)
    if (decision instanceof Promise) throw new Error('a store in this process answers at once')
    return decision
  }
  return { world, store, escrow, check }
}

/** An escrow whose store answers when it is told to. */
function held(options: Partial<LeasedEscrowOptions> = {}) {
  const world = new World()
  const store = new HeldStore(world.clock)
  const escrow = new LeasedFairEscrow({ ...SHARED, store, clock: world.clock, after: world.after, ...options })
  /** The answers to checks, as they come. */
  const answers: (LeasedDecision | undefined)[] = []
  const check = (tenant: string, cost?: number): number => {
    const at = answers.push(undefined) - 1
    const decision = escrow.check(tenant, cost)
    if (decision instanceof Promise) void decision.then((late) => (answers[at] = late))
    else answers[at] = decision
    return at
  }
  return { world, store, escrow, answers, check }
}

/**
 * Two windows of an escrow with a healthy store some way off: 400 tenants ask in turn, each for less than its part, and
 * a heavy one for much more.
 */
async function busyLine({ roundTripMs, quantum }: { roundTripMs: number; quantum: number }) {
  const world = new World()
  const memory = new MemoryPoolStore({ clock: world.clock })
  const store = farStore(memory, roundTripMs, world.after)
  const options = { pool: 'api', limit: 1_000, windowMs: 60_000, quantum, storeTimeoutMs: 1_000, store }
  const escrow = new LeasedFairEscrow({ ...options, clock: world.clock, after: world.after })
  const reasons: Record<string, number> = {}
  let longestMs = 0
  const check = (tenant: string, cost: number): void => {
    const sinceMs = world.clock()
    void Promise.resolve(escrow.check(tenant, cost)).then(({ reason = 'allowed' }) => {
      reasons[reason] = (reasons[reason] ?? 0) + 1
      longestMs = Math.max(longestMs, world.clock() - sinceMs)
    })
  }
  for (let at = 0; at < 2 * 6_000; at++) {
    if (at % 2 === 0) check(`light ${(at / 2) % 400}`, 1)
    if (at % 4 === 0) check('heavy', 3)
    world.advance(5)
    await settled()
    world.advance(5)
    await settled()
  }
  return { reasons, longestMs, calls: escrow.snapshot().storeCalls }
}

describe('a leased escrow', () => {
  it('answers at once within its credit, and asks the store once per quantum', async () => {
    const { store, check, answers, escrow } = held()
    check('a', 30)
    await store.last.answer()
    check('a', 30)
    check('b', 40)
    expect(answers.map((answer) => answer?.allowed)).toEqual([true, true, true])
    expect(store.calls).toHaveLength(1)
    check('b', 1)
    expect(answers[3]).toBeUndefined()
    expect(store.last.call).toMatchObject({ seq: 2, need: 1, holds: 100, spent: 100 })
    // The one that asks comes first; the other one has asked lately, too.
    expect(store.last.call.tenants.map(({ tenant, used }) => [tenant, used])).toEqual([
      ['b', 40],
      ['a', 60],
    ])
    expect(escrow.snapshot()).toMatchObject({ open: true, granted: 100, used: 100, tenants: 2, storeCalls: 2 })
  })

  it('holds up no check that has enough credit for one in front that needs another lease', async () => {
    const { store, check, answers } = held()
    check('a', 30)
    check('b', 150)
    check('c', 10)
    await store.last.answer()
    expect(answers.map((answer) => answer?.allowed)).toEqual([true, undefined, true])
    await store.last.answer()
    expect(answers.map((answer) => answer?.allowed)).toEqual([true, true, true])
  })

  it('has one lease on its way, for which all checks wait, in their order', async () => {
    const { store, check, answers } = held()
    for (let at = 0; at < 5; at++) check(`t${at}`, 30)
    expect(store.calls).toHaveLength(1)
    await store.last.answer()
    // Three of 30 fit into a quantum of 100; for the fourth it draws again.
    expect(answers.map((answer) => answer?.allowed)).toEqual([true, true, true, undefined, undefined])
    expect(store.calls).toHaveLength(2)
    await store.last.answer()
    expect(answers.every((answer) => answer?.allowed)).toBe(true)
    expect(store.calls).toHaveLength(2)
  })

  it('draws next for a waiting tenant that is within its guarantee, not for one that asks often', async () => {
    const { store, check, answers } = held()
    check('often', 100)
    check('quiet', 10)
    await store.last.answer({ grant: 110, held: 890 })
    check('often', 390)
    // Its guarantee is 500.
    check('often', 100)
    check('quiet', 50)
    await store.last.answer({ grant: 390, held: 500 })
    expect(answers.map((answer) => answer?.allowed)).toEqual([true, true, true, undefined, undefined])
    expect(store.last.call.tenants[0]).toMatchObject({ tenant: 'quiet' })
  })

  it('draws each fourth time for the first in line, though others are within their guarantees', async () => {
    const { store, check, answers } = held({ limit: 1_000, quantum: 1 })
    check('often', 600)
    await store.last.answer({ grant: 600, held: 400 })
    for (const name of ['t0', 'often', 't1', 't2', 't3', 't4', 't5', 't6']) check(name, name === 'often' ? 200 : 1)
    await store.last.answer({ grant: 1, held: 399 })
    const asking: string[] = []
    for (let at = 0; at < 6; at++) {
      asking.push(store.last.call.tenants[0]!.tenant)
      await store.last.answer(asking.at(-1) === 'often' ? { grant: 0, waitMs: 50 } : { grant: 1, held: 390 })
    }
    expect(asking.filter((name) => name === 'often')).toHaveLength(1)
    expect(answers.find((answer) => answer?.allowed === false)).toMatchObject({ tenant: 'often', reason: 'over-share' })
  })

  it.each([
    { room: 50, calls: 0 },
    { room: 0, calls: 1 },
  ])('lets a tenant spend a lease beyond its guarantee, unless that is of the claims of others: %o', async (world) => {
    const { store, check, answers } = held({ limit: 1_000, quantum: 20 })
    check('often', 600)
    await store.last.answer({ grant: 600, held: 400 })
    check('seldom', 1)
    await store.last.answer({ grant: 20, held: 380 })
    check('often', 5)
    expect([store.last.call.need, store.last.call.tenants[0]!.tenant]).toEqual([5, 'often'])
    await store.last.answer({ grant: 20, held: 380, room: world.room })
    const before = store.calls.length
    check('often', 5)
    await settled()
    expect(store.calls.length - before).toBe(world.calls)
    expect(answers.filter((answer) => answer?.allowed)).toHaveLength(4 - world.calls)
  })

  it('counts a lease beyond the guarantee from the use that its call stated', async () => {
    const { store, check, answers } = held({ limit: 1_000, quantum: 20 })
    check('seldom', 1)
    await store.last.answer({ grant: 20, held: 980 })
    check('often', 490)
    await store.last.answer({ grant: 480, held: 500 })
    // Of 500, 10 are left to it, and 9 of credit.
    check('often', 10)
    check('often', 9)
    await store.last.answer({ grant: 20, held: 480, room: 50 })
    expect(answers.map((answer) => answer?.allowed)).toEqual([true, true, true, true])
    const before = store.calls.length
    check('often', 5)
    expect(store.calls.length - before).toBe(1)
    expect(answers[4]).toBeUndefined()
  })

  it.each([
    { roundTripMs: 30, quantum: 10, waitMs: 300 },
    { roundTripMs: 90, quantum: 10, waitMs: 2_000 },
    { roundTripMs: 90, quantum: 2, waitMs: 2_000 },
  ])('refuses by the rule while many are within their guarantees, store away: %o', async (world) => {
    const { reasons, longestMs, calls } = await busyLine(world)
    expect(['allowed', 'exhausted', 'over-share']).toEqual(expect.arrayContaining(Object.keys(reasons)))
    // In two windows.
    expect(reasons['allowed']).toBeGreaterThan(0.95 * 2_000)
    expect(longestMs).toBeLessThanOrEqual(world.waitMs)
    if (world.quantum === 10) expect(calls).toBeLessThan(800)
  })

  it.each([
    [10, 64],
    [100, 10],
    [1_000, 8],
  ])('among %d members names %d tenants in a call, as each may be at all members', async (members, names) => {
    const { store, check } = held({ quantum: 300 })
    check('first', 1)
    await store.last.answer({ mark: { epoch: 1, rev: 1, total: 300, ahead: 0, members } })
    for (let at = 0; at < 70; at++) check(`t${at}`, 1)
    check('heavy', 1_000)
    expect(store.last.call.tenants).toHaveLength(names)
    expect(store.last.call.quiet.weight).toBe(72 - names)
  })

  it('names those first that were refused, then who has spent since; of the others it tells the sum', async () => {
    const { store, check } = held({ quantum: 300 })
    check('first', 1)
    await store.last.answer()
    for (let at = 0; at < 70; at++) check(`t${at}`, 1)
    check('heavy', 1_000)
    expect(store.last.call.tenants).toHaveLength(64)
    // Of those that are not named yet, each has used 1; for the one that asks nothing was spent.
    expect(store.last.call.quiet).toEqual({ weight: 8, used: 8 })
    await store.last.answer()
    check('last', 500)
    const { quiet, tenants } = store.last.call
    expect(quiet).toEqual({ weight: 0, used: 0 })
    expect(tenants.map(({ tenant, ask }) => [tenant, ask])).toEqual([
      ['last', 0],
      ['heavy', 1_000],
      ...Array.from({ length: 8 }, (_, at) => [`t${at + 62}`, 0]),
    ])
  })

  it('lends within the process what the pool keeps for it, and no more', () => {
    const { check, store } = direct()
    check('a', 1)
    const { mark } = store.lease(
      otherCall({ seq: 1, need: 1, tenants: [{ tenant: 'x', weight: 2, used: 0, rate: 1, ask: 0 }] }),
    )
    // Half of the limit is this process's; b keeps half of that.
    check('b', 1)
    let used = 1
    while (check('a', 1).allowed) used++
    expect(used).toBeGreaterThanOrEqual(249)
    expect(used).toBeLessThanOrEqual(251)
    expect(check('b', 240).allowed).toBe(true)
    const tenants = [{ tenant: 'x', weight: 2, used: 100, rate: 1, ask: 0 }]
    expect(store.lease(otherCall({ seq: 2, win: 0, holds: 100, spent: 100, mark, need: 400, tenants })).grant).toBe(400)
  })

  it('refuses for good what is above the limit, and the rest until it is worth asking again', () => {
    const { check, world } = direct()
    expect(check('a', 1_001)).toMatchObject({ allowed: false, reason: 'never', retryAfterMs: Number.POSITIVE_INFINITY })
    expect(check('a', 1_000)).toMatchObject({ allowed: true, reason: undefined, retryAfterMs: 0, resetAfterMs: 1_000 })
    world.advance(400)
    expect(check('b', 1)).toMatchObject({ allowed: false, reason: 'exhausted', retryAfterMs: 600, resetAtMs: 1_000 })
    expect(check('b', 1_001).remaining).toBe(0)
    world.advance(600)
    expect(check('b', 1).allowed).toBe(true)
  })

  it('does not ask again before the pool said so, but for less, or with more weight', async () => {
    const { store, check, answers, world } = held()
    check('a', 10)
    // Another process has taken nearly all.
    const rest = { grant: 20, held: 0 }
    await store.last.answer(rest)
    check('a', 10)
    check('a', 50)
    await store.last.answer({ grant: 0, held: 0, waitMs: 50 })
    expect(answers[2]).toMatchObject({ allowed: false, reason: 'over-share', retryAfterMs: 50 })
    check('a', 60)
    expect(store.calls).toHaveLength(2)
    expect(answers[3]?.retryAfterMs).toBe(50)
    check('a', 5)
    expect(store.calls).toHaveLength(3)
    await store.last.answer({ grant: 0, held: 0, waitMs: 50 })
    check('newcomer', 5)
    expect(store.calls).toHaveLength(4)
    await store.last.answer({ grant: 0, held: 0, waitMs: 50 })
    world.advance(50)
    check('a', 60)
    expect(store.calls).toHaveLength(5)
  })
})

describe('costs that are known afterwards', () => {
  it('are the same whatever a tenant calls itself, also as the pool calls those without room, and groups', () => {
    const served = (name: string): number[] => {
      const asked = new Set<string>()
      const weightOf = (tenant: string): number => {
        asked.add(tenant)
        return 1
      }
      const { world, escrow, check, store } = direct({ weightOf })
      const other = new LeasedFairEscrow({ ...SHARED, weightOf, store, clock: world.clock, after: world.after })
      const got = [0, 0, 0]
      const ask = (of: LeasedFairEscrow, who: number): void => {
        const decision = of.check(['a', 'b', name][who]!, 1)
        if (!(decision instanceof Promise) && decision.allowed) got[who]!++
      }
      for (let ms = 0; ms < 2_500; ms++) {
        for (const who of [0, 2]) ask(escrow, who)
        for (const who of [1, 2]) ask(other, who)
        world.advance(1)
      }
      expect([...asked].sort()).toEqual(['a', 'b', name].sort())
      expect([check(name).tenant, escrow.peek(name).tenant]).toEqual([name, name])
      return got
    }
    for (const name of ['(others)', '((others)', '(group gold)', '(']) expect(served(name)).toEqual(served('mallory'))
  })

  it('come back when a process ends though weightOf throws by then', async () => {
    let isGone = false
    const weightOf = (): number => {
      if (isGone) throw new Error('no such tenant')
      return 1
    }
    const { world, escrow, check, store } = direct({ weightOf })
    expect(check('a', 30).allowed).toBe(true)
    isGone = true
    await escrow.close()
    const next = new LeasedFairEscrow({ ...SHARED, store, clock: world.clock, after: world.after })
    expect(next.check('b', 970)).toMatchObject({ allowed: true })
  })

  it('are settled once weightOf works again: one that throws uses nothing up', () => {
    let isGone = false
    const weightOf = (): number => {
      if (isGone) throw new Error('no such tenant')
      return 1
    }
    const { escrow, check } = direct({ weightOf, estimates: 'asked' })
    const decision = check('a', 50)
    isGone = true
    expect(() => escrow.settle(decision, 10)).toThrow('no such tenant')
    isGone = false
    expect(escrow.settle(decision, 10)).toMatchObject({ settled: true })
  })

  it("are reserved as a tenant's settlements have told, unless it is to cost what it asks", () => {
    const spentBy = (estimates: 'learned' | 'asked'): number => {
      const { check, escrow } = direct({ estimates })
      for (let at = 0; at < 8; at++) void escrow.settle(check('a', 10), 30)
      const before = escrow.snapshot().used
      const decision = check('a', 10)
      expect(decision).toMatchObject({ allowed: true, cost: 10 })
      const spent = escrow.snapshot().used - before
      void escrow.settle(decision, 30)
      expect(escrow.snapshot().used).toBe(9 * 30)
      return spent
    }
    expect(spentBy('learned')).toBe(30)
    expect(spentBy('asked')).toBe(10)
  })

  it('says what remains in costs as they are asked', () => {
    const { check, escrow } = direct()
    for (let at = 0; at < 8; at++) void escrow.settle(check('a', 10), 20)
    const { remaining } = escrow.peek('a', 1)
    expect(escrow.peek('a', remaining).allowed).toBe(true)
    expect(remaining).toBeLessThanOrEqual((1_000 - 160) / 2)
  })
})

describe('the end of a window', () => {
  it('comes when as much has passed since the call was sent as was left, less a thousandth of that', async () => {
    const { store, check, answers, world } = held({ storeTimeoutMs: 500 })
    world.advance(300)
    check('a', 1)
    world.stall(100)
    // 600 ms were left when the store answered; how long that took on its way is not known.
    store.last.execute()
    world.stall(100)
    await store.last.answer()
    expect(answers[0]).toMatchObject({ allowed: true, resetAtMs: 900 })
    world.stall(399.3)
    check('a', 1)
    expect(answers[1]?.allowed).toBe(true)
    world.stall(0.2)
    check('a', 1)
    expect(answers[2]).toBeUndefined()
  })

  it('drops an answer that comes after it', async () => {
    const { store, check, answers, world, escrow } = held({ storeTimeoutMs: 500 })
    world.advance(900)
    check('a', 1)
    store.last.execute()
    world.stall(150)
    await store.last.answer()
    // That credit is void; a new lease is asked for, or the check is told to come again.
    expect(escrow.snapshot()).toMatchObject({ open: false, granted: 0, used: 0 })
    await store.last.answer()
    expect(store.last.call).toMatchObject({ seq: 2, win: 0, need: 1 })
    expect(answers[0]?.allowed).toBe(true)
  })

  it('does not come sooner because a later answer was slow', async () => {
    const { store, check, answers, world } = held({ storeTimeoutMs: 500 })
    check('a', 100)
    await store.last.answer()
    world.stall(300)
    check('a', 100)
    world.stall(100)
    store.last.execute()
    world.stall(100)
    // For all that this answer tells, the window may end at 900; but the first one said 1000.
    await store.last.answer({ grant: 150 })
    world.stall(450)
    check('a', 50)
    expect(answers[2]?.allowed).toBe(true)
  })

  it('is passed with credit that was drawn ahead, spent of both windows until this one is certainly over', async () => {
    const { store, check, answers, world, escrow } = held({ storeTimeoutMs: 500 })
    world.advance(700)
    check('a', 97)
    world.stall(20)
    await store.last.answer()
    world.advance(80)
    check('a', 100)
    world.stall(20)
    await store.last.answer()
    expect(store.last.call.wants).toBeGreaterThanOrEqual(100)
    expect(answers.map((one) => one?.allowed)).toEqual([true, true])
    const left = escrow.snapshot().granted - escrow.snapshot().used
    const calls = store.calls.length
    // 180 were left when the store answered, some time between 800 and 820.
    world.stall(999.5 - 820)
    check('a', left)
    check('a', 1)
    await settled()
    expect(answers[2]?.allowed).toBe(true)
    expect(escrow.snapshot().win).toBe(1)
    expect(answers[3]).toBeUndefined()
    expect(store.calls).toHaveLength(calls)
    world.advance(25)
    await settled()
    expect(answers[3]?.allowed).toBe(true)
  })

  it.each([
    ['a minute', 60_000],
    ['a day', 86_400_000],
  ])('refuses nobody in a fleet that asks for little, in windows of %s', async (_, windowMs) => {
    const world = new World()
    const store = farStore(new MemoryPoolStore({ clock: world.clock }), 10, world.after)
    const escrow = new LeasedFairEscrow({ ...SHARED, windowMs, store, clock: world.clock, after: world.after })
    const wait = async (ms: number): Promise<void> => {
      for (const untilMs = world.clock() + ms; world.clock() < untilMs; ) {
        world.advance(Math.min(untilMs, world.nextMs) - world.clock())
        await settled()
      }
    }
    await wait(0.9 * windowMs)
    const answers: boolean[] = []
    const ask = async (): Promise<void> => void answers.push((await escrow.check('a', 1)).allowed)
    void ask()
    await wait(0.098 * windowMs)
    // Until a hundredth of the next window is over.
    for (let at = 0; at < 120; at++) {
      void ask()
      await wait(windowMs / 10_000)
    }
    expect(escrow.snapshot().win).toBe(1)
    expect(answers).toEqual(answers.map(() => true))
    expect(answers).toHaveLength(121)
  })

  it('begins another one where the clock of the store was put back', async () => {
    const { store, check, world, escrow } = held()
    world.advance(2_000)
    check('a', 1)
    await store.last.answer()
    check('a', 150)
    await store.last.answer({ win: 0, grant: 500 })
    expect(escrow.snapshot()).toMatchObject({ win: 0, granted: 500, used: 150 })
  })

  it('takes all credit with it', () => {
    const { check, escrow, world } = direct()
    expect(escrow.snapshot().win).toBe(-1)
    check('a', 1)
    world.advance(1_000)
    expect(escrow.snapshot()).toMatchObject({
      win: 0,
      open: false,
      granted: 0,
      used: 0,
      held: 0,
      tenants: 0,
      weight: 0,
    })
    check('a', 1)
    expect(escrow.snapshot()).toMatchObject({ open: true, granted: 100, used: 1 })
  })

  it('does not come sooner because a wall clock is wrong: only differences count', () => {
    const world = new World()
    const store = new MemoryPoolStore({ clock: () => world.clock() + 123_456_789 })
    const escrow = new LeasedFairEscrow({ ...SHARED, store, clock: world.clock, after: world.after })
    expect(escrow.check('a', 1)).toMatchObject({ allowed: true, resetAfterMs: 1_000 - (123_456_789 % 1_000) })
  })
})

describe('credit that nobody spends from', () => {
  it('goes back after a tenth of the window, by the only timer there is; signs of life go on to its end', async () => {
    const { world, store, check, escrow } = held()
    expect(world.timers).toBe(0)
    check('a', 1)
    await store.last.answer()
    world.advance(60)
    check('a', 1)
    expect(world.timers).toBe(1)
    // While something happens, it gives a sign of life each tenth of a window, and a little later.
    world.advance(52.5)
    expect(store.last.call).toMatchObject({ seq: 2, need: 0, holds: 100, spent: 2 })
    await store.last.answer()
    world.advance(46.5)
    expect(store.calls).toHaveLength(2)
    world.advance(1)
    expect(store.last.call).toMatchObject({ seq: 3, need: 0, holds: 2, spent: 2 })
    await store.last.answer()
    expect(escrow.snapshot()).toMatchObject({ granted: 2, used: 2 })
    for (let seq = 4; seq <= 10; seq++) {
      world.advance(112.5)
      expect(store.last.call).toMatchObject({ seq, need: 0, holds: 2, spent: 2 })
      await store.last.answer()
    }
    world.advance(200)
    expect(store.calls).toHaveLength(10)
    expect(world.timers).toBe(0)
  })

  it('is told of by a check where timers are lost, as in a worker between its requests', async () => {
    const world = new World()
    const store = new HeldStore(world.clock)
    const escrow = new LeasedFairEscrow({ ...SHARED, store, clock: world.clock, after: () => () => {} })
    void escrow.check('a', 1)
    await store.last.answer()
    world.advance(201)
    escrow.check('a', 1)
    expect(store.last.call).toMatchObject({ seq: 2, need: 0, holds: 100, spent: 2 })
  })

  it('is told of no more, by no timer, once it is closed', async () => {
    const { world, store, check, escrow } = held()
    check('a', 1)
    await store.last.answer()
    void escrow.close()
    await store.last.answer()
    expect(store.last.call).toMatchObject({ seq: 2, holds: 1, spent: 1 })
    expect(world.timers).toBe(0)
  })

  it('is for others then', () => {
    const { world, store, check } = direct()
    check('a', 1)
    world.advance(100)
    const other = otherCall({ need: 899, tenants: [{ tenant: 'x', weight: 1e9, used: 0, rate: 1, ask: 0 }] })
    expect(store.lease(other).grant).toBe(899)
  })

  it('goes back when the escrow is closed, and nothing is left to ring', async () => {
    const { store, check, escrow } = held()
    expect(escrow.close()).toBeUndefined()
    check('a', 1)
    await store.last.answer()
    const closed = escrow.close()
    expect(store.last.call).toMatchObject({
      ...{ need: 0, holds: 1, spent: 1, quiet: { weight: 0, used: 0 } },
      tenants: [{ tenant: 'a', weight: 1, used: 1, rate: 0, ask: 0 }],
    })
    await store.last.answer()
    await closed
    expect(escrow.snapshot().granted).toBe(1)
  })
})

describe('a store that fails', () => {
  it.each(['refuse', 'admit', 'last-share'] as const)(
    'holds nobody longer than the timeout: %s',
    async (onStoreError) => {
      const { store, check, answers, world, escrow } = held({ onStoreError, storeTimeoutMs: 40 })
      check('a', 1)
      world.advance(20)
      check('b', 1)
      world.advance(19.9)
      await settled()
      expect(answers).toEqual([undefined, undefined])
      world.advance(0.1)
      await settled()
      const allowed = onStoreError === 'admit'
      expect(answers[0]).toMatchObject({ allowed, reason: 'store-error', retryAfterMs: allowed ? 0 : 40 })
      // From now on no check waits for it.
      check('c', 1)
      expect(answers[2]).toMatchObject({ allowed, reason: 'store-error' })
      world.advance(20)
      await settled()
      expect(answers[1]).toMatchObject({ allowed, reason: 'store-error' })
      expect(escrow.snapshot()).toMatchObject({ storeErrors: 3, used: 0 })
      expect(store.calls.length).toBeLessThanOrEqual(2)
      world.advance(40)
      expect(world.timers).toBe(0)
    },
  )

  it('has failed for all when the first gives up, though timers ring a little early', async () => {
    let early: After = () => () => {}
    const { world, check, answers } = held({ storeTimeoutMs: 40, after: (ms, fn) => early(ms, fn) })
    early = (ms, fn) => world.after(Math.max(0.1, ms - 0.5), fn)
    check('a', 1)
    world.advance(39.6)
    await settled()
    expect(answers[0]).toBeUndefined()
    world.advance(0.5)
    await settled()
    expect(answers[0]).toMatchObject({ reason: 'store-error' })
    check('a', 1)
    expect(answers[1]).toMatchObject({ reason: 'store-error' })
  })

  it('is asked the same again, once per timeout, and whatever is answered first counts, once', async () => {
    const { store, check, answers, world, escrow } = held({ storeTimeoutMs: 40 })
    check('a', 1)
    world.advance(40)
    await settled()
    for (let at = 0; at < 10; at++) check('a', 1)
    world.advance(40)
    check('a', 1)
    expect(store.calls.length).toBe(3)
    expect(new Set(store.calls.map(({ call }) => call))).toEqual(new Set([store.calls[0]!.call]))
    // The first one got through after all, and the third is a repetition.
    await store.calls[0]!.answer()
    expect(escrow.snapshot().granted).toBe(100)
    await store.calls[2]!.answer()
    expect(escrow.snapshot().granted).toBe(100)
    check('a', 1)
    expect(answers.at(-1)).toMatchObject({ allowed: true, reason: undefined })
  })

  it('is tried once per timeout, however fast it fails', async () => {
    const { store, check, answers, world } = held({ storeTimeoutMs: 40 })
    check('a', 1)
    await store.last.fail()
    for (let at = 0; at < 10; at++) check('a', 1)
    expect(store.calls).toHaveLength(1)
    world.advance(40)
    for (let at = 0; at < 10; at++) check('a', 1)
    expect(store.calls).toHaveLength(2)
    await store.last.answer()
    expect(answers.every((answer) => answer?.reason === 'store-error')).toBe(true)
    check('a', 1)
    expect(answers.at(-1)?.allowed).toBe(true)
  })

  it('is not asked the same again in another window', async () => {
    const { store, check, world } = held({ storeTimeoutMs: 40 })
    check('a', 1)
    world.advance(999)
    check('a', 2)
    expect(store.last.call).toBe(store.calls[0]!.call)
    world.advance(40)
    check('a', 2)
    expect(store.last.call).toMatchObject({ seq: 2, need: 2 })
    await store.calls[0]!.answer()
    expect(store.calls).toHaveLength(3)
  })

  it('answers nonsense, rejects or throws: all the same', async () => {
    for (const broken of [
      () => Promise.reject(new Error('away')),
      () => {
        throw new Error('away')
      },
      () => Promise.resolve({ ...ANSWER, leftMs: Number.NaN }),
      (): LeaseAnswer => ({ ...ANSWER, grant: -1 }),
      // @ts-expect-error -- what JavaScript may answer
      (): LeaseAnswer => undefined,
    ]) {
      const { escrow } = direct({ store: { lease: broken } })
      expect(await escrow.check('a', 1)).toMatchObject({ allowed: false, reason: 'store-error' })
    }
  })

  it('keeps nobody by granting too little, again and again', () => {
    for (const some of [0, 0.001]) {
      const world = new World()
      const memory = new MemoryPoolStore({ clock: world.clock })
      let calls = 0
      let isMean = false
      const store: PoolStore = {
        lease: (call) => {
          calls++
          return isMean ? { ...memory.lease(call), grant: some, waitMs: 0 } : memory.lease(call)
        },
      }
      const { escrow, check } = direct({ pool: `mean ${some}`, store, clock: world.clock, after: world.after })
      const decision = check('a', 1)
      isMean = true
      expect(check('a', 500).allowed).toBe(false)
      expect(escrow.settle(decision, 900)).toMatchObject({ settled: true, unpaid: expect.closeTo(800, 1) })
      expect(calls).toBeLessThan(10)
    }
  })

  it('lets what was kept be spent in its window, where that is declared, and is paid back', async () => {
    const { store, check, answers, world, escrow } = held({ onStoreError: 'last-share' })
    check('a', 1)
    await store.last.answer({ held: 50 })
    check('a', 120)
    await store.last.fail()
    expect(answers[1]).toMatchObject({ allowed: true, reason: 'store-error' })
    check('a', 30)
    expect(answers[2]).toMatchObject({ allowed: false, reason: 'store-error' })
    expect(escrow.snapshot()).toMatchObject({ granted: 100, used: 121, held: 50 })
    world.advance(100)
    check('a', 5)
    // It is asked the same again; and 21 of what it grants were spent before.
    expect(store.last.call).toBe(store.calls[1]!.call)
    await store.last.answer()
    expect(escrow.snapshot()).toMatchObject({ granted: 200, used: 126 })
    check('a', 75)
    expect(store.last.call).toMatchObject({ seq: 3, need: 1 })
    await store.last.fail()
    world.advance(900)
    check('a', 1)
    expect(answers.at(-1)).toMatchObject({ allowed: false, reason: 'store-error' })
  })

  it('grants nothing for a while after what was kept was spent, so that it stays within the limit', async () => {
    const world = new World()
    const memory = new MemoryPoolStore({ clock: world.clock })
    let isAway = false
    const store: PoolStore = {
      lease: (call) => {
        if (isAway) throw new Error('away')
        return memory.lease(call)
      },
    }
    const shared = { ...SHARED, quantum: 10, store, onStoreError: 'last-share', clock: world.clock } as const
    const [one, other] = [1, 2].map(() => new LeasedFairEscrow({ ...shared, after: world.after }))
    let admitted = 0
    const spend = async (escrow: LeasedFairEscrow, tenant: string, most = SHARED.limit): Promise<number> => {
      let sum = 0
      while (sum < most && (await escrow.check(tenant, 1)).allowed) sum++
      admitted += sum
      return sum
    }
    for (const [escrow, tenant] of [
      [one!, 'a'],
      [other!, 'b'],
    ] as const)
      if ((await escrow.check(tenant, 1)).allowed) admitted++
    isAway = true
    expect(await spend(one!, 'a', 300)).toBe(300)
    expect(await spend(other!, 'b', 300)).toBe(300)
    isAway = false
    world.advance(SHARED.windowMs / 10)
    // The pool does not know the other one's spending yet.
    expect(await one!.check('a', 1)).toMatchObject({ reason: 'over-share', retryAfterMs: graceOf(SHARED.windowMs) })
    expect(await other!.check('b', 1)).toMatchObject({ reason: 'over-share' })
    // Both are at work.
    for (let step = 0; step < 5; step++) {
      world.advance(SHARED.windowMs / 30)
      await spend(one!, 'a')
      await spend(other!, 'b')
    }
    expect(admitted).toBeGreaterThan(602)
    world.advance(SHARED.windowMs / 4)
    await spend(other!, 'b')
    await spend(one!, 'a')
    expect(admitted).toBeLessThanOrEqual(SHARED.limit)
  })

  it('is told why, each time, and keeps the last reason', async () => {
    const failures: StoreFailure[] = []
    const { store, check, world, escrow } = held({ storeTimeoutMs: 40, onStoreFailure: (one) => failures.push(one) })
    check('a', 1)
    const cause = new PoolStoreError('no-permission', 'NOPERM this user may not')
    await store.last.fail(cause)
    world.advance(40)
    check('a', 1)
    world.advance(40)
    expect(failures).toEqual([
      { kind: 'no-permission', message: cause.message, cause },
      { kind: 'timeout', message: 'the store did not answer within 40 ms', cause: undefined },
    ])
    expect(escrow.snapshot().lastStoreFailure?.kind).toBe('timeout')
  })

  it('is not blamed for time in which this process stood still', async () => {
    const { store, check, answers, world, escrow } = held({ storeTimeoutMs: 40 })
    check('a', 1)
    world.advance(15)
    store.last.execute()
    // The event loop is blocked for long; then timers fire before arrived data are read.
    world.stall(500)
    world.ring()
    await settled()
    expect(answers[0]).toBeUndefined()
    await store.last.answer()
    expect(answers[0]).toMatchObject({ allowed: true, reason: undefined })
    expect(escrow.snapshot().storeErrors).toBe(0)
  })

  it.each(['admit', 'last-share'] as const)(
    'has not failed if it answers too late for the turn of a check: that is refused by the rule, also with %s',
    async (onStoreError) => {
      const { store, check, answers, world, escrow } = held({ storeTimeoutMs: 100, onStoreError })
      check('a', 100)
      world.advance(20)
      check('b', 100)
      check('c', 30)
      world.advance(70)
      await store.last.answer({ held: 50 })
      expect(answers[0]).toMatchObject({ allowed: true })
      world.advance(90)
      await store.last.answer({ grant: 0, held: 50 })
      // The third lease is on its way, for 40 ms of 100.
      expect(store.calls).toHaveLength(3)
      expect(answers.slice(1)).toEqual([undefined, undefined])
      world.advance(40)
      await settled()
      const refused = { allowed: false, reason: 'over-share', retryAfterMs: 100 }
      expect(answers.slice(1)).toMatchObject([refused, refused])
      expect(escrow.snapshot().storeErrors).toBe(0)
    },
  )

  it('may take the stated time for a pending call, and again for the next one', async () => {
    const { store, check, answers, world, escrow } = held({ storeTimeoutMs: 100 })
    check('a', 100)
    world.advance(1)
    check('b', 100)
    for (const expected of [1, 2]) {
      world.advance(90)
      expect(store.calls).toHaveLength(expected)
      await store.last.answer({ grant: 100 })
    }
    expect(answers).toMatchObject([{ allowed: true }, { allowed: true }])
    expect(escrow.snapshot().storeErrors).toBe(0)
  })

  it('fails in the end, though this process hardly gets to run', async () => {
    const { check, answers, world } = held({ storeTimeoutMs: 40 })
    check('a', 1)
    for (let at = 0; at < 16; at++) {
      world.stall(100)
      world.ring()
    }
    await settled()
    expect(answers[0]).toMatchObject({ reason: 'store-error' })
  })

  it.each([1, 3])('lets each of its %d processes go on with its last share, in every window', async (processes) => {
    const world = new World()
    const memory = new MemoryPoolStore({ clock: world.clock })
    let isAway = false
    const store: PoolStore = {
      lease: async (call) => {
        if (isAway) throw new PoolStoreError('network', 'away')
        return memory.lease(call)
      },
    }
    const escrows = Array.from(
      { length: processes },
      () =>
        new LeasedFairEscrow({
          ...{ ...SHARED, quantum: 10, store, onStoreError: 'last-share' },
          ...{ clock: world.clock, after: world.after },
        }),
    )
    const admitted: number[] = []
    for (let window = 0; window < 8; window++) {
      isAway = window >= 2 && window < 6
      admitted[window] = 0
      for (let step = 0; step < 50; step++) {
        for (let ask = 0; ask < 30; ask++)
          for (const [at, escrow] of escrows.entries())
            void Promise.resolve(escrow.check(`t${at}`, 1)).then(({ allowed }) => {
              if (allowed) admitted[window]!++
            })
        await settled()
        world.advance(20)
      }
    }
    for (const sum of admitted) {
      expect(sum).toBeLessThanOrEqual(1_000)
      expect(sum).toBeGreaterThan(900)
    }
  })

  it('is drawn from ahead of need, so that nobody waits while all is well', async () => {
    const world = new World()
    const memory = new MemoryPoolStore({ clock: world.clock })
    const store = farStore(memory, 5, world.after)
    const shared = { ...SHARED, windowMs: 60_000, limit: 100_000, quantum: 1_000 }
    const escrow = new LeasedFairEscrow({ ...shared, store, clock: world.clock, after: world.after })
    let waited = 0
    for (let at = 0; at < 10_000; at++) {
      const answer = escrow.check('a', 5)
      if (answer instanceof Promise) waited++
      world.advance(1)
      await settled()
    }
    // The first ones wait for the window's first lease.
    expect(waited).toBeLessThanOrEqual(10)
    expect(escrow.snapshot().storeCalls / 10_000).toBeLessThan(0.01)
  })

  it('costs at most one call to the store for a hundred admitted requests, by default', async () => {
    const world = new World()
    const memory = new MemoryPoolStore({ clock: world.clock })
    const store = farStore(memory, 50, world.after)
    const options = { pool: 'api', limit: 20_000, windowMs: 60_000, store, clock: world.clock, after: world.after }
    const fleet = [1, 2].map((seed) => new LeasedFairEscrow({ ...options, random: seededRandom(seed) }))
    const counts = { admitted: 0, waited: 0, calls: 0 }
    const storeCalls = (): number => fleet.reduce((sum, escrow) => sum + escrow.snapshot().storeCalls, 0)
    // Nine tenths of the limit, in three windows; the first one is that of the start.
    for (let at = 0; at < 3 * 18_000; at++) {
      if (at === 18_000) counts.calls = -storeCalls()
      const answer = fleet[at % 2]!.check(`tenant ${at % 7}`, 1)
      const isSteady = at >= 18_000
      if (answer instanceof Promise) {
        if (isSteady) counts.waited++
      } else if (isSteady && answer.allowed) counts.admitted++
      world.advance(60_000 / 18_000)
      await settled()
    }
    counts.calls += storeCalls()
    expect(counts.admitted + counts.waited).toBe(2 * 18_000)
    expect(counts.waited / counts.admitted).toBeLessThan(0.001)
    expect(counts.calls / counts.admitted).toBeLessThanOrEqual(0.01)
  })

  it('lets a line of waiting checks come to an end, where a quantum per round trip is less than is asked for', async () => {
    const windowMs = 1_000
    const world = new World()
    world.advance(windowMs / 2)
    const memory = new MemoryPoolStore({ clock: world.clock })
    const store = farStore(memory, 50, world.after)
    const shared = { ...SHARED, windowMs, limit: 2 * windowMs, quantum: windowMs / 50, storeTimeoutMs: 500 }
    const escrow = new LeasedFairEscrow({ ...shared, store, clock: world.clock, after: world.after })
    let checks = 0
    let waited = 0
    let longestMs = 0
    for (let ms = 0; ms < 3 * windowMs; ms++) {
      for (; checks < ms; checks++) {
        const answer = escrow.check(`t${checks % 7}`)
        const sinceMs = world.clock()
        if (!(answer instanceof Promise)) continue
        waited++
        void answer.then(() => {
          if (ms > windowMs) longestMs = Math.max(longestMs, world.clock() - sinceMs)
        })
      }
      world.advance(1)
      await settled()
    }
    expect(escrow.snapshot()).toMatchObject({ refused: 0, storeErrors: 0 })
    expect(waited / checks).toBeLessThan(1 / 3)
    expect(longestMs).toBeLessThan(150)
  })

  it('does not matter within the credit', async () => {
    const { store, check, answers } = held()
    check('a', 1)
    await store.last.answer()
    check('a', 200)
    await store.last.fail()
    check('a', 99)
    expect(answers[2]).toMatchObject({ allowed: true, reason: undefined })
  })
})

describe('settling', () => {
  it('forgets the debt of a tenant that does not ask for a whole window, so that it costs others nothing', () => {
    const { world, escrow, check } = direct()
    const late = Array.from({ length: 40 }, (_, i) => check(`one-off ${i}`, 1))
    const used: number[] = []
    for (let window = 0; window < 4; window++) {
      let admitted = 0
      for (let step = 0; step < 20; step++) {
        for (let call = 0; call < 100; call++) if (check('busy', 1).allowed) admitted++
        world.advance(50)
      }
      if (window === 0) for (const decision of late) escrow.settle(decision, 2)
      used.push(admitted)
    }
    expect(escrow.snapshot().tenants).toBeLessThanOrEqual(1)
    expect(used.slice(2)).toEqual([1000, 1000])
  })

  it('gives back what was not used, and charges what was, from the credit first', () => {
    const { check, escrow } = direct()
    const first = check('a', 50)
    const second = check('a', 40)
    expect(escrow.settle(first, 10)).toEqual({ settled: true, unpaid: 0 })
    expect(escrow.snapshot()).toMatchObject({ used: 50, granted: 100, storeCalls: 1 })
    expect(escrow.settle(second, 60)).toEqual({ settled: true, unpaid: 0 })
    expect(escrow.snapshot()).toMatchObject({ used: 70, storeCalls: 1 })
    expect(escrow.settle(first, 10)).toEqual({ settled: false, unpaid: 0 })
  })

  it('draws what lacks, and says what cannot be had', async () => {
    const { escrow, store } = held()
    const asked = escrow.check('a', 50)
    await store.last.answer()
    const decision = await asked
    const settling = escrow.settle(decision, 250)
    expect(escrow.snapshot().used).toBe(100)
    expect(store.last.call).toMatchObject({ seq: 2, need: 150 })
    await store.last.answer()
    expect(await settling).toEqual({ settled: true, unpaid: 0 })
    expect(escrow.snapshot()).toMatchObject({ granted: 250, used: 250 })
    const again = escrow.check('a', 50)
    await store.last.answer()
    const unlucky = escrow.settle(await again, 170)
    await store.last.answer({ grant: 0, waitMs: 50 })
    expect(await unlucky).toEqual({ settled: true, unpaid: 70 })
    expect(escrow.snapshot()).toMatchObject({ granted: 350, used: 350 })
  })

  it('is over with the window', () => {
    const { check, escrow, world } = direct()
    const decision = check('a', 50)
    world.advance(1_000)
    expect(escrow.settle(decision, 0)).toEqual({ settled: false, unpaid: 0 })
    check('a', 1)
    expect(escrow.settle(decision, 0)).toEqual({ settled: false, unpaid: 0 })
    expect(escrow.snapshot().used).toBe(1)
  })

  it('owes what is known after the window, or cannot be had, and pays it with the next calls', async () => {
    const { check, escrow, world } = direct()
    const late = check('a', 50)
    world.advance(1_000)
    expect(escrow.settle(late, 170)).toEqual({ settled: true, unpaid: 120 })
    expect(escrow.settle(late, 170)).toEqual({ settled: false, unpaid: 0 })
    check('b', 10)
    expect(escrow.snapshot().used).toBe(10)
    // The call costs the debt as well, for which more credit is drawn.
    check('a', 1)
    expect(escrow.snapshot()).toMatchObject({ used: 10 + 1 + 120, granted: 200 })
    check('a', 1)
    expect(escrow.snapshot().used).toBe(10 + 2 + 120)

    const { escrow: other, store, world: then } = held()
    const asked = other.check('a', 50)
    await store.last.answer()
    const unlucky = other.settle(await asked, 170)
    await store.last.answer({ grant: 0, waitMs: 50 })
    expect(await unlucky).toEqual({ settled: true, unpaid: 70 })
    // Not while the pool has just refused as much.
    expect(await other.check('a', 10)).toMatchObject({ allowed: false, reason: 'over-share' })
    then.advance(50)
    const next = other.check('a', 10)
    await store.last.answer()
    expect((await next).allowed).toBe(true)
    expect(other.snapshot().used).toBe(100 + 10 + 70)
  })

  it('does nothing for what was refused, or admitted without a store', () => {
    const { check, escrow } = direct({
      onStoreError: 'admit',
      store: { lease: () => Promise.reject(new Error('away')) },
    })
    void escrow.check('a', 1)
    const { check: ok, escrow: other } = direct()
    ok('a', 1)
    expect(other.refund(ok('a', 2_000))).toEqual({ settled: false, unpaid: 0 })
    expect(() => escrow.settle(ok('a', 1), 0)).toThrow('decision must come from check of this escrow')
    expect(() => other.settle(ok('a', 1), Number.NaN)).toThrow('actualCost must be')
    expect(check).toBeTypeOf('function')
  })

  it('refunds all', () => {
    const { check, escrow } = direct()
    expect(escrow.refund(check('a', 1_000))).toEqual({ settled: true, unpaid: 0 })
    // The first tenant is still active, and has a claim to half of it.
    expect(check('b', 500).allowed).toBe(true)
  })
})

describe('another limit while it runs', () => {
  it('counts from the next call on, with quanta that are the same part of it', () => {
    const { check, escrow } = direct()
    for (let at = 0; at < 10; at++) expect(check('a', 100).allowed).toBe(true)
    expect(check('a', 1).reason).toBe('exhausted')
    escrow.setLimit(1_500)
    expect(escrow.snapshot()).toMatchObject({ limit: 1_500, quantum: 150 })
    for (let at = 0; at < 5; at++) expect(check('b', 100).allowed).toBe(true)
    expect(check('b', 1).allowed).toBe(false)
  })

  it('admits nothing more where more than it is spent, and holds in the next window', () => {
    const { check, escrow, world } = direct()
    for (let at = 0; at < 8; at++) check('a', 100)
    escrow.setLimit(500)
    expect(check('a', 100).allowed).toBe(false)
    expect(check('b', 501)).toMatchObject({ allowed: false, reason: 'never' })
    world.advance(1_000)
    let used = 0
    while (check('a', 50).allowed) used += 50
    expect(used).toBe(500)
  })

  it('never lets processes spend more than the largest that one of them knows', () => {
    const { check, escrow, world, store } = direct()
    const shared = { ...SHARED, store, clock: world.clock, after: world.after }
    const other = new LeasedFairEscrow(shared)
    escrow.setLimit(600)
    let used = 0
    for (let at = 0; at < 200; at++) {
      if (check('a', 10).allowed) used += 10
      const decision = other.check('b', 10)
      if (!(decision instanceof Promise) && decision.allowed) used += 10
    }
    expect(used).toBeGreaterThan(600)
    expect(used).toBeLessThanOrEqual(1_000)
    // @ts-expect-error -- what JavaScript may pass
    for (const bad of [0, -1, Number.NaN, '5']) expect(() => escrow.setLimit(bad)).toThrow(/^limit must be/)
  })
})

describe('names with brackets', () => {
  it.each(['(others)', '(group g)', '((', '(a'])('are names like any other, %s', (name) => {
    const { check, escrow } = direct()
    for (let at = 0; at < 10; at++) escrow.settle(check(name, 10), 2)
    // Its costs are learned.
    const { used } = escrow.snapshot()
    expect(check(name, 10)).toMatchObject({ allowed: true, tenant: name })
    expect(escrow.snapshot().used).toBeLessThan(used + 5)
  })
})

describe('refunds', () => {
  it('of more than was spent of late return no more credit than there is', async () => {
    const { check, answers, store, escrow, world } = held()
    check('a', 300)
    world.advance(5)
    await store.last.answer({ grant: 400, held: 600 })
    check('b', 150)
    world.advance(5)
    await store.last.answer({ grant: 100, held: 500 })
    world.advance(10)
    await escrow.settle(answers[0]!, 0)
    // More than its guarantee.
    check('b', 600)
    expect(store.calls).toHaveLength(3)
    expect(escrow.snapshot()).toMatchObject({ used: 150, granted: 150 })
  })

  it('are told no time before now as that of the window to come', async () => {
    const { check, answers, store, world } = held({ storeTimeoutMs: 500 })
    check('a', 1)
    world.stall(300)
    store.last.execute()
    await store.last.answer({ leftMs: 600 })
    check('a', 200)
    await store.last.answer({ leftMs: 690 })
    world.stall(650)
    check('a', 1)
    expect(answers[2]).toMatchObject({ allowed: true, resetAfterMs: 0 })
  })
})

describe('bad input', () => {
  it('as a cost so far is refused by name, and charges nothing', () => {
    const { check, escrow } = direct()
    const decision = check('a', 10)
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, 1e308, -1, '5', undefined])
      expect(() => escrow.charge(decision, bad as number)).toThrow(/^costSoFar must be/)
    expect(escrow.snapshot().used).toBe(10)
  })

  it('is refused by name when the escrow is made', () => {
    const { store } = direct()
    const good = { ...SHARED, store }
    const bad: [Record<string, unknown>, RegExp][] = [
      [{ pool: '' }, /^pool must be a non-empty string/],
      [{ limit: 0 }, /^limit must be/],
      [{ limit: Number.POSITIVE_INFINITY }, /^limit must be/],
      [{ limit: 10n }, /^limit must be .*, got 10/],
      [{ limit: Symbol('s') }, /^limit must be .*, got Symbol\(s\)/],
      [{ limit: Object.create(null) }, /^limit must be .*, got an object/],
      [{ windowMs: 0.5 }, /^windowMs must be an integer >= 1, got 0.5/],
      [{ quantum: 1_001 }, /^quantum must be a number > 0 and <= 1000, got 1001/],
      [{ quantum: 0 }, /^quantum must be/],
      [{ store: {} }, /^store must be a store of pools, got an object/],
      [{ weightOf: 1 }, /^weightOf must be a function/],
      [{ maxTenants: 0 }, /^maxTenants must be/],
      [{ onStoreError: 'ignore' }, /^onStoreError must be one of "refuse", "admit", "last-share", got "ignore"/],
      [{ storeTimeoutMs: 0 }, /^storeTimeoutMs must be/],
      [{ clock: 5 }, /^clock must be/],
      [{ after: 5 }, /^after must be/],
      [{ random: 5 }, /^random must be/],
      [{ limits: 5 }, /no option "limits"/],
    ]
    for (const [part, message] of bad) expect(() => new LeasedFairEscrow({ ...good, ...part })).toThrow(message)
    const { quantum: _, ...least } = { ...good, limit: 5e-324 }
    expect(new LeasedFairEscrow(least).snapshot()).toMatchObject({ quantum: 5e-324 })
    expect(new LeasedFairEscrow({ ...good, random: seededRandom(1) }).snapshot().member).toMatch(/^[0-9a-f]{32}$/)
  })

  it('is refused by name when something is checked, and leaves no trace', () => {
    const { escrow, check } = direct({
      weightOf: (tenant) => {
        if (tenant === 'throws') throw new Error('no such tenant')
        return tenant === 'nothing' ? 0 : 1
      },
    })
    const before = escrow.snapshot()
    expect(() => check('')).toThrow(/^tenant must be/)
    for (const cost of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])
      expect(() => check('a', cost)).toThrow(/^cost must be/)
    expect(() => check('nothing')).toThrow(/weightOf\("nothing"\)/)
    expect(() => check('throws')).toThrow('no such tenant')
    expect(escrow.snapshot()).toEqual(before)
  })
})

describe('a listener to failures of the store that fails itself', () => {
  it.each([
    [
      'throws',
      () => {
        throw new Error('the metrics are broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('the metrics are broken'))],
  ])('changes nothing where it %s: checks are answered, and the escrow goes on', async (_, onStoreFailure) => {
    const { world, store, check, answers, escrow } = held({ onStoreFailure })
    check('a')
    await store.last.fail()
    expect(answers[0]).toMatchObject({ allowed: false, reason: 'store-error' })
    await world.advance(150)
    // Nobody waits for a store that is known to be away.
    check('a')
    await store.last.answer()
    check('a')
    expect(answers[2]).toMatchObject({ allowed: true, reason: undefined })
    expect(escrow.snapshot().storeCalls).toBe(2)
  })

  it('does not make a check throw, where the store throws at once', () => {
    const store: PoolStore = {
      lease: () => {
        throw new Error('no store')
      },
    }
    const onStoreFailure = (): void => {
      throw new Error('the metrics are broken')
    }
    expect(direct({ store, onStoreFailure }).check('a')).toMatchObject({ allowed: false, reason: 'store-error' })
  })
})

describe('a store that answers nonsense', () => {
  const marked = (change: Partial<PoolMark>) => (answer: LeaseAnswer) => ({
    ...answer,
    mark: { ...answer.mark, ...change },
  })
  const nonsense: Record<string, (answer: LeaseAnswer) => unknown> = {
    'no object': () => null,
    'no mark': ({ mark: _, ...rest }) => rest,
    'a window before all': (answer) => ({ ...answer, win: -5 }),
    'half a window': (answer) => ({ ...answer, win: 0.5 }),
    'half a revision': marked({ rev: 1.5 }),
    'a revision that cannot be counted on': marked({ rev: 1e308 }),
    'half a member': marked({ members: 0.5 }),
    'shares without an end': (answer) => ({ ...answer, shares: [Number.POSITIVE_INFINITY] }),
    'more than the whole weight': (answer) => ({ ...answer, shares: [1.5] }),
    'a part above 1': (answer) => ({ ...answer, part: 2 }),
    'shares of nobody': (answer) => ({ ...answer, shares: [], used: [] }),
    'a use that is no number': (answer) => ({ ...answer, used: [1n] }),
    'more than the limit': (answer) => ({ ...answer, grant: 1_001 }),
    'more than the limit for the next window': (answer) => ({ ...answer, ahead: 1_001 }),
    'a wait beyond the window': (answer) => ({ ...answer, grant: 0, waitMs: 1e308 }),
    'what cannot be read': () => ({
      get win(): number {
        throw new Error('cannot be read')
      },
    }),
  }

  it.each(Object.entries(nonsense))('has failed: %s; once it is well, the escrow works again', async (_, spoil) => {
    const world = new World()
    const good = new MemoryPoolStore({ clock: world.clock })
    let isWell = false
    const store: PoolStore = {
      lease: async (call) => (isWell ? good.lease(call) : (spoil(good.lease(call)) as LeaseAnswer)),
    }
    const options = { ...SHARED, store, clock: world.clock, after: world.after }
    const escrow = new LeasedFairEscrow(options)
    expect(await escrow.check('a')).toMatchObject({ allowed: false, reason: 'store-error' })
    expect(escrow.snapshot().lastStoreFailure).toMatchObject({ kind: 'other' })
    isWell = true
    for (const _again of [1, 2]) {
      world.advance(150)
      await escrow.check('a')
      await settled()
    }
    expect(await escrow.check('a')).toMatchObject({ allowed: true, reason: undefined })
  })
})
