import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/index.js'
import { LearnedCosts } from './costs.js'
import { FairQueue } from './fair-queue.js'
import type { FairQueueOptions, Ticket } from './options.js'

const SLOTS = 16
const TENANTS = 100

/** The part of their share that small tenants of cost 1 get, beside as many of cost 1000 that are unknown at first. */
function smallShare(options: FairQueueOptions, seconds: number): number {
  const random = seededRandom(777)
  const queue = new FairQueue<number>({ perFlowLimit: 1000, maxWaiting: 100_000, ...options })
  const add = (tenant: number): void => void queue.enqueue(`tenant-${tenant}`, tenant)
  for (let k = 0; k < 60; k++) for (let tenant = 0; tenant < TENANTS; tenant++) add(tenant)
  const slots: { endsMs: number; cost: number; ticket?: Ticket<number> }[] = Array.from({ length: SLOTS }, (_, i) => {
    return { endsMs: i / 1000, cost: 0 }
  })
  let served = 0
  for (;;) {
    const slot = slots.reduce((a, b) => (b.endsMs < a.endsMs ? b : a))
    if (slot.endsMs > seconds * 1000) break
    if (slot.ticket !== undefined) {
      queue.settle(slot.ticket, slot.cost)
      if (slot.ticket.item < TENANTS / 2) served += slot.cost
    }
    slot.ticket = queue.dequeue()!
    slot.cost = (slot.ticket.item < TENANTS / 2 ? 1 : 1000) * (0.9 + 0.2 * random())
    slot.endsMs += slot.cost
    add(slot.ticket.item)
  }
  return served / ((seconds * 1000 * SLOTS) / 2)
}

function served(queue: FairQueue<string>): Ticket<string> {
  const ticket = queue.dequeue()
  if (ticket === undefined) throw new Error('nothing waits')
  return ticket
}

describe('costs that are known only at the end', () => {
  it('leave small tenants their share, because they are learnt', () => {
    expect(smallShare({ estimates: 'asked' }, 15)).toBeLessThan(0.5)
    for (const seconds of byWidth([30], [15, 30])) expect(smallShare({}, seconds)).toBeGreaterThan(0.9)
  })

  it('are charged while requests run, as they have been, and what was too much comes back', () => {
    const queue = new FairQueue<string>()
    for (const actual of [8, 12, 8, 12, 8, 12]) {
      queue.enqueue('a', 'a')
      queue.settle(served(queue), actual)
    }
    for (const flow of ['a', 'b']) for (let i = 0; i < 20; i++) queue.enqueue(flow, flow)
    let first = served(queue)
    while (first.flow !== 'a') first = served(queue)
    expect(first.cost).toBeGreaterThan(8)
    expect(first.cost).toBeLessThan(12)
    queue.settle(first, 5)
    expect(first.cost).toBe(5)
  })

  it('are learnt for each kind of request', () => {
    const queue = new FairQueue<string>()
    for (let i = 0; i < 10; i++)
      for (const [kind, actual] of [['report', 500] as const, ['lookup', 2] as const]) {
        queue.enqueue('a', kind, 1, kind)
        queue.settle(served(queue), actual)
      }
    for (const [kind, cost] of [['report', 500] as const, ['lookup', 2] as const]) {
      queue.enqueue('a', kind, 1, kind)
      expect(served(queue).cost).toBeCloseTo(cost)
    }
  })

  it('of a newcomer are taken to be what others cost, while its requests run', () => {
    const queue = new FairQueue<string>()
    queue.enqueue('known', '')
    queue.settle(served(queue), 100)
    queue.enqueue('new', '')
    const ticket = served(queue)
    expect(ticket.cost).toBe(100)
    queue.settle(ticket, 1)
    queue.enqueue('new', '')
    expect(served(queue).cost).toBe(1)
  })

  it('of newcomers are what first requests of others were, so that they do not all start together', () => {
    const queue = new FairQueue<string>()
    const [CHEAP, COSTLY] = [1, 1_000]
    const costOf = (flow: string): number => (flow.startsWith('costly') ? COSTLY : CHEAP)
    const add = (flow: string): void => void queue.enqueue(flow, flow)
    const serve = (): string => {
      const ticket = queue.dequeue()!
      queue.settle(ticket, costOf(ticket.item))
      return ticket.item
    }
    // Four of each kind have become known; then as many unknown ones arrive.
    for (let i = 0; i < 4; i++) for (const kind of ['cheap', 'costly']) add(`${kind}-${i}`)
    for (let i = 0; i < 8; i++) serve()
    for (let i = 0; i < 8; i++) for (let n = 0; n < 300; n++) add(`cheap-${i % 4}`)
    for (let i = 4; i < 12; i++) add(`costly-${i}`)
    const order = Array.from({ length: 200 }, serve)
    const costly = order.filter((flow) => flow.startsWith('costly'))
    expect(costly.length).toBeGreaterThan(0)
    expect(costly.length).toBeLessThan(4)
  })

  it('change nothing where they are settled as declared', () => {
    const queue = new FairQueue<string>()
    for (let i = 1; i < 20; i++) {
      queue.enqueue('a', '', i)
      const ticket = served(queue)
      expect(ticket.cost).toBe(i)
      queue.settle(ticket, i)
    }
  })

  it('teach nothing where nothing ran', () => {
    const queue = new FairQueue<string>()
    queue.enqueue('a', '')
    queue.settle(served(queue), 0)
    queue.enqueue('a', '')
    expect(served(queue).cost).toBe(1)
  })

  it('are learnt of requests that never waited, too', () => {
    const queue = new FairQueue<string>()
    queue.learn('a', 1, 30)
    queue.enqueue('a', '')
    expect(served(queue).cost).toBe(30)
  })

  it('do not come back where the debt for them was forgiven', () => {
    const queue = new FairQueue<string>({ sparseFirst: false })
    queue.learn('a', 1, 1000)
    queue.enqueue('a', 'a')
    const ticket = served(queue)
    expect(queue.dequeue()).toBeUndefined()
    for (let i = 0; i < 20; i++) for (const flow of ['b', 'a']) queue.enqueue(flow, flow)
    queue.settle(ticket, 1)
    const next = Array.from({ length: 20 }, () => served(queue).flow)
    expect(next.filter((flow) => flow === 'a').length).toBeLessThanOrEqual(11)
  })
})

describe('a cost that is known only at the end, of requests that started while no other flow waited', () => {
  /** Turns of `a` among the first 200 of `a` and `b`, after eight requests of `a` with an actual cost of 60 each. */
  const turnsOfA = (known: boolean, path: (flow: string, key: string) => string | readonly string[]): number => {
    const queue = new FairQueue<string>({ estimates: 'asked', perFlowLimit: 1_000 })
    for (let i = 0; i < 8; i++) queue.enqueue(path('a', 'first'), 'long', known ? 60 : 1)
    const long = Array.from({ length: 8 }, () => served(queue))
    for (let i = 0; i < 200; i++) {
      queue.enqueue(path('a', 'second'), 'a')
      queue.enqueue(path('b', 'first'), 'b')
    }
    if (!known) for (const ticket of long) queue.settle(ticket, 60)
    return Array.from({ length: 200 }, () => served(queue).item).filter((item) => item === 'a').length
  }

  it.each([
    ['a flow', (flow: string): string => flow],
    ['an account', (flow: string, key: string): string[] => [flow, key]],
  ])('is owed by %s as if it had been known: for the latest alone', (_, path) => {
    const asIfKnown = turnsOfA(true, path)
    expect(turnsOfA(false, path)).toBeGreaterThanOrEqual(asIfKnown - 30)
    expect(turnsOfA(false, path)).toBeLessThanOrEqual(asIfKnown + 30)
  })

  it('is owed to the other keys of an account that waited, and not by the account', () => {
    const queue = new FairQueue<string>({ estimates: 'asked', perFlowLimit: 1_000 })
    for (let i = 0; i < 10; i++) for (const key of ['k', 'l']) queue.enqueue(['a', key], key)
    const long = Array.from({ length: 8 }, () => served(queue)).filter(({ item }) => item === 'k')
    for (let i = 0; i < 300; i++)
      for (const path of [
        ['a', 'k'],
        ['a', 'l'],
        ['b', 'b'],
      ])
        queue.enqueue(path, path[1]!)
    for (const ticket of long) queue.settle(ticket, 30)
    const next = Array.from({ length: 80 }, () => served(queue).item)
    const turns = (name: string): number => next.filter((item) => item === name).length
    expect(turns('b')).toBeLessThanOrEqual(55)
    expect(turns('k')).toBeLessThanOrEqual(2)
  })
})

describe('a charge while a request runs', () => {
  it('is a debt of its flow as soon as it exceeds what was charged', () => {
    const queue = new FairQueue<string>({ estimates: 'asked' })
    for (let i = 0; i < 40; i++) for (const flow of ['a', 'b']) queue.enqueue(flow, flow)
    const ticket = served(queue)
    queue.charge(ticket, 0.5)
    expect(ticket.cost).toBe(1)
    for (let cost = 1; cost <= 21; cost++) queue.charge(ticket, cost)
    expect(ticket.cost).toBe(21)
    const next = Array.from({ length: 20 }, () => served(queue).flow)
    expect(next.filter((flow) => flow !== ticket.flow).length).toBeGreaterThanOrEqual(19)
  })

  it('does not count before the request runs, or after it was settled', () => {
    const queue = new FairQueue<string>()
    const waiting = queue.enqueue('a', 'a')
    if ('refused' in waiting) throw new Error('refused')
    queue.charge(waiting, 5)
    expect(waiting.cost).toBe(1)
    queue.dequeue()
    queue.settle(waiting, 2)
    queue.charge(waiting, 5)
    expect(waiting.cost).toBe(2)
    expect(() => queue.charge(waiting, -1)).toThrow('costSoFar must be a number from 0 to 1000000000000, got -1')
  })
})

describe('an estimate', () => {
  const costs = (of: (i: number) => readonly [declared: number, actual: number]): LearnedCosts => {
    const learned = new LearnedCosts()
    for (let i = 0; i < 60; i++) learned.learn('a', '', ...of(i))
    return learned
  }

  it('is the declared cost unless a multiple of it, or the mean, has been twice as near', () => {
    const sizes = [1, 5, 20]
    const near = costs((i) => [sizes[i % 3]!, sizes[i % 3]! + (i % 2 === 0 ? 0.1 : -0.1)])
    const proportional = costs((i) => [sizes[i % 3]!, 7 * sizes[i % 3]!])
    const mean = costs((i) => [sizes[i % 3]!, 50])
    const random = seededRandom(5)
    // The mean of the last few is no better estimate than a mean of all, which the caller may know.
    const noisy = costs(() => [100, 200 * random()])
    expect([2, 10].map((declared) => near.expected('a', '', declared))).toEqual([2, 10])
    expect(proportional.expected('a', '', 10)).toBeCloseTo(70, 0)
    expect(mean.expected('a', '', 10)).toBeCloseTo(50)
    expect(noisy.expected('a', '', 100)).toBe(100)
  })

  it('is, where it is a charge, no less than estimates have been wrong by', () => {
    const random = seededRandom(5)
    const learned = new LearnedCosts()
    let [charged, spent] = [0, 0]
    for (let i = 0; i < 2000; i++) {
      charged += learned.cautious('a', '', 1)
      const actual = random() < 0.1 ? 1000 : 1
      spent += actual
      learned.learn('a', '', 1, actual)
    }
    expect(charged / spent).toBeGreaterThan(0.8)
  })

  it('is kept for a bounded number of flows and kinds', () => {
    const learned = new LearnedCosts()
    learned.learn('flow-0', '', 1, 50)
    expect(learned.expected('flow-0', '', 1)).toBe(50)
    for (let i = 1; i < 12_000; i++) learned.learn(`flow-${i}`, '', 1, 2)
    expect(learned.size).toBe(10_000)
    expect(learned.expected('flow-11999', '', 1)).toBe(2)
    expect(learned.expected('flow-0', '', 1)).toBeCloseTo(2, 3)
    for (let i = 0; i < 40; i++) learned.learn('flow-11999', `kind-${i}`, 1, 100 + i)
    expect(learned.expected('flow-11999', 'kind-3', 1)).toBe(103)
    expect(learned.expected('flow-11999', 'kind-39', 1)).toBe(learned.expected('flow-11999', '', 1))
  })
})
