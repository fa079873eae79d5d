import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DeadlineQueue, type Timed } from './deadline-queue.js'

interface Item extends Timed<Item> {}

it('a deadline queue always knows the earliest item that was added and not deleted', () => {
  const step = fc.oneof(
    fc.nat(20).map((startByMs) => ({ startByMs })),
    fc.nat(30).map((which) => ({ which })),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const heap = new DeadlineQueue<Item>()
      const all: Item[] = []
      for (const each of steps) {
        if ('which' in each) {
          const item = all.splice(each.which, 1)[0]
          if (item !== undefined) {
            heap.delete(item)
            expect(item.position).toBe(-1)
            heap.delete(item)
          }
        } else {
          const item: Item = { startByMs: each.startByMs, position: -1, next: undefined, previous: undefined }
          all.push(item)
          heap.add(item)
        }
        expect(heap.size).toBe(all.length)
        expect(heap.first?.startByMs ?? Number.POSITIVE_INFINITY).toBe(Math.min(...all.map((item) => item.startByMs)))
      }
      const order: number[] = []
      for (let first = heap.first; first !== undefined; first = heap.first) {
        order.push(first.startByMs)
        heap.delete(first)
      }
      expect(order).toEqual(all.map((item) => item.startByMs).sort((x, y) => x - y))
    }),
  )
})
