import { afterEach, describe, expect, it, vi } from 'vitest'
import { randomUint32, systemRandom } from './random.js'

afterEach(() => vi.restoreAllMocks())

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
