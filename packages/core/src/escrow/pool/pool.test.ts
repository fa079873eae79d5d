import { describe, expect, it } from 'vitest'
import { rig, TERMS } from './fixtures/rig.js'
import type { LeaseCall } from './store.js'
import { poolTerms } from './terms.js'

describe('the pool', () => {
  it('grants whole quanta, and the remainder', () => {
    const { ask, drain } = rig(poolTerms({ ...TERMS, limit: 25 }))
    expect(ask('p', 1)).toEqual({ win: 0, leftMs: 1_000, grant: 10, held: 15, waitMs: 0, shares: [] })
    expect(drain({ p: 1 })).toEqual({ p: 15 })
  })

  it('grants a need above the quantum whole', () => {
    const { ask } = rig()
    expect(ask('p', 333).grant).toBe(333)
  })

  it('shares by weight, to the quantum, between members that ask equally often', () => {
    for (const quantum of [10, 30, 100]) {
      const { drain } = rig(poolTerms({ ...TERMS, quantum }))
      const { heavy, light } = drain({ heavy: 4, light: 1 })
      expect(heavy! + light!).toBeCloseTo(1_000, 9)
      expect(Math.abs(heavy! - 800)).toBeLessThanOrEqual(quantum)
    }
  })

  it('keeps the guarantee of who asks seldom from who asks often', () => {
    const { ask } = rig()
    ask('seldom', 1)
    let often = 0
    for (let grant = 1; grant > 0; often += grant) grant = ask('often', 10).grant
    expect(often).toBe(500)
    expect(ask('seldom', 490).grant).toBe(490)
  })

  it('lends what a silent member let pass, in turn', () => {
    const { ask, clock, drain } = rig()
    ask('silent', 1)
    clock.advance(500)
    const { a, b } = drain({ a: 1, b: 1 })
    // A third of 500 is what may still be claimed by the silent one at half time: a sixth of the limit.
    expect(a! + b!).toBeGreaterThan(990 - 1_000 / 6 - 10)
    expect(a! + b!).toBeLessThanOrEqual(990 - 1_000 / 6 + 1e-9)
    expect(Math.abs(a! - b!)).toBeLessThanOrEqual(10)
  })

  it('gives a late member what is left, and nothing that is gone', () => {
    const { drain } = rig()
    expect(drain({ early: 1 })).toEqual({ early: 1_000 })
    expect(drain({ late: 100 })).toEqual({ late: 0 })
  })

  it('says how much it keeps for a member beyond its credit, and when to come back', () => {
    const { ask } = rig()
    ask('a', 1)
    ask('b', 1)
    expect(ask('a', 1)).toMatchObject({ grant: 10, held: 480 })
    ask('a', 480)
    expect(ask('a', 1_000)).toMatchObject({ grant: 0, held: 0, waitMs: 1_000 })
    // The other one, of 500, lets 25 pass in a twentieth of the window, of which it has used 10.
    for (const [need, waitMs] of [
      [10, 50],
      [30, 100],
      [50, 200],
      [400, 200],
    ] as const)
      expect(ask('a', need), `${need}`).toMatchObject({ grant: 0, held: 0, waitMs })
  })

  it('lets a member come back soon where whole quanta become free, and not after the window', () => {
    const { ask, clock, drain } = rig(poolTerms({ ...TERMS, limit: 10_000 }))
    ask('silent', 1)
    drain({ a: 1 })
    expect(ask('a', 1)).toMatchObject({ grant: 0, waitMs: 31.25 })
    clock.advance(31.25)
    expect(ask('a', 1).grant).toBe(10)
    clock.advance(958.75)
    drain({ a: 1 })
    expect(ask('a', 1).waitMs).toBe(10)
  })

  it('lets whoever has the least for its weight borrow first, while it waits', () => {
    const { ask, clock } = rig()
    ask('silent', 1)
    ask('a', 1)
    ask('b', 1)
    for (const member of ['a', 'b']) while (ask(member, 10).grant > 0);
    clock.advance(50)
    expect(ask('a', 30).grant + ask('b', 20).grant).toBe(0)
    clock.advance(75)
    // By now the silent one has let 31 pass; b waits with the lower sum, so it is not a's turn.
    expect(ask('a', 30).grant).toBe(0)
    expect(ask('b', 20).grant).toBeGreaterThanOrEqual(20)
    expect(ask('a', 10).grant).toBe(10)
  })

  it('lends out of turn what is not owed to those who wait and are away, by parts of a quantum', () => {
    const { ask, clock, drain } = rig(poolTerms({ ...TERMS, limit: 10_000 }))
    for (const [member, weight] of Object.entries({ silent: 1, heavy: 4, light: 1 })) ask(member, 1, { weight })
    drain({ heavy: 4, light: 1 })
    // A sixth of the limit is the silent one's, and it has had 10: 123 of it are free by then, four fifths for heavy.
    clock.advance(80)
    const loans: number[] = []
    for (let grant = 1; grant > 0; loans.push(grant)) grant = ask('light', 1).grant
    expect(loans).toEqual([10, 10, 2.5, 0])
    const { heavy } = drain({ heavy: 4 })
    expect(heavy).toBeGreaterThanOrEqual(100)
  })

  it('ends nobody’s wait by granting it something: who takes turns stays in line', () => {
    const { ask, clock } = rig(poolTerms({ ...TERMS, quantum: 1 }))
    for (const member of ['one', 'two', 'silent']) ask(member, 1)
    const got = { one: 0, two: 0 }
    // One asks for units, two for pairs, in turn: they get the same.
    for (let t = 0; t < 990; t += 30) {
      for (let refused = 0; refused < 2; ) {
        const [one, two] = [ask('one', 1).grant, ask('two', 2).grant]
        got.one += one
        got.two += two
        refused = one + two > 0 ? 0 : refused + 1
      }
      clock.advance(30)
    }
    expect(Math.abs(got.one - got.two)).toBeLessThanOrEqual(3)
  })

  it('takes credit back in its own window only, and never more than was granted', () => {
    const { ask, clock } = rig()
    ask('a', 1_000)
    expect(ask('a', 0, { back: 5_000 })).toMatchObject({ grant: 0, held: 1_000 })
    expect(ask('a', 1_000).grant).toBe(1_000)
    expect(ask('a', 1).grant).toBe(0)
    clock.advance(1_000)
    expect(ask('b', 400).grant).toBe(400)
    expect(ask('a', 500, { back: 1_000, win: 0 }).grant).toBe(500)
    expect(ask('a', 101, { back: 300, win: 0 }).grant).toBe(0)
    expect(ask('a', 101, { back: 300 }).grant).toBe(101)
    expect(ask('b', 101).grant).toBe(0)
    expect(ask('b', 100).grant).toBe(100)
  })

  it('returns and needs in one call', () => {
    const { ask } = rig()
    ask('a', 1_000)
    expect(ask('a', 700, { back: 300 }).grant).toBe(0)
    expect(ask('a', 300).grant).toBe(300)
  })

  it('repeats the answer to a call that is repeated, with what is left of the window now', () => {
    const { store, call, clock } = rig()
    const lease = call('a', 600, { win: -1 })
    store.lease(lease)
    clock.advance(100)
    expect(store.lease(lease)).toMatchObject({ grant: 600, leftMs: 900 })
    expect(store.lease(call('b', 500, { win: -1 })).grant).toBe(0)
  })

  it('does nothing for a call that arrives after a later one', () => {
    const { store, call } = rig()
    const first = call('a', 100, { win: -1 })
    const second = call('a', 100, { win: -1 })
    store.lease(second)
    expect(store.lease({ ...first, win: 0, back: 100 })).toMatchObject({ grant: 0, held: 900 })
  })

  it('begins anew in the next window; a clock that goes back stays in its window', () => {
    const { ask, clock } = rig()
    ask('a', 1_000)
    clock.advance(1_500)
    expect(ask('a', 1_000)).toMatchObject({ win: 1, grant: 1_000, leftMs: 500 })
    clock.advance(-1_400)
    expect(ask('a', 1)).toMatchObject({ win: 1, grant: 0, leftMs: 500 })
    clock.advance(1_900)
    expect(ask('a', 1)).toMatchObject({ win: 2, leftMs: 1_000 })
  })

  it('grants nothing in a window of which it has lost the beginning', () => {
    // The store begins to remember in the middle of a window, and is asked by a member that was there before.
    for (const win of [7, 6]) {
      const { ask, clock } = rig(TERMS, 7_500)
      expect(ask('a', 1, { win }).grant, `${win}`).toBe(0)
      expect(ask('new', 1).grant).toBe(0)
      clock.advance(500)
      expect(ask('a', 1).grant).toBe(10)
    }
  })

  it('grants where nothing of the window can have been lost', () => {
    const { ask, clock } = rig(TERMS, 6_500)
    clock.advance(1_000)
    // The store has remembered since before this window; and then it is known to.
    expect(ask('a', 1, { win: 6 }).grant).toBe(10)
    expect(ask('b', 1, { win: 6 }).grant).toBe(10)
    // A member that knows better ends that.
    expect(ask('c', 1, { win: 7 }).grant).toBe(0)
    expect(ask('a', 1).grant).toBe(0)
    // One that was away for longer, or is new, proves nothing.
    expect(rig(TERMS, 7_500).ask('a', 1, { win: 5 }).grant).toBe(10)
    expect(rig(TERMS, 7_500).ask('a', 1).grant).toBe(10)
  })

  it('refuses what it cannot work with, by name, and nothing has changed', () => {
    const { store, call } = rig()
    store.lease(call('a', 10, { win: -1 }))
    const bad: [Partial<LeaseCall>, RegExp][] = [
      [{ member: '' }, /member must be a non-empty string/],
      [{ seq: 0 }, /seq must be an integer >= 1, got 0/],
      [{ win: -2 }, /win must be an integer >= -1/],
      [{ need: Number.NaN }, /need must be a number >= 0, got NaN/],
      [{ need: -1 }, /need must be/],
      [{ back: Number.POSITIVE_INFINITY }, /back must be/],
      [{ weight: 0 }, /weight must be a number > 0/],
      [{ tenants: [{ tenant: '', weight: 1, demand: 1 }] }, /tenant must be/],
      [{ tenants: [{ tenant: 'a', weight: 0, demand: 1 }] }, /weight must be/],
      [{ tenants: [{ tenant: 'a', weight: 1, demand: 0 }] }, /demand must be/],
      [{ pool: { ...TERMS, quantum: 1_001 } }, /quantum must be a number > 0 and <= 1000, got 1001/],
      [{ pool: { ...TERMS, windowMs: 0.5 } }, /windowMs must be an integer >= 1, got 0.5/],
      [{ pool: { ...TERMS, limit: 0 } }, /limit must be/],
      [{ pool: { ...TERMS, name: '' } }, /name must be/],
    ]
    for (const [part, message] of bad) expect(() => store.lease({ ...call('a', 1), ...part })).toThrow(message)
    expect(store.lease(call('a', 990, { seq: 2 })).grant).toBe(990)
  })
})

describe('tenants that are active at several members', () => {
  const tenants = (demands: Record<string, number>) =>
    Object.entries(demands).map(([tenant, demand]) => ({ tenant, weight: 2, demand }))

  it('weigh as much as if they were at one, split by demand', () => {
    const { ask } = rig()
    expect(ask('east', 1, { tenants: tenants({ both: 30, eastern: 5 }) }).shares).toEqual([1, 1])
    expect(ask('west', 1, { tenants: tenants({ both: 10 }) }).shares).toEqual([0.25])
    // East weighs 2 + 1.5, west 0.5.
    expect(ask('west', 0, { tenants: [] }).held).toBeCloseTo(125 - 10, 9)
    expect(ask('east', 0, { tenants: [] }).held).toBeCloseTo(875 - 10, 9)
    expect(ask('west', 0, { tenants: tenants({ both: 90 }) }).shares).toEqual([0.75])
    expect(ask('west', 0, { tenants: [] }).held).toBeCloseTo(375 - 10, 9)
  })

  it('are forgotten with the window', () => {
    const { ask, clock } = rig()
    ask('east', 1, { tenants: tenants({ both: 30 }) })
    clock.advance(1_000)
    expect(ask('west', 1, { tenants: tenants({ both: 10 }) }).shares).toEqual([1])
  })
})
