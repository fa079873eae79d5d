import { createGate } from '@fairlead/core'
import { probeStage } from '@fairlead/core/testing'
import { type ExecutionContext, Hono } from 'hono'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

/** The execution context that workerd passes, reduced to the part that the adapter may touch. */
function contextOf(waitUntil: (work: Promise<unknown>) => void): ExecutionContext {
  return { waitUntil, passThroughOnException: () => {}, props: {} }
}

// A behaviour that a local workerd does not show: the edge drops handlers whose clients have left.
describe('where the runtime says that it is workerd', () => {
  beforeEach(() => {
    vi.resetModules()
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  })
  afterEach(() => vi.unstubAllGlobals())

  it('asks to be carried to its end, for any end of the client or the handler', async () => {
    const { fairMiddleware } = await import('./index.js')
    const probe = probeStage()
    const gate = createGate({ fair: false, stages: [probe] })
    const works: Promise<unknown>[] = []
    const context = contextOf((work) => works.push(work))
    let settle = (): void => {}
    const app = new Hono().use(fairMiddleware({ gate, onWarning: () => {} }))
    app.get(
      '/',
      (c) =>
        new Promise<Response>((resolve) => {
          settle = () => resolve(c.text('done'))
        }),
    )
    app.get('/throws', () => Promise.reject('no error'))
    const asked = app.request('/', {}, {}, context)
    expect([works.length, probe.outstanding]).toEqual([1, 1])
    settle()
    await works[0]
    expect(probe.outstanding).toBe(0)
    expect((await asked).status).toBe(200)
    await expect(app.request('/throws', {}, {}, context)).rejects.toBe('no error')
    await expect(works[1]).resolves.toBeUndefined()
  })

  it('does without, if there is no context', async () => {
    const { fairMiddleware } = await import('./index.js')
    const app = new Hono().use(fairMiddleware({ onWarning: () => {} })).get('/', (c) => c.text('done'))
    expect((await app.request('/')).status).toBe(200)
  })

  it.each([{}, { server: 'mine' }])(
    'believes the address that the edge has set, and no binding of the user’s (%j)',
    async (more) => {
      const { fairMiddleware } = await import('./index.js')
      const probe = probeStage()
      const gate = createGate({ fair: false, stages: [probe] })
      const app = new Hono().use(fairMiddleware({ gate })).get('/', (c) => c.text('done'))
      const bindings = {
        incoming: { socket: { remoteAddress: '192.0.2.1' } },
        outgoing: {},
        remoteAddr: { hostname: '192.0.2.2' },
        completed: new Promise(() => {}),
        ...more,
      }
      const headers = { 'cf-connecting-ip': '198.51.100.9' }
      await app.request('/', { headers }, bindings)
      expect(probe.passages.map(({ flow }) => flow)).toEqual(['ip:198.51.100.9'])
      expect(probe.outcomes).toEqual(['success'])
    },
  )
})
