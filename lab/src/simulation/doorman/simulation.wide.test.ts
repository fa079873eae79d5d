import { describe, expect, it } from 'vitest'
import { seededChances } from './chance.js'
import { type Findings, measure, measureSettling } from './measure.js'
import { ourSystem, realSystem } from './our-system.js'
import * as scenarios from './published-scenarios.js'
import { publishedSystem } from './published-system.js'
import type { Scenario } from './scenario.js'
import { LEVEL, secondsToFollow, TREE, welcome } from './shifts.js'

/** Few seeds here: the figures in the docs have more. */
const SEEDS = [1, 2, 3]

function ours(scenario: Scenario, seeds: readonly number[] = SEEDS): Findings[] {
  return seeds.map((seed) => measure(scenario, ourSystem(), seededChances(seed)))
}

function published(scenario: Scenario, seeds: readonly number[] = SEEDS): Findings[] {
  return seeds.map((seed) => measure(scenario, publishedSystem, seededChances(seed)))
}

function mean(findings: readonly Findings[], key: keyof Findings): number {
  return findings.reduce((sum, each) => sum + each[key], 0) / findings.length
}

function expectNeverOver(findings: readonly Findings[], nodesToo: boolean): void {
  for (const { most, samplesOver, nodesOver } of findings) {
    expect(most).toBeLessThanOrEqual(1 + 1e-9)
    expect(samplesOver).toBe(0)
    if (nodesToo) expect(nodesOver).toBe(0)
  }
}

describe('the published scenarios with our servers', () => {
  it.each([scenarios.one, scenarios.two, scenarios.four])(
    '$name: nothing wasted, nobody worse off than with the published rule',
    (scenario) => {
      const [findings, theirs] = [ours(scenario), published(scenario)]
      expectNeverOver(findings, true)
      expect(mean(findings, 'handedOutOfWanted')).toBeGreaterThanOrEqual(0.99)
      expect(mean(findings, 'useful')).toBeGreaterThanOrEqual(mean(theirs, 'useful') - 0.004)
    },
  )

  it('three: over when leases have run out, until the next election, not longer', () => {
    const findings = ours(scenarios.three)
    expectNeverOver(findings, true)
    expect(mean(findings, 'handedOut')).toBeGreaterThanOrEqual(0.9)
    expect(mean(published(scenarios.three), 'handedOut')).toBeLessThan(0.65)
  })

  it.each([scenarios.five, scenarios.six])('$name: a tree of thirteen nodes', (scenario) => {
    const [findings, theirs] = [ours(scenario), published(scenario)]
    expectNeverOver(findings, true)
    expect(mean(findings, 'handedOut')).toBeGreaterThanOrEqual(0.995)
    expect(mean(findings, 'misallocated')).toBeLessThanOrEqual(0.02)
    expect(mean(findings, 'messages')).toBeLessThanOrEqual(1.04 * mean(theirs, 'messages'))
    expect(mean(theirs, 'nodesOver')).toBeGreaterThan(1_000)
  })

  it('seven: an hour with mishaps', () => {
    const seeds = [1, 2]
    const [findings, theirs] = [ours(scenarios.seven, seeds), published(scenarios.seven, seeds)]
    expectNeverOver(findings, true)
    for (const { handedOut } of findings) expect(handedOut).toBeGreaterThanOrEqual(0.97)
    expect(mean(findings, 'handedOut')).toBeGreaterThanOrEqual(0.985)
    expect(mean(findings, 'misallocated')).toBeLessThanOrEqual(0.025)
    expect(mean(findings, 'messages')).toBeLessThanOrEqual(1.05 * mean(theirs, 'messages'))
    expect(mean(theirs, 'most')).toBeGreaterThan(1)
    expect(mean(theirs, 'misallocated')).toBeGreaterThan(0.3)
  }, 120_000)

  it('seven, with slow and lost messages', () => {
    const findings = ours(scenarios.sevenFarAway, [1])
    expectNeverOver(findings, false)
    expect(mean(findings, 'handedOut')).toBeGreaterThanOrEqual(0.97)
  }, 120_000)

  it('never too much in a storm of mishaps either', () => {
    expectNeverOver(ours(scenarios.sevenInAStorm, [1]), false)
    expectNeverOver(ours(scenarios.sevenInChaos, [10, 20]), false)
  }, 120_000)
})

describe('the client that everybody uses, with our servers', () => {
  it('five: a tree of thirteen nodes', async () => {
    const findings = await measureSettling({ ...scenarios.five, seconds: 150 }, realSystem(), seededChances(1))
    expectNeverOver([findings], true)
    expect(findings.handedOut).toBeGreaterThanOrEqual(0.99)
    expect(findings.misallocated).toBeLessThanOrEqual(0.02)
  }, 60_000)

  it('seven, with slow and lost messages, for a while', async () => {
    const scenario = { ...scenarios.sevenFarAway, seconds: 300 }
    const findings = await measureSettling(scenario, realSystem(), seededChances(1))
    expectNeverOver([findings], false)
    expect(findings.handedOut).toBeGreaterThanOrEqual(0.95)
  }, 120_000)
})

describe('demand that moves', () => {
  it('a region that comes back, and one that leaves, are followed through three levels', () => {
    for (const seed of [1, 4, 7]) {
      expect(secondsToFollow(TREE, ourSystem(), seededChances(seed), 'return', seed)).toBeLessThanOrEqual(24)
      expect(secondsToFollow(TREE, ourSystem(), seededChances(seed), 'leave', seed)).toBeLessThanOrEqual(15)
    }
  })

  it('so are clients of a single server that refreshes every 16 s', () => {
    const system = ourSystem({ refreshSeconds: 16, eager: true })
    for (const seed of [1, 6, 11]) {
      expect(secondsToFollow(LEVEL, system, seededChances(seed), 'return', seed)).toBeLessThanOrEqual(20)
    }
  })

  it('spikes cost little of the capacity, and few messages', () => {
    const system = ourSystem({ refreshSeconds: 16 })
    const { handedOut, messages, most } = measure(scenarios.spikes, system, seededChances(1))
    expect(most).toBeLessThanOrEqual(1 + 1e-9)
    expect(handedOut).toBeGreaterThanOrEqual(0.996)
    expect(messages / ((45 * scenarios.spikes.seconds) / 16)).toBeLessThanOrEqual(1.45)
  })

  it.each([0, 1, 2])('a new client is not kept waiting by a change of master at level %i', (level) => {
    for (const away of [0, 10, 30]) {
      const { something, share } = welcome(ourSystem(), seededChances(level + 1), level, away, level)
      expect(something).toBeLessThanOrEqual(2 * 8 * 0.5 ** level + 1)
      expect(share).toBeLessThanOrEqual(14)
    }
  })
})
