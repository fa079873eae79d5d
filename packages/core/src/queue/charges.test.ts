import { describe, expect, it } from 'vitest'
import { createGate } from '../create-gate.js'
import { manualClock } from '../testing/index.js'
import { requestQueue } from './stage.js'

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
    // Ten beyond what it declared: ten turns of a pass, less the one with which it comes first.
    expect([...order].filter((flow) => flow === 'a').length).toBeLessThanOrEqual(4)
    expect(order).toContain('bbbbbbbbb')
  })
})
