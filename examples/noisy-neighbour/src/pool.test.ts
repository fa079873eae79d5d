import { describe, expect, it } from 'vitest'
import { openDatabase } from './pool.js'
import { ExhaustedError } from './resource.js'

/** A pool of two connections and a queue of three, and the answers in order of arrival. */
async function ask(times: number, acquireTimeoutMs = 10_000): Promise<{ states: string[]; order: number[] }> {
  const pool = await openDatabase({ connections: 2, line: 3, acquireTimeoutMs, queryMs: () => 100 })
  const order: number[] = []
  const states = Array.from({ length: times }, async (_, i) => {
    const state = await pool.use().then(
      () => 'served',
      (error: unknown) => (error instanceof ExhaustedError ? 'exhausted' : 'broken'),
    )
    order.push(i)
    return state
  })
  return { states: await Promise.all(states), order }
}

describe('openDatabase', () => {
  it('serves as many as it has connections and places in line, and turns the next away', async () => {
    const { states, order } = await ask(7)
    expect(states).toEqual(['served', 'served', 'served', 'served', 'served', 'exhausted', 'exhausted'])
    // The two that were turned away were answered first; the queue kept its order.
    expect(order).toEqual([5, 6, 0, 1, 2, 3, 4])
  })

  it('turns away a request that has waited too long', async () => {
    // The third and fourth would have to wait for 100 ms, the fifth for 200.
    expect((await ask(5, 150)).states).toEqual(['served', 'served', 'served', 'served', 'exhausted'])
  })

  it('gives connections back, never running more queries than it has', async () => {
    let running = 0
    let most = 0
    const pool = await openDatabase({
      connections: 4,
      line: 100,
      acquireTimeoutMs: 10_000,
      queryMs: () => {
        most = Math.max(most, ++running)
        setTimeout(() => running--, 5)
        return 10
      },
    })
    await Promise.all(Array.from({ length: 50 }, () => pool.use()))
    expect(most).toBeLessThanOrEqual(4)
    expect(pool.snapshot()).toEqual({ connections: 4, busy: 0, waiting: 0 })
  })
})
