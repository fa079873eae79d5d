import { describe, expect, it } from 'vitest'
import type { Permit } from '../../admission/decision.js'
import type { Refusal } from '../../admission/refusal.js'
import { createGate } from '../../create-gate.js'
import { statusOfRefusal } from '../../http/refusal.js'
import { requestQueue } from '../../queue/request-queue.js'
import { World } from '../../testing/world.js'
import { budgetStage } from '../mechanism.js'
import { LeasedFairEscrow } from './escrows.js'
import { HeldStore, settled } from './fixtures/stores.js'
import type { LeasedEscrowOptions } from './options.js'

function rig(options: Partial<LeasedEscrowOptions> = {}) {
  const world = new World()
  const { clock, after } = world
  const store = new HeldStore(clock)
  const shared = { pool: 'api', limit: 100, windowMs: 1_000, quantum: 10, store, clock, after }
  const escrow = new LeasedFairEscrow({ ...shared, ...options })
  const gate = createGate({ fair: false, budget: budgetStage(escrow), queue: false, clock, after })
  return { world, store, escrow, gate }
}

describe('a leased escrow as the budget of a gate', () => {
  it('lets a request wait for its lease, and settles what it really cost', async () => {
    const { store, escrow, gate } = rig()
    const first = gate.admit({ flow: 'a', cost: 4 })
    expect(first).toBeInstanceOf(Promise)
    await store.last.answer()
    const permit = await first
    expect(permit.admitted).toBe(true)
    const second = gate.admit({ flow: 'a', cost: 4 })
    expect(second).toMatchObject({ admitted: true })
    if (permit.admitted) permit.finish('success', { cost: 1 })
    expect(escrow.snapshot()).toMatchObject({ granted: 10, used: 5 })
    expect((second as Permit).quotas()).toMatchObject([{ policy: 'budget', windowMs: 1_000, remaining: 92 }])
  })

  it('gives back what a later stage had no place for', async () => {
    const { world, store, escrow } = rig()
    const gate = createGate({
      fair: false,
      budget: budgetStage(escrow),
      queue: requestQueue({ concurrency: 1, maxWaiting: 1 }),
      clock: world.clock,
      after: world.after,
    })
    const asked = gate.admit({ flow: 'a', cost: 1 })
    await store.last.answer()
    await asked
    void gate.admit({ flow: 'a', cost: 1 })
    const refused = await gate.admit({ flow: 'a', cost: 1 })
    expect(refused.admitted).toBe(false)
    expect(escrow.snapshot().used).toBe(2)
  })

  it('says why it refuses, and when to come back', async () => {
    const { store, gate } = rig()
    const asked = gate.admit({ flow: 'a', cost: 50 })
    await store.last.answer({ grant: 0, held: 0, waitMs: 50 })
    expect(await asked).toMatchObject({ admitted: false, stage: 'budget', reason: 'over-share', retryAfterMs: 50 })
  })

  it('holds nobody when the store hangs, and says that it was the store', async () => {
    const { world, gate } = rig({ storeTimeoutMs: 20 })
    const asked = gate.admit({ flow: 'a', cost: 1 })
    world.advance(20)
    await settled()
    const refused = await asked
    expect(refused).toMatchObject({ admitted: false, stage: 'budget', reason: 'store-error', quota: undefined })
    expect(statusOfRefusal(refused as Refusal)).toBe(503)
    expect(gate.admit({ flow: 'a', cost: 1 })).toMatchObject({ admitted: false, reason: 'store-error' })
  })
})
