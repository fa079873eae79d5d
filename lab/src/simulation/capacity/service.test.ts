import { fixed } from '@fairlead/core/queue'
import { describe, expect, it } from 'vitest'
import type { Machine } from './service.js'
import { type Second, simulate } from './simulate.js'

/** Requests per second at a fixed limit, after the first ten seconds. */
function throughput(limit: number, machine: Machine, perSecond = Number.POSITIVE_INFINITY): number {
  const seconds = simulate(fixed(limit), { seed: 1, stretches: [{ forMs: 70_000, machine, perSecond }] })
  const late: Second[] = seconds.slice(10)
  return late.reduce((sum, { served }) => sum + served, 0) / late.length
}

describe('the simulated service', () => {
  const alike = { workMs: 50, spread: 'none' } as const

  it('serves as many as it has cores for, and no more', () => {
    expect(throughput(4, { kind: 'sharing', cores: 8, ...alike })).toBeCloseTo(80, 6)
    expect(throughput(8, { kind: 'sharing', cores: 8, ...alike })).toBeCloseTo(160, 6)
    expect(throughput(24, { kind: 'servers', cores: 8, ...alike })).toBeCloseTo(160, 6)
  })

  it('takes a tenth longer for all work with every c requests beyond c cores', () => {
    expect(throughput(16, { kind: 'sharing', cores: 8, ...alike }) / 160).toBeCloseTo(1 / 1.1, 2)
    expect(throughput(88, { kind: 'sharing', cores: 8, ...alike }) / 160).toBeCloseTo(1 / 2, 1)
  })

  it('has room for any number elsewhere', () => {
    const machine: Machine = { kind: 'sharing', cores: 8, workMs: 20, elsewhereMs: 80 }
    expect(throughput(8, { ...machine, spread: 'none' })).toBeCloseTo(80, 6)
    // All 8 cores busy, and by Little's law 32 elsewhere; a few more, for bursts.
    expect(throughput(48, machine)).toBeGreaterThan(0.85 * 400)
  })

  it('serves exponential work by its mean, in one order as in the other', () => {
    for (const kind of ['sharing', 'servers'] as const) {
      expect(throughput(8, { kind, cores: 8, workMs: 50 }) / 160).toBeCloseTo(1, 1)
      expect(throughput(8, { kind, cores: 8, workMs: 10, slowShare: 0.1, slowWorkMs: 400 }) / 160).toBeCloseTo(1, 1)
    }
  })

  it('loses nobody where one stretch meets the next', () => {
    const stretch = { forMs: 1_000, machine: { kind: 'sharing', cores: 8, ...alike } } as const
    const seconds = simulate(fixed(8), { seed: 1, stretches: Array.from({ length: 60 }, () => stretch) })
    expect(seconds).toHaveLength(60)
    expect(seconds.slice(1).reduce((sum, { served }) => sum + served, 0) / 59).toBeCloseTo(160, 0)
  })

  it('serves what is asked for where it has room', () => {
    expect(throughput(1_000, { kind: 'sharing', cores: 8, workMs: 50 }, 40) / 40).toBeCloseTo(1, 1)
  })
})
