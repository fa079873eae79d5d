import { describe, expect, it } from 'vitest'
import { createGate } from '../create-gate.js'
import { limitStage } from './stages.js'

describe('limitStage', () => {
  it('lets as many run, and as many wait in line, as it was told, and refuses the rest', async () => {
    const limit = limitStage(1, { waiters: 2 })
    const gate = createGate({ fair: false, stages: [limit] })
    const first = await gate.admit({ flow: 'a' })
    const second = gate.admit({ flow: 'b' })
    const third = gate.admit({ flow: 'c' })
    expect(await gate.admit({ flow: 'd' })).toMatchObject({ stage: 'limit', reason: 'overload', shortage: true })
    expect(limit.snapshot?.()).toEqual({ limit: 1, running: 1, waiting: 2 })
    for (const next of [first, await finish(first, second), await finish(await second, third)])
      expect(next.admitted).toBe(true)
    expect([limit.running, limit.waiting]).toEqual([1, 0])
    const last = await third
    if (last.admitted) last.finish('success')
    expect(limit.running).toBe(0)
  })

  it('gives up the place of a client that leaves', async () => {
    const limit = limitStage(1, { waiters: 1 })
    const gate = createGate({ fair: false, stages: [limit] })
    await gate.admit({ flow: 'a' })
    const controller = new AbortController()
    const second = gate.admit({ flow: 'b', signal: controller.signal })
    expect(limit.waiting).toBe(1)
    controller.abort()
    expect(limit.waiting).toBe(0)
    expect(await second).toMatchObject({ reason: 'gone' })
  })

  it('checks its options', () => {
    expect(() => limitStage(0)).toThrow('limit must be an integer >= 1, got 0')
    expect(() => limitStage(1, { waiters: -1 })).toThrow('waiters must be an integer >= 0, got -1')
  })
})

type Answer = Awaited<ReturnType<ReturnType<typeof createGate>['admit']>>

async function finish(running: Answer, next: Answer | Promise<Answer>): Promise<Answer> {
  if (running.admitted) running.finish('success')
  return next
}
