import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { escrow } from '@fairlead/core/escrow'
import { manualClock } from '@fairlead/core/testing'
import { type Context, Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FairMiddlewareOptions, fairMiddleware } from './index.js'

const TOLD = '"budget";r=9;t=60'

function appWith(handler: (c: Context) => Response | Promise<Response>, options: FairMiddlewareOptions = {}): Hono {
  const app = new Hono()
  const budget = escrow({ limit: 10, windowMs: 60_000 })
  const base = { flow: () => 'a', budget, clock: manualClock(), rateLimit: 'always', shed: false } as const
  app.use(fairMiddleware({ ...base, ...options }))
  app.all('*', handler)
  return app
}

/** A foreign server, whose responses are passed on. */
let upstream: Server
let url = ''
beforeAll(async () => {
  upstream = createServer((request, response) => {
    if (request.url === '/limited') response.setHeader('RateLimit', '"theirs";r=1;t=1')
    // Neither a length nor chunks: the body ends with the connection, and only the URL shows that it is streamed.
    if (request.url === '/bare') response.useChunkedEncodingByDefault = false
    response.write('from elsewhere')
    response.end()
  })
  await new Promise<void>((resolve) => {
    upstream.listen(0, '127.0.0.1', resolve)
  })
  url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
})
afterAll(() => {
  upstream.close()
})

describe('a budget is told, whichever way the handler answers:', () => {
  it.each<[string, (c: Context) => Response | Promise<Response>]>([
    ['c.text', (c) => c.text('done')],
    ['a Response of its own', () => new Response('done')],
    ['a fetched one, whose fields cannot be changed', () => fetch(url)],
    ['a redirect', (c) => c.redirect('/')],
    ['Response.redirect', () => Response.redirect('http://localhost/', 302)],
    [
      'a Response of an HTTPException',
      () => Promise.reject(new HTTPException(418, { res: new Response('tea', { status: 418 }) })),
    ],
    ['a stream', () => new Response(ReadableStream.from(['done']).pipeThrough(new TextEncoderStream()))],
  ])('%s', async (_what, handler) => {
    const response = await appWith(handler).request('/')
    expect(response.headers.get('ratelimit')).toBe(TOLD)
    expect(response.headers.get('ratelimit-policy')).toBe('"budget";q=10;w=60')
    await response.body?.cancel()
  })

  it('no handler at all', async () => {
    const app = new Hono()
    app.use(
      fairMiddleware({ budget: escrow({ limit: 10, windowMs: 60_000 }), clock: manualClock(), rateLimit: 'always' }),
    )
    const response = await app.request('/')
    expect([response.status, response.headers.get('ratelimit')]).toEqual([404, TOLD])
  })

  it('after what another server says of its own', async () => {
    const response = await appWith(() => fetch(`${url}/limited`)).request('/')
    expect(response.headers.get('ratelimit')).toBe(`"theirs";r=1;t=1, ${TOLD}`)
    expect(await response.text()).toBe('from elsewhere')
  })
})

it('an answer from elsewhere is followed to its end, though a copy of it tells a budget', async () => {
  const fair = fairMiddleware({
    budget: escrow({ limit: 10, windowMs: 60_000 }),
    clock: manualClock(),
    rateLimit: 'always',
  })
  const app = new Hono()
  app.use(fair)
  app.all('*', () => fetch(`${url}/bare`))
  const response = await app.request('/')
  expect(response.headers.get('ratelimit')).toBe(TOLD)
  expect(fair.gate.snapshot().inFlight).toBe(1)
  expect(await response.text()).toBe('from elsewhere')
  expect(fair.gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 1 } })
})

it('a refusal tells it beside what the handler of refusals answers', async () => {
  const app = appWith((c) => c.text('done'), { handler: () => new Response('no') })
  for (let i = 0; i < 10; i++) await app.request('/')
  const response = await app.request('/')
  expect([response.status, await response.text()]).toEqual([200, 'no'])
  expect(response.headers.get('ratelimit')).toBe('"budget";r=0;t=60')
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(60)
})

it('an upgrade, which nothing can be added to, is left alone', async () => {
  const upgrade = { status: 101, headers: new Headers(), body: null } as Response
  const app = new Hono()
  app.use(fairMiddleware({ budget: escrow({ limit: 10, windowMs: 60_000 }), rateLimit: 'always' }))
  app.all('*', () => upgrade)
  expect(await app.request('/')).toBe(upgrade)
})
