import { describe, expect, it } from 'vitest'
import { fixed } from '../capacity/index.js'
import { createGate } from '../create-gate.js'
import { seededRandom } from '../testing/seeded-random.js'
import { queueOf, settled } from './fixtures/queue-of.js'
import type { PoolOptions } from './options.js'
import { requestQueue } from './request-queue.js'

/** A pool of 100 units; a request states its own units. */
const pool = (more: Partial<PoolOptions> = {}): PoolOptions => ({ size: 100, unitsOf: () => 0, ...more })

describe('a pool beside slots', () => {
  it('lets a request start when it has its slot and its units, and gives back both', async () => {
    const { ask, started, end, queue } = queueOf({ concurrency: 3, pool: pool() })
    ask('a1', { units: 60 })
    ask('b1', { units: 60 })
    ask('c1', { units: 30 })
    expect(started).toEqual(['a1', 'c1'])
    expect(queue.snapshot()).toMatchObject({ capacity: { inFlight: 2 }, pool: { limit: 100, inFlight: 90 } })
    await end('a1')
    expect(started).toEqual(['a1', 'c1', 'b1'])
    for (const name of ['c1', 'b1']) await end(name)
    expect(queue.snapshot()).toMatchObject({ capacity: { inFlight: 0 }, pool: { inFlight: 0 } })
  })

  it('takes nothing of the other where one of both is short', () => {
    const { ask, queue } = queueOf({ concurrency: 2, pool: pool() })
    ask('a1', { units: 90 })
    ask('b1', { units: 20 })
    expect(queue.snapshot()).toMatchObject({ waiting: 1, capacity: { inFlight: 1 }, pool: { inFlight: 90 } })
    ask('c1', { units: 0 })
    ask('d1', { units: 5 })
    expect(queue.snapshot()).toMatchObject({ waiting: 2, capacity: { inFlight: 2 }, pool: { inFlight: 90 } })
  })

  it('refuses what is more than the pool, and what has become more while it waited', async () => {
    const size = fixed(100)
    const { ask, answers, reason, end, started } = queueOf({ concurrency: 2, pool: pool({ size }) })
    ask('a1', { units: 101 })
    expect(answers.get('a1')).toMatchObject({
      reason: 'too-wide',
      shortage: false,
      detail: { units: 101, maximum: 100 },
    })
    ask('b1', { units: 80 })
    ask('c1', { units: 70 })
    ask('d1', { units: 40 })
    size.resize(50)
    await end('b1')
    expect(reason('c1')).toBe('too-wide')
    expect(answers.get('c1')).toMatchObject({ retryAfterMs: Number.POSITIVE_INFINITY })
    expect(started).toEqual(['b1', 'd1'])
  })

  it('lets in more as soon as the pool grows', async () => {
    const size = fixed(10)
    const { ask, started } = queueOf({ concurrency: 9, pool: pool({ size }) })
    for (const name of ['a1', 'b1', 'c1']) ask(name, { units: 10 })
    expect(started).toEqual(['a1'])
    size.resize(20)
    await settled()
    expect(started).toEqual(['a1', 'b1'])
  })

  it('is passed by what takes twice the units of one that waits for them, then keeps units for it', async () => {
    const { ask, started, end, queue } = queueOf({ concurrency: 50, pool: pool(), perFlowLimit: 200 })
    for (let i = 0; i < 10; i++) ask(`a${i}`, { units: 10 })
    ask('w', { units: 80 })
    for (let i = 0; i < 60; i++) ask(`b${i}`, { units: 10 })
    let passed = 0
    for (let i = 0; !started.includes('w'); i++) {
      await end(started[i]!)
      passed = Math.max(passed, queue.snapshot().passing?.passedUnits ?? 0)
    }
    expect(passed).toBe(160)
  })

  it('does not keep from slots those who need no units, while one waits for units', async () => {
    const { ask, started, end } = queueOf({ concurrency: 4, pool: pool(), bypass: 0 })
    ask('a1', { units: 60 })
    ask('w', { units: 60 })
    for (let i = 0; i < 9; i++) ask(`b${i}`, { units: 0 })
    for (let i = 0; i < 5; i++) await end(`b${i}`)
    expect(started).toEqual(['a1', 'b0', 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7'])
    await end('a1')
    expect(started).toContain('w')
  })

  it('gives a wide request its turn beside a flow of narrow ones without end', async () => {
    const { ask, started, end } = queueOf({ concurrency: 64, pool: pool(), maxWaitMs: 86_400_000 })
    for (let i = 0; i < 40; i++) ask(`n${i}`, { units: 5 })
    ask('w1', { units: 100 })
    let ended = 0
    for (; !started.includes('w1') && ended < 1_000; ended++) {
      ask(`n${40 + ended}`, { units: 5 })
      await end(started[ended]!)
    }
    // 20 that ran, two turns' worth that were before it, and 200 units of the others.
    expect(ended).toBeLessThanOrEqual(80)
  })

  it('shares the units between flows that wait, whatever each request takes', async () => {
    const trial = queueOf({ concurrency: 64, pool: pool(), perFlowLimit: 500, maxWaitMs: 86_400_000 })
    const { ask, started, end, queue } = trial
    const random = seededRandom(3)
    const units = (name: string): number => (name.startsWith('a') ? 20 : 5)
    const running = new Set<string>()
    let [made, seen] = [0, 0]
    const held = { a: 0, b: 0 }
    for (let step = 0; step < 4_000; step++) {
      for (const flow of ['a', 'b'])
        while (queue.explain(flow).waiting < 20) ask(`${flow}${made++}`, { units: units(flow), cost: units(flow) })
      for (; seen < started.length; seen++) running.add(started[seen]!)
      for (const name of running) held[name[0] as 'a' | 'b'] += units(name)
      const all = [...running]
      const ending = all[Math.floor(random() * all.length)]!
      running.delete(ending)
      await end(ending)
    }
    expect(held.a / (held.a + held.b)).toBeGreaterThan(0.45)
    expect(held.a / (held.a + held.b)).toBeLessThan(0.55)
    expect((held.a + held.b) / 4_000).toBeGreaterThan(85)
  })

  it('gives a flow no more than perFlow units, though one request may be more', async () => {
    const { ask, started, end } = queueOf({ concurrency: 9, pool: pool({ perFlow: 30 }) })
    for (const name of ['a1', 'a2', 'a3']) ask(name, { units: 20 })
    ask('b1', { units: 50 })
    expect(started).toEqual(['a1', 'b1'])
    await end('a1')
    expect(started).toEqual(['a1', 'b1', 'a2'])
  })

  it('checks its options, and what is said of a request', () => {
    const make = (wrong: object) => () => queueOf({ pool: { ...pool(), ...wrong } })
    expect(make({ size: 0 })).toThrow('pool.size must be an integer >= 1, got 0')
    expect(make({ size: undefined })).toThrow('pool.size must be a number of units or a capacity, got undefined')
    expect(make({ unitsOf: 3 })).toThrow('pool.unitsOf must be a function, got 3')
    expect(make({ perFlow: 0 })).toThrow('pool.perFlow must be a number > 0, got 0')
    expect(make({ units: 3 })).toThrow('pool has no option "units"')
    const { ask } = queueOf({ pool: pool({ unitsOf: () => -1 }) })
    expect(() => ask('a1')).toThrow('unitsOf() must be a number >= 0, got -1')
    expect(() => ask('a2', { units: Number.NaN })).toThrow('units must be a number >= 0, got NaN')
  })

  it('gives a request of a gate a slot’s part where unitsOf throws, so that the pool still holds', async () => {
    const errors: unknown[] = []
    const gate = createGate({
      fair: false,
      queue: requestQueue({
        concurrency: 10,
        maxWaitMs: 1_000,
        pool: {
          size: 100,
          unitsOf: () => {
            throw new Error('no tokenizer')
          },
        },
      }),
      after: () => () => {},
    })
    gate.observe((event) => event.type === 'error' && errors.push(event.error))
    for (let i = 0; i < 12; i++) void gate.admit({ flow: `flow-${i}` })
    await settled()
    expect(gate.snapshot()).toMatchObject({ inFlight: 10, waiting: 2 })
    expect(gate.snapshot().stages['queue']).toMatchObject({ pool: { inFlight: 100 } })
    expect(errors).toHaveLength(12)
    gate.close()
  })
})
