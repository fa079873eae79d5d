import { describe, expect, it } from 'vitest'
import { FairQueue } from './fair-queue.js'

describe.each([1e4, 1e6, 1e8, 1e12])('one request that declares a cost of %i', (declared) => {
  it.each([
    ['settled at 1', 1000],
    ['never settled', 1000],
    ['the first of all, settled at 1', 0],
  ])('does not make turns long for others, %s', (how, before) => {
    const queue = new FairQueue<string>()
    const serve = (): string => {
      const ticket = queue.dequeue()!
      if (how !== 'never settled') queue.settle(ticket, 1)
      return ticket.item
    }
    for (let i = 0; i < before; i++) {
      queue.enqueue(`n${i % 5}`, 'n')
      serve()
    }
    queue.enqueue('x', 'x', declared)
    serve()
    const got = new Map(['a', 'b', 'c'].map((flow) => [flow, 0]))
    for (const flow of got.keys()) for (let i = 0; i < 20; i++) queue.enqueue(flow, flow)
    for (let i = 0; i < 3_000; i++) {
      const flow = serve()
      got.set(flow, got.get(flow)! + 1)
      queue.enqueue(flow, flow)
    }
    const [least, most] = [Math.min(...got.values()), Math.max(...got.values())]
    expect(most - least).toBeLessThan(before === 0 ? 300 : 10)
  })
})
