import { describe, expect, it } from 'vitest'
import { type CreditRequest, Refusals, type RefusedRequest } from './reports.js'

/** Tenant `a`, of weight 2, was refused 5 until 100; it had used 50 per weight. */
const REFUSAL: RefusedRequest = { tenant: 'a', weight: 2, share: 50, need: 5, untilMs: 100, isExhausted: false }

function refusals(...some: Partial<RefusedRequest>[]): Refusals {
  const all = new Refusals()
  for (const one of some) all.add({ ...REFUSAL, ...one }, 0)
  return all
}

/** Another tenant that is like the one that was refused. */
function other(more: Partial<CreditRequest> = {}): CreditRequest {
  return { tenant: 'b', weight: 2, share: 50, need: 5, ...more }
}

describe('what the pool refused', () => {
  it('holds for the tenant until the pool said to come back, whatever else is refused meanwhile', () => {
    const all = refusals({}, { tenant: 'c', share: 10, untilMs: 30 })
    expect(all.of({ tenant: 'a', weight: 2, share: 0, need: 5 }, 99)?.untilMs).toBe(100)
    expect(all.of({ tenant: 'a', weight: 2, share: 0, need: 5 }, 100)).toBeUndefined()
  })

  it('does not hold for less', () => {
    expect(refusals({}).of({ tenant: 'a', weight: 2, share: 50, need: 4 }, 0)).toBeUndefined()
  })

  it('tells of those that have used more per weight, weigh no more and need no less', () => {
    const all = refusals({})
    expect(all.of(other(), 0)).toMatchObject({ tenant: 'a' })
    expect(all.of(other({ share: 60, weight: 1, need: 9 }), 0)).toMatchObject({ tenant: 'a' })
    expect(all.of(other({ share: 49 }), 0)).toBeUndefined()
    // Its claim may be large enough, though it has used more of it.
    expect(all.of(other({ share: 60, weight: 3 }), 0)).toBeUndefined()
    expect(all.of(other({ need: 4 }), 0)).toBeUndefined()
  })

  it('tells the longest that holds', () => {
    const all = refusals({ tenant: 'c', untilMs: 40 }, { tenant: 'd', untilMs: 70 }, { tenant: 'e', untilMs: 20 })
    expect(all.of(other(), 0)?.untilMs).toBe(70)
  })

  it('holds for everybody if there is not so much left, until there is', () => {
    const all = refusals({ isExhausted: true })
    const light = other({ weight: 9, share: 0 })
    expect(all.of(light, 0)?.isExhausted).toBe(true)
    expect(all.of({ ...light, need: 4 }, 0)).toBeUndefined()
    all.leave(4.9)
    expect(all.of(light, 0)?.isExhausted).toBe(true)
    all.leave(5)
    expect(all.of(light, 0)).toBeUndefined()
  })

  it('is what was said last to a tenant, and no more than 32 of them', () => {
    expect(refusals({}, { untilMs: 60 }).of(other(), 0)?.untilMs).toBe(60)
    // Each has used less per weight than those before, so none tells of another.
    const all = refusals(...Array.from({ length: 40 }, (_, at) => ({ tenant: `t${at}`, share: 100 - at })))
    const asked = Array.from({ length: 40 }, (_, at) => all.of(other({ tenant: `t${at}`, share: 0 }), 0))
    expect(asked.filter((refusal) => refusal !== undefined)).toHaveLength(32)
    expect(asked[39]).toMatchObject({ tenant: 't39' })
  })
})
