import { expect, it } from 'vitest'
import { queueOf } from './fixtures/queue-of.js'

it('names who waits: those with most waiting requests first, at most twenty of them, with what they hold', () => {
  const { ask, queue, world } = queueOf({ concurrency: 3, weightOf: (flow) => (flow === 'flow-7' ? 5 : 1) })
  ask('first', { flow: 'flow-7' })
  ask('second', { flow: 'flow-7', width: 2 })
  for (let flow = 0; flow < 30; flow++) {
    world.advance(1)
    for (let i = 0; i <= flow; i++) ask(`${flow}-${i}`, { flow: `flow-${flow}` })
  }
  world.advance(10)
  const { flows } = queue.snapshot()
  expect(flows).toHaveLength(20)
  expect(flows[0]).toEqual({ flow: 'flow-29', weight: 1, waiting: 30, oldestMs: 10, running: 0 })
  expect(flows.map(({ waiting }) => waiting)).toEqual(Array.from({ length: 20 }, (_, i) => 30 - i))
  expect(queue.explain('flow-7')).toMatchObject({ waiting: 8, running: 3 })
})
