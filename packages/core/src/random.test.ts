import { afterEach, describe, expect, it, vi } from 'vitest'
import { createGate } from './create-gate.js'
import { blue } from './fair/blue.js'
import { httpRefusal } from './http/refusal.js'
import { requestQueue } from './queue/request-queue.js'
import { coinRandom, randomUint32, secretRandom, systemRandom } from './random.js'
import { loadShedder } from './shed/load-shedder.js'

afterEach(() => vi.restoreAllMocks())

describe.each([
  ['coins', coinRandom],
  ['secrets', secretRandom],
])('the generator of %s', (_, random) => {
  it('gives numbers in [0, 1), spread evenly, and no two alike', () => {
    const numbers = Array.from({ length: 5_000 }, random)
    for (const number of numbers) expect(number >= 0 && number < 1).toBe(true)
    // Each assertion fails with a chance below 1e-9: a mean off by 7 standard errors, 4 duplicates among 5 000 numbers
    // of 2^32.
    expect(Math.abs(numbers.reduce((sum, number) => sum + number, 0) / 5_000 - 0.5)).toBeLessThan(0.03)
    expect(new Set(numbers).size).toBeGreaterThan(4_996)
  })
})

describe('what clients can see of chance', () => {
  it('comes from the cryptographic generator, and nothing is asked of it before the first request', async () => {
    const host = vi.spyOn(Math, 'random')
    const platform = vi.spyOn(crypto, 'getRandomValues')
    const fair = blue({ failureIncrement: 0.5, rotateEveryMs: 1 })
    const shed = loadShedder({ signal: () => 0.5, from: 0, to: 1 })
    const gates = [{}, { fair }].map((options) =>
      createGate({ ...options, shed, queue: requestQueue({ concurrency: 4, queues: 8, perturbEveryMs: 5000 }) }),
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

describe('systemRandom', () => {
  it('gives numbers from 0 to below 1, evenly, and never asks Math.random', () => {
    const weak = vi.spyOn(Math, 'random')
    const counts = new Array<number>(10).fill(0)
    for (let i = 0; i < 20_000; i++) counts[Math.floor(systemRandom() * 10)]!++
    expect(weak).not.toHaveBeenCalled()
    // 2000 each; seven standard deviations.
    for (const count of counts) expect(Math.abs(count - 2_000)).toBeLessThan(300)
  })

  it('gives no number twice', () => {
    expect(new Set(Array.from({ length: 10_000 }, systemRandom)).size).toBe(10_000)
    expect(Number.isInteger(randomUint32(systemRandom))).toBe(true)
  })

  it('is answered by Math.random where the platform refuses, and by the platform again later', () => {
    const weak = vi.spyOn(Math, 'random').mockReturnValue(0.25)
    const refused = vi.spyOn(globalThis.crypto, 'getRandomValues').mockImplementation(() => {
      throw new Error('not outside of a request')
    })
    const seen = Array.from({ length: 2_000 }, systemRandom)
    expect(seen.at(-1)).toBe(0.25)
    refused.mockRestore()
    weak.mockClear()
    for (let i = 0; i < 2_000; i++) systemRandom()
    expect(weak).not.toHaveBeenCalled()
  })
})
