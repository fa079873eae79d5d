import { describe, expect, it } from 'vitest'
import { PublishedRule } from './published-rule.js'

const even = (): number => 1

describe('the published rule', () => {
  it('gives a refused probe a share, and keeps it to the end', () => {
    const rule = new PublishedRule(1_000, 1_000, even, 'excess')
    expect(rule.check('real', 1).allowed).toBe(true)
    for (let i = 0; i < 99; i++) expect(rule.check(`probe-${i}`, 1_000).allowed).toBe(false)
    for (let used = 1; used < 10; used++) expect(rule.check('real', 1).allowed).toBe(true)
    expect(rule.check('real', 1)).toEqual({ allowed: false, retryAfterMs: 50 })
  })

  it('by the excess, lends what is reserved for others', () => {
    const rule = new PublishedRule(1_000, 1_000, even, 'excess')
    expect(rule.check('b', 1).allowed).toBe(true)
    expect(rule.check('a', 999).allowed).toBe(true)
    expect(rule.check('b', 1).allowed).toBe(false)
  })

  it('by the whole call, keeps what is reserved, and more', () => {
    const rule = new PublishedRule(1_000, 1_000, even, 'whole')
    expect(rule.check('b', 1).allowed).toBe(true)
    expect(rule.check('a', 999).allowed).toBe(false)
    expect(rule.check('a', 501).allowed).toBe(false)
    expect(rule.check('a', 500).allowed).toBe(true)
    expect(rule.check('b', 499).allowed).toBe(true)
  })

  it('guarantees whole units, and lends the rest', () => {
    const rule = new PublishedRule(10, 1_000, even, 'whole')
    for (const tenant of ['a', 'b', 'c']) expect(rule.check(tenant, 11).allowed).toBe(false)
    expect(rule.check('a', 4).allowed).toBe(true)
    expect(rule.check('b', 4).allowed).toBe(false)
  })

  it('gives by weight, and never more than the limit', () => {
    const rule = new PublishedRule(100, 1_000, (tenant) => (tenant === 'heavy' ? 4 : 1), 'excess')
    const used = { heavy: 0, light: 0 }
    for (let i = 0; i < 200; i++)
      for (const tenant of ['heavy', 'light'] as const) if (rule.check(tenant, 1).allowed) used[tenant]++
    expect(used).toEqual({ heavy: 80, light: 20 })
  })
})
