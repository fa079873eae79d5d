import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Refusal, refuse } from '../admission/refusal.js'
import { createGate } from '../create-gate.js'
import { budgetStage, escrow, type Reserve, WeightedFairEscrow } from '../escrow/index.js'
import { quota } from '../quota/index.js'
import { manualClock } from '../testing/manual-clock.js'
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
    ['store-error', false, 503],
    ['exhausted', false, 429],
    ['over-share', false, 429],
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

  it.each(['over-quota', 'never'])('says that it was a quota, which is not shared: %s', (reason) => {
    const { body } = httpRefusal(refuse('quota', reason, false, Number.POSITIVE_INFINITY), () => 0)
    expect(JSON.parse(body)).toMatchObject({ title: 'This client is over its quota', status: 429 })
  })

  it.each(['closed', 'error', 'store-error'])('names no policy where none was violated: %s', (reason) => {
    const { body } = httpRefusal(refuse('gate', reason, false, 1_000), () => 0)
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#temporary-reduced-capacity',
      title: 'The service is short of capacity',
      status: 503,
    })
  })
})

it.each([1e300, Number.MAX_VALUE, 1e24])('Retry-After is in digits alone, for any time: %d ms', (retryAfterMs) => {
  const { headers } = httpRefusal(refuse('own', 'later', false, retryAfterMs), () => 0.999)
  expect(headers['Retry-After']).toMatch(/^\d{15,16}$/)
})

/** The refusal by a gate with one budget of a cost that exceeds it. */
function overBudget(options: { reserve?: Reserve; spent: [tenant: string, cost: number][]; asks: number }) {
  const clock = manualClock(10_000)
  const { reserve = 'paced' } = options
  const escrow = new WeightedFairEscrow({ limit: 100, windowMs: 60_000, reserve, clock })
  const gate = createGate({ fair: false, stages: [budgetStage(escrow, { name: 'tokens "in"' })], clock })
  for (const [flow, cost] of options.spent) gate.admit({ flow, cost })
  const refusal = gate.admit({ flow: 'a', cost: options.asks }) as Refusal
  return { clock, escrow, refusal, asks: options.asks }
}

describe('the fields of a refusal by a budget', () => {
  it('tell what is left, and name the policy that was violated', () => {
    const { refusal } = overBudget({ spent: [['a', 98]], asks: 3 })
    const { headers, body, status } = httpRefusal(refusal, () => 0)
    expect(status).toBe(429)
    expect(headers).toEqual({
      'Retry-After': '3',
      'RateLimit-Policy': '"tokens \\"in\\"";q=100;w=60',
      RateLimit: '"tokens \\"in\\"";r=2;t=3',
    })
    expect(JSON.parse(body)['violated-policies']).toEqual(['tokens "in"'])
  })

  it.each([
    ['a budget below the cost', { budget: escrow({ limit: 9, windowMs: 60_000 }) }, 10],
    ['a burst below the cost', { quota: quota({ limit: 60, windowMs: 60_000, burst: 5 }) }, 10],
    ['a limit below 1', { quota: quota({ limit: 0.5, windowMs: 60_000 }) }, 1],
    ['a limit of 0', { quota: quota({ limit: 0, windowMs: 60_000 }) }, 1],
  ])('name no time where no retry can succeed: %s', (_, options, cost) => {
    const refusal = createGate({ fair: false, ...options }).admit({ flow: 'a', cost }) as Refusal
    expect(refusal.reason).toBe('never')
    const { headers, retryAfterSeconds, status } = httpRefusal(refusal, () => 0)
    expect([status, headers, retryAfterSeconds]).toEqual([429, {}, undefined])
  })

  it('are not sent where clients are to know nothing', () => {
    const { refusal } = overBudget({ spent: [['a', 100]], asks: 1 })
    expect(httpRefusal(refusal, () => 0, false).headers).toEqual({ 'Retry-After': '50' })
  })

  it('say no later time than Retry-After, and none at which it would still be in vain', () => {
    const { clock, escrow, refusal } = overBudget({ spent: [['a', 100]], asks: 1 })
    expect(httpRefusal(refusal, () => 0).headers).toEqual({
      'Retry-After': '50',
      'RateLimit-Policy': '"tokens \\"in\\"";q=100;w=60',
      RateLimit: '"tokens \\"in\\"";r=0;t=50',
    })
    clock.advance(49_999)
    expect(escrow.peek('a', 1).allowed).toBe(false)
    clock.advance(1)
    expect(escrow.peek('a', 1).allowed).toBe(true)
  })

  it('never say a later time than Retry-After does, nor let it be later than what would be admitted', () => {
    const tenant = fc.constantFrom('a', 'b', 'c')
    const cost = fc.integer({ min: 1, max: 60 })
    const reserve = fc.constantFrom<Reserve>('paced', 'strict')
    const spent = fc.array(fc.tuple(tenant, cost), { minLength: 1, maxLength: 8 })
    let refused = 0
    fc.assert(
      fc.property(spent, cost, reserve, fc.nat(), (spent, asks, reserve, seed) => {
        const { clock, escrow, refusal } = overBudget({ spent, asks, reserve })
        if (refusal.admitted !== false) return
        refused++
        const { headers } = httpRefusal(refusal, seededRandom(seed))
        const [, r, t] = /;r=(\d+);t=(\d+)$/.exec(headers['RateLimit'] ?? '') ?? []
        expect(Number(headers['Retry-After'])).toBeGreaterThanOrEqual(Number(t))
        expect(Number(r)).toBeLessThan(asks)
        // Without jitter it is the escrow's time; just before it the refusal still stands.
        const least = Number(httpRefusal(refusal, () => 0).headers['Retry-After'])
        expect(least).toBe(Math.ceil(refusal.retryAfterMs / 1_000))
        expect(Number(t)).toBe(least)
        clock.advance(refusal.retryAfterMs - 1)
        expect(escrow.peek('a', asks).allowed).toBe(false)
      }),
      { numRuns: 300 },
    )
    expect(refused).toBeGreaterThan(50)
  })
})
