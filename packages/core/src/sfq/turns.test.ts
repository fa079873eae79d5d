import { byWidth, PlainRoundRobin } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../testing/seeded-random.js'
import { FairQueue } from './fair-queue.js'
import type { FairQueueOptions, Ticket } from './options.js'

interface Item {
  readonly id: number
  dead: boolean
}

type Step =
  | { do: 'enqueue'; flow: number; cost: number }
  | { do: 'reweigh'; flow: number; weight: number }
  | { do: 'dequeue' }
  | { do: 'remove' | 'kill'; which: number }
  | { do: 'settle'; which: number; factor: number }

const flow = fc.nat(5)
/** Odd fractions: whether credit covers a cost never depends on the last bit of a sum. */
const fraction = (most: number): fc.Arbitrary<number> => fc.integer({ min: 100, max: most * 997 }).map((n) => n / 997)
const cost = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 40 }), fraction(30))
const weight = fc.constantFrom(0.25, 0.5, 1, 2, 4)
const dequeueStep = fc.constant({ do: 'dequeue' as const })
const enqueueStep = fc.record({ do: fc.constant('enqueue' as const), flow, cost })
const removeStep = fc.record({ do: fc.constantFrom('remove' as const, 'kill' as const), which: fc.nat(1000) })
const factor = fc.oneof(fc.constant(0), fraction(5))
const settleStep = fc.record({ do: fc.constant('settle' as const), which: fc.nat(1000), factor })
const reweighStep = fc.record({ do: fc.constant('reweigh' as const), flow, weight })
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    { arbitrary: enqueueStep, weight: 6 },
    { arbitrary: dequeueStep, weight: 4 },
    { arbitrary: removeStep, weight: 1 },
    { arbitrary: settleStep, weight: 1 },
    { arbitrary: reweighStep, weight: 1 },
  ),
  { maxLength: 150 },
)

/** Its last request leaves in the round that has credited the flow, before it was served: one in thousands of runs. */
const LEFT_IN_A_CREDITED_TURN: Step[] = [
  { do: 'enqueue', flow: 1, cost: 1 },
  { do: 'enqueue', flow: 0, cost: 5 },
  { do: 'dequeue' },
  { do: 'enqueue', flow: 1, cost: 9 },
  { do: 'dequeue' },
  { do: 'remove', which: 0 },
]

describe('turns, beside a round robin that walks every round', () => {
  it.each([true, false])('serve the same requests in the same order (sparseFirst: %s)', (sparseFirst) => {
    fc.assert(
      fc.property(steps, (all) => sameOrder(all, sparseFirst)),
      { numRuns: RUNS, examples: [[LEFT_IN_A_CREDITED_TURN]] },
    )
  })
})

/**
 * Serves `dequeues` requests of flows that always wait; returns the cost served to each, after each. With a number of
 * slots, so many run at once and are settled in order; without, none is settled.
 */
function backlogged<T extends FairQueue<string>>(
  queue: T,
  costs: ReadonlyMap<string, () => number>,
  dequeues: number,
  each: (served: ReadonlyMap<string, number>) => void = () => {},
  slots = 0,
): Map<string, number> {
  const running: Ticket<string>[] = []
  const served = new Map([...costs.keys()].map((name) => [name, 0]))
  const top = (name: string): void => void accepted(queue.enqueue(name, name, costs.get(name)!()))
  for (const name of costs.keys()) for (let i = 0; i < 3; i++) top(name)
  for (let i = 0; i < dequeues; i++) {
    const ticket = queue.dequeue()!
    const { flow: name, cost: charged } = ticket
    if (slots > 0 && running.push(ticket) >= slots) {
      const first = running.shift()!
      queue.settle(first, first.cost)
    }
    served.set(name, served.get(name)! + charged)
    top(name)
    each(served)
  }
  return served
}

const forms: [string, FairQueueOptions][] = [
  ['perFlow', {}],
  ['perFlow, without the new list', { sparseFirst: false }],
  ['the flows of one queue', { queues: 1 }],
  ['the flows of one queue, without the new list', { queues: 1, sparseFirst: false }],
]

describe('shares of flows that wait', () => {
  it.each(forms)('never differ by more than a turn and twice the largest costs, %s', (_, options) => {
    const flows = fc.array(fc.record({ weight, most: fc.integer({ min: 1, max: 40 }) }), { minLength: 2, maxLength: 6 })
    fc.assert(
      fc.property(flows, fc.nat(), fc.nat(9), (all, seed, slots) => {
        const random = seededRandom(seed)
        const weightOf = (name: string): number => all[Number(name)]!.weight
        const queue = new FairQueue<string>({ ...options, weightOf })
        const costs = new Map(all.map(({ most }, i) => [`${i}`, () => 1 + Math.floor(random() * most)]))
        const largest = Math.max(...all.map(({ most }) => most))
        let quantum = 0
        // The least and the largest lead of each flow over the first: over any interval it changes by no more.
        const leads = all.map(() => [0, 0])
        const watch = (served: ReadonlyMap<string, number>): void => {
          quantum = Math.max(quantum, queue.snapshot().quantum)
          leads.forEach((range, i) => {
            const lead = served.get(`${i}`)! / all[i]!.weight - served.get('0')! / all[0]!.weight
            range[0] = Math.min(range[0]!, lead)
            range[1] = Math.max(range[1]!, lead)
          })
        }
        backlogged(queue, costs, 400, watch, slots)
        const entry = options.sparseFirst === false ? 0 : quantum
        leads.forEach(([least, most], i) => {
          const bound = quantum + entry + 2 * largest * (1 / all[i]!.weight + 1 / all[0]!.weight)
          expect(most! - least!).toBeLessThanOrEqual(bound + 1e-6)
        })
      }),
    )
  })

  it('bring each flow a request in every round, though they cost now a little more than a turn, now a little less', () => {
    const random = seededRandom(3)
    const flows = Array.from({ length: 20 }, (_, i) => `${i}`)
    const last = new Map<string, number>()
    let [longest, at] = [0, 0]
    const queue = new FairQueue<string>()
    const dequeue = queue.dequeue.bind(queue)
    queue.dequeue = (...said) => {
      const ticket = dequeue(...said)!
      longest = Math.max(longest, at - (last.get(ticket.flow) ?? at))
      last.set(ticket.flow, at++)
      return ticket
    }
    backlogged(queue, new Map(flows.map((flow) => [flow, () => 0.7 + 0.6 * random()])), 10_000)
    expect(longest).toBeLessThan(1.6 * flows.length)
  })

  it.each([1, 20, 1000])('follow the weights whatever the costs, up to %i', (most) => {
    const random = seededRandom(most)
    const weights = [1, 1, 1, 2, 4, 8]
    const requests = weights.map(() => 0)
    const costs = new Map(
      weights.map((_, i) => [
        `${i}`,
        () => {
          requests[i]!++
          return 1 + random() * (most - 1) * (i % 3)
        },
      ]),
    )
    const queue = new FairQueue<string>({ weightOf: (name) => weights[Number(name)]! })
    const served = backlogged(queue, costs, 100_000)
    const fair = [...served.values()].reduce((sum, x) => sum + x, 0) / weights.reduce((sum, x) => sum + x, 0)
    weights.forEach((each, i) => {
      // Rare service comes in large pieces.
      expect(Math.abs(served.get(`${i}`)! / each / fair - 1)).toBeLessThan(requests[i]! < 60 ? 0.1 : 0.03)
    })
  })

  it.each([1, 2, 4, 16])('are even to one in a hundred in SFQ, with %i queues', (queues) => {
    for (const seed of byWidth([1], [1, 2, 3])) {
      const queue = new FairQueue<string>({ queues, random: seededRandom(seed) })
      const costs = new Map(Array.from({ length: 20 }, (_, i) => [`flow-${i}`, () => 1]))
      for (const got of backlogged(queue, costs, 20_000).values()) {
        expect(got).toBeGreaterThan(990)
        expect(got).toBeLessThan(1010)
      }
    }
  })

  it('follow the weights on fewer queues than flows', () => {
    const weights = [4, 2, 1, 1, 1]
    const weightOf = (name: string): number => weights[Number(name)]!
    const queue = new FairQueue<string>({ queues: 4, random: seededRandom(5), weightOf })
    const served = backlogged(queue, new Map(weights.map((_, i) => [`${i}`, () => 1])), 14_340)
    weights.forEach((each, i) => {
      expect(Math.abs(served.get(`${i}`)! / ((14_340 * each) / 9) - 1)).toBeLessThan(0.01)
    })
  })

  it('follow a weight that changes while the flow waits, from then on', () => {
    let heavy = 1
    const queue = new FairQueue<string>({ weightOf: (name) => (name === 'a' ? heavy : 1) })
    const costs = new Map(['a', 'b'].map((name) => [name, () => 1]))
    expect(backlogged(queue, costs, 1000).get('a')).toBeCloseTo(500, -1)
    heavy = 3
    expect(backlogged(queue, costs, 1000).get('a')).toBeCloseTo(750, -1)
  })
})

describe('the new list', () => {
  it('serves a flow that just came first, with one quantum', () => {
    const queue = new FairQueue<string>()
    for (let i = 0; i < 9; i++) for (const name of ['a', 'b']) queue.enqueue(name, name)
    for (let i = 0; i < 6; i++) queue.dequeue()
    queue.enqueue('new', 'new 1')
    queue.enqueue('new', 'new 2')
    expect([1, 2].map(() => queue.dequeue()!.item)).toEqual(['new 1', expect.stringMatching(/^[ab]$/)])
  })

  it.each(['waits for its answer', 'gives one of two up'])('brings a flow no advantage that %s', (way) => {
    const queue = new FairQueue<string>()
    const served = new Map<string, number>()
    const heavy = ['a', 'b', 'c']
    let spare: Ticket<string> | undefined
    const ask = (): void => {
      accepted(queue.enqueue('paced', 'paced'))
      if (way === 'gives one of two up') spare = accepted(queue.enqueue('paced', 'paced'))
    }
    ask()
    for (let i = 0; i < 4000; i++) {
      for (const name of heavy) queue.enqueue(name, name)
      const { item } = queue.dequeue()!
      served.set(item, (served.get(item) ?? 0) + 1)
      if (item !== 'paced') continue
      if (spare) queue.remove(spare)
      ask()
    }
    expect(served.get('paced')).toBeLessThan(1030)
    expect(served.get('paced')).toBeGreaterThan(950)
  })
})

describe('a flow that has one request at a time, and asks again when it likes', () => {
  /** Service of such a flow, as a part of that of flows of cost 1 that always wait; `cost` shows when it is served. */
  function gain(cost: number, declared: number, pause: number, weight: number, options: FairQueueOptions): number {
    const heavy = Array.from({ length: 10 }, (_, i) => `heavy-${i}`)
    const queue = new FairQueue<string>({ ...options, weightOf: (name) => (name === 'paced' ? weight : 1) })
    for (const name of heavy) for (let i = 0; i < 2; i++) queue.enqueue(name, name)
    let [paced, others, askAt] = [0, 0, 0]
    for (let at = 0; at < 6_000; at++) {
      if (at >= askAt) {
        queue.enqueue('paced', 'paced', declared)
        askAt = Number.POSITIVE_INFINITY
      }
      const ticket = queue.dequeue()!
      if (ticket.item === 'paced') {
        paced += cost
        queue.settle(ticket, cost)
        askAt = at + 1 + pause
      } else {
        others++
        queue.settle(ticket, 1)
        queue.enqueue(ticket.item, ticket.item)
      }
    }
    return (paced * heavy.length) / (others * weight)
  }

  it.each<[string, FairQueueOptions]>([
    ['perFlow', {}],
    ['as asked', { estimates: 'asked' }],
    ['one queue', { queues: 1, random: seededRandom(1) }],
    ['64 queues', { queues: 64, random: seededRandom(1) }],
  ])('gains nothing by its costs, its word or its pauses, %s', (_, options) => {
    const few: [number, number][] = [
      [1, 1],
      [2.2, 2.2],
      [3, 1],
      [1, 2],
    ]
    const more: typeof few = [
      [1.5, 1.5],
      [2, 2],
      [4, 4],
      [2, 1],
    ]
    for (const [cost, declared] of byWidth(few, [...few, ...more]))
      for (const weight of [1, 4])
        for (const pause of byWidth([0, 12], [0, 3, 9, 10, 11, 12, 13, 20, 22, 25]))
          expect(gain(cost, declared, pause, weight, options)).toBeLessThan(1.02)
  })
})

describe('the dead', () => {
  const live = fc.boolean()
  const lines = fc.array(fc.array(fc.record({ cost: fraction(20), live }), { maxLength: 12 }), { maxLength: 5 })

  it.each(forms)('change neither the order nor the charge of the others, %s', (_, options) => {
    fc.assert(
      fc.property(lines, (all) => {
        const [withDead, without] = [true, false].map((takesDead) => {
          const queue = new FairQueue<Item>(options)
          // All begin with a live request of the least cost, so that they start at the same place and pace.
          all.forEach((line, i) => {
            queue.enqueue(`${i}`, { id: i, dead: false }, 0.1)
            line.forEach(({ cost: each, live: lives }, j) => {
              if (lives || takesDead) queue.enqueue(`${i}`, { id: 100 * (j + 1) + i, dead: !lives }, each)
            })
          })
          const order: number[] = []
          for (let next = queue.dequeue(dead); next; next = queue.dequeue(dead)) order.push(next.item.id)
          return order
        })
        expect(withDead).toEqual(without)
      }),
      { numRuns: byWidth(100, 500) },
    )
  })

  it('may be found in any order, by a question that uses the queue', () => {
    const queue = new FairQueue<string>({ sparseFirst: false })
    const tickets = ['a', 'a', 'b', 'b', 'c'].map((name, i) => accepted(queue.enqueue(name, `${name}${i}`)))
    const seen: string[] = []
    const ticket = queue.dequeue((item) => {
      seen.push(item)
      if (item === 'a0') {
        for (const each of tickets.slice(1, 3)) queue.remove(each)
        queue.enqueue('d', 'd5')
        queue.perturb()
      }
      return item === 'a0'
    })
    expect(seen).toEqual(['a0', 'b3'])
    expect(ticket?.item).toBe('b3')
    expect([1, 2].map(() => queue.dequeue()?.item)).toEqual(['c4', 'd5'])
    expect(queue.dequeue()).toBeUndefined()
  })
})

describe('a debt', () => {
  it.each([
    ['perFlow', {}, 0.05],
    ['perFlow, without the new list', { sparseFirst: false }, 0.05],
    ['SFQ', { queues: 4, random: seededRandom(1) }, 0.1],
  ] as [string, FairQueueOptions, number][])(
    'is paid by a flow that asks for one thing at a time, %s',
    (_, options, off) => {
      const queue = new FairQueue<string>(options)
      const heavy = ['a', 'b', 'c', 'd']
      const served = new Map<string, number>()
      queue.enqueue('costly', 'costly', 1)
      for (let i = 0; i < 20_000; i++) {
        for (const name of heavy) queue.enqueue(name, name)
        const ticket = queue.dequeue()!
        const actual = ticket.flow === 'costly' ? 20 : 1
        queue.settle(ticket, actual)
        expect(ticket.cost).toBe(actual)
        served.set(ticket.flow, (served.get(ticket.flow) ?? 0) + actual)
        if (ticket.flow === 'costly') queue.enqueue('costly', 'costly', 1)
      }
      for (const name of heavy) expect(Math.abs(served.get('costly')! / served.get(name)! - 1)).toBeLessThan(off)
    },
  )

  it('is given back where the estimate was too high', () => {
    const queue = new FairQueue<string>({ perFlowLimit: 1000 })
    const served = new Map<string, number>()
    for (let i = 0; i < 20_000; i++) {
      queue.enqueue('exact', '', 1)
      queue.enqueue('careful', '', 10)
      const ticket = queue.dequeue()!
      queue.settle(ticket, 1)
      served.set(ticket.flow, (served.get(ticket.flow) ?? 0) + 1)
    }
    expect(Math.abs(served.get('careful')! / 10_000 - 1)).toBeLessThan(0.02)
  })

  it('counts the last figure, and nothing of what was never dequeued', () => {
    const queue = new FairQueue<string>()
    const waiting = accepted(queue.enqueue('a', 'a'))
    queue.settle(waiting, 50)
    expect(waiting.cost).toBe(1)
    queue.dequeue()
    for (const actual of [50, 1, 0]) queue.settle(waiting, actual)
    expect(waiting.cost).toBe(0)
    queue.enqueue('b', 'b')
    expect(queue.snapshot().records).toBe(2)
    expect([queue.dequeue()?.item, queue.dequeue()]).toEqual(['b', undefined])
    expect(queue.snapshot().records).toBe(0)
  })
})

/** Names that share SFQ's first queue of a few, and one that does not; by the first queue of their hands. */
function namesIn(queues: number): { together: string[]; apart: string } {
  const together: string[] = []
  let apart = ''
  for (let i = 0; together.length < 3 || apart === ''; i++) {
    const queue = new FairQueue<string>({ queues, random: seededRandom(1) })
    queue.enqueue(`${i}`, '')
    if (queue.snapshot().sfq!.lengths[0] === 1) together.push(`${i}`)
    else apart = `${i}`
  }
  return { together, apart }
}

describe('flows that share a queue', () => {
  const { together, apart } = namesIn(2)
  const [first, second] = together as [string, string]
  const options = (): FairQueueOptions => ({ queues: 2, random: seededRandom(1), sparseFirst: false })

  it('get nothing of what another did not use', () => {
    const queue = new FairQueue<string>({ ...options(), sparseFirst: true })
    for (let i = 0; i < 50; i++) for (const name of [second, apart]) queue.enqueue(name, name, 1)
    queue.dequeue()
    queue.enqueue(first, first, 30)
    let ticket = queue.dequeue()!
    while (ticket.item !== first) ticket = queue.dequeue()!
    queue.settle(ticket, 1)
    for (let i = 0; i < 50; i++) for (const name of [second, apart]) queue.enqueue(name, name, 1)
    const served = Array.from({ length: 20 }, () => queue.dequeue()!.item)
    expect(served.filter((name) => name === second).length).toBeLessThanOrEqual(12)
  })

  it('pay a debt with the weight of the one that owes', () => {
    const turns = [1, 4].map((heavy) => {
      const weightOf = (name: string): number => (name === first ? heavy : 1)
      const queue = new FairQueue<string>({ ...options(), estimates: 'asked', weightOf })
      queue.enqueue(first, first)
      queue.settle(queue.dequeue()!, 41)
      for (let i = 0; i < 50; i++) queue.enqueue(apart, apart)
      for (let i = 0; i < 2; i++) queue.dequeue()
      queue.enqueue(first, first)
      let others = 2
      while (queue.dequeue()!.item !== first) others++
      return others
    })
    expect(turns[0]).toBeGreaterThanOrEqual(39)
    expect(turns[1]).toBeLessThanOrEqual(12)
  })

  it('are made up for the turns in which they paid for another', () => {
    const queue = new FairQueue<string>(options())
    queue.enqueue(first, first)
    queue.settle(queue.dequeue()!, 21)
    const served = new Map<string, number>()
    for (let i = 0; i < 4000; i++) {
      for (const name of [second, apart]) queue.enqueue(name, name)
      const { item } = queue.dequeue()!
      served.set(item, (served.get(item) ?? 0) + 1)
    }
    expect(Math.abs(served.get(second)! - served.get(apart)!)).toBeLessThanOrEqual(3)
  })
})

describe('costly requests', () => {
  it.each(forms)('start evenly spread, though their flows began to wait together, %s', (_, options) => {
    const queue = new FairQueue<string>(options)
    const names = (kind: string): string[] => Array.from({ length: 10 }, (_, i) => `${kind}-${i}`)
    const costOf = (name: string): number => (name.startsWith('costly') ? 100 : 1)
    const costs = new Map([...names('small'), ...names('costly')].map((name) => [name, () => costOf(name)]))
    const total = (served: ReadonlyMap<string, number>, kind: string): number =>
      names(kind).reduce((sum, name) => sum + served.get(name)!, 0)
    // Cost of the small requests between one start of a costly one and the next: their share of it is 100.
    const between: number[] = []
    let [starts, from] = [0, 0]
    backlogged(queue, costs, 20_000, (served) => {
      const [costly, small] = [total(served, 'costly'), total(served, 'small')]
      if (costly === starts) return
      between.push(small - from)
      ;[starts, from] = [costly, small]
    })
    expect(between.length).toBeGreaterThan(100)
    expect(Math.min(...between.slice(1))).toBeGreaterThan(75)
    expect(Math.max(...between.slice(1))).toBeLessThan(125)
  })

  it.each([
    { slots: 4, small: 10, costly: 30, cost: 300 },
    { slots: 16, small: 10, costly: 90, cost: 1_000 },
    { slots: 32, small: 10, costly: 90, cost: 300 },
    { slots: 64, small: 20, costly: 180, cost: 1_000 },
  ])('leave slots to the others from the start: $slots slots, $costly flows of cost $cost, $small of cost 1', (all) => {
    const { slots, small, costly, cost } = all
    const queue = new FairQueue<number>()
    const random = seededRandom(slots)
    const add = (flow: number): void => {
      queue.enqueue(`${flow}`, flow, (flow < small ? 1 : cost) * (0.9 + 0.2 * random()))
    }
    for (let flow = 0; flow < small + costly; flow++) for (let i = 0; i < 2; i++) add(flow)
    // A request takes as long as it costs.
    const running: { readonly ticket: Ticket<number>; readonly endsAt: number }[] = []
    const served = { small: 0, costly: 0 }
    const started = Array.from({ length: small }, () => 0)
    let [now, longest] = [0, 0]
    while (now < 6 * cost) {
      const ticket = queue.dequeue()!
      const flow = ticket.item
      add(flow)
      served[flow < small ? 'small' : 'costly'] += ticket.cost
      if (flow < small) {
        longest = Math.max(longest, now - started[flow]!)
        started[flow] = now
      }
      running.push({ ticket, endsAt: now + ticket.cost })
      if (running.length < slots) continue
      running.sort((x, y) => y.endsAt - x.endsAt)
      const first = running.pop()!
      queue.settle(first.ticket, first.ticket.cost)
      now = first.endsAt
    }
    // At equal shares a flow of cost 1 starts as often as this.
    const usual = (small + costly) / slots
    expect(longest).toBeLessThan(6 * usual)
    const share = served.small / (served.small + served.costly) / (small / (small + costly))
    expect(share).toBeGreaterThan(0.9)
    expect(share).toBeLessThan(1.1)
  })
})

describe('rounds that serve nobody', () => {
  it('are so few, whatever the weights, the costs and the requests that may not start, that a call asks a lane 80 times at most', () => {
    const flow = fc.nat(4)
    const step = fc.record({
      flow,
      tenPower: fc.integer({ min: -9, max: 12 }),
      weightPower: fc.integer({ min: -9, max: 12 }),
      serves: fc.boolean(),
      barred: fc.array(flow, { maxLength: 3 }),
      settled: fc.option(fc.integer({ min: -9, max: 12 })),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const weights = [1, 1, 1, 1, 1]
        const queue = new FairQueue<string>({ weightOf: (name) => weights[Number(name)]! })
        let asked = 0
        const alive = (): boolean => {
          asked++
          return false
        }
        const serve = (barred: readonly number[]): Ticket<string> | undefined => {
          asked = 0
          const ticket = queue.dequeue(alive, (name) => !barred.includes(Number(name)))
          expect(asked).toBeLessThanOrEqual(5 * 80)
          return ticket
        }
        for (const { flow: which, tenPower, weightPower, serves, barred, settled } of steps) {
          weights[which] = 10 ** weightPower
          queue.enqueue(`${which}`, `${which}`, 10 ** tenPower)
          const ticket = serves ? serve(barred) : undefined
          if (ticket !== undefined && settled !== null) queue.settle(ticket, 10 ** settled)
        }
        while (serve([]) !== undefined);
      }),
      { numRuns: RUNS },
    )
  })

  it('are not walked', () => {
    const queue = new FairQueue<string>()
    for (let i = 0; i < 200; i++) queue.enqueue(`${i}`, 'small', 1)
    for (let i = 0; i < 200; i++) queue.dequeue()
    for (const name of ['a', 'b', 'c']) queue.enqueue(name, name, name === 'b' ? 0.9e12 : 1e12)
    // Iteration would take 10^11 rounds.
    expect(queue.dequeue()!.item).toBe('b')
    expect([1, 2].map(() => queue.dequeue()!.item).sort()).toEqual(['a', 'c'])
  })
})

const dead = (item: Item): boolean => item.dead
const RUNS = byWidth(100, 2_000)

function sameOrder(all: readonly Step[], sparseFirst: boolean): void {
  const weights = [1, 1, 1, 1, 1, 1]
  const queue = new FairQueue<Item>({ sparseFirst, estimates: 'asked', weightOf: (name) => weights[Number(name)]! })
  const plain = new PlainRoundRobin<Item>(sparseFirst)
  const waiting: Ticket<Item>[] = []
  const served: Ticket<Item>[] = []
  /** Those that have not been settled, as the other queue has them. */
  const running = new Map<Ticket<Item>, NonNullable<ReturnType<typeof plain.dequeue>>>()
  /** Requests served before the queue was empty, when debts were forgiven: their excess charge is not refunded. */
  const forgiven = new Set<Ticket<Item>>()
  /** Those that were served while no other flow waited; only the latest owes anything. */
  const alone: Ticket<Item>[] = []
  let id = 0
  const isDead = (item: Item): boolean => item.dead
  const dequeue = (): Ticket<Item> | undefined => {
    const ticket = queue.dequeue(isDead)
    const expected = plain.dequeue(isDead)
    expect(ticket?.item.id).toBe(expected?.item.id)
    const left = new Set(plain.flows.flatMap(({ requests }) => requests.map(({ item }) => item.id)))
    waiting.splice(0, waiting.length, ...waiting.filter(({ item }) => left.has(item.id)))
    if (ticket) {
      served.push(ticket)
      running.set(ticket, expected!)
      if (plain.flows.every(({ name, requests }) => name === ticket.flow || requests.length === 0)) alone.push(ticket)
    } else for (const each of served) forgiven.add(each)
    return ticket
  }
  for (const step of all) {
    if (step.do === 'enqueue') {
      const item: Item = { id: id++, dead: false }
      waiting.push(accepted(queue.enqueue(`${step.flow}`, item, step.cost)))
      plain.enqueue(`${step.flow}`, item, step.cost, weights[step.flow]!)
    } else if (step.do === 'reweigh') weights[step.flow] = step.weight
    else if (step.do === 'dequeue') dequeue()
    else if (step.do === 'settle') {
      const ticket = served[step.which % served.length]
      if (ticket === undefined) continue
      const actual = ticket.cost * step.factor
      if (running.has(ticket)) plain.ended(running.get(ticket)!)
      running.delete(ticket)
      const isPaid = alone.includes(ticket) && ticket !== alone.at(-1)
      if (!isPaid && (actual > ticket.cost || !forgiven.has(ticket)))
        plain.settle(ticket.flow, actual - ticket.cost, weights[Number(ticket.flow)]!)
      queue.settle(ticket, actual)
    } else {
      const ticket = waiting[step.which % waiting.length]
      if (ticket === undefined) continue
      if (step.do === 'kill') ticket.item.dead = true
      else {
        expect(queue.remove(ticket)).toBe(true)
        waiting.splice(waiting.indexOf(ticket), 1)
        plain.remove(
          ticket.flow,
          plain.flow(ticket.flow)!.requests.findIndex(({ item }) => item === ticket.item),
        )
      }
    }
    expect(queue.waiting).toBe(plain.waiting)
    expect(queue.snapshot().records).toBe(plain.flows.length)
  }
  while (dequeue()) expect(queue.waiting).toBe(plain.waiting)
  expect(queue.snapshot().records).toBe(0)
}

function accepted<T>(answer: ReturnType<FairQueue<T>['enqueue']>): Ticket<T> {
  if ('refused' in answer) throw new Error(`refused: ${answer.refused}`)
  return answer
}
