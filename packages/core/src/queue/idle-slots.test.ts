import { describe, expect, it } from 'vitest'
import { fixed } from '../capacity/index.js'
import { settled } from '../testing/world.js'
import { queueOf } from './fixtures/queue-of.js'

/**
 * While no request waits, a queue keeps no records of flows: running requests must count nevertheless, as soon as it
 * matters.
 */
describe('requests that started before anything waited', () => {
  it('are named as what their flow holds', () => {
    const { ask, queue } = queueOf({ concurrency: 4 })
    for (const name of ['a1', 'a2', 'b1']) ask(name)
    expect(queue.explain('a').running).toBe(2)
    expect(queue.explain('c').running).toBe(0)
  })

  it('count as soon as another flow waits', async () => {
    const { ask, end, started } = queueOf({ concurrency: 4 })
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6', 'b1', 'b2']) ask(name)
    for (const name of ['a1', 'a2']) await end(name)
    // Two slots are a's half.
    expect(started.slice(4)).toEqual(['b1', 'b2'])
  })

  it('weigh what their flow weighs now', async () => {
    let weight = 1
    const { ask, end, started } = queueOf({ concurrency: 5, weightOf: (flow) => (flow === 'a' ? weight : 1) })
    for (const name of ['a1', 'a2', 'c1', 'c2', 'c3']) ask(name)
    weight = 3
    for (const name of ['a3', 'b1']) ask(name)
    await end('c1')
    // Three of five slots are a's; by its old weight, less than two would be.
    expect(started.slice(5)).toEqual(['a3'])
  })

  it('are of their band when requests of another band come', async () => {
    const bands = [{ share: 0.5, lendable: 0 }, { share: 0.5 }]
    const { ask, end, started, queue } = queueOf({ concurrency: 4, bands })
    for (const name of ['a1', 'a2', 'a3', 'b1']) ask(name, { band: 1 })
    for (const name of ['c1', 'd1', 'c2']) ask(name, { band: 0 })
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'd1', 'c2']) if (started.includes(name)) await end(name)
    expect(started.toSorted()).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'c2', 'd1'])
    expect(queue.snapshot()).toMatchObject({ waiting: 0, running: 0 })
    for (const flow of ['a', 'b', 'c', 'd']) expect(queue.explain(flow).running).toBe(0)
  })

  it('count in the shares of their band when requests of another band come', async () => {
    const { ask, end, started } = queueOf({ concurrency: 4, bands: [{}, {}] })
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'b1']) ask(name, { band: 1 })
    ask('c1', { band: 0 })
    await end('a1')
    expect(started.slice(4)).toEqual(['c1'])
    await end('a2')
    // a has two of the three that its band has left.
    expect(started.slice(5)).toEqual(['b1'])
  })

  it('do not keep a slot from another flow that becomes free in a way that the queue does not see', async () => {
    const concurrency = fixed(1)
    const { ask, started } = queueOf({ concurrency, perFlowConcurrency: 1 })
    for (const name of ['a1', 'a2', 'b1']) ask(name)
    concurrency.resize(2)
    await settled()
    expect(started).toEqual(['a1', 'b1'])
  })
})
