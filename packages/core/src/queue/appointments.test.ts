import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/index.js'
import { type QueuePermit, RequestQueue } from './index.js'

const done = (permit: QueuePermit): void => permit.finish('success')

/** Requests of 10 ms that wait, one of them with this cost: the drain rate that the room estimates. */
async function drainAfter(declared: number, end: (permit: QueuePermit) => void): Promise<number> {
  const clock = manualClock()
  const queue = new RequestQueue({ concurrency: 2, maxWaitMs: 60_000, clock, after: () => () => {} })
  const running: QueuePermit[] = []
  const ask = async (flow: string, cost: number): Promise<void> => {
    const answer = await queue.enter({ flow, cost, width: 1 })
    if (!answer.admitted) throw new Error(answer.reason)
    running.push(answer)
  }
  for (let i = 0; i < 40; i++) void ask('a', 1)
  void ask('x', declared)
  for (let i = 0; i < 15; i++) {
    for (let j = 0; j < 10; j++) await Promise.resolve()
    clock.advance(10)
    for (const permit of running.splice(0)) (permit.flow === 'x' ? end : done)(permit)
  }
  return queue.snapshot().bands[0]!.drainPerSecond!
}

describe('the rate by which clients are told when to come back', () => {
  it.each<[string, (permit: QueuePermit) => void]>([
    ['settled at 1', (permit) => permit.finish('success', { cost: 1 })],
    ['that failed', (permit) => permit.finish('failure')],
  ])('is not that of one large declared cost, %s', async (_, end) => {
    const usual = await drainAfter(1, end)
    expect(Math.abs((await drainAfter(1e6, end)) / usual - 1)).toBeLessThan(0.05)
  })
})
