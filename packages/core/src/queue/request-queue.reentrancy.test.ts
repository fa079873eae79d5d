import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import { type Capacity, fixed } from '../capacity/index.js'
import { queueOf, settled } from './fixtures/queue-of.js'

/** A fixed capacity that calls `before` when it is asked for slots, and `after` when it has granted some. */
function capacityOf(slots: number, hooks: { before?: () => void; after?: () => void }): Capacity {
  const real = fixed(slots)
  return {
    limit: slots,
    maximum: slots,
    get inFlight() {
      return real.inFlight
    },
    tryTake: (width, nowMs) => {
      hooks.before?.()
      const taken = real.tryTake(width, nowMs)
      if (taken) hooks.after?.()
      return taken
    },
    release: (...ended) => real.release(...ended),
    undo: (width, nowMs) => real.undo(width, nowMs),
    onAvailable: (listener) => real.onAvailable(listener),
    snapshot: () => real.snapshot(),
  }
}

/** Calls `act` the first time only. */
function once(act: () => void): () => void {
  let done = false
  return () => {
    if (done) return
    done = true
    act()
  }
}

const broken = (): never => {
  throw new Error('broken')
}

describe('a weightOf that calls back', () => {
  it('may add requests of a flow that is charged, which still is one flow', async () => {
    let act = (): void => {}
    const weightOf = (flow: string): number => {
      if (flow === 'a') act()
      return 1
    }
    const { queue, ask, permit } = queueOf({ weightOf, perFlowLimit: 20, maxWaitMs: 1e6 })
    ask('a')
    for (let i = 0; i < 20; i++) ask(`b${i}`)
    act = once(() => {
      for (let i = 0; i < 20; i++) ask(`a${i}`)
    })
    permit('a').finish('success', { cost: 1.5 })
    await settled()
    for (let i = 20; i < 60; i++) ask(`a${i}`)
    expect(queue.snapshot().flows.find(({ flow }) => flow === 'a')?.waiting).toBe(20)
    expect(queue.snapshot().bands[0]!.queue.records).toBeLessThanOrEqual(2)
  })

  it('may close the queue while a request comes in', async () => {
    let act = (): void => {}
    const weightOf = (flow: string): number => {
      if (flow === 'b') act()
      return 1
    }
    const { queue, ask, world, end, reason } = queueOf({ weightOf })
    const { signal } = new AbortController()
    ask('x')
    ask('a1')
    act = () => queue.close()
    expect(ask('b1', { signal })).toMatchObject({ reason: 'closed' })
    await settled()
    expect(reason('a1')).toBe('closed')
    await end('x')
    expect(queue.snapshot()).toMatchObject({ waiting: 0, running: 0, capacity: { inFlight: 0 } })
    expect(queue.snapshot().bands[0]!.queue).toMatchObject({ waiting: 0, records: 0 })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(world.timers).toBe(0)
  })

  it('may end what runs, and what came in starts at once', () => {
    let act = (): void => {}
    const { queue, ask, permit } = queueOf({
      weightOf: () => {
        act()
        return 1
      },
    })
    ask('x')
    act = once(() => permit('x').finish())
    expect(ask('b1')?.admitted).toBe(true)
    expect(queue.snapshot()).toMatchObject({ waiting: 0, running: 1, capacity: { inFlight: 1 } })
  })

  it('may take so long that what comes in is late already', async () => {
    let act = (): void => {}
    const { queue, ask, world, end, permit } = queueOf({
      maxWaitMs: 100,
      weightOf: () => {
        act()
        return 1
      },
    })
    ask('x')
    act = once(() => {
      world.stall(200)
      permit('x').finish()
      ask('y')
    })
    ask('b1')
    await settled()
    world.advance(200)
    await end('y')
    expect(queue.snapshot()).toMatchObject({ came: 3, waiting: 0, capacity: { inFlight: queue.snapshot().running } })
    expect(queue.snapshot().bands[0]).toMatchObject({ waiting: 0, queue: { waiting: 0 } })
    expect(world.timers).toBe(0)
  })

  it('may make the client leave', () => {
    const controller = new AbortController()
    const { signal } = controller
    let act = (): void => {}
    const { queue, ask, world } = queueOf({
      weightOf: () => {
        act()
        return 1
      },
    })
    ask('x')
    act = () => controller.abort()
    expect(ask('b1', { signal })).toMatchObject({ reason: 'gone' })
    expect(queue.snapshot()).toMatchObject({ waiting: 0, bands: [{ waiting: 0, queue: { waiting: 0 } }] })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(world.timers).toBe(0)
  })

  it('may close the queue while somebody is evicted', async () => {
    let act = (): void => {}
    let asked = 0
    const weightOf = (flow: string): number => {
      if (flow === 'a' && ++asked > 4) act()
      return 1
    }
    const { queue, ask, world, end, reason, started } = queueOf({ weightOf, maxWaiting: 4, perFlowLimit: 20 })
    const { signal } = new AbortController()
    // So that it knows its rate, and computes the share of the evicted.
    ask('x')
    for (let i = 0; i < 12; i++) {
      ask(`y${i}`)
      world.advance(10)
      await end(started[i]!)
    }
    for (const name of ['a1', 'a2', 'a3', 'a4']) ask(name)
    act = () => queue.close()
    expect(ask('b1', { signal })).toMatchObject({ reason: 'closed' })
    await settled()
    expect(['a1', 'a2', 'a3', 'a4'].map(reason)).toEqual(['closed', 'closed', 'closed', 'evicted'])
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
    expect(world.timers).toBe(0)
  })
})

describe('a signal of which somebody else hears first', () => {
  it('starts nothing of a client that is gone, and costs its flow no turn', async () => {
    const { queue, ask, permit, started, reason, end } = queueOf({ sparseFirst: false })
    const controller = new AbortController()
    const { signal } = controller
    signal.addEventListener('abort', () => permit('x').finish())
    ask('x')
    ask('a1', { signal })
    ask('a2', { signal })
    ask('a3')
    ask('b1')
    controller.abort()
    await settled()
    expect(['a1', 'a2'].map(reason)).toEqual(['gone', 'gone'])
    expect(started).toEqual(['x', 'a3'])
    await end('a3')
    await end('b1')
    expect(queue.snapshot()).toMatchObject({ waiting: 0, running: 0, refusedBy: { gone: 2 } })
    expect(queue.snapshot().bands[0]).toMatchObject({ waiting: 0, queue: { waiting: 0, records: 0 } })
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
  })

  it('does not start the one that is being passed either', async () => {
    const { queue, ask, permit, started, reason } = queueOf({ concurrency: 4, bypass: 0 })
    const controller = new AbortController()
    const { signal } = controller
    signal.addEventListener('abort', () => permit('x').finish())
    ask('x', { width: 2 })
    ask('w', { width: 4, signal })
    ask('b1', { width: 4 })
    expect(queue.snapshot().passing).toMatchObject({ width: 4 })
    controller.abort()
    await settled()
    expect(reason('w')).toBe('gone')
    expect(started).toEqual(['x', 'b1'])
    expect(queue.snapshot()).toMatchObject({ running: 1, waiting: 0, capacity: { inFlight: 4 } })
  })

  it('looks at the next band where all of one are gone', async () => {
    const { ask, permit, started, reason } = queueOf({ bands: [{}, { minShare: 0.3 }, {}] })
    const controller = new AbortController()
    const { signal } = controller
    signal.addEventListener('abort', () => permit('x').finish())
    ask('x')
    ask('a1', { band: 0, signal })
    ask('b1', { band: 1, signal })
    ask('c1', { band: 2 })
    controller.abort()
    await settled()
    expect(started).toEqual(['x', 'c1'])
    expect(['a1', 'b1'].map(reason)).toEqual(['gone', 'gone'])
  })
})

describe('a capacity that calls back', () => {
  it.each(['before', 'after'] as const)('may have the one leave that it is asked for, %s it answers', async (when) => {
    const hooks: { before?: () => void; after?: () => void } = {}
    const { queue, ask, end, started, reason } = queueOf({ concurrency: capacityOf(1, hooks) })
    const controller = new AbortController()
    ask('x')
    ask('a1', { signal: controller.signal })
    ask('a2')
    hooks[when] = once(() => controller.abort())
    await end('x')
    expect(reason('a1')).toBe('gone')
    expect(started).toEqual(['x', 'a2'])
    expect(queue.snapshot()).toMatchObject({ running: 1, waiting: 0, capacity: { inFlight: 1 } })
    expect(queue.snapshot().bands[0]).toMatchObject({ waiting: 0, queue: { waiting: 0 } })
  })

  it('may have the one leave that is being passed', async () => {
    const hooks: { after?: () => void } = {}
    const { queue, ask, end, started, reason } = queueOf({ concurrency: capacityOf(4, hooks), bypass: 0 })
    const controller = new AbortController()
    ask('x', { width: 2 })
    ask('w', { width: 4, signal: controller.signal })
    ask('b1')
    hooks.after = once(() => controller.abort())
    await end('x')
    expect(reason('w')).toBe('gone')
    expect(started).toEqual(['x', 'b1'])
    expect(queue.snapshot()).toMatchObject({ running: 1, waiting: 0, passing: undefined, capacity: { inFlight: 1 } })
  })

  it('may let others in; these then come first, and no request is lost', async () => {
    const hooks: { before?: () => void } = {}
    const { queue, ask, end, started } = queueOf({ concurrency: capacityOf(1, hooks) })
    for (const name of ['x', 'a1', 'a2']) ask(name)
    await end('x')
    // b is new, and comes before a, which has had a turn.
    hooks.before = once(() => ask('b1'))
    await end('a1')
    expect(started).toHaveLength(3)
    for (let i = 2; i < 4; i++) await end(started[i]!)
    expect(started.toSorted()).toEqual(['a1', 'a2', 'b1', 'x'])
    expect(queue.snapshot()).toMatchObject({ running: 0, waiting: 0, capacity: { inFlight: 0 } })
  })

  it('may close the queue', async () => {
    const hooks: { after?: () => void } = {}
    const { queue, ask, end, reason, started, world } = queueOf({ concurrency: capacityOf(1, hooks) })
    for (const name of ['x', 'a1', 'a2']) ask(name)
    hooks.after = once(() => queue.close())
    await end('x')
    expect(['a1', 'a2'].map(reason)).toEqual(['closed', 'closed'])
    expect(started).toEqual(['x'])
    expect(queue.snapshot()).toMatchObject({ running: 0, waiting: 0, capacity: { inFlight: 0 } })
    expect(world.timers).toBe(0)
  })

  it('may close the queue at the door', () => {
    const hooks: { before?: () => void } = {}
    const { queue, ask, world } = queueOf({ concurrency: capacityOf(1, hooks) })
    ask('x')
    hooks.before = () => queue.close()
    expect(ask('a1')).toMatchObject({ reason: 'closed' })
    expect(queue.snapshot().waiting).toBe(0)
    expect(world.timers).toBe(0)
  })
})

describe('a capacity that fails', () => {
  it('keeps nobody waiting by a listener of somebody else that throws', async () => {
    const capacity = fixed(1)
    let throws = false
    capacity.onAvailable(() => {
      if (throws) broken()
    })
    const { queue, ask, permit, started } = queueOf({ concurrency: capacity })
    for (const name of ['x', 'a1', 'a2']) ask(name)
    throws = true
    // The first listener rotates.
    for (const name of ['x', 'a1', 'a2']) {
      try {
        permit(name).finish()
      } catch (error) {
        expect(error).toMatchObject({ message: 'broken' })
      }
      await settled()
    }
    expect(started).toEqual(['x', 'a1', 'a2'])
    expect(queue.snapshot()).toMatchObject({ running: 0, waiting: 0, capacity: { inFlight: 0 } })
  })

  it('lets nobody pass for that', async () => {
    const hooks: { before?: () => void } = {}
    const { queue, ask, end, started } = queueOf({ concurrency: capacityOf(2, hooks) })
    for (const name of ['x', 'y', 'a1', 'b1']) ask(name)
    hooks.before = broken
    await end('x')
    expect(queue.snapshot()).toMatchObject({ waiting: 2, passing: undefined })
    delete hooks.before
    await end('y')
    expect(started).toEqual(['x', 'y', 'a1', 'b1'])
  })

  it('does not keep the door from being closed', async () => {
    const real = fixed(1)
    const capacity: Capacity = {
      limit: 1,
      maximum: 1,
      inFlight: 0,
      tryTake: (width, nowMs) => real.tryTake(width, nowMs),
      release: (...ended) => real.release(...ended),
      undo: (width, nowMs) => real.undo(width, nowMs),
      onAvailable: () => broken,
      snapshot: () => real.snapshot(),
    }
    const { queue, ask, reason, world } = queueOf({ concurrency: capacity })
    for (const name of ['x', 'a1']) ask(name)
    expect(() => queue.close()).toThrow('broken')
    await settled()
    expect(reason('a1')).toBe('closed')
    expect(queue.snapshot().waiting).toBe(0)
    expect(world.timers).toBe(0)
  })
})

describe('queues that share a capacity', () => {
  it('forget everything when what waited turns out to be late by another queue', async () => {
    const capacity = fixed(1)
    const one = queueOf({ concurrency: capacity })
    const other = queueOf({ concurrency: capacity, maxWaitMs: 100 })
    other.ask('x')
    for (const name of ['a1', 'a2', 'a3']) other.ask(name)
    await other.end('x')
    one.ask('y')
    await other.end('a1')
    expect(one.started).toEqual(['y'])
    other.world.stall(200)
    await one.end('y')
    expect(other.queue.snapshot()).toMatchObject({ running: 0, waiting: 0, bands: [{ queue: { records: 0 } }] })
    expect(other.world.timers).toBe(0)
  })
})

describe('credit of a band', () => {
  it('is not given for what it never paid, when a wide request leaves', async () => {
    const { queue, ask } = queueOf({ concurrency: 4, bypass: 0, bands: [{}, { minShare: 0.1 }] })
    const controller = new AbortController()
    ask('x', { width: 2 })
    ask('w', { width: 4, cost: 4, band: 1, signal: controller.signal })
    for (const name of ['b1', 'b2']) ask(name, { width: 4, band: 1 })
    controller.abort()
    await settled()
    expect(queue.snapshot().bands[1]!.credit).toBeLessThanOrEqual(0.1)
  })
})
