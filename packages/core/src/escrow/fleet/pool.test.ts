import { describe, expect, it } from 'vitest'
import { rig, TERMS } from './fixtures/stores.js'
import type { LeaseCall } from './store.js'
import { graceOf, isAnswer, poolTerms } from './store.js'

describe('the pool', () => {
  it('grants whole quanta, and the remainder', () => {
    const { ask, drain } = rig(poolTerms({ ...TERMS, limit: 25 }))
    expect(ask('p', 1)).toEqual({
      ...{ win: 0, leftMs: 1_000, mark: { epoch: 1, rev: 1, total: 10, ahead: 0, members: 1 } },
      ...{
        grant: 10,
        ahead: 0,
        held: 15,
        part: 1,
        turn: Number.MAX_VALUE,
        room: 15,
        waitMs: 0,
        shares: [1],
        used: [0],
      },
    })
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

  it('keeps the guarantee of a tenant that asks seldom from one that asks often', () => {
    const { ask } = rig()
    ask('seldom', 1)
    let often = 0
    for (let grant = 1; grant > 0; often += grant) grant = ask('often', 10).grant
    expect(often).toBe(500)
    expect(ask('seldom', 490).grant).toBe(490)
  })

  it('grants a tenant a quantum of the claims of all tenants at its member, and not of those elsewhere', () => {
    const tenantsOf = (member: string) =>
      Array.from({ length: 50 }, (_, at) => ({ tenant: `${member}${at}`, weight: 1, used: 0, rate: 1, ask: 0 }))
    // Each of the hundred tenants may claim 10, so each member 500.
    for (const [quantum, grant] of [
      [5, 5],
      [40, 40],
      [900, 500],
    ] as const) {
      const { ask } = rig(poolTerms({ ...TERMS, quantum }))
      for (const member of ['p', 'q']) ask(member, 0, { tenants: tenantsOf(member) })
      expect(ask('p', 1, { tenants: tenantsOf('p').slice(0, 1) }).grant).toBeCloseTo(grant, 6)
    }
  })

  it('grants a tenant its claim beside idle credit for others at its member, but no more than all claim there', () => {
    const tenants = Array.from({ length: 100 }, (_, at) => ({ tenant: `${at}`, weight: 1, used: 0, rate: 1, ask: 0 }))
    const [first, second] = tenants
    for (const [quantum, more] of [
      [40, 40],
      [495, 5],
      [498, 0],
    ] as const) {
      const { ask } = rig(poolTerms({ ...TERMS, quantum }))
      ask('p', 0, { tenants: tenants.slice(0, 50) })
      ask('q', 0, { tenants: tenants.slice(50) })
      expect(ask('p', 1, { tenants: [first!] }).grant).toBeCloseTo(quantum, 6)
      // Each of the hundred may claim 10. The first has spent nothing yet.
      const grantFor = (need: number): number => ask('p', need, { tenants: [second!, first!], spent: 0 }).grant
      expect([grantFor(11), grantFor(5)]).toEqual([0, expect.closeTo(more, 6)])
    }
  })

  it('lends what a silent member let pass, in turn', () => {
    const { ask, clock, drain } = rig()
    ask('silent', 1)
    clock.advance(400)
    const { a, b } = drain({ a: 1, b: 1 })
    // The silent one may still claim three fifths of its third of the limit by then.
    expect(a! + b!).toBeGreaterThan(990 - 1_000 / 5 - 10)
    expect(a! + b!).toBeLessThanOrEqual(990 - 1_000 / 5 + 1e-9)
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
    // The other one, of 500, lets 25 pass in a twentieth of the window, of which it was granted 10.
    for (const [need, waitMs] of [
      [10, 50],
      [30, 100],
      [50, 100],
      [400, 100],
    ] as const)
      expect(ask('a', need), `${need}`).toMatchObject({ grant: 0, held: 0, waitMs })
  })

  it('says what is left and not kept for others than the first of a call, also if that needs nothing', () => {
    const { ask, clock } = rig()
    expect(ask('a', 1).room).toBe(990)
    // Half of it is kept for a, less the quantum that it has.
    expect(ask('b', 1).room).toBe(490)
    clock.advance(500)
    // A fourth of it still is: a silent member lets its share pass.
    expect(ask('b', 0).room).toBe(730)
    expect(ask('b', 0, { tenants: [] }).room).toBe(0)
  })

  it('grants no more than a call says is left, whatever the limit', () => {
    const { ask } = rig()
    expect(ask('a', 1, { left: 4 }).grant).toBe(4)
    expect(ask('a', 5, { left: 4 }).grant).toBe(0)
    expect(ask('a', 5, { left: 5_000 }).grant).toBe(10)
    expect(ask('a', 2_000, { left: 5_000 }).grant).toBe(2_000)
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

  it('lets the member that has least for its weight borrow first, while it waits', () => {
    const { ask, clock } = rig()
    ask('silent', 1)
    ask('a', 1)
    ask('b', 1)
    for (const member of ['a', 'b']) while (ask(member, 10).grant > 0);
    clock.advance(50)
    expect(ask('a', 30).grant + ask('b', 15).grant).toBe(0)
    clock.advance(75)
    // By now the silent one has let 31 pass; b waits with the lower sum, so it is not a's turn.
    expect(ask('a', 30).grant).toBe(0)
    expect(ask('b', 15).grant).toBeGreaterThanOrEqual(15)
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

  it('ends no member’s wait by granting it something: members that take turns stay in line', () => {
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

  it('counts nothing as less than nothing where fractions come back in other parts than they went', () => {
    const { ask, store, call } = rig(poolTerms({ ...TERMS, limit: 1, quantum: 0.01 }))
    const members = ['a', 'b', 'c', 'd', 'e', 'f']
    for (let round = 1; round <= 20; round++) {
      for (const [at, member] of members.entries()) ask(member, (round * (at + 1)) / 1_000)
      for (const member of members) {
        const given = call(member, 0, { back: 1 })
        const answer = store.lease(given)
        expect(answer.mark.total).toBeGreaterThanOrEqual(0)
        expect(isAnswer(answer, given)).toBe(true)
      }
    }
  })

  it('takes credit back in its own window only, and never more than was granted', () => {
    const { ask, clock } = rig()
    ask('a', 1_000)
    expect(ask('a', 0, { back: 5_000 })).toMatchObject({ grant: 0, held: 1_000 })
    expect(ask('a', 1_000).grant).toBe(1_000)
    expect(ask('a', 1).grant).toBe(0)
    clock.advance(1_000)
    expect(ask('b', 400).grant).toBe(400)
    expect(ask('a', 500).grant).toBe(500)
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
    expect(store.lease({ ...first, win: 0 })).toMatchObject({ grant: 0, held: 900 })
  })

  it('begins anew in the next window; a clock that goes back stays in its window', () => {
    const { ask, clock } = rig()
    ask('a', 1_000)
    clock.advance(1_500)
    expect(ask('a', 1_000)).toMatchObject({ win: 1, grant: 1_000, leftMs: 500 })
    clock.advance(-900)
    expect(ask('a', 1)).toMatchObject({ win: 1, grant: 0, leftMs: 500 })
    clock.advance(1_400)
    expect(ask('a', 1)).toMatchObject({ win: 2, leftMs: 1_000 })
  })

  it('takes a clock that goes back by more than a window for one that was wrong', () => {
    const { ask, clock } = rig(TERMS, 3_600_000)
    ask('a', 1_000)
    clock.advance(-3_500_000)
    expect(ask('a', 1)).toMatchObject({ win: 100, grant: 10, leftMs: 1_000 })
  })

  it('keeps what members of the window before weigh, until they call or half of the window is over', () => {
    const { ask, clock } = rig()
    ask('a', 1)
    ask('b', 1, { weight: 3 })
    clock.advance(1_000)
    // Three quarters are the other one's.
    expect(ask('a', 1).held).toBe(240)
    expect(ask('a', 251).grant).toBe(0)
    clock.advance(500)
    expect(ask('a', 251).grant).toBe(251)
    // One that has not called in a whole window is forgotten.
    clock.advance(500)
    expect(ask('a', 1).held).toBe(990)
  })

  it('keeps claims whole until those may be back that were refused in the window before', () => {
    const lentAt = (wasRefused: boolean, atMs: number): number => {
      const { ask, clock } = rig()
      clock.advance(900)
      ask('away', 1)
      ask('here', 500)
      if (wasRefused) expect(ask('here', 500)).toMatchObject({ grant: 0, waitMs: 100 })
      clock.advance(100 + atMs)
      const { room } = ask('here', 0)
      return room - 500
    }
    // Half of the limit is the claim of the one that is away; refused at .9, the other may be back at .05.
    expect(lentAt(false, 50)).toBeCloseTo(500 * 0.05, 6)
    expect(lentAt(true, 50)).toBeCloseTo(0, 6)
    expect(lentAt(true, 240)).toBeCloseTo(500 * 0.2, 6)
  })

  it('lets a tenant that got more come after those that wanted more and got less, in the next window', () => {
    const { clock, ask, drain } = rig()
    ask('much', 700)
    ask('little', 300)
    for (const member of ['much', 'little']) expect(ask(member, 10).grant).toBe(0)
    clock.advance(TERMS.windowMs)
    // When the small one arrived, no more than 300 could be guaranteed: that counts as used by the other one.
    const { grant, used, mark } = ask('much', 0)
    expect({ grant, used: used[0], total: mark.total }).toEqual({ grant: 0, used: 300, total: 0 })
    ask('little', 0)
    expect(drain({ much: 1, little: 1 })).toEqual({ much: 350, little: 650 })
    clock.advance(TERMS.windowMs)
    expect(drain({ much: 1, little: 1 })).toEqual({ much: 500, little: 500 })
  })

  it('lets no tenant come after those that wanted no more, nor by more than a guarantee or their cost', () => {
    const { clock, ask } = rig()
    ask('much', 700)
    ask('little', 300)
    clock.advance(TERMS.windowMs)
    expect(ask('much', 0).used).toEqual([0])
    clock.advance(2 * TERMS.windowMs)
    expect(ask('much', 1_000).grant).toBe(1_000)
    expect(ask('little', 10).grant).toBe(0)
    clock.advance(TERMS.windowMs)
    // Nothing was left to guarantee when it arrived; but its cost would have been one of 10.
    expect(ask('much', 0).used).toEqual([10])
    clock.advance(2 * TERMS.windowMs)
    expect(ask('much', 0).used).toEqual([0])
  })

  it('lends the claims of those refused more than their part to the first of them, and keeps the others', () => {
    const { clock, ask } = rig()
    for (const member of ['a', 'b', 'c']) ask(member, 10)
    expect(ask('a', 600).grant).toBe(0)
    // It is not its turn: the other one would come less far.
    expect(ask('b', 640).grant).toBe(0)
    expect(ask('b', 600).grant).toBe(600)
    // A third of the limit each: one has lent all but 47 of its claim, the other one nothing.
    expect(ask('a', 60).grant).toBe(0)
    expect(ask('c', 320).grant).toBe(320)
    expect(ask('a', 40).grant).toBe(40)
    // In the next window, nothing is lent any more.
    clock.advance(TERMS.windowMs)
    for (const member of ['a', 'b', 'c']) ask(member, 10)
    expect(ask('c', 300).grant).toBe(300)
    expect(ask('a', 300).grant).toBeGreaterThanOrEqual(300)
  })

  it('lends nothing to a call that is no more than a part, and nothing of those whose calls were no more', () => {
    const { ask } = rig()
    for (const member of ['a', 'b', 'c']) ask(member, 10)
    expect(ask('a', 600).grant).toBe(0)
    expect(ask('b', 330).grant).toBe(0)
    expect(ask('c', 640).grant).toBe(0)
    // It would take what the two others have, of which one lends.
    expect(ask('a', 960).grant).toBe(0)
    expect(ask('b', 320).grant).toBe(320)
  })

  it('refuses what it cannot work with, by name, and nothing has changed', () => {
    const { store, call, ask } = rig()
    ask('a', 10)
    const { quantum: _, ...terms } = TERMS
    const bad: [Partial<LeaseCall>, RegExp][] = [
      [{ pool: terms as typeof TERMS }, /quantum must be/],
      [{ member: '' }, /member must be a non-empty string/],
      [{ seq: 0 }, /seq must be an integer >= 1, got 0/],
      [{ win: -2 }, /win must be an integer >= -1/],
      [{ need: Number.NaN }, /need must be a number >= 0, got NaN/],
      [{ need: -1 }, /need must be/],
      [{ holds: Number.POSITIVE_INFINITY }, /holds must be/],
      [{ spent: -1 }, /spent must be/],
      [{ quiet: { weight: -1, used: 0 } }, /quiet.weight must be/],
      [{ tenants: [{ tenant: 'a', weight: 1, used: 0, rate: 1, ask: -1 }] }, /ask must be/],
      [{ mark: { epoch: 0, rev: -1, total: 0, ahead: 0, members: 0 } }, /mark.rev must be/],
      [{ tenants: [{ tenant: '', weight: 1, used: 0, rate: 1, ask: 0 }] }, /tenant must be/],
      [{ tenants: [{ tenant: 'a', weight: 0, used: 0, rate: 1, ask: 0 }] }, /weight must be/],
      [{ tenants: [{ tenant: 'a', weight: 1, used: -1, rate: 1, ask: 0 }] }, /used must be/],
      [{ tenants: [{ tenant: 'a', weight: 1, used: 0, rate: 0, ask: 0 }] }, /rate of the first tenant must be/],
      [{ tenants: [] }, /rate of the first tenant must be/],
      [{ pool: { ...TERMS, quantum: 1_001 } }, /quantum must be a number > 0 and <= 1000, got 1001/],
      [{ pool: { ...TERMS, windowMs: 0.5 } }, /windowMs must be an integer >= 1, got 0.5/],
      [{ pool: { ...TERMS, limit: 0 } }, /limit must be/],
      [{ pool: { ...TERMS, name: '' } }, /name must be/],
    ]
    for (const [part, message] of bad) expect(() => store.lease({ ...call('a', 1), ...part })).toThrow(message)
    expect(ask('a', 990).grant).toBe(990)
  })
})

describe('a store that has lost its memory', () => {
  /** Three members that hold 300, 200 and 100, and one that has not called since long before that. */
  function fleet() {
    const all = rig(TERMS, 7_100)
    all.ask('a', 300)
    all.ask('b', 200)
    all.ask('c', 100)
    return all
  }

  it('learns what it granted from the one that it granted something last, and exactly', () => {
    const { ask, forget, clock, drain } = fleet()
    forget()
    // c knows everything, a nothing of b and c.
    expect(ask('a', 1)).toMatchObject({ grant: 0, waitMs: graceOf(1_000), mark: { total: 300 } })
    expect(ask('c', 1)).toMatchObject({ grant: 0, mark: { total: 600 } })
    expect(ask('b', 1)).toMatchObject({ grant: 0, mark: { total: 600 } })
    clock.advance(graceOf(1_000))
    const got = drain({ a: 1, late: 1 })
    clock.advance(700)
    const rest = drain({ a: 1, late: 1, c: 1 })
    const sum = [got, rest].flatMap((some) => Object.values(some)).reduce((total, grant) => total + grant, 0)
    expect(sum).toBeGreaterThan(395)
    expect(sum).toBeLessThanOrEqual(400)
  })

  it('waits for all that were at work when the best informed was answered, however late they are back', () => {
    const { ask, forget, clock } = fleet()
    forget()
    // b knows of itself and of a, and that they are two.
    expect(ask('b', 1)).toMatchObject({ grant: 0, mark: { total: 500, ahead: 0, members: 2 } })
    clock.advance(1.5 * graceOf(1_000))
    expect(ask('b', 500)).toMatchObject({ grant: 0, waitMs: graceOf(1_000) / 4 })
    // Of c it hears from c alone.
    expect(ask('c', 1)).toMatchObject({ grant: 0, mark: { total: 600, ahead: 0, members: 3 } })
    expect(ask('b', 400).grant).toBe(0)
    expect(ask('a', 1).grant).toBeGreaterThan(0)
  })

  it('may grant too much what a member was granted last that does not come back in half a window', () => {
    const { ask, forget, clock } = fleet()
    forget()
    ask('b', 0)
    clock.advance(4 * graceOf(1_000))
    // b knew of 500 of 600.
    expect(ask('b', 501).grant).toBe(0)
    expect(ask('b', 500).grant).toBe(500)
  })

  it('is known by an older state of it, too, as from a snapshot or a replica', () => {
    // The store is taken back to where it knew of a and b only, by telling another one the same calls.
    const { store, call, clock } = rig(TERMS, 7_100)
    const old = rig(TERMS, 7_100)
    const first = [call('a', 300), call('b', 200)]
    const answers = first.map((one) => [store.lease(one), old.store.lease(one)][0]!)
    const last = store.lease(call('a', 100, { win: 7, holds: 300, mark: answers[0]!.mark }))
    expect(last).toMatchObject({ grant: 100, mark: { total: 600 } })
    old.clock.advance(100)
    clock.advance(100)
    const again = old.store.lease(call('a', 10, { win: 7, holds: 400, mark: last.mark }))
    expect(again).toMatchObject({ grant: 0, mark: { total: 600 } })
    expect(again.waitMs).toBeGreaterThan(0)
  })

  it('holds up a window only until all have called, if nothing was granted of it yet', () => {
    const { ask, forget, clock } = fleet()
    clock.advance(1_000)
    forget()
    expect(ask('c', 10)).toMatchObject({ grant: 0, waitMs: graceOf(1_000) })
    expect(ask('b', 10).grant).toBe(0)
    expect(ask('a', 10).grant).toBe(10)
    expect(ask('new', 10).grant).toBe(10)
  })

  it('is known to a member that has not called yet in the window', () => {
    const { ask, forget, clock } = fleet()
    clock.advance(1_000)
    expect(ask('a', 300).grant).toBe(300)
    forget()
    expect(ask('b', 200)).toMatchObject({ grant: 0, waitMs: graceOf(1_000) })
    expect(ask('a', 1)).toMatchObject({ grant: 0, mark: { total: 300 } })
    clock.advance(graceOf(1_000))
    expect(ask('c', 800)).toMatchObject({ grant: 0, mark: { total: 300 } })
  })
})

describe('tenants that are active at several members', () => {
  const tenants = (rates: Record<string, number>) =>
    Object.entries(rates).map(([tenant, rate]) => ({ tenant, weight: 2, used: 0, rate, ask: 0 }))

  it('weigh as much as if they were at one, split by what they ask for', () => {
    const { ask } = rig()
    expect(ask('east', 1, { tenants: tenants({ both: 30, eastern: 5 }) }).shares).toEqual([1, 1])
    expect(ask('west', 1, { tenants: tenants({ both: 10 }) }).shares).toEqual([0.25])
    // East weighs 2 + 1.5, west 0.5.
    expect(ask('west', 0, { tenants: [] }).part).toBe(0.125)
    expect(ask('east', 0, { tenants: [] }).part).toBe(0.875)
    expect(ask('west', 0, { tenants: tenants({ both: 90 }) }).shares).toEqual([0.75])
  })

  it('have used what they have used at all of them, gone ones, too', () => {
    const { ask } = rig()
    const used = (amount: number, rate: number) => [{ tenant: 'both', weight: 1, used: amount, rate, ask: 0 }]
    ask('first', 500, { tenants: used(0, 1) })
    ask('other', 1)
    // The first one ends; its tenant goes on at another, and has had its half.
    ask('first', 0, { tenants: used(500, 0) })
    expect(ask('heir', 10, { tenants: used(0, 1) })).toMatchObject({ grant: 0, used: [500], shares: [1] })
  })

  it('go on with what is left of their shares where the only member has ended', () => {
    const { ask } = rig()
    ask('first', 100)
    ask('first', 0, { tenants: [{ tenant: 'first', weight: 1, used: 100, rate: 0, ask: 0 }] })
    const tenants = [{ tenant: 'first', weight: 1, used: 0, rate: 1, ask: 0 }]
    expect(ask('heir', 10, { tenants })).toMatchObject({ grant: 10, held: 890, used: [100] })
  })

  it('are forgotten with the window', () => {
    const { ask, clock } = rig()
    ask('east', 1, { tenants: tenants({ both: 30 }) })
    clock.advance(1_000)
    expect(ask('west', 1, { tenants: tenants({ both: 10 }) }).shares).toEqual([1])
  })
})
