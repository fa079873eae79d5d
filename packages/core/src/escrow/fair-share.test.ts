import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import { FairShare, WeightedFairShare } from './shares.js'

describe('WeightedFairShare', () => {
  const weightOf = (tenant: string): number => Number(tenant.slice(1))

  it('caps each tenant at its share, and lends nothing', () => {
    const share = new WeightedFairShare({ limit: 1000, windowMs: 1000, weightOf, clock: manualClock() })
    share.check('a3', 1)
    share.check('b1', 1)
    expect(share.check('b1', 250)).toMatchObject({
      allowed: false,
      reason: 'over-share',
      guarantee: 250,
      remaining: 249,
    })
    expect(share.check('b1', 249)).toMatchObject({ allowed: true, limit: 250, remaining: 0, borrowed: false })
    expect(share.check('b1', 1)).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    expect(share.check('a3', 749).allowed).toBe(true)
    expect(share.check('a3', 1)).toMatchObject({ allowed: false, reason: 'exhausted' })
    expect(share.check('a3', 1001)).toMatchObject({ reason: 'never', retryAfterMs: Number.POSITIVE_INFINITY })
  })

  it('never caps anybody below 1', () => {
    const share = new WeightedFairShare({ limit: 3, windowMs: 1000, weightOf, clock: manualClock() })
    for (const tenant of ['a1', 'b9', 'c1']) expect(share.check(tenant, 1).allowed).toBe(true)
    expect(share.check('d1', 1)).toMatchObject({ allowed: false, reason: 'exhausted' })
  })

  it('settles, refunds and starts anew with the window', () => {
    const clock = manualClock()
    const share = new WeightedFairShare({ limit: 100, windowMs: 1000, clock })
    const one = share.check('a', 60)
    const two = share.check('a', 10)
    expect(share.settle(one, 20)).toEqual({ settled: true, unpaid: 0 })
    expect(share.settle(one, 20).settled).toBe(false)
    expect(share.settle(two, 120)).toEqual({ settled: true, unpaid: 40 })
    expect(share.snapshot()).toMatchObject({ used: 100, remaining: 0, tenants: 1 })
    clock.advance(1000)
    expect(share.refund(share.check('a', 100))).toEqual({ settled: true, unpaid: 0 })
    expect(share.snapshot()).toMatchObject({ used: 0, tenants: 1, resetAtMs: 2000 })
    expect(() => share.settle({ ...two }, 1)).toThrow('decision must come from check of this escrow')
  })

  it('loses no unit, and gives none away, by rounding', () => {
    const weights = (tenant: string): number => (tenant === 'a' ? 0.1 : 0.2)
    const share = new WeightedFairShare({ limit: 30, windowMs: 1000, weightOf: weights, clock: manualClock() })
    share.check('b', 1)
    expect(share.check('a', 1).guarantee).toBe(10)
    expect(share.peek('b', 1).guarantee).toBe(20)
    const large = new FairShare({ limit: 2 ** 52 + 2, windowMs: 1000, clock: manualClock() })
    large.check('a')
    expect(large.check('b').guarantee).toBe(2 ** 51 + 1)
    const odd = new FairShare({ limit: 999.9999999999983, windowMs: 1000, clock: manualClock() })
    odd.refund(odd.check('a', 246.14390512163067))
    expect(odd.snapshot()).toMatchObject({ used: 0, remaining: 999.9999999999983 })
  })

  it('shares by the weights there are, whatever there was before', () => {
    let heavy = 1e12
    const weights = (tenant: string): number => (tenant === 'heavy' ? heavy : 1e-9)
    const share = new WeightedFairShare({ limit: 300, windowMs: 1000, weightOf: weights, clock: manualClock() })
    for (const tenant of ['a', 'b', 'heavy']) share.check(tenant)
    heavy = 1e-9
    expect(share.peek('heavy', 99).allowed).toBe(true)
    expect(share.check('heavy', 100).guarantee).toBe(100)
    expect(share.check('a', 99)).toMatchObject({ allowed: true, guarantee: 100 })
  })

  it('keeps both caps: of the tenant when it was asked, and of all; and peek is check', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 300 }),
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.tuple(fc.constantFrom('a1', 'b2', 'c3', 'd8', 'e1'), fc.integer({ min: 1, max: 60 })), {
          size: 'medium',
        }),
        (limit, maxTenants, asks) => {
          const share = new WeightedFairShare({ limit, windowMs: 1000, maxTenants, weightOf, clock: manualClock() })
          const used = new Map<string, { used: number; weight: number }>()
          let total = 0
          for (const [tenant, cost] of asks) {
            const name = used.has(tenant) || [...used.keys()].filter(Boolean).length < maxTenants - 1 ? tenant : ''
            const own = used.get(name) ?? { used: 0, weight: name === '' ? 1 : weightOf(name) }
            let weight = own.weight
            for (const [other, entry] of used) if (other !== name) weight += entry.weight
            const cap = Math.max(1, Math.floor((own.weight * limit) / weight))
            const allowed = own.used + cost <= cap && total + cost <= limit
            expect(share.peek(tenant, cost).allowed).toBe(allowed)
            expect(share.check(tenant, cost)).toMatchObject({ allowed, guarantee: cap })
            if (!allowed) continue
            used.set(name, { ...own, used: own.used + cost })
            total += cost
          }
          expect(share.snapshot().used).toBe(total)
        },
      ),
      propertyRuns(),
    )
  })

  it('refuses bad input by name', () => {
    const make = (options: object) => () => new WeightedFairShare({ limit: 1, windowMs: 1000, ...options })
    expect(make({ reserve: 'strict' })).toThrow('fairShare has no option "reserve"')
    expect(make({ limit: 0 })).toThrow('limit must be')
    expect(() => make({})().check('')).toThrow('tenant must be a non-empty string')
    expect(() => make({})().check('a', Number.NaN)).toThrow('cost must be')
    expect(() => make({ weightOf: () => 0 })().check('a')).toThrow('weightOf("a") must be')
  })
})

describe('FairShare', () => {
  it('gives everybody the same', () => {
    const share = new FairShare({ limit: 100, windowMs: 1000, clock: manualClock() })
    for (const tenant of ['a', 'b', 'c']) share.check(tenant)
    expect(share.peek('a').guarantee).toBe(33)
    expect(share.check('a', 33).allowed).toBe(false)
    expect(share.check('a', 32).allowed).toBe(true)
  })

  it('knows no weights', () => {
    const options = { limit: 1, windowMs: 1000, weightOf: () => 2 }
    expect(() => new FairShare(options)).toThrow('fairShare has no option "weightOf"')
  })
})
