import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../fixtures/property-runs.js'
import { Arrivals } from './arrivals.js'

const WEIGHTS: Record<string, number> = { a: 1, b: 2, c: 4, d: 0.5, huge: 1e12, tiny: 1e-9 }

/** To within what rounding may leave of weights that were there before. */
function expectNear(weight: number, sum: number): void {
  expect(Math.abs(weight - sum)).toBeLessThanOrEqual(1e-8 * sum)
}

describe('the weight that a member tells the pool', () => {
  it('is that of all that are active or wait, each once', () => {
    const step = fc.tuple(
      fc.constantFrom('arrive', 'depart', 'activate', 'begin', 'close' as const),
      fc.constantFrom(...Object.keys(WEIGHTS)),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), fc.constantFrom(3, 100), (steps, maxTenants) => {
        const ledger = { weight: 0, tenants: 0 }
        const arrivals = new Arrivals(ledger, maxTenants)
        const active = new Set<string>()
        let waiting: string[] = []
        let isOpen = false
        for (const [what, tenant] of steps) {
          if (what === 'arrive') {
            arrivals.arrive(tenant, WEIGHTS[tenant]!)
            waiting.push(tenant)
          } else if (what === 'depart' && waiting.includes(tenant)) {
            arrivals.depart(tenant)
            waiting = waiting.toSpliced(waiting.indexOf(tenant), 1)
          } else if (what === 'activate' && isOpen && !active.has(tenant) && active.size < maxTenants) {
            arrivals.activate(tenant)
            active.add(tenant)
            ledger.tenants++
            ledger.weight += WEIGHTS[tenant]!
          } else if (what === 'begin') {
            arrivals.begin()
            active.clear()
            Object.assign(ledger, { weight: 0, tenants: 0 })
            isOpen = true
          } else if (what === 'close') isOpen = false
          const full = isOpen && active.size >= maxTenants
          const counted = new Set([...(isOpen ? active : []), ...(full ? [] : waiting)])
          const sum = (names: Iterable<string>): number => [...names].reduce((total, name) => total + WEIGHTS[name]!, 0)
          expectNear(arrivals.weight(isOpen), sum(counted))
          const withOne = full ? counted : new Set([...counted, tenant])
          expectNear(arrivals.weight(isOpen, tenant, WEIGHTS[tenant]!), sum(withOne))
        }
      }),
      propertyRuns(),
    )
  })
})
