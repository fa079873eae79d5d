import { createGate } from '@fairlead/core'
import { manualClock } from '@fairlead/core/testing'
import { describe, expect, it } from 'vitest'
import { type RedisClient, redisFleet } from './index.js'

/** A client that counts calls, each of which has the result of `reply`. */
function clientOf(reply: () => Promise<unknown>): { client: RedisClient; calls: () => number } {
  let calls = 0
  const call = (): Promise<unknown> => {
    calls++
    return reply()
  }
  return { client: { evalSha: call, eval: call }, calls: () => calls }
}

/** Uses a gate whose resource is short, for five seconds of its own clock. Returns the gate. */
function press(fleet: ReturnType<typeof redisFleet>, resource?: string): ReturnType<typeof createGate> {
  const clock = manualClock()
  const gate = createGate({ name: 'orders', fleet, clock })
  for (let i = 0; i < 5_000; i++) {
    clock.advance(1)
    const decision = gate.admit({ flow: `flow-${i % 3}`, ...(resource !== undefined && { resource }) })
    if (!(decision instanceof Promise) && decision.admitted) decision.finish(i % 2 ? 'failure' : 'success')
  }
  return gate
}

describe('a process whose client throws instead of rejecting', () => {
  it('is on its own, and no request has to do with that', () => {
    const { client, calls } = clientOf(() => {
      throw new Error('closed')
    })
    const gate = press(redisFleet(client))
    expect(calls()).toBeGreaterThan(0)
    expect(gate.snapshot().stageErrors).toBe(0)
  })
})

describe('a process that has left the fleet', () => {
  it('says nothing more, nor for resources that are named only then', async () => {
    const { client, calls } = clientOf(() => Promise.resolve(['0', '0', '', '']))
    const fleet = redisFleet(client)
    press(fleet)
    expect(calls()).toBeGreaterThan(0)
    await fleet.close()
    const before = calls()
    press(fleet)
    press(fleet, 'reports')
    expect(calls()).toBe(before)
  })
})
