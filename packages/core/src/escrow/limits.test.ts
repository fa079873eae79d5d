import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import { WeightedFairEscrow } from './escrow.js'
import { hierarchy } from './hierarchy.js'
import type { EscrowOptions } from './options.js'

const WINDOW_MS = 1000

function escrowOf(options: Partial<EscrowOptions> = {}) {
  const clock = manualClock(60_000)
  return { clock, escrow: new WeightedFairEscrow({ limit: 1000, windowMs: WINDOW_MS, clock, ...options }) }
}

describe('what remains', () => {
  it.each(['fixed', 'sliding'] as const)(
    'is nothing, never less, after a limit is lowered, in a %s window',
    (window) => {
      const { escrow } = escrowOf({ window })
      escrow.check('a', 900)
      escrow.setLimit(500)
      expect(escrow.snapshot()).toMatchObject({ limit: 500, used: 900, remaining: 0, reserved: 0 })
      expect(escrow.check('a', 1)).toMatchObject({ allowed: false, reason: 'exhausted', remaining: 0 })
    },
  )

  it('is nothing, never less, where debts are paid while a sliding window still counts the last one', () => {
    const { escrow, clock } = escrowOf({ window: 'sliding', estimates: 'asked' })
    clock.advance(WINDOW_MS / 2)
    const call = escrow.check('a', 500)
    escrow.check('b', 500)
    escrow.settle(call, 3_000)
    for (let part = 0; part < 40; part++) {
      clock.advance(WINDOW_MS / 10)
      expect(escrow.snapshot().remaining).toBeGreaterThanOrEqual(0)
    }
  })

  it.each(['one group', 'a tree'])('is all that is left for a tenant that is alone, in %s', (form) => {
    const tree = hierarchy({
      name: 'all',
      children: [{ name: 'team', weight: 2, children: [{ name: 'a' }, { name: 'b' }] }],
    })
    const { escrow, clock } = escrowOf({ limit: 10, ...(form === 'a tree' && { tree, weightOf: () => 1 }) })
    for (let used = 1; used <= 10; used++) {
      clock.advance(50)
      const { remaining, limit } = escrow.check('a', 1)
      expect([remaining, limit]).toEqual([10 - used, 10])
    }
    clock.advance(WINDOW_MS)
    escrow.check('a', 1)
    escrow.check('b', 1)
    expect(escrow.check('a', 1).remaining).toBeLessThan(8)
  })

  it('is admitted if it is asked next, also where costs are learned', () => {
    const call = fc.record({
      tenant: fc.nat(3),
      part: fc.double({ min: 0.01, max: 1, noNaN: true }),
      real: fc.double({ min: 0, max: 3, noNaN: true }),
      isWhole: fc.boolean(),
      settles: fc.integer({ min: 0, max: 9 }),
    })
    const limits = fc.constantFrom(0.3, 1, 7, 1000)
    fc.assert(
      fc.property(fc.array(call, { minLength: 20, maxLength: 150 }), limits, (calls, limit) => {
        const { escrow, clock } = escrowOf({ limit })
        for (const { tenant, part, real, isWhole, settles } of calls) {
          const cost = isWhole ? Math.max(1, Math.floor((part * limit) / 10)) : (part * limit) / 10
          const decision = escrow.check(`t${tenant}`, cost)
          const { remaining } = decision
          if (remaining > 0) expect(escrow.peek(`t${tenant}`, remaining).allowed).toBe(true)
          if (decision.allowed && settles > 0) escrow.settle(decision, cost * real)
          clock.advance(20)
        }
      }),
      propertyRuns(),
    )
  })
})

describe('another limit', () => {
  it('counts at once: more of it is there, or less', () => {
    const { escrow, clock } = escrowOf({ reserve: 'strict' })
    for (const tenant of ['a', 'b']) escrow.check(tenant, 400)
    escrow.setLimit(1600)
    expect(escrow.check('a', 400)).toMatchObject({ allowed: true, borrowed: false, guarantee: 800 })
    escrow.setLimit(900)
    expect(escrow.snapshot()).toMatchObject({ limit: 900, used: 1200, remaining: 0, reserved: 0 })
    expect(escrow.check('b', 1)).toMatchObject({ allowed: false, reason: 'exhausted', remaining: 0 })
    expect(escrow.check('b', 901)).toMatchObject({ allowed: false, reason: 'never' })
    clock.advance(WINDOW_MS)
    expect(escrow.snapshot()).toMatchObject({ limit: 900, used: 0, remaining: 900 })
    for (const bad of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => escrow.setLimit(bad)).toThrow(`limit must be a number > 0 and <= 9007199254740991, got ${bad}`)
    expect(() => escrow.setWeight('a', 2)).toThrow('group must be one of a tree, got "a" without a tree')
  })

  it('is never exceeded by what is admitted after it was set', () => {
    const step = fc.tuple(fc.nat(5), fc.integer({ min: 1, max: 400 }), fc.integer({ min: 0, max: 90 }), fc.nat(1000))
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), fc.constantFrom('fixed', 'sliding'), (steps, window) => {
        const { escrow, clock } = escrowOf({ window, estimates: 'asked' })
        let limit = 1000
        const spent: { atMs: number; cost: number }[] = []
        for (const [tenant, cost, afterMs, other] of steps) {
          clock.advance(afterMs)
          if (other > 900) {
            limit = 2 * other - 1500
            escrow.setLimit(limit)
          }
          const nowMs = clock()
          const fromMs = window === 'fixed' ? Math.floor(nowMs / WINDOW_MS) * WINDOW_MS : nowMs - WINDOW_MS
          if (!escrow.check(`t${tenant}`, cost).allowed) continue
          spent.push({ atMs: nowMs, cost })
          const isIn = (atMs: number): boolean => (window === 'fixed' ? atMs >= fromMs : atMs > fromMs)
          expect(spent.reduce((sum, one) => sum + (isIn(one.atMs) ? one.cost : 0), 0)).toBeLessThanOrEqual(limit)
        }
      }),
      propertyRuns(),
    )
  })
})
