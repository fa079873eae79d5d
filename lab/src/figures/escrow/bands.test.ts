import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { COARSE, coarseUse, MOST_COSTS } from './coarse.js'
import { CounterStore } from './counter-store.js'
import { TWO } from './fleet.js'
import { fleetOf } from './fleet-run.js'
import { claimOf, lateness } from './regions.js'
import { returnsOf } from './returns.js'
import { RULES } from './rule.js'
import { SCENARIOS } from './scenarios.js'
import { EAGER, entitledOf, sharesOf } from './shares.js'
import { utilise } from './utilisation.js'

const SOME = { part: 1, seeds: 10 }
const FEW = { part: 1, seeds: 2 }

describe('what the escrow uses', () => {
  it.each(SCENARIOS.map((scenario) => [scenario.title, scenario] as const))('%s', (_title, scenario) => {
    const { used, left, mayBeLeft } = utilise(scenario, 'paced', FEW)
    if (scenario.goal === 'all that fits') expect(left).toBeLessThan(mayBeLeft)
    else expect(used).toBeGreaterThanOrEqual(scenario.goal)
    for (const way of ['excess', 'whole'] as const)
      expect(utilise(scenario, way, FEW).used).toBeLessThanOrEqual(used + 1e-9)
  })

  it.each([1, 150])('what others leave, by calls of %d of 30 000, though all come back up to T/60 late', (cost) => {
    const { used, apart, asked, allowed } = returnsOf([4, 4, 1, 1], cost, 1 / 60, { part: 1, seeds: 1 })
    expect(used).toBeGreaterThan(0.99)
    expect(apart).toBeLessThan(0.01)
    expect(asked).toBeLessThan(2 * allowed)
  })

  it('costs as large as half of the limit leave little', () => {
    for (const set of COARSE)
      for (const [i, most] of MOST_COSTS.entries())
        expect(coarseUse(set, most, RULES.paced, SOME), `${set.title}, ${most}`).toBeGreaterThan(set.goals[i]! - 0.04)
  })
})

describe('who uses it', () => {
  it('units that an idle tenant leaves go by weight, though the light one asks ten times as often', () => {
    const entitled = entitledOf(EAGER)
    const paced = sharesOf(EAGER, 'paced', FEW)
    for (const [i, units] of paced.entries()) expect(Math.abs(units - entitled[i]!)).toBeLessThan(5)
    expect(sharesOf(EAGER, 'excess', FEW)[1]).toBe(400)
  })

  it.each(byWidth([0.25], [0.25, 0.5, 0.75]))(
    'a heavy region that comes at %d T gets its claim, of a counter next to nothing',
    (at) => {
      const { left, got } = lateness(at, 'ours', FEW)
      expect(got).toBeGreaterThanOrEqual(claimOf(at))
      expect(got).toBeLessThan(0.6 * left)
      expect(lateness(at, 'counter', FEW).got).toBeLessThan(0.15 * left)
    },
  )
  it('two processes get by weight, of a counter the same', async () => {
    const trial = { limit: 1_000, quantum: 30, processes: TWO }
    const effort = { part: 0.3, seeds: 1 }
    const ours = await fleetOf('ours', trial, effort)
    const counter = await fleetOf('counter', { ...trial, storeOf: (clock) => new CounterStore(clock) }, effort)
    expect(Math.abs(ours.byTenant['heavy']! - 800)).toBeLessThanOrEqual(30)
    expect(ours.most).toBeLessThanOrEqual(1_000)
    expect(Math.abs(counter.byTenant['heavy']! - 500)).toBeLessThanOrEqual(30)
  })
})
