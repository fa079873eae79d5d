import { describe, expect, it } from 'vitest'
import type { Arrival, Discipline } from '../simulation/sfq/index.js'
import { type HashedLines, hashedLines } from './hashed-lines.js'

function arrival(flow: string, atMs: number): Arrival {
  return { flow, light: false, cost: 1, atMs, serviceMs: 1 }
}

function drain(queues: Discipline): string[] {
  const served: string[] = []
  for (let next = queues.dequeue(() => false); next; next = queues.dequeue(() => false))
    served.push(`${next.flow}${next.atMs}`)
  return served
}

const one: HashedLines = { lines: 1, hand: 1, seed: 1, overflow: 'evict' }

describe('hashed lines', () => {
  it('serve a line in order of arrival, without what died', () => {
    const queues = hashedLines(one)
    for (const [i, flow] of ['a', 'b', 'a'].entries()) queues.enqueue(arrival(flow, i))
    expect(queues.dequeue(({ atMs }) => atMs === 0)).toMatchObject({ flow: 'b' })
    expect(drain(queues)).toEqual(['a2'])
  })

  it('evict the last request of the flow that has most in a full line', () => {
    const queues = hashedLines(one)
    for (let i = 0; i < 50; i++) expect(queues.enqueue(arrival(i < 30 ? 'a' : 'b', i))).toBeUndefined()
    expect(queues.enqueue(arrival('c', 50))).toMatchObject({ flow: 'a', atMs: 29 })
    expect(queues.enqueue(arrival('a', 51))).toMatchObject({ flow: 'a', atMs: 51 })
    expect(drain(queues)).toHaveLength(50)
  })

  it('refuse new requests of a full line, if asked to', () => {
    const queues = hashedLines({ ...one, overflow: 'refuse', limit: 2 })
    for (let i = 0; i < 2; i++) expect(queues.enqueue(arrival('a', i))).toBeUndefined()
    expect(queues.enqueue(arrival('b', 2))).toMatchObject({ flow: 'b' })
    expect(drain(queues)).toEqual(['a0', 'a1'])
  })

  it('keep all that waits, and its order, when they are perturbed', () => {
    const queues = hashedLines({ ...one, lines: 8 })
    for (let i = 0; i < 50; i++) queues.enqueue(arrival(`flow-${i % 10}:`, i))
    queues.perturb?.()
    const served = drain(queues)
    expect(served).toHaveLength(50)
    for (let flow = 0; flow < 10; flow++) {
      const times = served.filter((name) => name.startsWith(`flow-${flow}:`)).map((name) => Number(name.split(':')[1]))
      expect(times).toEqual(times.toSorted((x, y) => x - y))
    }
  })
})
