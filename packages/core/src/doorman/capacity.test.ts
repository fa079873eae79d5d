import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createGate, type Decision, type Gate, type Permit } from '../index.js'
import type { RequestQueueSnapshot } from '../queue/index.js'
import { requestQueue } from '../queue/request-queue.js'
import { Office } from './fixtures/office.js'
import type { GaugeLease, RateLease } from './index.js'

interface Trial {
  readonly office: Office
  readonly gate: Gate
  readonly running: Permit[]
  readonly refused: string[]
  readonly startedMs: number[]
  /** Requests started beyond the grant of that moment. */
  readonly over: number[]
  /** Asks for slots; the returned function makes the requests that still wait leave. */
  ask(many: number): () => void
  end(many: number): void
}

/** A gate whose queue drains into a lease. */
function trialOf(office: Office, capacity: GaugeLease | RateLease, maxWaitMs = 60_000): Trial {
  const { clock, after } = office.world
  const gate = createGate({ fair: false, queue: requestQueue({ concurrency: capacity, maxWaitMs }), clock, after })
  const running: Permit[] = []
  const refused: string[] = []
  const startedMs: number[] = []
  const over: number[] = []
  const note = (decision: Decision): void => {
    if (decision.admitted) {
      running.push(decision)
      startedMs.push(clock())
      if (capacity.inFlight > capacity.limit) over.push(clock())
    } else refused.push(decision.reason)
  }
  const ask = (many: number): (() => void) => {
    const controllers: AbortController[] = []
    for (let i = 0; i < many; i++) {
      const controller = new AbortController()
      controllers.push(controller)
      const decision = gate.admit({ flow: `f${i % 5}`, signal: controller.signal })
      if (decision instanceof Promise) void decision.then(note)
      else note(decision)
    }
    return () => {
      for (const controller of controllers) controller.abort()
    }
  }
  const end = (many: number): void => {
    for (const permit of running.splice(0, many)) permit.finish('success')
  }
  return { office, gate, running, refused, startedMs, over, ask, end }
}

describe('a queue that drains into a leased gauge', () => {
  it('waits for the lease, and lets run what that allows', async () => {
    let capacity = 3
    const office = new Office((request) => office.grant(request, capacity))
    const gauge = office.client.gauge('g', { wants: 10 })
    const { running, ask, end } = trialOf(office, gauge)
    ask(10)
    expect(running.length).toBe(0)
    await office.advance(0)
    expect(running.length).toBe(3)
    end(2)
    await office.advance(0)
    expect([running.length, gauge.inFlight]).toEqual([3, 3])
    capacity = 1
    await office.advance(17_600)
    end(2)
    await office.advance(0)
    expect([running.length, gauge.inFlight]).toEqual([1, 1])
    capacity = 6
    await office.advance(17_600)
    expect(running.length).toBe(6)
    end(6)
    expect([running.length, gauge.inFlight]).toEqual([0, 0])
  })

  it('keeps a request waiting that is wider than the lease, until it grows', async () => {
    let capacity = 2
    const office = new Office((request) => office.grant(request, capacity))
    const gauge = office.client.gauge('g', { wants: 10 })
    const { clock, after } = office.world
    await office.advance(0)
    const gate = createGate({
      fair: false,
      queue: requestQueue({ concurrency: gauge, width: 3, maxWaitMs: 60_000 }),
      clock,
      after,
    })
    let admitted = false
    void Promise.resolve(gate.admit({ flow: 'a' })).then((decision) => {
      admitted = decision.admitted
    })
    await office.advance(1_000)
    expect(admitted).toBe(false)
    capacity = 3
    await office.advance(17_600)
    expect(admitted).toBe(true)
  })

  it('asks for more while it is short, though it does not show what waits', async () => {
    const office = new Office((request) => office.grant(request, ({ wants }) => Math.min(wants, 40)))
    const { ask, running, gate } = trialOf(office, office.client.gauge('g'))
    await office.advance(0)
    ask(100)
    await office.advance(40_000)
    expect(running.length).toBe(40)
    expect((gate.snapshot().stages['queue'] as RequestQueueSnapshot).waiting).toBe(60)
  })

  it('runs no more than was granted when it started, and serves every request', async () => {
    const step = fc.record({
      what: fc.constantFrom('ask', 'ask', 'end', 'grant', 'abort'),
      many: fc.integer({ min: 1, max: 6 }),
      ms: fc.constantFrom(0, 300, 17_600),
      capacity: fc.constantFrom(0, 1, 3, 7),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 50 }), async (steps) => {
        let capacity = 3
        const office = new Office((request) => office.grant(request, capacity))
        const gauge = office.client.gauge('g', { wants: 10 })
        const { ask, end, running, over, gate } = trialOf(office, gauge, 86_400_000)
        const leave: (() => void)[] = []
        for (const { what, many, ms, capacity: next } of steps) {
          if (what === 'ask') leave.push(ask(many))
          if (what === 'end') end(many)
          if (what === 'grant') capacity = next
          if (what === 'abort') leave.pop()?.()
          await office.advance(ms)
          expect(over).toEqual([])
          expect(gauge.inFlight).toBe(running.length)
          const { waiting } = gate.snapshot().stages['queue'] as RequestQueueSnapshot
          if (waiting > 0) expect(running.length).toBeGreaterThanOrEqual(gauge.capacity)
        }
      }),
      { numRuns: byWidth(50, 200) },
    )
  })
})

describe('a listener of a lease that throws', () => {
  it('harms neither the others nor the client', async () => {
    let capacity = 0
    const office = new Office((request) => office.grant(request, capacity, { refreshS: 5 }))
    const leases = [office.client.gauge('g', { wants: 1 }), office.client.rate('r', { wants: 1 })]
    const told = [0, 0]
    for (const [i, lease] of leases.entries()) {
      lease.onAvailable(() => {
        told[i]!++
        throw new Error('broken')
      })
      expect(lease.tryTake()).toBe(false)
    }
    await office.advance(5_500)
    capacity = 2
    await office.advance(5_500)
    expect(told.every((count) => count > 0)).toBe(true)
    expect(leases.map((lease) => [lease.capacity, lease.snapshot().listenerErrors > 0])).toEqual([
      [2, true],
      [2, true],
    ])
    const count = office.asked.length
    await office.advance(5_500)
    expect(office.asked.length).toBe(count + 1)
  })
})

describe('a queue that drains into a leased rate', () => {
  it('starts as many each second as were granted', async () => {
    const office = new Office((request) => office.grant(request, 10))
    const { ask, startedMs, refused } = trialOf(office, office.client.rate('r', { wants: 10 }))
    await office.advance(0)
    ask(35)
    await office.advance(10_000)
    const seconds = startedMs.map((atMs) => Math.floor(atMs / 1_000))
    expect([0, 1, 2, 3].map((second) => seconds.filter((other) => other === second).length)).toEqual([10, 10, 10, 5])
    expect(refused).toEqual([])
  })

  it('goes on when the rate grows, and stops when there is none', async () => {
    let capacity = 0
    const office = new Office((request) => office.grant(request, capacity, { refreshS: 5 }))
    const { ask, startedMs } = trialOf(office, office.client.rate('r', { wants: 10 }))
    ask(100)
    await office.advance(5_600)
    expect(startedMs).toEqual([])
    capacity = 2
    await office.advance(5_600)
    expect(startedMs.length).toBeGreaterThanOrEqual(2)
    capacity = 0
    await office.advance(5_600)
    const count = startedMs.length
    await office.advance(5_000)
    expect(startedMs.length).toBe(count)
    capacity = -1
    await office.advance(5_600)
    expect(startedMs.length).toBe(100)
  })

  it('asks for more while it is short, though it does not show what waits', async () => {
    const office = new Office((request) => office.grant(request, ({ wants }) => Math.min(wants, 50)))
    const rate = office.client.rate('r')
    const { ask } = trialOf(office, rate)
    for (let second = 0; second < 40; second++) {
      ask(80)
      await office.advance(1_000)
    }
    expect(rate.capacity).toBe(50)
  })

  it('shares it with those who wait for the lease themselves, who come first', async () => {
    const office = new Office((request) => office.grant(request, 10))
    const rate = office.client.rate('r', { wants: 10 })
    const { ask, startedMs } = trialOf(office, rate)
    await office.advance(0)
    ask(30)
    let served = 0
    for (let i = 0; i < 12; i++) void rate.wait().then(() => served++)
    await office.advance(1_000)
    expect([startedMs.length, served]).toEqual([10, 10])
    await office.advance(1_000)
    expect([startedMs.length, served]).toEqual([18, 12])
  })

  it('spends no more a second than was granted, and serves every request', async () => {
    const step = fc.record({ many: fc.nat(30), ms: fc.integer({ min: 0, max: 3_000 }) })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.integer({ min: 1, max: 20 }), async (steps, capacity) => {
        const office = new Office((request) => office.grant(request, capacity))
        const rate = office.client.rate('r', { wants: 10 })
        const { ask, startedMs, refused } = trialOf(office, rate, 86_400_000)
        await office.advance(0)
        let asked = 0
        expect(rate.inFlight).toBe(0)
        for (const { many, ms } of steps) {
          asked += many
          ask(many)
          await office.advance(ms)
        }
        await office.advance((1_000 * asked) / capacity + 2_000)
        expect([startedMs.length, refused]).toEqual([asked, []])
        const seconds = new Map<number, number>()
        for (const atMs of startedMs)
          seconds.set(Math.floor(atMs / 1_000), (seconds.get(Math.floor(atMs / 1_000)) ?? 0) + 1)
        for (const count of seconds.values()) expect(count).toBeLessThanOrEqual(capacity)
      }),
      { numRuns: byWidth(50, 200) },
    )
  })
})
