import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGate } from './create-gate.js'
import { httpRefusal } from './http/refusal.js'
import { coinRandom, secretRandom } from './random.js'

afterEach(() => vi.restoreAllMocks())

describe.each([
  ['coins', coinRandom],
  ['secrets', secretRandom],
])('the generator of %s', (_, random) => {
  it('gives numbers in [0, 1), spread evenly, and no two alike', () => {
    const numbers = Array.from({ length: 5_000 }, random)
    for (const number of numbers) expect(number >= 0 && number < 1).toBe(true)
    // Each has a chance below 1e-9 to fail: a mean off by 7 standard errors, 4 alike of 5 000 in 2^32.
    expect(Math.abs(numbers.reduce((sum, number) => sum + number, 0) / 5_000 - 0.5)).toBeLessThan(0.03)
    expect(new Set(numbers).size).toBeGreaterThan(4_996)
  })
})

describe('what clients can see of chance', () => {
  it('comes from the cryptographic generator, and nothing is asked of it before the first request', async () => {
    const host = vi.spyOn(Math, 'random')
    const platform = vi.spyOn(crypto, 'getRandomValues')
    const fair = { rule: 'blue', failureIncrement: 0.5, rotateEveryMs: 1 } as const
    const shed = { signal: () => 0.5, from: 0, to: 1 }
    const gates = [{}, { fair }].map((options) =>
      createGate({ ...options, shed, queue: { capacity: 4, queues: 8, perturbEveryMs: 5000 } }),
    )
    expect(platform).not.toHaveBeenCalled()
    for (const gate of gates)
      for (let i = 0; i < 200; i++) {
        const decision = await gate.admit({ flow: `${i % 3}`.repeat(200 + i) })
        if (decision.admitted) decision.finish(i % 2 === 0 ? 'failure' : 'success')
        else expect(httpRefusal(decision, coinRandom).retryAfterSeconds).toBeGreaterThan(0)
      }
    expect(platform).toHaveBeenCalled()
    expect(host).not.toHaveBeenCalled()
  })
})
