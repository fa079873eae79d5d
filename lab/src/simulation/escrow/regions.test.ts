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

function meanOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length
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
            const bound = Object.keys(demands).length * (2 * quantum + 1) + limit / 100
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

  it('lend what a tenant leaves as a flat escrow would, wherever it is', () => {
    const tenants = [
      { name: 'east', weight: 1, demands: { east: 1_000 } },
      { name: 'west', weight: 1, demands: { west: 1_000 } },
      { name: 'small', weight: 1, demands: { west: 100 } },
    ]
    const got = simulateRegions({ ...SCENARIO, limit: 900, seed: 1, tenants })
    expect(got.get('small')).toBe(100)
    for (const name of ['east', 'west']) expect(Math.abs(got.get(name)! - 400), name).toBeLessThanOrEqual(21)
  })

  it('give each tenant what a flat escrow does, whatever it wants where and when, silent heavy ones among them', () => {
    const tenant = fc.record({
      weight: fc.integer({ min: 1, max: 8 }),
      demands: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 60 }), {
        minKeys: 1,
        noNullPrototype: true,
      }),
      // Of a hundredth: one that has a unit or so admitted, some that want a little, and some that want it all.
      size: fc.constantFrom(1, 10, 100, 500),
    })
    fc.assert(
      fc.property(
        fc.array(tenant, { minLength: 3, maxLength: 7 }),
        fc.nat(),
        fc.integer({ min: 1, max: 10 }),
        fc.constantFrom('evenly' as const, 'any' as const),
        (some, seed, quantum, moments) => {
          const limit = 400
          const tenants = some.map(({ weight, demands, size }, at) => ({
            name: `t${at}`,
            weight,
            demands: Object.fromEntries(
              Object.entries(demands).map(([region, part]) => [region, Math.ceil((part * size) / 100)]),
            ),
          }))
          // What a flat escrow gives depends on the very moments, by up to a twentieth of the limit: so on average of some.
          const mean = (form: 'regions' | 'flat', name: string): number =>
            meanOf(runs[form].map((run) => run.get(name)!))
          const run = (form: 'regions' | 'flat') =>
            [0, 1, 2].map((more) =>
              simulateRegions({ limit, windowMs: 1_000, quantum, seed: seed + more, tenants, moments, form }),
            )
          const runs = { regions: run('regions'), flat: run('flat') }
          for (const { name, demands } of tenants) {
            // Beyond the first term, a tenant was off by a hundredth of the limit in 18 of 8000 worlds, by 3 of them in one.
            const bound = Object.keys(demands).length * (2 * quantum + 1) + limit / 25
            const [got, flat] = [mean('regions', name), mean('flat', name)]
            expect(Math.abs(got - flat), `${name}: ${got} of ${flat}`).toBeLessThanOrEqual(bound)
          }
        },
      ),
      propertyRuns(0.25),
    )
  })

  it.each([1, 2, 3])(
    'give each tenant what a flat escrow does, where some want less than their share, seed %d',
    (seed) => {
      const random = seededRandom(seed)
      const upTo = (most: number): number => Math.floor(random() * (most + 1))
      for (let world = 0; world < 10; world++) {
        const limit = 200 + upTo(1_000)
        const quantum = 1 + upTo(9)
        const tenants = Array.from({ length: 3 + upTo(4) }, (_, at) => {
          const wants = limit * (random() < 0.4 ? 0.02 + 0.2 * random() : 0.3 + 1.2 * random())
          const regions = ['a', 'b', 'c', 'd'].filter((_region, index) => index === at % 4 || random() < 0.4)
          const parts = regions.map((region) => [region, 0.05 + random()] as const)
          const sum = parts.reduce((total, [, part]) => total + part, 0)
          const demands = Object.fromEntries(parts.map(([region, part]) => [region, Math.ceil((wants * part) / sum)]))
          return { name: `t${at}`, weight: 1 + upTo(4), demands }
        })
        const shared = { limit, windowMs: 1_000, quantum, seed: world, tenants }
        const [got, flat] = [simulateRegions(shared), simulateRegions({ ...shared, form: 'flat' })]
        for (const { name, demands } of tenants) {
          const bound = Object.keys(demands).length * (2 * quantum + 1) + limit / 50
          const said = `world ${world}, ${name}: ${got.get(name)} of ${flat.get(name)}`
          expect(Math.abs(got.get(name)! - flat.get(name)!), said).toBeLessThanOrEqual(bound)
        }
      }
    },
  )
})
