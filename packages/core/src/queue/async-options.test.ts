import { describe, expect, it } from 'vitest'
import { refuse } from '../admission/refusal.js'
import { createGate } from '../create-gate.js'
import { FairQueue } from '../sfq/fair-queue.js'
import { World } from '../testing/world.js'
import { type Capacity, fixed, pausable, type QueueOptions, RequestQueue, requestQueue } from './index.js'

/** What an async function gives where a value is expected. An unhandled rejection fails the run. */
const later = (): never => Promise.reject(new Error('from an async function')) as never

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const OPTIONS: readonly (readonly [string, Partial<QueueOptions>])[] = [
  ['weightOf', { weightOf: later }],
  ['width', { width: later }],
  ['bandOf', { bandOf: later }],
  ['deadlineMsOf', { deadlineMsOf: later }],
  ['classOf', { classOf: later }],
  ['perFlowConcurrency', { perFlowConcurrency: later }],
  ['pool.unitsOf', { pool: { size: 10, unitsOf: later } }],
]

/** A capacity of one slot, of which one method is async, and rejects. */
function capacity(method: 'tryTake' | 'release' | 'undo' | 'wake'): ReturnType<typeof fixed> {
  return Object.assign(fixed(1), { [method]: later })
}

describe('an async function where a value is expected', () => {
  it.each(OPTIONS)('%s of a queue: the request is refused by an error that names the promise', async (_, options) => {
    const queue = new RequestQueue({ concurrency: 1, ...options })
    expect(() => queue.enter({ flow: 'a' })).toThrow('got a promise')
    expect(queue.snapshot()).toMatchObject({ came: 0, running: 0 })
    await nextTurn()
  })

  it.each(OPTIONS)('%s of a queue in a gate: the request is an ordinary one', async (_, options) => {
    const { clock, after } = new World()
    const gate = createGate({ fair: false, queue: requestQueue({ concurrency: 1, ...options }), clock, after })
    expect(await gate.admit({ flow: 'a' })).toMatchObject({ admitted: true })
    expect(gate.snapshot().stageErrors).toBeGreaterThan(0)
    await nextTurn()
    gate.close()
  })

  it('tryTake of a capacity: nothing starts, and a gate refuses', async () => {
    const { clock, after } = new World()
    const queue = requestQueue({ concurrency: capacity('tryTake') })
    const gate = createGate({ fair: false, queue, clock, after })
    expect(await gate.admit({ flow: 'a' })).toMatchObject({ admitted: false, reason: 'error' })
    await nextTurn()
    gate.close()
  })

  it.each<['release' | 'wake', string, (own: Capacity) => Capacity]>([
    ['release', 'a capacity', (own) => own],
    ['wake', 'a capacity', (own) => own],
    ['release', 'a pausable one', pausable],
    ['wake', 'a pausable one', pausable],
  ])('%s of %s: it counts as an error of it', async (method, _, wrap) => {
    const { clock, after } = new World()
    const queue = new RequestQueue({ concurrency: wrap(capacity(method)), clock, after })
    const first = await queue.enter({ flow: 'a' })
    const second = queue.enter({ flow: 'a' })
    if (first.admitted) first.finish()
    await nextTurn()
    expect(queue.snapshot().capacityErrors).toBeGreaterThan(0)
    queue.close()
    await second
  })

  it.each<[string, (own: Capacity) => Capacity]>([
    ['a capacity', (own) => own],
    ['a pausable one', pausable],
  ])('undo of %s: the refusal of a later stage stands', async (_, wrap) => {
    const { clock, after } = new World()
    const later = { name: 'later', admit: () => refuse('later', 'no', false, 0) }
    const queue = new RequestQueue({ concurrency: wrap(capacity('undo')), clock, after })
    const gate = createGate({ fair: false, stages: [queue, later], clock, after })
    expect(await gate.admit({ flow: 'a' })).toMatchObject({ admitted: false, stage: 'later' })
    await nextTurn()
    expect(queue.snapshot().capacityErrors).toBeGreaterThan(0)
    gate.close()
  })

  it('isDead and mayStart of a fair queue: nothing is dropped', async () => {
    const queue = new FairQueue<string>()
    queue.enqueue('a', 'a')
    expect(() => queue.dequeue(later)).toThrow('isDead() must be true or false, got a promise')
    expect(() => queue.peek(undefined, later)).toThrow('mayStart() must be true or false, got a promise')
    expect(queue.waiting).toBe(1)
    await nextTurn()
  })
})
