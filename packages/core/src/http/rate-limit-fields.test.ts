import { describe, expect, it } from 'vitest'
import { WeightedFairEscrow } from '../escrow/index.js'
import { manualClock } from '../testing/manual-clock.js'
import { rateLimitFields } from './rate-limit-fields.js'

const policy = { windowMs: 60_000 }
const state = { limit: 100, remaining: 40, guarantee: 100, resetAfterMs: 12_345 }

describe('rateLimitFields', () => {
  it('tells the policy always, and the state near exhaustion', () => {
    expect(rateLimitFields(state, policy)).toEqual({ policy: '"budget";q=100;w=60', rateLimit: undefined })
    expect(rateLimitFields({ ...state, remaining: 10 }, policy).rateLimit).toBeUndefined()
    expect(rateLimitFields({ ...state, remaining: 9 }, policy).rateLimit).toBe('"budget";r=9;t=13')
    expect(rateLimitFields({ ...state, limit: 2, remaining: 0.9 }, policy).rateLimit).toBe('"budget";r=0;t=13')
  })

  it('tells the state always where that is wanted', () => {
    expect(rateLimitFields(state, { ...policy, state: 'always' }).rateLimit).toBe('"budget";r=40;t=13')
  })

  it('rounds quotas down and times up, and sends nothing that a field cannot carry', () => {
    const odd = { limit: 33.4, remaining: 0, guarantee: 33.4, resetAfterMs: 0.5 }
    expect(rateLimitFields(odd, { windowMs: 1500 })).toEqual({
      policy: '"budget";q=33;w=2',
      rateLimit: '"budget";r=0;t=1',
    })
    const huge = { ...odd, guarantee: 2 ** 53, remaining: -1e-9 }
    expect(rateLimitFields(huge, { windowMs: 1 })).toEqual({
      policy: '"budget";q=999999999999999;w=1',
      rateLimit: '"budget";r=0;t=1',
    })
  })

  it('quotes the name, and refuses one that cannot be quoted', () => {
    expect(rateLimitFields(state, { ...policy, name: 'a "b" \\c' }).policy).toBe('"a \\"b\\" \\\\c";q=100;w=60')
    expect(() => rateLimitFields(state, { ...policy, name: 'naïve' })).toThrow('name must be of printable ASCII')
    expect(() => rateLimitFields(state, { ...policy, name: '' })).toThrow('name must be of printable ASCII')
  })

  it('takes an escrow’s decision as it is', () => {
    const escrow = new WeightedFairEscrow({ limit: 10, windowMs: 60_000, clock: manualClock(20_000) })
    expect(rateLimitFields(escrow.check('a', 10), policy)).toEqual({
      policy: '"budget";q=10;w=60',
      rateLimit: '"budget";r=0;t=40',
    })
  })
})
