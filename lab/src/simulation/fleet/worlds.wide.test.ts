import { describe, expect, it } from 'vitest'
import { mean } from '../../worlds/harm.js'
import { tryFleet } from './worlds.js'

describe('processes that share a clock, in random worlds', () => {
  const seeds = Array.from({ length: 60 }, (_, i) => i + 1)
  const trials = seeds.map(tryFleet).filter((trial) => trial !== undefined)

  it('do no more harm than one process, by half of a point', () => {
    expect(trials.length).toBeGreaterThan(seeds.length / 3)
    const harm = (way: 'one' | 'shared'): number => mean(trials.map((trial) => trial[way].harm).filter((x) => x >= 0))
    expect(harm('shared')).toBeLessThan(harm('one') + 0.005)
  })
  it('do not take failures of a few flows that ask for most for a shortage, because looks refuse those flows first', () => {
    const { shared } = tryFleet(225)!
    expect(shared.harm).toBeLessThan(0.1)
  })
})
