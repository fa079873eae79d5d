import { byWidth } from '@fairlead-testing/oracles'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Flow } from '../path.js'
import { seededRandom } from '../testing/index.js'
import { FairQueue } from './fair-queue.js'

function drain(queue: FairQueue<string>, count: number): string[] {
  return Array.from({ length: count }, () => queue.dequeue()!.item)
}

function countOf(items: readonly string[], name: string): number {
  return items.filter((item) => item.startsWith(name)).length
}

/** A node of a hierarchy: its weight, and its children or, for a leaf, the costs of its requests. */
interface Node {
  readonly weight: number
  readonly children: readonly Node[]
  readonly most: number
}

const leaf = fc.record({
  weight: fc.constantFrom(0.5, 1, 2, 3),
  children: fc.constant<Node[]>([]),
  most: fc.constantFrom(1, 1, 3, 10),
})
const group = (children: fc.Arbitrary<Node>): fc.Arbitrary<Node> =>
  fc.record({
    weight: fc.constantFrom(0.5, 1, 2, 3),
    children: fc.array(children, { minLength: 1, maxLength: 4 }),
    most: fc.constant(0),
  })
const forest = fc.array(fc.oneof(leaf, group(fc.oneof(leaf, group(leaf)))), { minLength: 2, maxLength: 5 })

/** The part of the service of each leaf by hierarchical fairness (fluid, by weight at each node), by path. */
function shares(nodes: readonly Node[], part: number, above: readonly string[]): Map<string, number> {
  const all = new Map<string, number>()
  const sum = nodes.reduce((weights, { weight }) => weights + weight, 0)
  for (const [i, { weight, children }] of nodes.entries()) {
    const path = [...above, `${i}`]
    const own = (part * weight) / sum
    if (children.length === 0) all.set(path.join('/'), own)
    else for (const [name, share] of shares(children, own, path)) all.set(name, share)
  }
  return all
}

function nodeAt(nodes: readonly Node[], path: readonly string[]): Node {
  const [first, ...rest] = path
  const node = nodes[Number(first)]!
  return rest.length === 0 ? node : nodeAt(node.children, rest)
}

describe('turns of paths', () => {
  it('are shared between accounts, and those of an account between its keys', () => {
    const queue = new FairQueue<string>({ perFlowLimit: 1000 })
    for (let i = 0; i < 40; i++) {
      for (let key = 0; key < 20; key++) queue.enqueue(['many', `${key}`], `many/${key}`)
      queue.enqueue(['few', 'a'], 'few/a')
      queue.enqueue(['few', 'b'], 'few/b')
      queue.enqueue('one', 'one')
    }
    const served = drain(queue, 90)
    for (const account of ['many', 'few', 'one']) expect(countOf(served, account)).toBeGreaterThanOrEqual(27)
    expect(Math.abs(countOf(served, 'few/a') - countOf(served, 'few/b'))).toBeLessThanOrEqual(2)
    for (let key = 0; key < 20; key++) expect(countOf(served, `many/${key}`)).toBeGreaterThanOrEqual(1)
  })

  it('come soon to a light key of an account with a heavy one', () => {
    const queue = new FairQueue<string>({ perFlowLimit: 1000 })
    for (let i = 0; i < 100; i++)
      for (const account of ['x', 'y']) queue.enqueue([account, 'heavy'], `${account}/heavy`)
    drain(queue, 20)
    queue.enqueue(['x', 'light'], 'x/light')
    expect(drain(queue, 3)).toContain('x/light')
  })

  it('are as by hierarchical fairness, whatever the tree, the weights and the costs', () => {
    fc.assert(
      fc.property(forest, fc.integer({ min: 1, max: 1e6 }), (nodes, seed) => {
        const random = seededRandom(seed)
        const queue = new FairQueue<string>({
          perFlowLimit: 1e6,
          maxWaiting: 1e6,
          weightOf: (name, above) => nodeAt(nodes, [...above, name]).weight,
        })
        const ideal = shares(nodes, 1, [])
        const add = (name: string): void => {
          const path = name.split('/')
          const { most } = nodeAt(nodes, path)
          queue.enqueue(path, name, most * (0.2 + 0.8 * random()))
        }
        for (const name of ideal.keys()) for (let i = 0; i < 3; i++) add(name)
        const served = new Map([...ideal.keys()].map((name) => [name, 0]))
        let total = 0
        while (total < 4000) {
          const { item, cost } = queue.dequeue()!
          add(item)
          total += cost
          served.set(item, served.get(item)! + cost)
        }
        // No leaf is ever further from the fluid share than some turns of its siblings, and of the nodes above.
        for (const [name, share] of ideal) expect(Math.abs(served.get(name)! - share * total)).toBeLessThan(80)
      }),
      { numRuns: byWidth(20, 60) },
    )
  })

  it('weigh by the names above, too, and anew when that changes', () => {
    let gold = 3
    const asked: string[] = []
    const weightOf = (name: string, above: readonly string[]): number => {
      asked.push([...above, name].join('/'))
      return above[0] === 'acme' && name === 'gold' ? gold : 1
    }
    const queue = new FairQueue<string>({ weightOf, perFlowLimit: 1000, sparseFirst: false })
    const fill = (): void => {
      for (let i = 0; i < 60; i++) for (const key of ['gold', 'tin']) queue.enqueue(['acme', key], key)
    }
    fill()
    expect(countOf(drain(queue, 80), 'gold')).toBeGreaterThanOrEqual(58)
    expect(new Set(asked)).toEqual(new Set(['acme', 'acme/gold', 'acme/tin']))
    gold = 1
    fill()
    expect(Math.abs(countOf(drain(queue, 40), 'gold') - 20)).toBeLessThanOrEqual(2)
  })
})

describe('a full queue of paths', () => {
  it('evicts from the longest account, of that from its longest key, and refuses no light account', () => {
    const queue = new FairQueue<string>({ maxWaiting: 100, perFlowLimit: 1000 })
    for (let key = 0; key < 99; key++) queue.enqueue(['sybil', `${key}`], '')
    queue.enqueue(['sybil', '7'], '')
    const answer = queue.enqueue(['light', 'a'], '')
    if ('refused' in answer) throw new Error('refused')
    expect((answer.evicted as unknown as { path: Flow }).path).toEqual(['sybil', '7'])
    expect(queue.enqueue(['sybil', 'new'], '')).toMatchObject({ refused: 'full' })
  })

  it('evicts within an account that is the longest itself', () => {
    const queue = new FairQueue<string>({ maxWaiting: 100, perFlowLimit: 1000 })
    for (let i = 0; i < 100; i++) queue.enqueue(['acme', 'heavy'], 'heavy')
    const answer = queue.enqueue(['acme', 'light'], 'light')
    expect('refused' in answer ? answer : answer.evicted?.item).toBe('heavy')
  })
})

describe('the memory of paths', () => {
  it('is nothing once all have left, and in proportion to what waits before', () => {
    const random = seededRandom(9)
    const queue = new FairQueue<number>({ perFlowLimit: 1000 })
    let most = 0
    for (let i = 0; i < 8_000; i++) {
      const flow = [`${Math.floor(random() * 5000)}`, `${i % 7}`, `${i % 3}`]
      queue.enqueue(flow, i, 1 + (i % 4))
      if (queue.waiting > 50 || random() < 0.4) {
        const ticket = queue.dequeue()
        if (ticket !== undefined && random() < 0.3) queue.settle(ticket, 3 * random())
      }
      most = Math.max(most, queue.snapshot().records)
    }
    expect(most).toBeLessThan(3300)
    while (queue.dequeue() !== undefined);
    expect(queue.snapshot()).toMatchObject({ records: 0, waiting: 0, cost: 0 })
    expect(queue.standing(['4999', '1', '1'])).toEqual({ waiting: 0, cost: 0, share: 1 })
  })
})

describe('names', () => {
  it('of paths are nobody else’s, and a path of one name is that name', () => {
    const queue = new FairQueue<string>({ perFlowLimit: 1 })
    for (const flow of ['["a","b"]', '\u0000["a","b"]', ['a', 'b'], ['a","b'], 'a","b'] as Flow[])
      queue.enqueue(flow, '')
    expect(queue.snapshot()).toMatchObject({ waiting: 4, refused: 1 })
    expect(queue.standing('a","b').waiting).toBe(1)
    expect(queue.standing(['a', 'b']).waiting).toBe(1)
  })

  it('are those of the first level where flows share queues', () => {
    const queue = new FairQueue<string>({ queues: 16, perFlowLimit: 1 })
    queue.enqueue(['a', 'b'], '')
    expect(queue.enqueue(['a', 'c'], '')).toMatchObject({ refused: 'flow-full' })
  })

  it.each<[string, unknown]>([
    ['flow must be a non-empty string or a path of them, got 3', 3],
    ['flow must be a path of 1 to 4 names, got 0', []],
    ['flow must be a path of 1 to 4 names, got 5', ['a', 'b', 'c', 'd', 'e']],
    ['flow[1] must be a non-empty string, got ""', ['a', '']],
  ])('that are none are told: %s', (message, flow) => {
    expect(() => new FairQueue().enqueue(flow as Flow, '')).toThrow(message)
  })
})

describe('the share of a path', () => {
  it('is that of its account, times that within it', () => {
    const queue = new FairQueue<string>()
    queue.enqueue('other', '')
    queue.enqueue(['acme', 'a'], '')
    queue.enqueue(['acme', 'b'], '')
    expect(queue.standing(['acme', 'a']).share).toBe(1 / 4)
    expect(queue.standing(['acme', 'c']).share).toBe(1 / 6)
    expect(queue.standing(['new', 'c']).share).toBe(1 / 3)
  })
})
