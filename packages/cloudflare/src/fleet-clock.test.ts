import type { Miniflare } from 'miniflare'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { startWorkers } from './fixtures/start-workers.js'
import { durableObjectFleet } from './index.js'

let workers: Miniflare
beforeAll(async () => {
  workers = await startWorkers()
})
afterAll(() => workers.dispose())

interface Sharing {
  readonly name: string
  readonly arbiter: string
  readonly members: number
}

describe('clocks in a Durable Object in workerd', () => {
  it('are shared by gates whose resource is short', async () => {
    const serve = async () => (await (await workers.dispatchFetch('http://worker/serve')).json()) as (Sharing | null)[]
    expect(await serve()).toEqual([null, null])
    const shared = await vi.waitUntil(
      async () => {
        const [one, other] = await serve()
        return one?.members === 2 && other?.members === 2 && [one, other]
      },
      { timeout: 30_000, interval: 10 },
    )
    const [one, other] = shared as [Sharing, Sharing]
    expect([one.name, other.name, other.arbiter]).toEqual(['orders', 'orders', one.arbiter])
  })

  it.each([
    ['no JSON', 'x', 400],
    ['a text', '"x"', 400],
    ['no report', '["a"]', 400],
    ['a report of nothing', '["a","x"]', 200],
  ])('answer %s at once', async (_what, body, status) => {
    const answer = await workers.dispatchFetch('http://worker/report', { method: 'POST', body })
    expect(answer.status).toBe(status)
  })

  it('are asked again a second after an object that has not answered', async () => {
    vi.useFakeTimers()
    try {
      let calls = 0
      const hang = (): Promise<Response> => {
        calls++
        return new Promise(() => {})
      }
      const namespace = { idFromName: () => 1, get: () => ({ fetch: hang }) }
      const report = durableObjectFleet({ namespace, waitUntil() {} }).join('orders', () => {})
      for (let i = 0; i < 10; i++) report('a report', 'a member')
      await vi.advanceTimersByTimeAsync(900)
      const before = calls
      await vi.advanceTimersByTimeAsync(200)
      report('a report', 'a member')
      await vi.advanceTimersByTimeAsync(0)
      expect([before, calls]).toEqual([3, 4])
    } finally {
      vi.useRealTimers()
    }
  })

  it('need a namespace, and what keeps an answer alive', () => {
    const namespace = { idFromName: () => 1, get: () => ({ fetch }) }
    const bad: [object, RegExp][] = [
      [{ namespace: {}, waitUntil() {} }, /namespace\.idFromName must be a function/],
      [{ namespace }, /waitUntil must be a function/],
      [{ namespace, waitUntil() {}, url: 'x' }, /no option "?url/],
    ]
    for (const [options, message] of bad) expect(() => durableObjectFleet(options as never)).toThrow(message)
  })
})
