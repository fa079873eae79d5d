import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Quota } from '../admission/decision.js'
import { policyName, rateLimitFields } from './refusal.js'

const quota: Quota = {
  policy: 'budget',
  guarantee: 100,
  windowMs: 60_000,
  limit: 100,
  remaining: 40,
  resetAfterMs: 12_345,
}

function near(changed: Partial<Quota>): string | undefined {
  return rateLimitFields([{ ...quota, ...changed }], 'near')?.['RateLimit']
}

/** One member of a list of strings with whole numbers as parameters, as in RFC 9651 (sections 3.1 and 3.3.3). */
const MEMBER = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"((?:;[a-z]+=\d{1,15})*)/

function parse(field: string): [name: string, parameters: Record<string, number>][] {
  const members: [string, Record<string, number>][] = []
  for (let rest = field; ; ) {
    const [text, name, parameters] = MEMBER.exec(rest) ?? []
    if (text === undefined) throw new Error(`not a list: ${field}`)
    const pairs = parameters!.split(';').slice(1)
    const values = pairs.map((pair) => pair.split('=')).map(([key, value]) => [key, Number(value)])
    members.push([name!.replace(/\\(["\\])/g, '$1'), Object.fromEntries(values)])
    rest = rest.slice(text.length)
    if (rest === '') return members
    if (!rest.startsWith(', ')) throw new Error(`not a list: ${field}`)
    rest = rest.slice(2)
  }
}

describe('rateLimitFields', () => {
  it('tells a quota near its exhaustion', () => {
    expect(rateLimitFields([quota], 'near')).toBeUndefined()
    expect(near({ remaining: 10 })).toBeUndefined()
    expect(rateLimitFields([{ ...quota, remaining: 9 }], 'near')).toEqual({
      'RateLimit-Policy': '"budget";q=100;w=60',
      RateLimit: '"budget";r=9;t=13',
    })
    expect(near({ limit: 2, remaining: 0.9 })).toBe('"budget";r=0;t=13')
  })

  it('tells all where that is wanted, and nothing where there is nothing', () => {
    expect(rateLimitFields([quota], 'always')?.['RateLimit']).toBe('"budget";r=40;t=13')
    expect(rateLimitFields([], 'always')).toBeUndefined()
  })

  it('lists several, and of those that are not near exhaustion none', () => {
    const day = { ...quota, policy: 'day', guarantee: 1_000, windowMs: 86_400_000, remaining: 1 }
    expect(rateLimitFields([quota, day], 'always')).toEqual({
      'RateLimit-Policy': '"budget";q=100;w=60, "day";q=1000;w=86400',
      RateLimit: '"budget";r=40;t=13, "day";r=1;t=13',
    })
    expect(rateLimitFields([quota, day], 'near')).toEqual({
      'RateLimit-Policy': '"day";q=1000;w=86400',
      RateLimit: '"day";r=1;t=13',
    })
  })

  it('leaves out a window that is not known', () => {
    const fields = rateLimitFields([{ ...quota, windowMs: undefined }], 'always')
    expect(fields?.['RateLimit-Policy']).toBe('"budget";q=100')
  })

  it('is a list of structured fields, rounds quotas down and times up, for any numbers and names', () => {
    const number = fc.oneof(fc.double({ noNaN: true }), fc.double({ min: 0, max: 100, noNaN: true }))
    // The unit `binary` has the same values, and takes a second to begin.
    const unit = fc.integer({ min: 0, max: 0x10_ffff }).map((point) => String.fromCodePoint(point))
    const some = fc.record<Quota>({
      policy: fc.string({ minLength: 1, unit }),
      guarantee: number,
      windowMs: fc.option(fc.double({ min: 1, noNaN: true }), { nil: undefined }),
      limit: number,
      remaining: number,
      resetAfterMs: number,
    })
    fc.assert(
      fc.property(fc.array(some, { minLength: 1, maxLength: 3 }), (quotas) => {
        const fields = rateLimitFields(quotas, 'always')
        const policies = parse(fields?.['RateLimit-Policy'] ?? '')
        const states = parse(fields?.['RateLimit'] ?? '')
        expect(policies.map(([name]) => name)).toEqual(quotas.map(({ policy }) => policyName(policy)))
        expect(states.map(([name]) => name)).toEqual(quotas.map(({ policy }) => policyName(policy)))
        for (const [i, { guarantee, windowMs, remaining, resetAfterMs }] of quotas.entries()) {
          const { q, w } = policies[i]![1]
          const { r, t } = states[i]![1]
          expect(q).toBeLessThanOrEqual(Math.max(0, guarantee))
          expect(r).toBeLessThanOrEqual(Math.max(0, remaining))
          expect(t).toBeGreaterThanOrEqual(Math.min(resetAfterMs / 1_000, 999_999_999_999_999))
          expect(w === undefined).toBe(windowMs === undefined)
          if (w !== undefined) expect(w).toBeGreaterThanOrEqual(1)
        }
      }),
      propertyRuns(),
    )
  })
})
