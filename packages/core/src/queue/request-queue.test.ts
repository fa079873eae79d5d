import { getEventListeners } from 'node:events'
import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import type { Refusal } from '../admission/refusal.js'
import { adaptive, type Capacity, fixed } from '../capacity/index.js'
import type { Flow } from '../path.js'
import { seededRandom } from '../testing/seeded-random.js'
import { type Answer, queueOf, settled } from './fixtures/queue-of.js'
import type { RequestQueueOptions } from './options.js'

const refusalOf = (answer: Answer | undefined): Refusal => {
  if (answer === undefined || answer.admitted) throw new Error('not refused')
  return answer
}

describe('starting', () => {
  it('answers at once while slots are free and nobody waits', () => {
    const { queue, ask, world } = queueOf({ concurrency: 2 })
    expect(ask('a1')).toMatchObject({ admitted: true, waitedMs: 0, flow: 'a' })
    expect(ask('a2')?.admitted).toBe(true)
    expect(ask('a3')).toBeUndefined()
    expect(queue.snapshot()).toMatchObject({ came: 3, startedAtOnce: 2, startedLater: 0, running: 2, waiting: 1 })
    expect(world.timers).toBe(1)
  })

  it('starts what waits when a slot comes back, and says how long it waited', async () => {
    const { queue, ask, world, end, permit } = queueOf()
    ask('a1')
    ask('b1')
    world.advance(30)
    await end('a1')
    expect(permit('b1').waitedMs).toBe(30)
    await end('b1')
    expect(queue.snapshot()).toMatchObject({
      running: 0,
      waiting: 0,
      startedLater: 1,
      bands: [{ queue: { records: 0 } }],
    })
    expect(world.timers).toBe(0)
  })

  it('gives flows their turns, and keeps the order of each', async () => {
    const { ask, end, started } = queueOf({ sparseFirst: false })
    for (const name of ['x', 'a1', 'a2', 'a3', 'b1', 'b2', 'c1']) ask(name)
    for (let i = 0; i < 7; i++) await end(started[i]!)
    expect(started).toEqual(['x', 'a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  })

  it.each<[number, string, number | (() => number), object]>([
    [3, 'its width by the option', 3, {}],
    [2, 'its own width', 3, { width: 2 }],
    [1, 'nothing of the width that a function names', () => 3, {}],
    [2, 'its own width beside a function', () => 3, { width: 2 }],
    [5, 'a cost that is named', 3, { cost: 5 }],
  ])('costs %i by %s', (cost, _by, width, said) => {
    const { queue, ask } = queueOf({ concurrency: 3, width })
    ask('a1')
    ask('b1', said)
    expect(queue.explain('b')).toMatchObject({ waiting: 1, cost })
  })

  it('frees the width once, whatever is called afterwards', async () => {
    const { queue, ask, permit } = queueOf({ concurrency: 3 })
    ask('a1', { width: 2 })
    ask('a2')
    permit('a1').finish()
    permit('a1').finish('failure')
    expect(queue.snapshot().capacity).toMatchObject({ inFlight: 1 })
    expect(() => permit('a2').finish('success', { cost: Number.NaN })).toThrow(/cost/)
    expect(queue.snapshot().capacity).toMatchObject({ inFlight: 1 })
  })

  it('lets the exempt pass, and counts them', () => {
    const { queue, ask, permit } = queueOf()
    ask('a1')
    ask('b1')
    expect(ask('health', { exempt: true })?.admitted).toBe(true)
    permit('health').finish()
    expect(queue.snapshot()).toMatchObject({ exempted: 1, running: 1, waiting: 1, capacity: { inFlight: 1 } })
  })

  it('decides whose turn it is when a slot is free, and not before: requests that came meanwhile count', async () => {
    const { ask, end, started } = queueOf({})
    for (const name of ['x', 'a1', 'a2', 'a3']) ask(name)
    for (const name of ['x', 'a1']) await end(name)
    for (const name of ['b1', 'b2']) ask(name)
    for (const name of ['a2', 'b1', 'b2']) await end(name)
    // The turn of the first flow was over with its second request, so it comes after one that arrived meanwhile.
    expect(started).toEqual(['x', 'a1', 'a2', 'b1', 'b2', 'a3'])
  })

  it('settles what a request really cost', async () => {
    const { ask, permit, end, started } = queueOf({ sparseFirst: false, estimates: 'asked' })
    for (const name of ['x', 'a1', 'a2', 'a3', 'b1', 'b2', 'b3']) ask(name)
    await end('x')
    expect(started.at(-1)).toBe('a1')
    permit('a1').finish('success', { cost: 3 })
    await settled()
    for (let i = 2; i < 5; i++) await end(started[i]!)
    // Two more than its charge: two turns that it does not get.
    expect(started).toEqual(['x', 'a1', 'b1', 'b2', 'b3', 'a2'])
  })
})

describe('costs known only at the end', () => {
  it('are learnt for each class, of requests that did not wait, too, and told in what clients are to wait', async () => {
    const classOf = ({ cost }: { cost: number }): string => (cost === 1 ? 'chat' : 'other')
    const { queue, world } = queueOf({ concurrency: 1, classOf, perFlowLimit: 5, maxWaitMs: 60_000 })
    const serve = async (flow: string, cost: number): Promise<void> => {
      const permit = await queue.enter({ flow })
      if (!permit.admitted) throw new Error(permit.reason)
      world.advance(100)
      permit.finish('success', { cost })
    }
    for (let i = 0; i < 20; i++) await serve('a', 50)
    const held = await queue.enter({ flow: 'a' })
    for (let i = 0; i < 5; i++) void queue.enter({ flow: 'a' })
    // Five that cost 50 each, and not 1.
    expect(queue.snapshot().bands[0]!.queue.cost).toBe(5)
    expect(queue.explain('a')).toMatchObject({ waiting: 5, cost: 250 })
    if (held.admitted) held.finish()
  })

  it('are learnt and paid at any sizes, in hashed queues too, without a round for each turn', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = seededRandom(seed)
      const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)]!
      const width = (): number => pick([1, 1, 2, 0.5, 4])
      const { queue, world } = queueOf({ concurrency: 4, queues: 4, perFlowLimit: 3, maxWaitMs: 2_000, width })
      const running: Extract<Answer, { admitted: true }>[] = []
      const noted = (answer: Answer): void => void (answer.admitted && running.push(answer))
      for (let i = 0; i < 150; i++) {
        const next = random()
        if (next < 0.5) {
          const cost = pick([1, 1e-9, 1e12, 5, 0.1])
          const answer = queue.enter({ flow: pick<Flow>(['a', 'b', 'c', 'd', ['p', 'x'], ['p', 'y']]), cost })
          if (answer instanceof Promise) void answer.then(noted)
          else noted(answer)
        } else if (next < 0.9 && running.length > 0) {
          const [one] = running.splice(Math.floor(random() * running.length), 1)
          one?.finish('success', random() < 0.4 ? { cost: pick([0, 1, 1e12, 0.5, 100]) } : {})
        } else world.advance(20 * random())
        if (i % 10 === 0) await Promise.resolve()
      }
      // A cost of 1e12 beside those of 1 takes a million million turns: round by round this would not end.
      expect(queue.snapshot().startedLater).toBeGreaterThan(5)
    }
  })
})

describe('time', () => {
  it('turns away what has waited for too long, by one timer', async () => {
    const { queue, ask, world, reason } = queueOf({ maxWaitMs: 100 })
    ask('a1')
    ask('b1')
    world.advance(60)
    ask('b2')
    expect(world.timers).toBe(1)
    world.advance(39)
    await settled()
    expect(reason('b1')).toBeUndefined()
    world.advance(1)
    await settled()
    expect(reason('b1')).toBe('expired')
    expect(reason('b2')).toBeUndefined()
    expect(world.timers).toBe(1)
    world.advance(60)
    await settled()
    expect(reason('b2')).toBe('expired')
    expect(world.timers).toBe(0)
    expect(queue.snapshot()).toMatchObject({ waiting: 0, refusedBy: { expired: 2 } })
  })

  it('never starts what is too late, when the timer is late too', async () => {
    const { ask, world, end, reason, started } = queueOf({ maxWaitMs: 100 })
    ask('a1')
    ask('b1')
    world.stall(50)
    ask('c1')
    world.stall(50)
    await end('a1')
    expect(reason('b1')).toBe('expired')
    expect(started).toEqual(['a1', 'c1'])
  })

  it('sets its timer again for what has less time, and again when it rang for nothing', async () => {
    const { ask, world, reason, end } = queueOf({ maxWaitMs: 100 })
    ask('x')
    ask('a1')
    ask('b1', { deadlineMs: 30 })
    ask('c1', { deadlineMs: 50 })
    expect(world.timers).toBe(1)
    world.advance(20)
    await end('x')
    world.advance(10)
    await settled()
    expect(reason('b1')).toBe('expired')
    world.advance(1)
    expect(world.timers).toBe(1)
    world.advance(69)
    await settled()
    expect(reason('c1')).toBe('expired')
    expect(world.timers).toBe(0)
  })

  it('refuses nobody for what is too late, when the timer is late too', async () => {
    const { ask, world, reason } = queueOf({ maxWaitMs: 100, maxWaiting: 1, overflow: 'refuse' })
    ask('x')
    ask('a1')
    world.stall(100)
    expect(ask('b1')).toBeUndefined()
    await settled()
    expect(reason('a1')).toBe('expired')
  })

  it('leaves the time that such requests take before a deadline', async () => {
    const { ask, world, end, reason } = queueOf({
      maxWaitMs: 1_000,
      classOf: ({ flow }) => (flow === 's' ? 'slow' : 'fast'),
    })
    ask('s0')
    world.advance(40)
    await end('s0')
    ask('f0')
    world.advance(5)
    await end('f0')
    ask('x')
    ask('s1', { deadlineMs: 100 })
    ask('f1', { deadlineMs: 100 })
    world.advance(59)
    await settled()
    expect(reason('s1')).toBeUndefined()
    world.advance(1)
    await settled()
    expect(reason('s1')).toBe('expired')
    world.advance(34)
    await settled()
    expect(reason('f1')).toBeUndefined()
    world.advance(1)
    await settled()
    expect(reason('f1')).toBe('expired')
  })

  it('refuses at the door what its deadline makes impossible, and no one is blamed', async () => {
    const { ask, world, end } = queueOf()
    expect(ask('a0', { deadlineMs: 0 })).toMatchObject({ reason: 'deadline', shortage: false })
    ask('a1')
    world.advance(200)
    await end('a1')
    ask('a2')
    expect(ask('b1', { deadlineMs: 200 })).toMatchObject({ reason: 'deadline', shortage: false })
  })

  it('never closes the door for good because requests once took long', async () => {
    const { ask, world, end, answers } = queueOf()
    ask('a1')
    world.advance(500)
    await end('a1')
    for (const name of ['b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7']) {
      expect(ask(name, { deadlineMs: 100 })?.admitted).toBe(true)
      world.advance(10)
      await end(name)
    }
    ask('c1')
    ask('c2', { deadlineMs: 400 })
    expect(answers.has('c2')).toBe(false)
  })

  it('refuses at the door what would wait too long, once it knows how fast it drains', async () => {
    const { ask, world, end, started } = queueOf({ maxWaitMs: 2_000 })
    ask('x')
    for (let i = 0; i < 12; i++) ask(`a${i}`)
    for (let i = 0; i < 12; i++) {
      world.advance(100)
      await end(started[i]!)
      if (i < 3) expect(ask(`b${i}`)).toBeUndefined()
    }
    // Ten a second, and it gets half of them beside b, so that 8 are 1600 ms.
    const names = Array.from({ length: 12 }, (_, i) => `c${i}`)
    const taken = names.filter((name) => ask(name) === undefined)
    expect(taken.length).toBeGreaterThanOrEqual(7)
    expect(taken.length).toBeLessThanOrEqual(10)
    expect(refusalOf(ask('c99'))).toMatchObject({ reason: 'would-wait-too-long', shortage: true })
    // A flow with few waiting requests is admitted, regardless of their cost.
    expect(ask('d1', { cost: 50 })).toBeUndefined()
    expect(ask('d2')).toBeUndefined()
  })
})

describe('bounds', () => {
  it('refuses a flow that has too many waiting, and others for the queue as a whole', () => {
    const { ask } = queueOf({ perFlowLimit: 2, maxWaiting: 3, overflow: 'refuse' })
    for (const name of ['x', 'a1', 'a2']) ask(name)
    expect(ask('a3')).toMatchObject({ reason: 'flow-full', shortage: true, detail: { waiting: 2, limit: 2 } })
    expect(ask('b1')).toBeUndefined()
    expect(ask('c1')).toMatchObject({ reason: 'queue-full', shortage: true, detail: { limit: 3 } })
  })

  it('evicts from the fattest flow, and answers the evicted at once', async () => {
    const { queue, ask, answers, world } = queueOf({ maxWaiting: 4 })
    for (const name of ['x', 'a1', 'a2', 'a3', 'a4']) ask(name)
    const { signal } = new AbortController()
    expect(ask('b1', { signal })).toBeUndefined()
    await settled()
    expect(answers.get('a4')).toMatchObject({ reason: 'evicted', shortage: true })
    expect(queue.snapshot().waiting).toBe(4)
    expect(world.timers).toBe(1)
  })

  it('refuses what is wider than the capacity can be, and keeps what may fit later', () => {
    const { ask } = queueOf({ concurrency: adaptive({ initial: 2, max: 5 }) })
    expect(ask('a1', { width: 6 })).toMatchObject({
      reason: 'too-wide',
      shortage: false,
      retryAfterMs: Number.POSITIVE_INFINITY,
    })
    ask('b1')
    expect(ask('a2', { width: 5 })).toBeUndefined()
  })
})

describe('leaving', () => {
  it('lets go at once when the signal fires, and stops listening in every case', async () => {
    const { queue, ask, world, answers, end } = queueOf({ maxWaitMs: 100, perFlowLimit: 1 })
    const controllers = Array.from({ length: 5 }, () => new AbortController())
    const [one, two, three, four, five] = controllers.map(({ signal }) => signal)
    ask('x')
    ask('a1', { signal: one })
    ask('b1', { signal: two })
    ask('c1', { signal: three })
    expect(ask('c2', { signal: four })).toMatchObject({ reason: 'flow-full' })
    ask('d1', { signal: five })
    expect(getEventListeners(one!, 'abort')).toHaveLength(1)
    controllers[0]!.abort()
    await settled()
    expect(answers.get('a1')).toMatchObject({ reason: 'gone', shortage: false, retryAfterMs: 0 })
    await end('x')
    world.advance(100)
    await settled()
    expect(answers.get('c1')).toMatchObject({ reason: 'expired' })
    expect(queue.snapshot()).toMatchObject({
      waiting: 0,
      running: 1,
      refusedBy: { gone: 1, expired: 2, 'flow-full': 1 },
    })
    for (const { signal } of controllers) expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(world.timers).toBe(0)
  })

  it('does not take in what is gone', () => {
    const { ask, world } = queueOf()
    ask('x')
    expect(ask('a1', { signal: AbortSignal.abort() })).toMatchObject({ reason: 'gone' })
    expect(world.timers).toBe(0)
  })

  it('refuses what waits and what comes when it is closed, and hears of what runs', async () => {
    const { queue, ask, world, answers, permit } = queueOf()
    ask('x')
    ask('a1')
    queue.close()
    queue.close()
    await settled()
    expect(answers.get('a1')).toMatchObject({ reason: 'closed', shortage: false })
    expect(ask('b1')).toMatchObject({ reason: 'closed' })
    permit('x').finish('success', { cost: 9 })
    expect(queue.snapshot()).toMatchObject({ closed: true, waiting: 0, running: 0, capacity: { inFlight: 0 } })
    expect(queue.snapshot().bands[0]!.queue.records).toBe(0)
    expect(world.timers).toBe(0)
  })
})

describe('width', () => {
  it('lets narrow requests pass a wide one for twice its width, then keeps slots for it', async () => {
    const { queue, ask, started, end } = queueOf({ concurrency: 4 })
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask(name)
    ask('w', { width: 3 })
    for (let i = 0; i < 20; i++) ask(`b${i}`)
    let passed = 0
    for (let i = 0; !started.includes('w'); i++) {
      await end(started[i]!)
      if (queue.snapshot().passing !== undefined) passed = Math.max(passed, queue.snapshot().passing!.passed)
    }
    expect(passed).toBe(6)
    expect(queue.snapshot()).toMatchObject({ running: 2, passing: undefined })
  })

  it('starts a passer at the door while it may', () => {
    const { ask } = queueOf({ concurrency: 4, bypass: 0.5 })
    ask('a1', { width: 1 })
    ask('w', { width: 4 })
    expect(ask('b1')?.admitted).toBe(true)
    expect(ask('b2')?.admitted).toBe(true)
    expect(ask('b3')).toBeUndefined()
  })

  it('gives its slots to others when the wide one leaves', async () => {
    const { queue, ask, started, world } = queueOf({ concurrency: 4, bypass: 0, maxWaitMs: 100 })
    const controller = new AbortController()
    ask('a1', { width: 2 })
    ask('w', { width: 4, signal: controller.signal })
    ask('b1', { width: 2 })
    expect(started).toEqual(['a1'])
    controller.abort()
    await settled()
    expect(started).toEqual(['a1', 'b1'])
    world.advance(200)
    expect(queue.snapshot()).toMatchObject({ waiting: 0, passing: undefined })
  })

  it('charges a flow nothing for a wide request that left', async () => {
    const { queue, ask, started, end } = queueOf({ concurrency: 8, bypass: 0, sparseFirst: false })
    const controller = new AbortController()
    for (const name of ['x', 'y']) ask(name, { width: 4 })
    ask('a0', { width: 8, cost: 32, signal: controller.signal })
    for (let i = 1; i <= 30; i++) for (const flow of ['a', 'b']) ask(`${flow}${i}`, { width: 4, cost: 1 })
    // Turns of a go into the cost of its wide request, while b is served all the slots that it may have.
    let ended = 0
    while (queue.snapshot().passing === undefined) await end(started[ended++]!)
    const before = started.length
    expect(before).toBeGreaterThan(2)
    controller.abort()
    await settled()
    while (started.length < before + 10) await end(started[ended++]!)
    const turns = started.slice(before, before + 10).map((name) => name[0])
    // In debt for the wide one, a would pass turn after turn. Its credit cannot give it more than its share of slots.
    expect(turns.filter((flow) => flow === 'a').length).toBe(5)
  })

  it('runs what is wider than the present limit alone', async () => {
    const { ask, started, end } = queueOf({ concurrency: adaptive({ initial: 2, max: 5 }), bypass: 0 })
    ask('a1')
    ask('a2')
    ask('w', { width: 5 })
    await end('a1')
    expect(started).not.toContain('w')
    await end('a2')
    expect(started).toContain('w')
  })
})

describe('bands', () => {
  it.each([[[0, 0.1, 0.05]], [[0, 0.4, 0.3, 0.2]], [[0, 0, 0.5]], [[0, 0.01]]])(
    'serves the highest that waits, but each lower one for its share: %j',
    async (shares) => {
      const bands = shares.map((minShare) => (minShare === 0 ? {} : { minShare }))
      const { queue, ask, permit, started } = queueOf({ bands, maxWaiting: 30, perFlowLimit: 30 })
      const random = seededRandom(5)
      const costs = new Map<string, number>()
      ask('x')
      for (let i = 0; i < byWidth(4_000, 10_000); i++) {
        for (let band = 0; band < shares.length; band++)
          while (queue.snapshot().bands[band]!.waiting < 20) {
            const name = `${band}-${costs.size}`
            costs.set(name, 0.5 + random())
            ask(name, { band, cost: costs.get(name)! })
          }
        permit(started[i]!).finish()
        await settled()
      }
      const got = shares.map(() => 0)
      for (const name of started.slice(1)) got[Number(name[0])]! += costs.get(name)!
      const total = got.reduce((sum, cost) => sum + cost, 0)
      const rest = 1 - shares.reduce((sum, minShare) => sum + minShare, 0)
      // Within 1 %, but whole requests.
      for (const [band, minShare] of [rest, ...shares.slice(1)].entries())
        expect(Math.abs(got[band]! - minShare * total)).toBeLessThan(0.01 * minShare * total + 1.5)
    },
  )

  it('counts what a band gets as the highest that waits towards its share', async () => {
    const { ask, started, end } = queueOf({ bands: [{}, { minShare: 0.5 }], perFlowLimit: 100 })
    ask('x')
    for (let i = 0; i < 40; i++) ask(`b${i}`, { band: 1 })
    for (let i = 0; i < 20; i++) await end(started[i]!)
    for (let i = 0; i < 20; i++) ask(`a${i}`, { band: 0 })
    for (let i = 20; i < 30; i++) await end(started[i]!)
    // With ten costs saved up it would be ten of ten.
    expect(started.slice(21).filter((name) => name.startsWith('b')).length).toBeLessThanOrEqual(6)
  })

  it('starves a band without a share while others want everything', async () => {
    const { ask, started, end } = queueOf({ bands: [{}, {}] })
    for (const name of ['x', 'a1', 'a2', 'a3']) ask(name)
    ask('low', { priority: -1 })
    for (let i = 0; i < 4; i++) await end(started[i]!)
    expect(started).toEqual(['x', 'a1', 'a2', 'a3', 'low'])
  })

  it.each([
    [1, [0, 0, 0, 0, 0]],
    [2, [0, 0, 0, 1, 1]],
    [3, [0, 0, 1, 1, 2]],
    [5, [0, 1, 2, 3, 4]],
  ])('spreads priorities over %d bands', (count, expected) => {
    const { queue, ask } = queueOf({ bands: Array.from({ length: count }, () => ({})) })
    ask('x')
    const found = [2, 1, 0, -1, -2].map((priority) => {
      const before = queue.snapshot().bands.map(({ waiting }) => waiting)
      ask(`p${priority}`, { priority })
      return queue.snapshot().bands.findIndex(({ waiting }, band) => waiting > before[band]!)
    })
    expect(found).toEqual(expected)
  })
})

describe('newestFirst', () => {
  it('serves the newest of a flow that has been waiting for long, until nothing of it waits', async () => {
    const { ask, world, started, end, permit } = queueOf({ newestFirst: true, sparseFirst: false })
    for (const name of ['x', 'a1', 'a2', 'b1']) ask(name)
    world.advance(99)
    ask('a3')
    permit('x').finish('ignored')
    await settled()
    expect(started).toEqual(['x', 'a1'])
    world.advance(1)
    ask('a4')
    ask('b2')
    for (let i = 1; i < 6; i++) await end(started[i]!)
    expect(started.filter((name) => name[0] === 'a')).toEqual(['a1', 'a4', 'a3', 'a2'])
  })
})

describe('Retry-After', () => {
  /** A queue that serves two requests per second, with `limit` waiting of each flow. */
  async function busyRoom(flows: readonly string[], options: Partial<RequestQueueOptions>, limit = 20) {
    const busy = queueOf({ perFlowLimit: limit, maxWaitMs: 600_000, overflow: 'refuse', ...options })
    let asked = 0
    busy.ask('x')
    for (let i = 0; i < limit; i++) for (const flow of flows) busy.ask(`${flow}${asked++}`)
    for (let i = 0; i < 30; i++) {
      busy.world.advance(500)
      await busy.end(busy.started[i]!)
      // One for the request that started.
      busy.ask(`${busy.started[i + 1]![0]}${asked++}`)
    }
    return busy
  }
  const near = (value: number, expected: number): void => {
    expect(value / expected).toBeGreaterThan(0.93)
    expect(value / expected).toBeLessThan(1.07)
  }

  it('is a second while the rate is not known', () => {
    const { ask } = queueOf({ perFlowLimit: 1 })
    for (const name of ['x', 'a1']) ask(name)
    expect(refusalOf(ask('a2')).retryAfterMs).toBe(1_000)
  })

  it('is when what its flow has waiting has been served, and those refused before it', async () => {
    const { ask } = await busyRoom(['a'], {})
    near(refusalOf(ask('a-1')).retryAfterMs, 10_000)
    near(refusalOf(ask('a-2')).retryAfterMs, 10_500)
    near(refusalOf(ask('a-3')).retryAfterMs, 11_000)
  })

  it('goes by the share of the flow, and each flow has its own line', async () => {
    const { ask, answers } = await busyRoom(['a', 'b'], {})
    expect(answers.size).toBeGreaterThan(20)
    for (let i = 0; i < 10; i++) ask('a-')
    near(refusalOf(ask('a-')).retryAfterMs, 30_000)
    near(refusalOf(ask('b-')).retryAfterMs, 20_000)
  })

  it('is when all that waits has been served where the queue is full, one line for all', async () => {
    const { ask } = await busyRoom(['a'], { maxWaiting: 20, perFlowLimit: 50 })
    near(refusalOf(ask('b-')).retryAfterMs, 10_000)
    near(refusalOf(ask('c-')).retryAfterMs, 10_500)
  })

  it('leaves out what the client would wait, where it waited for too long', async () => {
    const { ask, world, answers } = await busyRoom(['a'], { maxWaitMs: 20_000 })
    ask('b-', { deadlineMs: 1 })
    world.advance(1)
    await settled()
    expect(refusalOf(answers.get('b-')).retryAfterMs).toBe(1_000)
  })
})

describe('a signal that is none', () => {
  it.each([
    [null, 'null'],
    [5, '5'],
    [{}, 'an object'],
    [() => new AbortController().signal, 'a function'],
  ])('%s is named, and nothing came', (signal, got) => {
    const { queue, ask } = queueOf()
    expect(() => ask('a', { signal: signal as never })).toThrow(`signal must be an AbortSignal, got ${got}`)
    expect(queue.snapshot()).toMatchObject({ came: 0, running: 0, waiting: 0 })
  })
})

describe('what throws', () => {
  const broken = (): never => {
    throw new Error('broken')
  }

  it.each(['width', 'bandOf', 'deadlineMsOf', 'classOf', 'weightOf'] as const)('%s loses nothing', async (option) => {
    let works = true
    const fn = { width: () => 1, bandOf: () => 0, deadlineMsOf: () => 500, classOf: () => 'c', weightOf: () => 1 }[
      option
    ]
    const { queue, ask, world, answers, started, end } = queueOf({ [option]: () => (works ? fn() : broken()) })
    const { signal } = new AbortController()
    ask('x')
    ask('a1')
    works = false
    expect(() => ask('a2', { signal })).toThrow('broken')
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(queue.snapshot()).toMatchObject({ came: 2, waiting: 1 })
    await end('x')
    expect(started).toEqual(['x', 'a1'])
    await end('a1')
    works = true
    ask('y')
    ask('b1')
    works = false
    world.advance(2_000)
    await settled()
    expect(answers.get('b1')).toMatchObject({ reason: 'expired' })
    expect(world.timers).toBe(0)
  })

  it('asks options of arrivals alone: what is explained, charged or ended meets none that throws', async () => {
    let works = true
    const weightOf = (): number => (works ? 3 : broken())
    const real = fixed(1)
    const concurrency: Capacity = {
      limit: 1,
      maximum: 1,
      get inFlight() {
        return real.inFlight
      },
      tryTake: (width, nowMs) => real.tryTake(width, nowMs),
      release: (...ended) => real.release(...ended),
      undo: (width, nowMs) => real.undo(width, nowMs),
      onAvailable: (listener) => real.onAvailable(listener),
      snapshot: () => (works ? real.snapshot() : broken()),
    }
    const { queue, ask, permit, started } = queueOf({ concurrency, weightOf })
    for (const name of ['x', 'a1', 'b1']) ask(name)
    works = false
    expect(queue.explain('c')).toEqual({ waiting: 0, cost: 0, running: 0, share: 1 / 7 })
    expect(queue.snapshot()).toMatchObject({ waiting: 2, running: 1, capacity: undefined })
    permit('x').charge(5)
    permit('x').finish('success', { cost: 9 })
    await settled()
    expect(started).toHaveLength(2)
    permit(started[1]!).finish('success', { cost: 7 })
    await settled()
    expect(started).toHaveLength(3)
    works = true
    expect(queue.snapshot()).toMatchObject({ waiting: 0, running: 1, capacity: { inFlight: 1 } })
  })

  it('names the bad value that an option gave', () => {
    expect(() => queueOf({ width: () => 0 }).ask('a')).toThrow('width() must be a number > 0, got 0')
    expect(() => queueOf({ bandOf: () => 1 }).ask('a')).toThrow('bandOf() must be an integer from 0 to 0, got 1')
    expect(() => queueOf({ deadlineMsOf: () => Number.NaN }).ask('a')).toThrow('deadlineMsOf() must be')
    expect(() => queueOf({ classOf: () => '' }).ask('a')).toThrow('classOf() must be a non-empty string')
  })

  it.each(['arrives', 'ends'])('waits on when the capacity fails, and tries again when something %s', async (next) => {
    const real = fixed(2)
    let fails = false
    const capacity: Capacity = {
      get limit() {
        return fails ? broken() : real.limit
      },
      get inFlight() {
        return real.inFlight
      },
      maximum: 2,
      tryTake: (width, nowMs) => (fails ? broken() : real.tryTake(width, nowMs)),
      release: (width) => real.release(width, 'success', 1, 0),
      undo: (width, nowMs) => real.undo(width, nowMs),
      onAvailable: (listener) => real.onAvailable(listener),
      snapshot: () => real.snapshot(),
    }
    const { queue, ask, started, end } = queueOf({ concurrency: capacity })
    for (const name of ['x', 'y', 'a1', 'a2']) ask(name)
    fails = true
    await end('x')
    expect(started).toEqual(['x', 'y'])
    expect(queue.snapshot()).toMatchObject({ waiting: 2, running: 1 })
    expect(queue.snapshot().capacityErrors).toBeGreaterThan(0)
    fails = false
    if (next === 'arrives') {
      ask('a3')
      await settled()
      expect(started).toEqual(['x', 'y', 'a1'])
    }
    await end('y')
    expect(started).toEqual(['x', 'y', 'a1', 'a2'])
  })

  it('never asks a capacity for no slots or fewer, also if its limit has fallen below what is in flight', () => {
    const real = fixed(4)
    const asked: number[] = []
    const concurrency: Capacity = {
      get limit() {
        return real.limit
      },
      get inFlight() {
        return real.inFlight
      },
      maximum: 4,
      tryTake(width, nowMs) {
        asked.push(width)
        return real.tryTake(width, nowMs)
      },
      release: (...ended) => real.release(...ended),
      undo: (width, nowMs) => real.undo(width, nowMs),
      onAvailable: (listener) => real.onAvailable(listener),
      snapshot: () => real.snapshot(),
    }
    const { ask, started } = queueOf({ concurrency, perFlowConcurrency: 2 })
    for (const name of ['a1', 'a2', 'b1', 'b2']) ask(name)
    real.resize(1)
    // It waits for a slot of its flow, whatever the capacity has.
    ask('a3')
    expect(started).toHaveLength(4)
    expect(asked).toEqual([1, 1, 1, 1, 1])
  })

  it('throws at the door when the capacity does, and nothing is kept', () => {
    const { queue, ask } = queueOf({
      concurrency: {
        limit: 1,
        inFlight: 0,
        maximum: 1,
        tryTake: broken,
        release: () => {},
        undo: () => {},
        onAvailable: () => () => {},
        snapshot: () => ({}),
      },
    })
    expect(() => ask('a1')).toThrow('broken')
    expect(queue.snapshot()).toMatchObject({ came: 0, waiting: 0, running: 0 })
  })
})

describe('perturbation', () => {
  it('comes with a call when it is due, not more often than each hundred', () => {
    const { queue, ask, world } = queueOf({ queues: 16, perturbEveryMs: 5_000, maxWaitMs: 1_000 })
    const perturbations = (): number | undefined => queue.snapshot().bands[0]!.queue.sfq?.perturbations
    ask('x')
    for (let i = 0; i < 99; i++) ask(`${i}`)
    world.advance(10_000)
    expect(perturbations()).toBe(0)
    ask('b')
    expect(perturbations()).toBe(1)
    for (let i = 0; i < 99; i++) ask(`${i}`)
    expect(perturbations()).toBe(1)
    world.advance(10_000)
    ask('b')
    expect(perturbations()).toBe(2)
    world.advance(10_000)
    for (let i = 0; i < 99; i++) ask(`${i}`)
    expect(perturbations()).toBe(2)
  })
})
