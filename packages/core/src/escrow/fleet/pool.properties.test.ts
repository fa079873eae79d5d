import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../testing/seeded-random.js'
import { rig, TERMS } from './fixtures/stores.js'
import type { LeaseCall, PoolMark } from './store.js'
import { poolTerms } from './store.js'

const NO_MARK: PoolMark = { epoch: 0, rev: 0, total: 0, ahead: 0, members: 0 }

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
        const answered = new Map<string, { win: number; seq: number; mark: PoolMark }>()
        let win = -1
        for (const { member, need, back, weight, replay, advance } of steps) {
          clock.advance(advance)
          const old = past.at(-replay)
          const last = answered.get(member)
          const own = last?.win === win ? (credit.get(member) ?? 0) : 0
          const holds = own - Math.min(back, own)
          const tenants = [{ tenant: `t${weight % 3} of ${member}`, weight, used: holds, rate: 1, ask: 0 }]
          const said = { holds, spent: holds, tenants, win: last?.win ?? -1, mark: last?.mark ?? NO_MARK }
          const lease = replay > 0 && old ? old : call(member, need, said)
          past.push(lease)
          const answer = store.lease(lease)
          if (answer.win !== win) {
            expect(answer.win).toBeGreaterThan(win)
            win = answer.win
            credit.clear()
          }
          const seen = answered.get(lease.member)
          if (seen !== undefined && seen.win === win && lease.seq <= seen.seq) continue
          answered.set(lease.member, { win, seq: lease.seq, mark: answer.mark })
          credit.set(lease.member, (lease.win === win ? lease.holds : 0) + answer.grant)
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

  it('each gets the amount held for it, in any order, while no time passes', () => {
    const random = seededRandom(5)
    for (let round = 0; round < 200; round++) {
      const { ask } = rig(poolTerms({ ...TERMS, quantum: 1 }))
      const members = Array.from({ length: 6 }, (_, at) => ({ name: `m${at}`, weight: 1 + Math.floor(random() * 4) }))
      for (let at = 0; at < 30; at++) {
        const { name, weight } = members[Math.floor(random() * 6)]!
        ask(name, 1 + random() * 60, { weight })
      }
      const helds = members.map(({ name, weight }) => ({ name, weight, held: ask(name, 0, { weight }).held }))
      // A new member may have changed the weights, so the reserved amount is requested again.
      for (const each of helds) each.held = ask(each.name, 0, { weight: each.weight }).held
      for (const { name, weight, held } of helds.sort(() => random() - 0.5))
        if (held > 0.01) expect(ask(name, held - 1e-3, { weight }).grant).toBeGreaterThan(0)
    }
  })
})
