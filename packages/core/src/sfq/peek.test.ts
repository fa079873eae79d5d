import { describe, expect, it } from 'vitest'
import { FairQueue } from './fair-queue.js'
import type { Ticket } from './request.js'

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
