import { describe, expect, it } from 'vitest'
import { FairQueue } from './fair-queue.js'
import type { Ticket } from './options.js'

function ticketOf<T>(answer: ReturnType<FairQueue<T>['enqueue']>): Ticket<T> {
  if ('refused' in answer) throw new Error(answer.refused)
  return answer
}

describe('peek', () => {
  it('shows what dequeue gives, and takes nothing', () => {
    const queue = new FairQueue<string>()
    expect(queue.peek()).toBeUndefined()
    for (const item of ['a1', 'b1', 'a2', 'c1', 'a3']) queue.enqueue(item[0]!, item, item === 'a1' ? 7 : 1)
    for (let waiting = 5; waiting > 0; waiting--) {
      expect(queue.waiting).toBe(waiting)
      const head = queue.peek()
      expect(queue.peek()).toBe(head)
      expect(queue.dequeue()).toBe(head)
    }
    expect(queue.peek()).toBeUndefined()
  })
})

describe('take', () => {
  it('gives the item that dequeue would, whichever flows were skipped for it', () => {
    const [taken, dequeued] = [new FairQueue<string>(), new FairQueue<string>()]
    for (const queue of [taken, dequeued])
      for (const item of ['a1', 'b1', 'a2', 'c1', 'a3', 'b2']) queue.enqueue(item[0]!, item, item === 'a1' ? 7 : 1)
    for (let waiting = 6; waiting > 0; waiting--) {
      const mayStart = (item: string): boolean => waiting % 2 === 0 || item[0] !== 'a'
      const head = taken.peek(undefined, mayStart)!
      expect(taken.take(head)).toBe(true)
      expect(head.item).toBe(dequeued.dequeue(undefined, mayStart)!.item)
      expect(taken.snapshot()).toEqual(dequeued.snapshot())
      expect(taken.take(head)).toBe(false)
    }
    expect(taken.waiting).toBe(0)
  })

  it('rejects the ticket of another queue', () => {
    const ticket = ticketOf(new FairQueue<string>().enqueue('a', 'a'))
    expect(() => new FairQueue<string>().take(ticket)).toThrow(TypeError)
  })
})

describe('a peek that is strict', () => {
  const only =
    (flow: string) =>
    (item: string): boolean =>
      item[0] === flow

  it.each([
    ['of one queue a flow', {}],
    ['without new flows first', { sparseFirst: false }],
    ['of hashed queues', { queues: 4 }],
  ])('finds whoever may start, however far its turn is, and nobody otherwise: %s', (_, options) => {
    for (const cost of [1, 30, 1000, 1e6]) {
      const queue = new FairQueue<string>(options)
      for (let i = 0; i < 30; i++) queue.enqueue('a', `a${i}`)
      for (let i = 0; i < 4; i++) queue.enqueue('c', `c${i}`)
      for (let i = 0; i < 20; i++) queue.dequeue()
      queue.enqueue('b', 'b', cost)
      expect(queue.peek(undefined, only('b'), true)?.item).toBe('b')
      expect(queue.dequeue(undefined, only('b'))?.item).toBe('b')
      expect(queue.peek(undefined, only('b'), true)).toBeUndefined()
      // Its debt of a million turns does not hide it either.
      queue.enqueue('b', 'b2')
      expect(queue.peek(undefined, only('b'), true)?.item).toBe('b2')
      expect(queue.peek(undefined, only('nobody'), true)).toBeUndefined()
      expect(queue.waiting).toBe(15)
    }
  })
})

describe('takeNewest', () => {
  it('serves a flow newest first until it is empty, and leaves the others alone', () => {
    const queue = new FairQueue<string>({ sparseFirst: false })
    for (const item of ['a1', 'a2', 'b1', 'b2', 'a3']) queue.enqueue(item[0]!, item)
    queue.takeNewest('a')
    const served: string[] = []
    for (let i = 0; i < 5; i++) served.push(queue.dequeue()!.item)
    expect(served).toEqual(['a3', 'b1', 'a2', 'b2', 'a1'])
    for (const item of ['a4', 'a5']) queue.enqueue('a', item)
    expect(queue.dequeue()?.item).toBe('a4')
  })

  it('does nothing where the flow does not wait', () => {
    const queue = new FairQueue<string>()
    queue.takeNewest('a')
    for (const item of ['a1', 'a2']) queue.enqueue('a', item)
    expect(queue.dequeue()?.item).toBe('a1')
  })

  it('evicts what the flow would serve last', () => {
    const queue = new FairQueue<string>({ maxWaiting: 3 })
    for (const item of ['a1', 'a2', 'a3']) queue.enqueue('a', item)
    queue.takeNewest('a')
    expect(ticketOf(queue.enqueue('b', 'b1')).evicted?.item).toBe('a1')
  })
})
