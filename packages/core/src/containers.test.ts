import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DeadlineQueue, type Timed, TurnoverMap } from './containers.js'

it('holds what a map holds, in the same order', () => {
  const step = fc.record({ key: fc.nat(30).map(String), value: fc.option(fc.nat()) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.nat(5_000), (steps, turns) => {
      const [map, expected] = [new TurnoverMap<number>(), new Map<string, number>()]
      for (const [i, { key, value }] of steps.entries()) {
        // Enough turnover that the entries move at some time.
        for (let turn = 0; i === 10 && turn < turns; turn++) {
          map.set('passing', turn)
          map.delete('passing')
        }
        for (const each of [map, expected])
          if (value === null) each.delete(key)
          else each.set(key, value)
        expect(map.entries.get(key)).toBe(expected.get(key))
      }
      expect([...map.entries]).toEqual([...expected])
    }),
  )
})

const ROUNDS = 20
const TURNS = 10_000
const WORDS = 20

type Turning = Pick<TurnoverMap<object>, 'set'> & { delete(key: string): unknown }

/** Bytes on the heap after flows have come and gone, with collections of the young generation alone. */
function keptBytes(map: Turning): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void
  const turn = (round: number): void => {
    for (let i = round * TURNS; i < (round + 1) * TURNS; i++) {
      map.set(`flow ${i}`, { words: new Array<number>(WORDS).fill(i) })
      map.delete(`flow ${i - 100}`)
    }
  }
  turn(0)
  // The present table is old from now on.
  collect()
  const before = getHeapStatistics().used_heap_size
  for (let round = 1; round <= ROUNDS; round++) {
    turn(round)
    collect({ type: 'minor' })
  }
  return getHeapStatistics().used_heap_size - before
}

it('entries that have left are collected with the young, even after a full collection', () => {
  const others = keptBytes({ set: () => {}, delete: () => {} })
  const passedBytes = ROUNDS * TURNS * WORDS * 8
  // With a `Map`, it is more than a quarter.
  expect(keptBytes(new TurnoverMap()) - others).toBeLessThan(passedBytes / 20)
})

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
