import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/manual-clock.js'
import { type Answer, type Combined, combine } from './decision.js'
import { WeightedFairEscrow } from './escrow.js'

const amount = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.double({ min: 0, noNaN: true }))
const answer: fc.Arbitrary<Answer> = fc.record(
  {
    allowed: fc.boolean(),
    reason: fc.constantFrom('over-share', 'exhausted', undefined),
    limit: amount,
    remaining: amount,
    retryAfterMs: amount,
    resetAfterMs: amount,
  },
  { requiredKeys: ['allowed'] },
)
const answers = fc.array(answer, { minLength: 1, maxLength: 5 })

/** Two answers may be equal in other words: one omits a default that another states. */
function said({ by, ...all }: Combined): object {
  const alone = combine(by)
  return { ...all, by: { ...alone, by: undefined } }
}

function combineAll([first, ...others]: readonly Answer[]): Combined {
  return combine(first!, ...others)
}

describe('combine', () => {
  it('allows only what all allow, and is as strict in each number as the strictest', () => {
    fc.assert(
      fc.property(answers, (parts) => {
        const all = combineAll(parts)
        expect(all.allowed).toBe(parts.every(({ allowed }) => allowed))
        expect(all.limit).toBe(Math.min(...parts.map(({ limit = Number.POSITIVE_INFINITY }) => limit)))
        const left = ({ allowed, remaining = allowed ? Number.POSITIVE_INFINITY : 0 }: Answer): number => remaining
        expect(all.remaining).toBe(Math.min(...parts.map(left)))
        expect(all.resetAfterMs).toBe(Math.max(...parts.map(({ resetAfterMs = 0 }) => resetAfterMs)))
        const refusing = parts.filter(({ allowed }) => !allowed)
        expect(all.retryAfterMs).toBe(Math.max(0, ...refusing.map(({ retryAfterMs = 0 }) => retryAfterMs)))
      }),
    )
  })

  it('says which decided: one of those that refuse, and the one to wait for; else the one that leaves least', () => {
    fc.assert(
      fc.property(answers, (parts) => {
        const { by, ...all } = combineAll(parts)
        expect(parts).toContain(by)
        expect(by.allowed).toBe(all.allowed)
        if (all.allowed) expect(by.remaining ?? Number.POSITIVE_INFINITY).toBe(all.remaining)
        else expect([by.retryAfterMs ?? 0, by.reason]).toEqual([all.retryAfterMs, all.reason])
      }),
    )
  })

  it('does not depend on the order', () => {
    const shuffled = answers.chain((parts) => fc.tuple(fc.constant(parts), fc.shuffledSubarray(parts, full(parts))))
    fc.assert(
      fc.property(shuffled, ([a, b]) => {
        expect(said(combineAll(a))).toEqual(said(combineAll(b)))
      }),
    )
  })

  it('changes nothing when an answer comes twice, or is a combination itself', () => {
    fc.assert(
      fc.property(answers, answers, (a, b) => {
        expect(said(combineAll([...a, ...a]))).toEqual(said(combineAll(a)))
        const { by: _, ...nested } = combine(combineAll(a), combineAll(b))
        const { by: __, ...flat } = combineAll([...a, ...b])
        expect(nested).toEqual(flat)
      }),
    )
  })

  it('takes the answers of escrows as they are, beside those of anything else', () => {
    const clock = manualClock(20_000)
    const minute = new WeightedFairEscrow({ limit: 10, windowMs: 60_000, clock })
    const second = new WeightedFairEscrow({ limit: 4, windowMs: 1_000, clock })
    const [a, b] = [minute.check('a', 4), second.check('a', 4)]
    expect(combine<Answer>(a, b, { allowed: true })).toEqual({
      allowed: true,
      reason: undefined,
      limit: 4,
      remaining: 0,
      retryAfterMs: 0,
      resetAfterMs: 40_000,
      by: b,
    })
    expect(combine<Answer>(minute.check('a', 1), second.check('a', 1), { allowed: true })).toMatchObject({
      allowed: false,
      reason: 'exhausted',
      remaining: 0,
      retryAfterMs: 1_000,
    })
  })
})

it('an answer that is none is refused by name', () => {
  expect(() => combine(null as never)).toThrow('an answer must be an object, got null')
  expect(() => combine({ allowed: true }, undefined as never)).toThrow('an answer must be an object, got undefined')
})

function full(parts: readonly unknown[]): { minLength: number; maxLength: number } {
  return { minLength: parts.length, maxLength: parts.length }
}
