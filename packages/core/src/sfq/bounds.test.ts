import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FairQueue } from './fair-queue.js'
import type { FairQueueOptions, Refused, Ticket } from './options.js'

type Answer = ReturnType<FairQueue<string>['enqueue']>

function ticketOf(answer: Answer): Ticket<string> {
  if ('refused' in answer) throw new Error(answer.refused)
  return answer
}

function refusalOf(answer: Answer): Refused {
  if ('refused' in answer) return answer
  throw new Error('taken in')
}

describe('bounds', () => {
  it('refuse what a flow has too many of, and say how it stands', () => {
    const queue = new FairQueue<string>({ perFlowLimit: 2, weightOf: (flow) => (flow === 'a' ? 3 : 1) })
    for (const flow of ['a', 'a', 'b']) queue.enqueue(flow, flow, 2)
    expect(refusalOf(queue.enqueue('a', 'a'))).toEqual({
      refused: 'flow-full',
      limit: 2,
      waiting: 2,
      cost: 4,
      share: 0.75,
    })
    expect(queue.standing('c')).toEqual({ waiting: 0, cost: 0, share: 0.2 })
    expect(queue.snapshot()).toMatchObject({ waiting: 3, refused: 1, records: 2 })
  })

  it('refuse the newcomer when asked to', () => {
    const queue = new FairQueue<string>({ maxWaiting: 2, overflow: 'refuse' })
    for (const flow of ['a', 'a']) queue.enqueue(flow, flow)
    expect(refusalOf(queue.enqueue('b', 'b'))).toMatchObject({ refused: 'full', limit: 2, waiting: 0, share: 0.5 })
  })

  it('evict the last arrival of the fattest flow', () => {
    const queue = new FairQueue<string>({ maxWaiting: 4 })
    for (const item of ['a1', 'b1', 'b2', 'b3']) queue.enqueue(item[0]!, item)
    const ticket = ticketOf(queue.enqueue('c', 'c1'))
    const { evicted } = ticket
    expect(evicted?.item).toBe('b3')
    expect(evicted?.evicted).toBeUndefined()
    expect(queue.remove(evicted!)).toBe(false)
    expect(queue.dequeue()?.item).toBe('a1')
    expect(queue.remove(ticket)).toBe(true)
    expect(ticket.evicted).toBeUndefined()
    expect(queue.snapshot()).toMatchObject({ enqueued: 5, waiting: 2, dequeued: 1, removed: 1, evicted: 1 })
  })

  it('go by cost per weight', () => {
    const queue = new FairQueue<string>({ maxWaiting: 5, weightOf: (flow) => (flow === 'paid' ? 10 : 1) })
    for (const item of ['paid', 'paid', 'paid', 'paid']) queue.enqueue(item, item)
    queue.enqueue('free', 'free', 3)
    expect(ticketOf(queue.enqueue('new', 'new')).evicted?.item).toBe('free')
    expect(refusalOf(queue.enqueue('large', 'large', 2)).refused).toBe('full')
  })

  it('are right though the sum of a line is inexact', () => {
    const queue = new FairQueue<string>({ maxWaiting: 3 })
    for (const cost of [1e12, 1e-9, 1e-9]) queue.enqueue('mixed', 'mixed', cost)
    for (let i = 0; i < 2; i++) queue.dequeue()
    queue.enqueue('long', 'long', 1)
    queue.enqueue('long', 'long', 1)
    expect(queue.cost).toBeGreaterThanOrEqual(0)
    expect(ticketOf(queue.enqueue('new', 'new')).evicted?.item).toBe('long')
  })

  const forms: [string, FairQueueOptions][] = [
    ['perFlow', {}],
    ['SFQ', { queues: 4 }],
    ['growing SFQ', { queues: 'auto' }],
  ]
  const step = fc.record({ flow: fc.nat(7), cost: fc.integer({ min: 1, max: 30 }), serves: fc.boolean() })
  it.each(forms)('never let a light flow pay for one more than twice as fat, %s', (_, options) => {
    const weightOf = (flow: string): number => [1, 1, 1, 0.5, 2, 4][Number(flow)] ?? 1
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const queue = new FairQueue<string>({ ...options, maxWaiting: 10, perFlowLimit: 6, weightOf })
        const lines = new Map<string, Ticket<string>[]>()
        const size = (flow: string): number =>
          (lines.get(flow) ?? []).reduce((sum, { cost }) => sum + cost, 0) / weightOf(flow)
        const leave = ({ flow, item }: Ticket<string>): void =>
          void lines.set(
            flow,
            lines.get(flow)!.filter((each) => each.item !== item),
          )
        steps.forEach(({ flow: index, cost, serves }, i) => {
          const flow = `${index}`
          const fattest = Math.max(0, ...[...lines.keys()].map(size))
          const waits = lines.get(flow) ?? []
          const would = size(flow) + cost / weightOf(flow)
          const answer = queue.enqueue(flow, `${i}`, cost)
          if ('refused' in answer) {
            if (answer.refused === 'flow-full') expect(waits).toHaveLength(6)
            else expect(fattest).toBeLessThanOrEqual(2 * would)
            expect(answer).toMatchObject({ waiting: waits.length })
          } else {
            const { evicted } = answer
            if (evicted) {
              expect(size(evicted.flow)).toBeGreaterThan(would)
              expect(2 * size(evicted.flow)).toBeGreaterThan(fattest)
              expect(evicted).toBe(lines.get(evicted.flow)!.at(-1))
              leave(evicted)
            }
            lines.set(flow, [...waits, answer])
          }
          const served = serves ? queue.dequeue() : undefined
          if (served) {
            expect(served).toBe(lines.get(served.flow)![0])
            leave(served)
          }
          expect(queue.waiting).toBe([...lines.values()].flat().length)
          expect(queue.waiting).toBeLessThanOrEqual(10)
        })
      }),
    )
  })

  it.each([
    ['are settled as declared', 1],
    ['cost more than they declared, so that each flow owes', 5],
  ])('hold for what is remembered while flows come that were never seen, whose requests %s', (_, cost) => {
    const queue = new FairQueue<number>({ estimates: 'asked' })
    // There is always a new flow, so the others' turns never come.
    for (let i = 0; i < 64; i++) queue.enqueue(`flow-${i}`, i)
    for (let i = 64; i < 20_000; i++) {
      queue.enqueue(`flow-${i}`, i)
      queue.settle(queue.dequeue()!, cost)
    }
    expect(queue.snapshot().records).toBeLessThanOrEqual(64 + 4_096)
    while (queue.dequeue() !== undefined);
    expect(queue.snapshot()).toMatchObject({ waiting: 0, records: 0 })
  })

  it.each<[string, FairQueueOptions, (i: number) => string | readonly string[]]>([
    ['paths', {}, (i) => [`account-${i % 7_000}`, `key-${i}`]],
    ['queues', { queues: 64 }, (i) => `flow-${i}`],
    ['queues that are perturbed', { queues: 'auto' }, (i) => `flow-${i}`],
  ])('hold for what is remembered of %s together', (_, options, flowOf) => {
    const queue = new FairQueue<number>(options)
    for (let i = 0; i < 64; i++) queue.enqueue(flowOf(i), i)
    for (let i = 64; i < 40_000; i++) {
      queue.enqueue(flowOf(i), i)
      queue.dequeue()
      if (i % 5_000 === 0) queue.perturb()
    }
    expect(queue.snapshot().records).toBeLessThanOrEqual(2 * 64 + 2 * 4_096)
    while (queue.dequeue() !== undefined);
    expect(queue.snapshot()).toMatchObject({ waiting: 0, records: 0 })
  })

  it('keep a flow that sends its requests one at a time from coming first, beside any number of names', () => {
    const queue = new FairQueue<string>({ perFlowLimit: 1_000 })
    const add = (flow: string): void => void queue.enqueue(flow, flow)
    for (let i = 0; i < 500; i++) add('steady')
    const served = { steady: 0, paced: 0, name: 0 }
    add('paced')
    for (let i = 0; i < 9_000; i++) {
      // A third of the requests served have unique names: less than all.
      if (i % 3 === 0) add(`name-${i}`)
      if (queue.standing('steady').waiting < 500) add('steady')
      const { item } = queue.dequeue()!
      const kind = item.startsWith('name') ? 'name' : (item as 'steady' | 'paced')
      served[kind]++
      if (kind === 'paced') add('paced')
    }
    expect(served.name).toBe(3_000)
    expect(Math.abs(served.paced - served.steady)).toBeLessThanOrEqual(10)
  })
})
