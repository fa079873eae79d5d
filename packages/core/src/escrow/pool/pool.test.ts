import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { seededRandom } from '../../testing/seeded-random.js'
import { propertyRuns } from '../fixtures/property-runs.js'
import { MemoryPoolStore } from './memory-store.js'
import type { LeaseAnswer, LeaseCall } from './store.js'
import { type PoolTerms, poolTerms } from './terms.js'

const TERMS: PoolTerms = poolTerms({ name: 'api', limit: 1_000, windowMs: 1_000, quantum: 10 })

/** A pool on a clock of its own, and members that count their calls. */
function rig(terms: PoolTerms = TERMS, startMs = 0) {
  const clock = manualClock(startMs)
  const store = new MemoryPoolStore({ clock })
  const seqs = new Map<string, number>()
  const call = (member: string, need: number, more: Partial<LeaseCall> = {}): LeaseCall => {
    const seq = (seqs.get(member) ?? 0) + 1
    seqs.set(member, seq)
    return { pool: terms, member, seq, win: Math.floor(clock() / terms.windowMs), weight: 1, need, back: 0, ...more }
  }
  /** Windows that the members know are those of their own answers. */
  const known = new Map<string, number>()
  const ask = (member: string, need: number, more: Partial<LeaseCall> = {}): LeaseAnswer => {
    const answer = store.lease(call(member, need, { win: known.get(member) ?? -1, ...more }))
    known.set(member, answer.win)
    return answer
  }
  /** Asks in turn for whole rounds until nobody gets anything; gives what each got. */
  const drain = (weights: Record<string, number>, need = 1): Record<string, number> => {
    const got: Record<string, number> = {}
    for (let any = true; any; ) {
      any = false
      for (const [member, weight] of Object.entries(weights)) {
        const { grant } = ask(member, need, { weight })
        got[member] = (got[member] ?? 0) + grant
        any ||= grant > 0
      }
    }
    return got
  }
  return { clock, store, ask, call, drain }
}

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

describe('whatever the members do', () => {
  const step = fc.record({
    member: fc.constantFrom('a', 'b', 'c', 'd'),
    need: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.double({ min: 0, max: 120, noNaN: true })),
    back: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 50 })),
    weight: fc.integer({ min: 1, max: 5 }),
    replay: fc.integer({ min: 0, max: 3 }),
    advance: fc.oneof(fc.constant(0), fc.integer({ min: -200, max: 400 })),
  })

  it('credit is at most the limit in every window, and what is asked for in the guarantee is granted', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), fc.integer({ min: 1, max: 100 }), (steps, quantum) => {
        const terms = poolTerms({ ...TERMS, limit: 100, quantum })
        const { clock, store, call } = rig(terms)
        clock.advance(10_000)
        const past: LeaseCall[] = []
        const credit = new Map<string, number>()
        const answered = new Map<string, { win: number; seq: number }>()
        let win = -1
        for (const { member, need, back, weight, replay, advance } of steps) {
          clock.advance(advance)
          const old = past.at(-replay)
          const last = answered.get(member)
          const own = last?.win === win ? (credit.get(member) ?? 0) : 0
          const lease =
            replay > 0 && old ? old : call(member, need, { weight, back: Math.min(back, own), win: last?.win ?? -1 })
          past.push(lease)
          const answer = store.lease(lease)
          if (answer.win !== win) {
            expect(answer.win).toBeGreaterThan(win)
            win = answer.win
            credit.clear()
          }
          const seen = answered.get(lease.member)
          if (seen !== undefined && seen.win === win && lease.seq <= seen.seq) continue
          answered.set(lease.member, { win, seq: lease.seq })
          const before = credit.get(lease.member) ?? 0
          credit.set(lease.member, before - (lease.win === win ? Math.min(lease.back, before) : 0) + answer.grant)
          const sum = [...credit.values()].reduce((a, b) => a + b, 0)
          expect(sum).toBeLessThanOrEqual(100 + 1e-6)
          expect(answer.grant === 0 || answer.grant >= lease.need).toBe(true)
          expect(answer.held).toBeLessThanOrEqual(100 - sum + 1e-6)
          expect(answer.leftMs).toBeGreaterThan(0)
          expect(answer.leftMs).toBeLessThanOrEqual(1_000)
        }
      }),
      propertyRuns(2.5),
    )
  })

  it('T4: members that keep asking get the same per weight, to within a quantum or cost of each, and of a third', () => {
    const asker = fc.record({ weight: fc.integer({ min: 1, max: 8 }), need: fc.integer({ min: 1, max: 40 }) })
    fc.assert(
      fc.property(
        fc.array(asker, { minLength: 2, maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 3 }),
        fc.integer({ min: 200, max: 2_000 }),
        fc.integer({ min: 1, max: 30 }),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 80 }), fc.nat()), { minLength: 5, maxLength: 30 }),
        (asking, silent, limit, quantum, times) => {
          const { ask, clock } = rig(poolTerms({ ...TERMS, limit, quantum }))
          const weights = [...asking.map(({ weight }) => weight), ...silent]
          const granted = weights.map(() => 0)
          const grants = (i: number, need: number): boolean => {
            const { grant } = ask(`m${i}`, need, { weight: weights[i]! })
            granted[i]! += grant
            return grant > 0
          }
          for (const i of weights.keys()) grants(i, 1)
          for (const [afterMs, offset] of [[0, 0] as const, ...times]) {
            if (clock() + afterMs >= 1_000) break
            clock.advance(afterMs)
            for (let refused = 0, i = offset % asking.length; refused < 2 * asking.length; i = (i + 1) % asking.length)
              refused = grants(i, asking[i]!.need) ? 0 : refused + 1
          }
          const largest = Math.max(quantum, ...asking.map(({ need }) => need))
          const least = Math.min(...asking.map(({ weight }) => weight))
          for (const [i, one] of asking.entries())
            for (const [j, two] of asking.entries()) {
              const gap = Math.abs(granted[i]! / one.weight - granted[j]! / two.weight)
              const bound = largest * (1 / one.weight + 1 / two.weight + 1 / least)
              expect(gap).toBeLessThanOrEqual(bound + 1e-6)
            }
        },
      ),
      propertyRuns(),
    )
  })

  it('what is held for each is granted to each, in any order, while no time passes', () => {
    const random = seededRandom(5)
    for (let round = 0; round < 200; round++) {
      const { ask } = rig(poolTerms({ ...TERMS, quantum: 1 }))
      const members = Array.from({ length: 6 }, (_, at) => ({ name: `m${at}`, weight: 1 + Math.floor(random() * 4) }))
      for (let at = 0; at < 30; at++) {
        const { name, weight } = members[Math.floor(random() * 6)]!
        ask(name, 1 + random() * 60, { weight })
      }
      const helds = members.map(({ name, weight }) => ({ name, weight, held: ask(name, 0, { weight }).held }))
      // A member that comes first now may have changed the weights by its coming, so what is held is asked again.
      for (const each of helds) each.held = ask(each.name, 0, { weight: each.weight }).held
      for (const { name, weight, held } of helds.sort(() => random() - 0.5))
        if (held > 0.01) expect(ask(name, held - 1e-3, { weight }).grant).toBeGreaterThan(0)
    }
  })
})
