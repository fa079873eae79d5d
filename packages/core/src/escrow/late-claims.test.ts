import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChildClaims, Plane } from './claims.js'

const slot = fc.nat(12)
const change = fc.record({ slot, passed: fc.nat(40), weight: fc.integer({ min: 1, max: 3 }), drops: fc.nat(9) })
const level = fc.integer({ min: 1, max: 20 })

describe('the claims of tenants', () => {
  it('are those of a list, whatever those beyond the level use, and wherever the level goes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.array(change, { maxLength: 4 }), level, fc.constantFrom(0, 0.25, 0.5, 1)), {
          minLength: 1,
          maxLength: 60,
          size: 'max',
        }),
        (steps) => {
          const claims = new ChildClaims(0, () => new Plane())
          const list = new Map<number, { passed: number; weight: number }>()
          for (const [changes, at, tau] of steps) {
            for (const { slot, passed, weight, drops } of changes)
              if (drops === 0) {
                claims.dropTenant(slot)
                list.delete(slot)
              } else {
                claims.setTenant(slot, weight, passed)
                list.set(slot, { weight, passed })
              }
            let sum = 0
            for (const { weight, passed } of list.values())
              sum += Math.max(0, weight * at - Math.max(passed, weight * at * tau))
            expect(claims.total(at, tau)).toBeCloseTo(sum, 9)
          }
        },
      ),
      propertyRuns(),
    )
  })
})
