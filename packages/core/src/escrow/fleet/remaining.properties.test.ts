import { propertyRuns } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { manualClock } from '../../testing/manual-clock.js'
import { LeasedFairEscrow } from './escrows.js'
import type { LeasedDecision } from './options.js'
import { MemoryPoolStore } from './stores.js'

describe('what a leased escrow says remains', () => {
  it('is admitted if it is asked next, as far as the process has credit for it', () => {
    const tenant = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f')
    const step = fc.record({
      afterMs: fc.nat(30),
      tenant,
      cost: fc.integer({ min: 1, max: 100 }),
      asksAgain: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.array(step, { maxLength: 40, size: 'max' }), (quantum, steps) => {
        const clock = manualClock()
        const escrow = new LeasedFairEscrow({
          pool: 'api',
          limit: 1_000,
          windowMs: 1_000,
          quantum,
          store: new MemoryPoolStore({ clock }),
          weightOf: (name) => 1 + (name.charCodeAt(0) % 4),
          clock,
          after: () => () => {},
        })
        const check = (name: string, cost: number): LeasedDecision => {
          const decision = escrow.check(name, cost)
          if (decision instanceof Promise) throw new Error('a store in this process answers at once')
          return decision
        }
        for (const { afterMs, tenant, cost, asksAgain } of steps) {
          clock.advance(afterMs)
          const { remaining } = check(tenant, cost)
          const { granted, used } = escrow.snapshot()
          const most = Math.floor(Math.min(remaining, granted - used))
          if (asksAgain && most >= 1) expect(check(tenant, most).allowed).toBe(true)
        }
      }),
      propertyRuns(),
    )
  })
})
