import { describe, expect, it } from 'vitest'
import { noisy, SETTLED } from './fixtures/noisy.js'

describe('after ten minutes', () => {
  it('an old proof is tested by all processes together, for seconds', () => {
    const engaged: number[] = []
    const fleet = noisy({
      seconds: 620,
      each(_, { processes }) {
        engaged.push(processes.filter(({ tracker }) => tracker.snapshot().engaged).length)
      },
    })
    const tested = engaged.slice(600).filter((processes) => processes < 4)
    expect(engaged.slice(SETTLED, 600).every((processes) => processes === 4)).toBe(true)
    expect(tested).toContain(0)
    expect(tested.length).toBeLessThan(10)
    expect(fleet.quiet(600, 620).mean).toBeGreaterThan(0.93)
  })

  it('processes on their own test old proofs at different moments, and do not take the share of others for capacity', () => {
    for (const seed of [1, 2, 3]) {
      const fleet = noisy({ processes: 8, shared: false, seconds: 900, seed })
      expect(fleet.quiet(600, 900).mean).toBeGreaterThan(0.86)
      expect(fleet.failedShare(600, 900)).toBeLessThan(0.15)
    }
  })
})
