import { describe, expect, it } from 'vitest'
import type { Permit } from '../admission/decision.js'
import { type FixedCapacity, fixed, pausable } from '../capacity/index.js'
import { createGate } from '../create-gate.js'
import { escrow } from '../escrow/mechanism.js'
import { World } from '../testing/world.js'
import { queueOf } from './fixtures/queue-of.js'
import type { QueueOptions } from './index.js'
import { RequestQueue, requestQueue } from './request-queue.js'

/**
 * A gate with a queue; `ask` sends a request of a flow, `running` returns the running ones in the order of their
 * starts.
 */
function gateOf(queue: QueueOptions) {
  const running: { flow: string; permit: Permit }[] = []
  const gate = createGate({ fair: false, queue: requestQueue({ maxWaitMs: 60_000, ...queue }), after: () => () => {} })
  return {
    gate,
    running,
    flows: () => running.map(({ flow }) => flow).join(''),
    async ask(...flows: string[]) {
      for (const flow of flows)
        void Promise.resolve(gate.admit({ flow })).then((decision) => {
          if (decision.admitted) running.push({ flow, permit: decision })
        })
      await settled()
    },
    /** Ends the longest-running request of a flow. */
    async end(flow: string) {
      const [first] = running.splice(
        running.findIndex((one) => one.flow === flow),
        1,
      )
      first?.permit.finish('success')
      await settled()
    },
  }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

describe('slots of a flow', () => {
  it('are all there are while nobody else waits', async () => {
    const { ask, flows } = gateOf({ concurrency: 4 })
    await ask('a', 'a', 'a', 'a', 'a')
    expect(flows()).toBe('aaaa')
  })

  it('come back to its share as they come free while others wait, whatever its turns', async () => {
    const { ask, end, flows } = gateOf({ concurrency: 4 })
    await ask(...'aaaaaaaaaa', 'b', 'b', 'b', 'b')
    for (let i = 0; i < 4; i++) await end('a')
    // The requests of b run on; those of a would otherwise get every second free slot.
    expect([...flows()].sort().join('')).toBe('aabb')
    await end('a')
    await end('a')
    expect([...flows()].sort().join('')).toBe('aabb')
  })

  it('are shared by weight', async () => {
    const { ask, end, flows } = gateOf({ concurrency: 4, weightOf: (flow) => (flow === 'a' ? 3 : 1) })
    await ask(...'bbbbbb', ...'aaaaaa')
    for (let i = 0; i < 4; i++) await end('b')
    expect([...flows()].sort().join('')).toBe('aaab')
  })

  /** Service per weight of flows of these costs, each always waiting or, with a pause, asking again after it. */
  async function served(flows: readonly { cost: number; weight: number; pauseMs?: number }[]): Promise<number[]> {
    const world = new World()
    const queue = new RequestQueue({
      concurrency: 16,
      maxWaitMs: 1e6,
      weightOf: (flow) => flows[Number(flow)]!.weight,
      clock: world.clock,
      after: world.after,
    })
    const got = flows.map(() => 0)
    const again = async (index: number): Promise<void> => {
      const { cost, weight, pauseMs } = flows[index]!
      for (;;) {
        const permit = await queue.enter({ flow: `${index}`, cost })
        if (!permit.admitted) return
        got[index]! += cost / weight
        await new Promise<void>((resolve) => void world.after(10, resolve))
        permit.finish()
        if (pauseMs !== undefined) await new Promise<void>((resolve) => void world.after(pauseMs, resolve))
      }
    }
    for (const [index, { pauseMs }] of flows.entries())
      for (let i = 0; i < (pauseMs === undefined ? 40 : 1); i++) void again(index)
    for (let ms = 0; ms < 3_000; ms++) {
      await world.advance(1)
      await settled()
    }
    queue.close()
    return got
  }

  it.each([
    ['one that wants less than a slot', [{ cost: 0.001, weight: 1, pauseMs: 20 }]],
    ['one of the same costs', [{ cost: 0.1, weight: 1, pauseMs: 1 }]],
    ['three with much weight', Array.from({ length: 3 }, () => ({ cost: 0.1, weight: 100, pauseMs: 3 }))],
  ])('are max-min: flows of other costs and weights have equal shares beside %s', async (_, light) => {
    const heavy = [
      { cost: 0.1, weight: 1 },
      { cost: 1, weight: 1 },
      { cost: 1, weight: 2 },
    ]
    const [first, ...others] = (await served([...heavy, ...light])).slice(0, heavy.length)
    for (const each of others) expect(Math.abs(each / first! - 1)).toBeLessThan(0.03)
  })

  it('are used by any flow that wants them, where all have their share', async () => {
    const { ask, end, flows } = gateOf({ concurrency: 3 })
    await ask(...'aaa', 'b', 'a', 'a')
    await end('a')
    expect([...flows()].sort().join('')).toBe('aab')
    await end('b')
    expect(flows()).toBe('aaa')
  })

  it.each([1, 30, 1_000, 1e6])(
    'stand free for no flow that may start, when another has its most: debt %d',
    async (debt) => {
      const { ask, permit, started, queue } = queueOf({ concurrency: 10, perFlowConcurrency: 2, maxWaitMs: 60_000 })
      for (let i = 0; i < 20; i++) ask(`a${i}`)
      ask('b0')
      permit('b0').finish('success', { cost: debt })
      for (let i = 1; i < 4; i++) ask(`b${i}`, { cost: debt })
      await settled()
      expect(started).toEqual(['a0', 'a1', 'b0', 'b1', 'b2'])
      expect(queue.snapshot()).toMatchObject({ running: 4, waiting: 19 })
    },
  )

  it('may be more at once when perFlowConcurrency rises, even if the request that tells is refused', async () => {
    let most = 1
    const { ask, started, queue } = queueOf({ concurrency: 10, perFlowLimit: 5, perFlowConcurrency: () => most })
    for (let i = 0; i < 6; i++) ask(`a${i}`)
    expect(queue.snapshot()).toMatchObject({ running: 1, waiting: 5 })
    most = 4
    ask('a6', { width: 11 })
    await settled()
    expect(started).toEqual(['a0', 'a1', 'a2', 'a3'])
    most = 10
    expect(ask('a7')?.admitted).toBe(true)
    await settled()
    expect(queue.snapshot()).toMatchObject({ running: 7, waiting: 0 })
  })

  it.each(['its band, of fewer slots', 'its flow'])(
    'are not kept for a wide request that waits for %s',
    async (what) => {
      const slots = fixed(100)
      let most = 20
      const isBand = what !== 'its flow'
      const { ask, end, queue } = queueOf({
        concurrency: slots,
        ...(isBand
          ? { bands: [{}, { most: 0.2 }] }
          : { perFlowConcurrency: (flow: string) => (flow === 'b' ? most : 1_000) }),
        perFlowLimit: 1_000,
        maxWaitMs: 1e6,
      })
      const band = isBand ? 1 : 0
      ask('x', { width: 85 })
      ask('b0', { width: 10, band })
      ask('b1', { width: 10, band })
      expect(queue.snapshot().passing).toMatchObject({ width: 10 })
      if (isBand) slots.resize(60)
      else {
        most = 15
        ask('b2', { band })
      }
      await end('x')
      for (let i = 0; i < 200; i++) ask(`c${i}`)
      await settled()
      expect(queue.snapshot()).toMatchObject({ capacity: { inFlight: isBand ? 60 : 100 } })
      // It starts when its flow, or band, has room again.
      await end('b0')
      for (let i = 0; i < 10; i++) await end(`c${i}`)
      expect(queue.snapshot().passing).toBeUndefined()
    },
  )

  it('are never more than perFlowConcurrency, however many are free, and others pass', async () => {
    const { ask, end, flows, gate } = gateOf({ concurrency: 4, perFlowConcurrency: 2 })
    await ask(...'aaaaa')
    expect(flows()).toBe('aa')
    await ask('b', 'c')
    expect(flows()).toBe('aabc')
    await end('b')
    expect(flows()).toBe('aac')
    await end('a')
    expect([...flows()].sort().join('')).toBe('aac')
    expect(gate.snapshot().waiting).toBe(2)
  })

  it('come free for a flow that had all it may have when its next request came, though no slot was free then', async () => {
    const { ask, end, flows } = gateOf({ concurrency: 4, perFlowConcurrency: 2 })
    await ask('a', 'a', 'b', 'b', 'a')
    await end('a')
    expect([...flows()].sort().join('')).toBe('aabb')
    await ask('a')
    await end('b')
    expect([...flows()].sort().join('')).toBe('aab')
    await end('a')
    expect([...flows()].sort().join('')).toBe('aab')
  })

  it('may be others for each flow, and change while it is in use', async () => {
    const most = new Map([['a', 1]])
    const { ask, flows } = gateOf({ concurrency: 6, perFlowConcurrency: (flow) => most.get(flow) ?? 2 })
    await ask(...'aaa', ...'bbb')
    expect(flows()).toBe('abb')
    most.set('a', 3)
    await ask('a')
    expect([...flows()].sort().join('')).toBe('aaabb')
    most.set('a', 1)
    await ask('a')
    expect([...flows()].sort().join('')).toBe('aaabb')
  })

  it('go by the weight that a flow has at its last arrival', async () => {
    let heavy = 1
    const { ask, end, flows } = gateOf({ concurrency: 4, weightOf: (flow) => (flow === 'a' ? heavy : 1) })
    await ask(...'aabb', ...'aaaa', ...'bbbb')
    heavy = 3
    await ask('a')
    for (let i = 0; i < 2; i++) await end('b')
    expect([...flows()].sort().join('')).toBe('aaab')
  })

  it('perFlowConcurrency is checked', () => {
    expect(() => gateOf({ concurrency: 4, perFlowConcurrency: 0 })).toThrow(
      'perFlowConcurrency must be a number >= 1, got 0',
    )
  })
})

describe('a limit that is changed while it is in use', () => {
  it('lets more in at once, and fewer as what runs ends', async () => {
    const capacity = fixed(1)
    const { ask, end, flows } = gateOf({ concurrency: capacity })
    await ask(...'aaaaa')
    capacity.resize(3)
    await settled()
    expect(flows()).toBe('aaa')
    capacity.resize(1)
    await end('a')
    await end('a')
    expect(flows()).toBe('a')
    expect(() => capacity.resize(0)).toThrow('limit must be an integer >= 1, got 0')
  })

  it.each([
    ['fixed', (slots: FixedCapacity) => slots],
    ['with a pause', pausable],
  ])('refuses what has become too wide at its turn, and starts what waits behind it: %s', async (_, capacityOf) => {
    const slots = fixed(3)
    const { ask, end, reason, started } = queueOf({ concurrency: capacityOf(slots) })
    ask('x', { width: 1 })
    ask('y', { width: 2 })
    ask('wide', { width: 3 })
    ask('narrow', { width: 1 })
    slots.resize(1)
    await end('y')
    expect(started).toEqual(['x', 'y'])
    await end('x')
    expect(reason('wide')).toBe('too-wide')
    expect(started).toEqual(['x', 'y', 'narrow'])
  })
})

describe('who waits for what a permit holds', () => {
  it('nobody; others; and of a flow above its share, for what it started last', async () => {
    const { ask, running } = gateOf({ concurrency: 4 })
    await ask('a', 'a', 'a', 'a', 'a')
    const permits = running.map(({ permit }) => permit)
    const contests = (): string[] => permits.map((permit) => permit.contest())
    expect(contests()).toEqual(new Array(4).fill('none'))
    // It wants one slot.
    await ask('b')
    expect(contests()).toEqual(['others-wait', 'others-wait', 'others-wait', 'over-share'])
    await ask('b')
    expect(contests()).toEqual(['others-wait', 'others-wait', 'over-share', 'over-share'])
    await ask('c', 'd', 'e', 'f')
    expect(contests()).toEqual(['others-wait', 'over-share', 'over-share', 'over-share'])
    permits[1]!.finish('success')
    expect(permits[1]!.contest()).toBe('none')
  })
})

describe('option functions of a queue in a gate', () => {
  it.each<[string, Partial<QueueOptions>]>([
    ['a weight beyond the range', { weightOf: () => 1e13 }],
    ['a weight that throws', { weightOf: () => broken() }],
    ['a width that throws', { width: () => broken() }],
    ['a width of 0', { width: () => 0 }],
    ['a band that does not exist', { bandOf: () => 7 }],
    ['a deadline that is none', { deadlineMsOf: () => Number.NaN }],
    ['a class that is none', { classOf: () => '' }],
  ])('%s: the limit holds, and the gate says what failed', async (_, options) => {
    const { gate, ask, flows } = gateOf({ concurrency: 1, ...options })
    const errors: unknown[] = []
    gate.observe((event) => event.type === 'error' && errors.push(event.stage), 'error')
    await ask('a', 'a', 'b')
    expect(flows()).toBe('a')
    expect(gate.snapshot()).toMatchObject({ inFlight: 1, waiting: 2 })
    expect(errors[0]).toBe('queue')
    expect(gate.snapshot().stageErrors).toBe(errors.length)
  })

  it('one weightOf at the gate serves fair, budget and queue, from 1e-9 to 1e12', async () => {
    const asked: string[] = []
    const weights: Record<string, number> = { least: 1e-9, most: 1e12, wrong: 1e13 }
    const gate = createGate({
      budget: escrow({ limit: 1_000, windowMs: 1_000 }),
      queue: requestQueue({ concurrency: 10 }),
      weightOf: (flow) => {
        asked.push(flow)
        return weights[flow]!
      },
    })
    for (const flow of ['least', 'most', 'wrong']) await gate.admit({ flow })
    expect(new Set(asked)).toEqual(new Set(['least', 'most', 'wrong']))
    expect(gate.snapshot()).toMatchObject({ inFlight: 3, refused: 0 })
    expect(() => createGate({ weightOf: 2 as never })).toThrow('weightOf must be a function, got 2')
  })
})

function broken(): never {
  throw new Error('broken')
}
