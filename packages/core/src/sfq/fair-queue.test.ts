import { byWidth } from '@fairlead-testing/oracles'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { FairQueue } from './fair-queue.js'
import type { FairQueueOptions, Ticket } from './options.js'

interface Item {
  readonly flow: string
  readonly order: number
  dead: boolean
  left: number
}

const forms: [string, FairQueueOptions][] = [
  ['perFlow', {}],
  ['perFlow, without the new list', { sparseFirst: false }],
  ['hashed', { queues: 16 }],
  ['one hashed queue, without the new list', { queues: 1, sparseFirst: false }],
  ['growing', { queues: 'auto' }],
]
const OPERATIONS = byWidth(200_000, 1_000_000)

describe.each(forms)(`of ${OPERATIONS} operations in all forms, %s`, (_, options) => {
  it('let everything out once, in order, and leave nothing behind', { timeout: 60_000 }, () => {
    const random = seededRandom(9)
    const weightOf = (flow: string): number => (flow.length % 3) + 0.1
    const queue = new FairQueue<Item>({
      ...options,
      weightOf,
      perFlowLimit: 20,
      maxWaiting: 400,
      random,
    })
    const last = new Map<string, number>()
    const tickets: Ticket<Item>[] = []
    let operations = 0
    let order = 0
    const leave = ({ item }: Ticket<Item>): void => {
      item.left++
      if (item.left > 1) throw new Error('left twice')
    }
    const isDead = (item: Item): boolean => {
      if (item.dead) item.left++
      return item.dead
    }
    const serve = (): boolean => {
      const ticket = queue.dequeue(isDead)
      if (ticket === undefined) return false
      leave(ticket)
      const { flow } = ticket.item
      if (ticket.item.order < (last.get(flow) ?? -1)) throw new Error('out of order')
      last.set(flow, ticket.item.order)
      if (random() < 0.2) queue.settle(ticket, 9 * random())
      return true
    }
    // Load comes and goes, so that queues fill, overflow, empty, grow and shrink.
    for (let busy = 0.5; operations < OPERATIONS / forms.length; operations++) {
      if (operations % 5000 === 0) busy = 0.3 + 0.5 * random()
      const chance = random()
      if (chance < busy) {
        const flow = `flow-${Math.floor(random() ** 3 * 1000)}`
        const item = { flow, order: order++, dead: false, left: 0 }
        const answer = queue.enqueue(flow, item, 0.1 + 10 * random() ** 4)
        if ('refused' in answer) continue
        if (answer.evicted) leave(answer.evicted)
        tickets.push(answer)
      } else if (chance < 0.95) serve()
      else if (chance < 0.998) {
        const ticket = tickets[Math.floor(random() * tickets.length)]
        if (ticket === undefined) continue
        if (random() < 0.3) ticket.item.dead = true
        else if (queue.remove(ticket)) leave(ticket)
      } else if (random() < 0.3) queue.perturb()
      if (tickets.length > 2000) tickets.splice(0, 1000)
    }
    const { waiting, records, enqueued, dequeued, removed, evicted, dead } = queue.snapshot()
    expect(enqueued).toBe(waiting + dequeued + removed + evicted + dead)
    // Includes lanes that pay a debt or pass; all of them were served recently.
    expect(records).toBeLessThanOrEqual(waiting + 1000)
    for (let left = waiting; serve(); left--) expect(left).toBeGreaterThan(0)
    expect(queue.snapshot()).toMatchObject({ waiting: 0, cost: 0, records: 0 })
    expect(queue.standing('anyone')).toEqual({ waiting: 0, cost: 0, share: 1 })
    for (const { item } of tickets) expect(item.left).toBe(1)
  })
})

describe('what it remembers', () => {
  it('is what waits, and what was served within a round', () => {
    const queue = new FairQueue<number>()
    for (let i = 0; i < 5; i++) queue.enqueue('heavy', i)
    for (let i = 0; i < 1000; i++) {
      queue.enqueue(`once ${i}`, i)
      queue.enqueue('heavy', i)
      queue.dequeue()
      queue.dequeue()
      expect(queue.snapshot().records).toBeLessThanOrEqual(queue.waiting + 2)
    }
  })

  it('is nothing of a flow that gave up', () => {
    const queue = new FairQueue<string>()
    queue.enqueue('other', 'other')
    for (let i = 0; i < 10; i++) {
      const ticket = queue.enqueue(`flow ${i}`, '')
      if (!('refused' in ticket)) queue.remove(ticket)
    }
    expect(queue.snapshot().records).toBe(1)
  })
})

describe('misuse', () => {
  it.each<[string, unknown]>([
    ['fairQueue has no option "queue"', { queue: 4 }],
    ['fairQueue must be an object, got 3', 3],
    ['queues must be an integer from 1 to 65536, got 0', { queues: 0 }],
    ['queues must be an integer from 1 to 65536, got NaN', { queues: Number.NaN }],
    ['queues must be one of "perFlow", "auto", got "many"', { queues: 'many' }],
    ['sparseFirst must be true or false, got 1', { sparseFirst: 1 }],
    ['estimates must be one of "learned", "asked", got "guessed"', { estimates: 'guessed' }],
    ['weightOf must be a function, got 2', { weightOf: 2 }],
    ['overflow must be one of "refuse", "evict", got "drop"', { overflow: 'drop' }],
    ['perFlowLimit must be an integer >= 1, got 0', { perFlowLimit: 0 }],
    ['maxWaiting must be an integer >= 1, got 1.5', { maxWaiting: 1.5 }],
    ['random must be a function, got 4', { random: 4 }],
  ])('is told: %s', (message, options) => {
    expect(() => new FairQueue(options as FairQueueOptions)).toThrow(message)
  })

  it('of a call changes nothing', () => {
    let weight = 1
    const weightOf = (flow: string): number => {
      if (flow === 'broken') throw new Error('no such tenant')
      return weight
    }
    const queue = new FairQueue<string>({ weightOf })
    queue.enqueue('a', 'a')
    const before = queue.snapshot()
    expect(() => queue.enqueue('', 'x')).toThrow('flow must be a non-empty string, got ""')
    for (const cost of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e13])
      expect(() => queue.enqueue('b', 'b', cost)).toThrow(
        `cost must be a number from 1e-9 to 1000000000000, got ${cost}`,
      )
    expect(() => queue.enqueue('broken', 'x')).toThrow('no such tenant')
    for (weight of [0, -1, Number.NaN, 1e13])
      expect(() => queue.enqueue('b', 'b')).toThrow(
        `weightOf("b") must be a number from 1e-9 to 1000000000000, got ${weight}`,
      )
    weight = 1
    const other = new FairQueue<string>().enqueue('a', 'a') as Ticket<string>
    expect(() => queue.remove(other)).toThrow('ticket must come from this queue')
    expect(() => queue.remove({ ...other })).toThrow('ticket must come from enqueue, got an object')
    expect(() => queue.settle(other, -1)).toThrow('actualCost must be a number from 0 to 1000000000000, got -1')
    expect(queue.snapshot()).toEqual(before)
  })

  it.each(['a', ['a', 'k']])(
    'a weightOf that throws: arrivals of %j meet it, its debts count with weight 1',
    (flow) => {
      let works = true
      const weightOf = (): number => {
        if (works) return 8
        throw new Error('broken')
      }
      const queue = new FairQueue<string>({ weightOf })
      queue.enqueue('b', 'b')
      queue.enqueue(flow, 'a')
      works = false
      expect(() => queue.enqueue(flow, 'a')).toThrow('broken')
      const first = queue.dequeue() as Ticket<string>
      const second = queue.dequeue() as Ticket<string>
      // Nothing waits: no record is left.
      queue.dequeue()
      works = true
      queue.enqueue('c', 'c')
      works = false
      expect(queue.standing('d').share).toBe(1 / (1 + 8))
      queue.charge(first, 50)
      for (const ticket of [first, second]) queue.settle(ticket, 100)
      // Both owe beside `c`.
      expect(queue.standing('d').share).toBe(1 / (1 + 8 + 1 + 1))
      expect(queue.dequeue()?.item).toBe('c')
    },
  )

  it.each([{}, { queues: 2 }] as FairQueueOptions[])('a question that throws loses nothing (%o)', (options) => {
    const queue = new FairQueue<number>(options)
    for (let i = 0; i < 12; i++) queue.enqueue(`${i % 4}`, i, 1 + (i % 3))
    const seen: number[] = []
    for (let asked = 0; queue.waiting > 0; ) {
      const before = queue.waiting
      try {
        const ticket = queue.dequeue(() => {
          if (++asked % 2 === 0) throw new Error('broken')
          return false
        })
        if (ticket) seen.push(ticket.item)
        expect(queue.waiting).toBe(before - 1)
      } catch {
        expect(queue.waiting).toBe(before)
      }
    }
    expect(seen.sort((x, y) => x - y)).toEqual(Array.from({ length: 12 }, (_, i) => i))
  })
})
