import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import type { Reserve } from './budget.js'
import { WeightedFairEscrow } from './escrow.js'
import { must } from './fixtures/trace.js'
import { hierarchy } from './hierarchy.js'

describe('T3, paced', () => {
  it('a tenant that asks until the end leaves less than a cost, though others fell silent', () => {
    const asker = fc.record({ weight: fc.integer({ min: 1, max: 8 }), cost: fc.integer({ min: 1, max: 40 }) })
    const silent = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 1, maxLength: 10 })
    const times = fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 10 })
    fc.assert(
      fc.property(
        fc.array(asker, { minLength: 1, maxLength: 6 }),
        silent,
        fc.nat(1900),
        times,
        (asking, idle, most, gaps) => {
          const limit = 100 + most
          const clock = manualClock()
          const weights = [...asking.map(({ weight }) => weight), ...idle]
          const weightOf = (name: string): number => weights[Number(name)]!
          const escrow = new WeightedFairEscrow({ limit, windowMs: 1000, weightOf, clock })
          for (const i of weights.keys()) escrow.check(String(i), 1)
          for (const afterMs of [0, ...gaps, 1000]) {
            clock.advance(Math.min(afterMs, 999.999 - clock()))
            for (let refused = 0, i = 0; refused < 2 * asking.length; i = (i + 1) % asking.length)
              refused = escrow.check(String(i), asking[i]!.cost).allowed ? 0 : refused + 1
          }
          const largest = Math.max(...asking.map(({ cost }) => cost))
          // Except for the reservation of the last thousandth of a millisecond.
          expect(escrow.snapshot().remaining).toBeLessThan(largest + 1e-6 * limit)
        },
      ),
      propertyRuns(),
    )
  })
})

describe('T1 of limits as large as numbers are', () => {
  it('whole units are never more than the limit, and what remains is admitted', () => {
    const step = fc.tuple(
      fc.nat(9),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.integer({ min: 0, max: 80 }),
      fc.nat(9),
    )
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.constantFrom<Reserve>('strict', 'paced'),
        fc.array(step, { maxLength: 80 }),
        (limit, reserve, steps) => {
          const clock = manualClock()
          const weightOf = (name: string): number => 1 + (Number(name) % 4)
          const escrow = new WeightedFairEscrow({ limit, windowMs: 1e5, reserve, weightOf, clock })
          let used = 0n
          for (const [tenant, part, afterMs, settles] of steps) {
            clock.advance(afterMs)
            const cost = Math.min(limit, Math.max(1, Math.floor(part * part * limit)))
            const decision = escrow.check(String(tenant), cost)
            if (decision.allowed) {
              used += BigInt(cost)
              if (settles === 0) {
                const actual = Math.floor(cost * part)
                expect(escrow.settle(decision, actual)).toEqual({ settled: true, unpaid: 0 })
                used -= BigInt(cost - actual)
              }
            }
            must(used <= BigInt(limit), () => `gave out ${used} of ${limit}`)
            const { remaining, reserved } = escrow.snapshot()
            must(BigInt(remaining) === BigInt(limit) - used, () => `${remaining} left, used ${used} of ${limit}`)
            // Levels of such limits cannot be told apart any better.
            must(reserved <= remaining + 1e-3 + 8 * Number.EPSILON * limit, () => `kept ${reserved} of ${remaining}`)
            const next = escrow.peek(String(tenant), 1).remaining
            if (next >= 1) must(escrow.peek(String(tenant), Math.floor(next)).allowed, () => `not ${next}`)
          }
        },
      ),
      propertyRuns(),
    )
  })
})

describe('T4', () => {
  const tenant = fc.record({ weight: fc.integer({ min: 1, max: 8 }), cost: fc.integer({ min: 1, max: 40 }) })

  it('tenants that keep asking get the same per weight, to within one cost of each and of a third', () => {
    fc.assert(
      fc.property(
        fc.array(tenant, { minLength: 2, maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 3 }),
        fc.integer({ min: 200, max: 2000 }),
        fc.constantFrom<Reserve>('strict', 'paced'),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 80 }), fc.nat()), { minLength: 5, maxLength: 30 }),
        (asking, silent, limit, reserve, times) => {
          const clock = manualClock()
          const weights = [...asking.map(({ weight }) => weight), ...silent]
          const weightOf = (name: string): number => weights[Number(name)]!
          const escrow = new WeightedFairEscrow({ limit, windowMs: 1000, reserve, weightOf, clock })
          const used = weights.map(() => 0)
          const ask = (i: number, cost: number): boolean => {
            const { allowed } = escrow.check(String(i), cost)
            if (allowed) used[i]! += cost
            return allowed
          }
          for (const i of weights.keys()) expect(ask(i, 1)).toBe(true)
          const largest = Math.max(...asking.map(({ cost }) => cost))
          const least = Math.min(...asking.map(({ weight }) => weight))
          // From the beginning on: a tenant that is silent for a while lets some pass.
          for (const [afterMs, offset] of [[0, 0] as const, ...times]) {
            if (clock() + afterMs >= 1000) break
            clock.advance(afterMs)
            for (let refused = 0, i = offset % asking.length; refused < 2 * asking.length; i = (i + 1) % asking.length)
              refused = ask(i, asking[i]!.cost) ? 0 : refused + 1
          }
          // A tenant that keeps asking ends above its guarantee less one of its calls.
          const all = weights.reduce((sum, weight) => sum + weight, 0)
          for (const [i, { weight, cost }] of asking.entries())
            expect(used[i]!).toBeGreaterThan((weight * limit) / all - cost - 1e-6)
          for (const [i, one] of asking.entries())
            for (const [j, two] of asking.entries()) {
              const gap = Math.abs(used[i]! / one.weight - used[j]! / two.weight)
              const bound = largest * (1 / one.weight + 1 / two.weight + 1 / least)
              expect(gap).toBeLessThanOrEqual(bound + 1e-6)
            }
        },
      ),
      propertyRuns(),
    )
  })
})

describe('T4 in a tree', () => {
  const member = fc.record({ weight: fc.integer({ min: 1, max: 8 }), cost: fc.integer({ min: 1, max: 20 }) })
  const team = fc.record({
    weight: fc.integer({ min: 1, max: 8 }),
    members: fc.array(member, { minLength: 1, maxLength: 4 }),
  })

  it('a tenant that keeps asking gets as much per weight as its siblings, and so does each group, to within three times that', () => {
    fc.assert(
      fc.property(
        fc.array(team, { minLength: 2, maxLength: 4 }),
        fc.integer({ min: 300, max: 3000 }),
        fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 5, maxLength: 20 }),
        (teams, limit, times) => {
          const clock = manualClock()
          const children = teams.map(({ weight, members }, t) => ({
            name: `team ${t}`,
            weight,
            children: members.map((one, m) => ({ name: `${t}/${m}`, weight: one.weight })),
          }))
          const tree = hierarchy({ name: 'all', children })
          const escrow = new WeightedFairEscrow({ limit, windowMs: 1000, tree, clock })
          const all = teams.flatMap(({ members }, t) =>
            members.map((one, m) => ({ ...one, name: `${t}/${m}`, used: 0 })),
          )
          const ask = (one: (typeof all)[number]): boolean => {
            const { allowed } = escrow.check(one.name, one.cost)
            if (allowed) one.used += one.cost
            return allowed
          }
          for (const one of all) ask({ ...one, cost: Math.min(one.cost, 1) })
          for (const afterMs of [0, ...times]) {
            if (clock() + afterMs >= 1000) break
            clock.advance(afterMs)
            for (let refused = 0, i = 0; refused < 2 * all.length; i = (i + 1) % all.length)
              refused = ask(all[i]!) ? 0 : refused + 1
          }
          const largest = Math.max(...all.map(({ cost }) => cost))
          const mustBeEven = (siblings: readonly { weight: number; used: number }[]): void => {
            const least = Math.min(...siblings.map(({ weight }) => weight))
            for (const one of siblings)
              for (const two of siblings) {
                const gap = Math.abs(one.used / one.weight - two.used / two.weight)
                const bound = 3 * (largest + 1) * (1 / one.weight + 1 / two.weight + 1 / least)
                must(gap <= bound + 1e-6, () => `${gap} apart, ${bound} at most: ${JSON.stringify({ siblings, all })}`)
              }
          }
          const of = (t: number) => all.filter(({ name }) => name.startsWith(`${t}/`))
          for (const t of teams.keys()) mustBeEven(of(t))
          mustBeEven(teams.map(({ weight }, t) => ({ weight, used: of(t).reduce((sum, { used }) => sum + used, 0) })))
        },
      ),
      propertyRuns(),
    )
  })
})
