import { describe, expect, it } from 'vitest'
import type { Permit } from '../admission/decision.js'
import { createGate } from '../create-gate.js'
import { manualClock } from '../testing/index.js'
import { queueOf, settled } from './fixtures/queue-of.js'
import { requestQueue } from './request-queue.js'

it('charges beyond all numbers are refused, and the request ends with what was charged before', () => {
  const { queue, ask, permit } = queueOf()
  ask('a')
  permit('a').charge(1e308)
  expect(() => permit('a').charge(1e308)).toThrow('the sum of charges must be a number >= 0, got Infinity')
  permit('a').finish()
  expect(queue.snapshot()).toMatchObject({ running: 0, capacity: { inFlight: 0 } })
})

describe.each(['asked', 'learned'] as const)('charges of a request that started at once, %s', (estimates) => {
  it.each(['charged while it runs', 'settled'])('are paid by the next turns of its flow, %s', async (how) => {
    const queue = requestQueue({ concurrency: 2, estimates, maxWaitMs: 60_000 })
    const gate = createGate({ fair: false, queue, clock: manualClock(), after: () => () => {} })
    const stream = await gate.admit({ flow: 'a' })
    let last = await gate.admit({ flow: 'other' })
    let order = ''
    for (let i = 0; i < 20; i++)
      for (const flow of ['a', 'b'])
        void Promise.resolve(gate.admit({ flow })).then((decision) => {
          last = decision
          order += flow
        })
    if (!stream.admitted) throw new Error(stream.reason)
    if (how === 'settled') stream.finish('success', { cost: 11 })
    else for (let i = 0; i < 11; i++) stream.charge(1)
    for (let i = 0; i < 12; i++) {
      for (let j = 0; j < 20; j++) await Promise.resolve()
      if (last.admitted) last.finish('success')
    }
    // Ten beyond its declared cost: ten turns of a pass, less the one with which it comes first.
    expect([...order].filter((flow) => flow === 'a').length).toBeLessThanOrEqual(4)
    expect(order).toContain('bbbbbbbbb')
  })
})

it.each(['charged while they run', 'settled'])(
  'requests that started at once make no debt of what they did before others came, %s',
  async (how) => {
    const { queue, world } = queueOf({ concurrency: 8, estimates: 'asked', maxWaitMs: 1e6, perFlowLimit: 1_000 })
    const held: Record<string, number> = { a: 0, b: 0 }
    const send = async (flow: string, ms: number, cost: number): Promise<void> => {
      const answer = await queue.enter({ flow })
      if (!answer.admitted) return
      held[flow]!++
      for (let i = 0; i < 10; i++)
        world.after((ms * i) / 10, () => {
          if (how !== 'settled') answer.charge(cost / 10)
        })
      world.after(ms, () => {
        held[flow]!--
        answer.finish('success', { cost })
        void send(flow, 100, 1)
      })
    }
    const sums: Record<string, number> = { a: 0, b: 0 }
    for (let i = 0; i < 40; i++) void send('a', i < 8 ? 60_000 : 100, i < 8 ? 600 : 1)
    for (let ms = 0; ms < 120_000; ms += 100) {
      if (ms === 59_000) for (let i = 0; i < 40; i++) void send('b', 100, 1)
      world.advance(100)
      await settled()
      if (ms >= 60_000) for (const flow of ['a', 'b']) sums[flow]! += held[flow]! / 600
    }
    // Each is entitled to four slots for a minute. The largest debt is one request of 60 s: one slot.
    expect(sums['a']!).toBeGreaterThan(3)
    expect(sums['b']!).toBeGreaterThan(3.5)
  },
)

describe('what a failed request has cost', () => {
  type Ends = (permit: Permit) => void
  /**
   * The first of two flows to start in eight slots, after a hundred requests of `a` that ended in each of these ways.
   */
  const orderAfter = async (...ways: readonly Ends[]): Promise<string> => {
    const queue = requestQueue({ concurrency: 8, maxWaitMs: 60_000 })
    const gate = createGate({ fair: false, queue, clock: manualClock(), after: () => () => {} })
    const admitted = async (flow: string): Promise<Permit> => {
      const decision = await gate.admit({ flow })
      if (!decision.admitted) throw new Error(decision.reason)
      return decision
    }
    for (const end of ways) for (let i = 0; i < 100; i++) end(await admitted('a'))
    // A new flow is expected to cost the same as the others' first requests.
    const seen = await admitted('b')
    seen.finish('success')
    const others = await Promise.all(Array.from({ length: 8 }, () => admitted('other')))
    let started = ''
    for (let i = 0; i < 20; i++)
      for (const flow of ['a', 'b'])
        void admitted(flow).then(() => {
          started += flow
        })
    for (const other of others) {
      other.finish('success')
      for (let i = 0; i < 20; i++) await Promise.resolve()
    }
    return started
  }
  const costly: Ends = (permit) => permit.finish('success', { cost: 10 })

  it('teaches if somebody says so, though it is what was declared', async () => {
    const unlearnt = await orderAfter()
    const learnt = await orderAfter(costly)
    expect(learnt).not.toBe(unlearnt)
    expect(await orderAfter(costly, (permit) => permit.finish('failure'))).toBe(learnt)
    const named = await orderAfter(costly, (permit) => permit.finish('failure', { cost: 1 }))
    const turnsOf = (order: string): number => [...order].filter((flow) => flow === 'a').length
    expect(turnsOf(named)).toBe(turnsOf(unlearnt))
    expect(turnsOf(named)).toBeGreaterThan(turnsOf(learnt))
  })
})
