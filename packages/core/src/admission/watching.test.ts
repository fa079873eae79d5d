import { describe, expect, it } from 'vitest'
import { DurationHistogram } from '../capacity/window.js'
import { createGate } from '../create-gate.js'
import type { RequestQueueSnapshot } from '../queue/options.js'
import { requestQueue } from '../queue/request-queue.js'
import { settled, World } from '../testing/world.js'
import type { Permit } from './decision.js'
import type { GateEvent } from './events.js'
import { Overrides } from './overrides.js'
import { refuse } from './refusal.js'

describe('a gate that is watched', () => {
  it('has a name', () => {
    expect(createGate().snapshot().name).toBe('gate')
    expect(createGate({ name: 'orders' })).toMatchObject({ name: 'orders' })
    expect(() => createGate({ name: '' })).toThrow(/name must be a non-empty string/)
  })

  it('numbers requests, so that what is told of one belongs together', () => {
    const { clock } = new World()
    const gate = createGate({
      clock,
      stages: [{ name: 'no', admit: ({ flow }) => (flow === 'b' ? refuse('no', 'x', false, 1) : undefined) }],
    })
    const events: GateEvent[] = []
    gate.observe((event) => events.push(event))
    const first = gate.admit({ flow: 'a' }) as Permit
    gate.admit({ flow: 'b' })
    const third = gate.admit({ flow: 'c' }) as Permit
    third.finish('success')
    first.finish('failure')
    const told = events.map((event) => [event.type, 'id' in event && event.id, 'flow' in event && event.flow])
    expect(told).toEqual([
      ['admitted', 1, 'a'],
      ['refused', 2, 'b'],
      ['admitted', 3, 'c'],
      ['finished', 3, 'c'],
      ['finished', 1, 'a'],
    ])
  })

  it('tells how long each stage let a request wait', async () => {
    const world = new World()
    const { clock, after } = world
    const queue = requestQueue({ concurrency: 1, maxWaitMs: 100 })
    const slow = { name: 'slow', admit: () => new Promise<undefined>((resolve) => after(30, () => resolve(undefined))) }
    const gate = createGate({ clock, after, fair: false, stages: [slow], queue })
    const events: GateEvent[] = []
    gate.observe((event) => events.push(event))
    const decisions = ['a', 'b'].map((flow) => gate.admit({ flow }))
    world.advance(30)
    const running = (await decisions[0]) as Permit
    await settled()
    world.advance(40)
    running.finish('success')
    await settled()
    const waits = events.flatMap((event) =>
      event.type === 'waited' ? [[event.flow, event.stage, event.waitedMs]] : [],
    )
    expect(waits).toEqual([
      ['a', 'slow', 30],
      ['b', 'slow', 30],
      ['b', 'queue', 40],
    ])
    expect(events.at(-1)).toMatchObject({ type: 'admitted', flow: 'b', waitedMs: 70 })
  })

  it('names the flows that wait, those with most first', async () => {
    const world = new World()
    const { clock, after } = world
    const gate = createGate({
      clock,
      after,
      fair: false,
      weightOf: (flow) => (flow === 'b' ? 2 : 1),
      queue: requestQueue({ concurrency: 2 }),
    })
    for (const flow of ['a', 'a', 'b']) void gate.admit({ flow })
    world.advance(25)
    for (const flow of ['b', 'b', 'a']) void gate.admit({ flow })
    world.advance(5)
    const { flows } = gate.snapshot().stages['queue'] as RequestQueueSnapshot
    expect(flows).toEqual([
      { flow: 'b', weight: 2, waiting: 3, oldestMs: 30, running: 0 },
      { flow: 'a', weight: 1, waiting: 1, oldestMs: 5, running: 2 },
    ])
    expect(gate.explain('b')).toEqual({ queue: { waiting: 3, cost: 3, running: 0, share: 2 / 3 } })
    for (let i = 0; i < 30; i++) void gate.admit({ flow: `flow-${i}` })
    expect((gate.snapshot().stages['queue'] as RequestQueueSnapshot).flows).toHaveLength(20)
    gate.close()
  })

  it('explains a flow by what each stage knows of it, and by the error of one that fails', () => {
    const { clock } = new World()
    const broken = {
      name: 'broken',
      admit: () => undefined,
      explain: () => {
        throw new Error('no idea')
      },
    }
    const overrides = new Overrides({ clock })
    const gate = createGate({
      clock,
      overrides,
      weightOf: () => 3,
      stages: [broken, { name: 'mute', admit: () => undefined }],
    })
    const { fair, ...rest } = gate.explain('a')
    expect(fair).toMatchObject({ engaged: false, weight: 3 })
    expect(rest).toEqual({ broken: { error: 'Error: no idea' } })
    overrides.block('a', 1_000)
    expect(gate.explain('a')['overrides']).toEqual({
      kind: 'block',
      factor: 0,
      costPerSecond: undefined,
      leftMs: 1_000,
    })
    expect(() => gate.explain('')).toThrow(/flow must be a non-empty string/)
  })

  it('tells who decided what about a flow', () => {
    const { clock } = new World()
    const overrides = new Overrides({ clock })
    const gate = createGate({ clock, overrides })
    const changes: unknown[] = []
    gate.observe((event) => event.type === 'override' && changes.push(event.change))
    overrides.boost('a', 3, 60_000, 'ann')
    overrides.hold('a', 5, 1_000)
    overrides.clear('a', 'bob')
    overrides.clear('a', 'bob')
    expect(changes).toEqual([
      { flow: 'a', kind: 'boost', factor: 3, costPerSecond: undefined, forMs: 60_000, by: 'ann' },
      { flow: 'a', kind: 'hold', factor: undefined, costPerSecond: 5, forMs: 1_000, by: undefined },
      { flow: 'a', kind: 'clear', factor: undefined, costPerSecond: undefined, forMs: undefined, by: 'bob' },
    ])
  })
})

describe('the talkers', () => {
  it('have a rate', () => {
    const { clock } = new World()
    const gate = createGate({ clock })
    for (let i = 0; i < 600; i++) {
      clock.advance(100)
      for (const flow of i % 2 === 0 ? ['a', 'a', 'a', 'b'] : ['a']) (gate.admit({ flow }) as Permit).finish('success')
      const { talkers } = gate.snapshot().stages['fair'] as { talkers: { askedPerSecond: number }[] }
      // The rates are right from the first seconds on: 20 and 5 a second.
      if (i < 20) continue
      expect(talkers[0]!.askedPerSecond).toBeGreaterThan(18)
      expect(talkers[0]!.askedPerSecond).toBeLessThan(22)
      expect(talkers[1]!.askedPerSecond).toBeGreaterThan(4.5)
      expect(talkers[1]!.askedPerSecond).toBeLessThan(6)
    }
  })
})

describe('a histogram of durations', () => {
  it('tells quantiles to 5 %, and forgets by and by', () => {
    const histogram = new DurationHistogram()
    expect(histogram.quantileMs(0.5)).toBe(0)
    for (let ms = 1; ms <= 1_000; ms++) histogram.add(ms)
    expect(Math.abs(Math.log(histogram.quantileMs(0.5) / 500))).toBeLessThan(0.05)
    expect(Math.abs(Math.log(histogram.quantileMs(0.99) / 990))).toBeLessThan(0.05)
    histogram.fade(0.01)
    for (let i = 0; i < 990; i++) histogram.add(10)
    expect(histogram.count).toBeCloseTo(1_000)
    expect(Math.abs(Math.log(histogram.quantileMs(0.5) / 10))).toBeLessThan(0.05)
  })
})
