import { weightedMaxMin } from '@fairlead/core/escrow'
import { seededRandom } from '@fairlead/core/testing'
import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type RegionalTenant, simulateRegions } from './regions.js'

const SEEDS = Array.from({ length: 10 }, (_, at) => at + 1)

/** Six tenants in some of three regions, asking for `least` to `least + spread` in each. */
function tenantsOf(seed: number, least: number, spread: number): RegionalTenant[] {
  const random = seededRandom(seed)
  return Array.from({ length: 6 }, (_, at) => {
    const regions = ['a', 'b', 'c'].filter((_region, index) => index === at % 3 || random() < 0.6)
    const demands = Object.fromEntries(regions.map((region) => [region, least + Math.floor(random() * spread)]))
    return { name: `t${at}`, weight: 1 + Math.floor(random() * 4), demands }
  })
}

function demandOf({ demands }: RegionalTenant): number {
  return Object.values(demands).reduce((sum, demand) => sum + demand, 0)
}

function idealOf(tenants: readonly RegionalTenant[], limit: number): number[] {
  return weightedMaxMin(
    tenants.map(demandOf),
    tenants.map(({ weight }) => weight),
    limit,
  )
}

const SCENARIO = { limit: 2_000, windowMs: 1_000, quantum: 10 }

describe('regions on one pool', () => {
  it.each(SEEDS)('give each tenant what a flat escrow would, where all want more, seed %d', (seed) => {
    const tenants = tenantsOf(seed, 900, 900)
    const got = simulateRegions({ ...SCENARIO, seed, tenants })
    const ideals = idealOf(tenants, SCENARIO.limit)
    for (const [at, { name, demands }] of tenants.entries()) {
      const bound = Object.keys(demands).length * (2 * SCENARIO.quantum + 1)
      expect(Math.abs(got.get(name)! - ideals[at]!), `${name}: ${got.get(name)} of ${ideals[at]}`).toBeLessThanOrEqual(
        bound,
      )
    }
  })

  it('give each tenant what a flat escrow would, where all want more, whoever is where', () => {
    const regions = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 })
    const tenant = fc.record({
      weight: fc.integer({ min: 1, max: 4 }),
      regions,
      part: fc.integer({ min: 0, max: 100 }),
    })
    fc.assert(
      fc.property(
        fc.array(tenant, { minLength: 2, maxLength: 4 }),
        fc.nat(),
        fc.integer({ min: 1, max: 10 }),
        (some, seed, quantum) => {
          const limit = 200
          const tenants = some.map(({ weight, regions, part }, at) => ({
            name: `t${at}`,
            weight,
            // In each region it asks for as much as there is, and more.
            demands: Object.fromEntries(regions.map((region) => [region, limit + part])),
          }))
          const got = simulateRegions({ limit, windowMs: 1_000, quantum, seed, tenants })
          const ideals = idealOf(tenants, limit)
          for (const [at, { name, demands }] of tenants.entries()) {
            // In one world of some hundreds a tenant is 4 % of the limit off.
            const bound = Object.keys(demands).length * (2 * quantum + 1) + limit / 20
            expect(
              Math.abs(got.get(name)! - ideals[at]!),
              `${name}: ${got.get(name)} of ${ideals[at]}`,
            ).toBeLessThanOrEqual(bound)
          }
        },
      ),
      propertyRuns(0.25),
    )
  })

  it.each(SEEDS)('use it all, and never more, whatever is asked for where, seed %d', (seed) => {
    const tenants = tenantsOf(seed, 50, 1_000)
    const got = simulateRegions({ ...SCENARIO, seed, tenants })
    const sum = [...got.values()].reduce((total, each) => total + each, 0)
    const wanted = Math.min(
      SCENARIO.limit,
      tenants.reduce((total, tenant) => total + demandOf(tenant), 0),
    )
    expect(sum).toBeLessThanOrEqual(SCENARIO.limit)
    expect(sum).toBeGreaterThanOrEqual(0.99 * wanted)
  })

  it('lend what a tenant leaves, in its own region first', () => {
    const tenants = [
      { name: 'east', weight: 1, demands: { east: 1_000 } },
      { name: 'west', weight: 1, demands: { west: 1_000 } },
      { name: 'small', weight: 1, demands: { west: 100 } },
    ]
    const got = simulateRegions({ ...SCENARIO, limit: 900, seed: 1, tenants })
    const flat = simulateRegions({ ...SCENARIO, limit: 900, seed: 1, tenants, form: 'flat' })
    expect(got.get('small')).toBe(100)
    expect(flat.get('small')).toBe(100)
    // A flat escrow would have split that evenly.
    expect(Math.abs(flat.get('east')! - flat.get('west')!)).toBeLessThanOrEqual(2)
    expect(got.get('east')).toBeGreaterThanOrEqual(300 - 10)
    expect(got.get('west')).toBeGreaterThan(got.get('east')!)
  })
})
