import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { refuse } from '../admission/refusal.js'
import { seededRandom } from '../testing/seeded-random.js'
import { httpRefusal, retryAfterSeconds, statusOfRefusal } from './refusal.js'

describe('the status of a refusal', () => {
  it.each([
    ['unfair', false, 429],
    ['budget', false, 429],
    ["a third party's word", false, 429],
    ["a third party's word", true, 503],
    ['overload', true, 503],
    ['overload', false, 503],
    ['deadline', false, 503],
    ['too-wide', false, 503],
    ['closed', false, 503],
    ['error', false, 503],
  ] as const)('%s with shortage %s: %d', (reason, shortage, status) =>
    expect(statusOfRefusal(refuse('stage', reason, shortage, 0))).toBe(status),
  )
})

describe('Retry-After', () => {
  it('is a whole number of seconds, never too early, and never half as late again plus one', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e9, noNaN: true }), fc.nat(), (ms, seed) => {
        const seconds = retryAfterSeconds(ms, seededRandom(seed)) ?? -1
        expect(Number.isInteger(seconds)).toBe(true)
        expect(seconds).toBeGreaterThanOrEqual(Math.max(1, ms / 1000))
        expect(seconds).toBeLessThanOrEqual(Math.max(1, Math.ceil(ms / 1000)) * 1.5 + 1)
      }),
    )
  })

  it('sends clients that were refused together back at different times', () => {
    const random = seededRandom(7)
    const seconds = Array.from({ length: 1_000 }, () => retryAfterSeconds(10_000, random) ?? 0)
    const counts = [10, 11, 12, 13, 14, 15].map((second) => seconds.filter((other) => other === second).length)
    for (const count of counts) expect(count).toBeGreaterThan(100)
    expect(counts.reduce((sum, count) => sum + count)).toBe(1_000)
  })

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('is left out if the time is %d', (ms) =>
    expect(retryAfterSeconds(ms, () => 0)).toBeUndefined(),
  )
})

describe('the problem document', () => {
  it('names the stage as the policy that was violated', () => {
    const { status, retryAfterSeconds, body } = httpRefusal(refuse('fair', 'unfair', false, 1_500), () => 0)
    expect([status, retryAfterSeconds]).toEqual([429, 2])
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'This client is over its fair share',
      status: 429,
      'violated-policies': ['fair'],
    })
  })

  it('names no policy where none was violated', () => {
    const { body } = httpRefusal(refuse('gate', 'closed', false, 1_000), () => 0)
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'The service is short of capacity',
      status: 503,
    })
  })
})
