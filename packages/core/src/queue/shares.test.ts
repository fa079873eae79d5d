import { describe, expect, it } from 'vitest'
import { manualClock } from '../testing/index.js'
import { type QueuePermit, RequestQueue } from './index.js'

interface Trial {
  readonly slots: number
  readonly weights?: Readonly<Record<string, number>>
  readonly costs?: Readonly<Record<string, number>>
}

/** Flows A, B and C always wait, and all requests have the same duration: each one's part of the served cost. */
async function shares({ slots, weights = {}, costs = {} }: Trial): Promise<Record<string, number>> {
  const flows = ['A', 'B', 'C']
  const weightOf = (flow: string): number => weights[flow] ?? 1
  const queue = new RequestQueue({ concurrency: slots, weightOf, clock: manualClock(), after: () => () => {} })
  const running: QueuePermit[] = []
  const served: Record<string, number> = { A: 0, B: 0, C: 0 }
  const ask = async (flow: string): Promise<void> => {
    const cost = costs[flow] ?? 1
    const answer = await queue.enter({ flow, cost, width: 1 })
    if (!answer.admitted) throw new Error(answer.reason)
    running.push(answer)
    if (!flows.includes(flow)) return
    served[flow]! += cost
    void ask(flow)
  }
  for (let i = 0; i < slots; i++) void ask(`first ${i}`)
  for (const flow of flows) for (let i = 0; i < slots + 5; i++) void ask(flow)
  for (let i = 0; i < 3_000; i++) {
    running.shift()?.finish('success')
    for (let j = 0; j < 5; j++) await Promise.resolve()
  }
  const all = flows.reduce((sum, flow) => sum + served[flow]!, 0)
  return Object.fromEntries(flows.map((flow) => [flow, served[flow]! / all]))
}

describe.each([1, 2, 3, 4, 8, 16])('what waiting flows are served of %i slots', (slots) => {
  it('is by their weights', async () => {
    const { A, B, C } = await shares({ slots, weights: { A: 4 } })
    expect(A).toBeCloseTo(4 / 6, 1.7)
    expect(B).toBeCloseTo(1 / 6, 1.7)
    expect(C).toBeCloseTo(1 / 6, 1.7)
  })

  it('is counted in cost, not in requests', async () => {
    const { A, B, C } = await shares({ slots, costs: { A: 10 } })
    expect(A).toBeCloseTo(1 / 3, 1.7)
    expect(B).toBeCloseTo(1 / 3, 1.7)
    expect(C).toBeCloseTo(1 / 3, 1.7)
  })
})
