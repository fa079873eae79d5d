import { once } from 'node:events'
import { createServer } from 'node:http'
import { createGate, type Gate, refuse, type Stage } from '@fairlead/core'
import { fairFetch } from '@fairlead/core/fetch'
import { fairHandler } from '@fairlead/core/node'
import { limitStage, listen, manualClock, probeStage, type RunningApp } from '@fairlead/testing'
import { eventually } from '@fairlead-testing/waiting'
import { getRequestListener, type HttpBindings } from '@hono/node-server'
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response'
import { Hono } from 'hono'
import { compress } from 'hono/compress'
import { etag } from 'hono/etag'
import { HTTPException } from 'hono/http-exception'
import { timeout } from 'hono/timeout'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { type NodeApp, serveApp } from './fixtures/hono-harness.js'
import { type FairMiddlewareOptions, fairMiddleware, ResourceExhaustedError } from './index.js'

const busy: Stage = { name: 'busy', admit: () => refuse('busy', 'overload', true, 1_000) }

/** A gate with only these stages. */
function gateOf(...stages: Stage[]): Gate {
  return createGate({ fair: false, stages })
}

function newApp(): NodeApp {
  return new Hono<{ Bindings: HttpBindings }>()
}

let running: RunningApp | undefined
afterEach(async () => {
  await running?.close()
  running = undefined
})

/** Serves the app on Node; returns a function that sends it a request. */
async function serve(app: NodeApp): Promise<(path?: string, init?: RequestInit) => Promise<Response>> {
  running = await serveApp(app)
  const { port } = running
  return (path = '/', init = {}) => fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...init })
}

describe('an answer that nobody reads, as app.request() may give', () => {
  afterEach(() => void vi.useRealTimers())

  function appWith(gate: Gate): NodeApp {
    const app = newApp().use(fairMiddleware({ gate }))
    app.get(
      '/stream',
      () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(Buffer.of(1)) })),
    )
    return app.get('/text', (c) => c.text('whole'))
  }

  it('keeps its permit for a minute', async () => {
    vi.useFakeTimers()
    const gate = gateOf()
    const app = appWith(gate)
    for (const path of ['/stream', '/text']) await app.request(path)
    expect(gate.snapshot()).toMatchObject({ inFlight: 1, finished: { success: 1 } })
    vi.advanceTimersByTime(59_000)
    expect(gate.snapshot().inFlight).toBe(1)
    vi.advanceTimersByTime(1_000)
    expect(gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 1, ignored: 1 } })
    expect(vi.getTimerCount()).toBe(0)
  })

  it('keeps its permit while somebody reads on', async () => {
    vi.useFakeTimers()
    const gate = gateOf()
    const reader = (await appWith(gate).request('/stream')).body!.getReader()
    for (let i = 0; i < 4; i++) {
      vi.advanceTimersByTime(40_000)
      expect(await reader.read()).toMatchObject({ done: false })
    }
    expect(gate.snapshot().inFlight).toBe(1)
    await reader.cancel()
    expect(gate.snapshot()).toMatchObject({ inFlight: 0, finished: { ignored: 1 } })
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('fairMiddleware, inside fairHandler or fairFetch', () => {
  type Around = (app: NodeApp, gate: Gate) => () => Promise<Response>
  const handler: Around = (app, gate) => async () => {
    running = await listen(createServer(fairHandler(getRequestListener(app.fetch), { gate })))
    return fetch(`http://127.0.0.1:${running.port}`)
  }
  const fetcher: Around = (app, gate) => async () =>
    fairFetch((request) => app.fetch(request), { gate, onWarning: () => {} })(new Request('http://localhost/'))

  it.each([
    ['fairHandler', handler],
    ['fairFetch', fetcher],
  ])('knows the gate of a %s: the same judges once, another’s refusals are no failures of it', async (_, around) => {
    const [twice, outer] = [probeStage(), probeStage()]
    const gate = gateOf(twice)
    const onWarning = vi.fn()
    const appWith = (options: FairMiddlewareOptions): NodeApp =>
      newApp()
        .use(fairMiddleware(options))
        .get('/', (c) => c.text('done'))
    expect((await around(appWith({ gate, onWarning }), gate)()).status).toBe(200)
    expect(twice.passages).toHaveLength(1)
    expect(onWarning).toHaveBeenCalledWith(expect.stringContaining('the same gate twice'), undefined)
    await running?.close()
    const refusing = appWith({ gate: gateOf(busy), onWarning })
    expect((await around(refusing, gateOf(outer))()).status).toBe(503)
    await eventually(() => expect(outer.outcomes).toEqual(['ignored']))
  })
})

describe('fairMiddleware, on Node', () => {
  it('adds no header to what it admits', async () => {
    const names = async (app: NodeApp): Promise<string[]> => {
      app.get('/', (c) => c.json({ hello: 'world' }))
      const ask = await serve(app)
      const response = await ask()
      expect(await response.json()).toEqual({ hello: 'world' })
      await running?.close()
      return [...response.headers.keys()]
    }
    const guarded = newApp()
    guarded.use(fairMiddleware())
    expect(await names(guarded)).toEqual(await names(newApp()))
  })

  it('judges by the address of the connection, regardless of headers', async () => {
    const probe = probeStage()
    const app = newApp()
    app.use(fairMiddleware({ gate: gateOf(probe) }))
    const ask = await serve(app)
    await ask('/', { headers: { 'x-forwarded-for': '198.51.100.9', 'cf-connecting-ip': '198.51.100.10' } })
    expect(probe.passages.map(({ flow }) => flow)).toEqual(['ip:127.0.0.1'])
  })

  it('does not touch the signal of the request, which is dear on Node', async () => {
    const app = newApp()
    app.use(fairMiddleware())
    app.get('/', (c) => c.text('fine'))
    const touched = vi.fn()
    const server = newApp()
    server.all('*', (c) => {
      const request = c.req.raw
      const watched = new Proxy(request, {
        get(target, name) {
          if (name === 'signal') touched()
          const value: unknown = Reflect.get(target, name, target)
          return typeof value === 'function' ? value.bind(target) : value
        },
      })
      return app.fetch(watched, c.env)
    })
    const ask = await serve(server)
    expect(await (await ask()).text()).toBe('fine')
    expect(touched).not.toHaveBeenCalled()
  })

  it('goes by what was really sent, where a handler writes it past Hono', async () => {
    const probe = probeStage()
    const app = newApp()
    app.use(fairMiddleware({ gate: gateOf(probe) }))
    app.get('/', (c) => {
      c.env.outgoing.writeHead(503).end()
      return RESPONSE_ALREADY_SENT
    })
    const ask = await serve(app)
    expect((await ask()).status).toBe(503)
    await eventually(() => expect(probe.outcomes).toEqual(['failure']))
  })

  it('cancels the stream of a handler whose client has left, and sends nothing', async () => {
    const probe = probeStage()
    const client = new AbortController()
    const cancelled = vi.fn()
    const statuses: number[] = []
    const app = newApp()
    app.use(async (c, next) => {
      await next()
      statuses.push(c.res.status)
    })
    app.use(fairMiddleware({ gate: gateOf(probe) }))
    app.get('/', async (c) => {
      const left = once(c.get('fair')!.signal, 'abort')
      client.abort()
      await left
      return c.body(new ReadableStream({ cancel: cancelled }))
    })
    const ask = await serve(app)
    await expect(ask('/', { signal: client.signal })).rejects.toThrow()
    await eventually(() => expect(probe.outcomes).toEqual(['ignored']))
    await eventually(() => expect(cancelled).toHaveBeenCalledOnce())
    expect(statuses).toEqual([499])
  })

  it('tells the handler of its permit, and nothing where it was skipped', async () => {
    const app = newApp()
    app.use(fairMiddleware({ skip: (c) => c.req.path === '/health', cost: () => 3, shed: false }))
    app.get('*', (c) => c.json({ cost: c.get('fair')?.permit?.cost, aborted: c.var.fair?.signal.aborted }))
    const ask = await serve(app)
    expect(await (await ask()).json()).toEqual({ cost: 3, aborted: false })
    expect(await (await ask('/health')).json()).toEqual({})
  })

  it('has no lease on Node, unless the user says so', async () => {
    const clock = manualClock()
    const ends: (() => void)[] = []
    const run = async (permitTimeoutMs: number | undefined): Promise<number> => {
      const fair = fairMiddleware({ clock, fair: false, shed: false, ...(permitTimeoutMs && { permitTimeoutMs }) })
      const app = newApp()
      app.use(fair)
      app.get('/', (c) => new Promise<Response>((resolve) => ends.push(() => resolve(c.text('late')))))
      const ask = await serve(app)
      const asked = ask()
      await eventually(() => expect(ends).toHaveLength(1))
      clock.advance(3_600_000)
      fair.gate.wake()
      const { inFlight } = fair.gate.snapshot()
      ends.shift()?.()
      await asked
      await running?.close()
      return inFlight
    }
    expect([await run(undefined), await run(1_000)]).toEqual([1, 0])
  })
})

describe('what handlers throw', () => {
  it.each<[string, (app: NodeApp) => unknown, number, string]>([
    [
      'a ResourceExhaustedError: 503',
      (app) =>
        app.get('/', () => {
          throw new ResourceExhaustedError('the pool is empty')
        }),
      503,
      'failure',
    ],
    [
      'a ResourceExhaustedError that onError hides',
      (app) =>
        app
          .get('/', () => Promise.reject(new ResourceExhaustedError()))
          .onError((_error, c) => c.text('something went wrong', 500)),
      500,
      'failure',
    ],
    [
      'an HTTPException with a response of its own, whose headers cannot be changed',
      (app) =>
        app.get('/', () => {
          throw new HTTPException(429, { res: Response.redirect('http://localhost/elsewhere', 302) })
        }),
      429,
      'failure',
    ],
    [
      'an error that a sub-app makes a teapot of',
      (app) =>
        app.route(
          '/',
          new Hono()
            .get('/', () => {
              throw new Error('a bug')
            })
            .onError((_error, c) => c.text('teapot', 418)),
        ),
      418,
      'success',
    ],
    [
      'a ResourceExhaustedError that a sub-app makes a teapot of',
      (app) =>
        app.route(
          '/',
          new Hono()
            .get('/', () => {
              throw new ResourceExhaustedError()
            })
            .onError((_error, c) => c.text('teapot', 418)),
        ),
      418,
      'failure',
    ],
    ['a string', (app) => app.get('/', () => Promise.reject('no error')), 500, 'ignored'],
    ['nothing', (app) => app.get('/', () => Promise.reject(undefined)), 500, 'ignored'],
    ['no error, but a status', (app) => app.get('/', () => Promise.reject({ status: 503 })), 500, 'failure'],
    ['no handler: there is no such route', () => {}, 404, 'success'],
  ])('%s', async (_name, prepare, status, outcome) => {
    const probe = probeStage()
    const app = newApp()
    const silent = vi.spyOn(console, 'error').mockImplementation(() => {})
    app.use(fairMiddleware({ gate: gateOf(probe) }))
    prepare(app)
    const ask = await serve(app)
    const response = await ask()
    await response.text()
    await eventually(() => expect(probe.outcomes).toEqual([outcome]))
    expect(response.status).toBe(status)
    silent.mockRestore()
  })
})

describe('other middleware', () => {
  it('hono/timeout answers: the permit is kept until the handler has settled', async () => {
    const probe = probeStage()
    const gate = gateOf(probe)
    const app = newApp()
    let settle = (): void => {}
    app.use(timeout(5), fairMiddleware({ gate }))
    app.get('/', (c) => new Promise<Response>((resolve) => (settle = () => resolve(c.text('too late')))))
    const ask = await serve(app)
    expect((await ask()).status).toBe(504)
    expect(gate.snapshot().inFlight).toBe(1)
    settle()
    await eventually(() => expect(probe.outcomes).toEqual(['ignored']))
  })

  it('hono/timeout answers a request that waits: its handler never runs', async () => {
    const gate = gateOf(limitStage(1, { waiters: 1 }))
    const permit = await gate.admit({ flow: 'somebody' })
    const handler = vi.fn()
    const app = newApp()
    app.use(timeout(5), fairMiddleware({ gate }))
    app.get('/', handler)
    const ask = await serve(app)
    expect((await ask()).status).toBe(504)
    await eventually(() => expect(gate.snapshot().refusedBy).toEqual({ 'gate:gone': 1 }))
    if (permit.admitted) permit.finish('success')
    expect(gate.snapshot().inFlight).toBe(0)
    expect(handler).not.toHaveBeenCalled()
  })

  it.each(['outside', 'inside'])('etag and compress %s of it work, and the end is heard', async (where) => {
    const probe = probeStage()
    const fair = fairMiddleware({ gate: gateOf(probe) })
    const app = newApp()
    const others = [compress({ threshold: 1 }), etag()]
    for (const one of where === 'outside' ? [...others, fair] : [fair, ...others]) app.use(one)
    app.get('/', (c) => c.text('some text '.repeat(1_000)))
    const ask = await serve(app)
    const first = await ask()
    expect(first.headers.get('content-encoding')).toBe('gzip')
    expect(await first.text()).toHaveLength(10_000)
    const second = await ask('/', { headers: { 'if-none-match': first.headers.get('etag') ?? '' } })
    expect(second.status).toBe(304)
    await eventually(() => expect(probe.outcomes).toEqual(['success', 'success']))
  })

  it('outer middleware that throws, or answers itself after next: what was sent counts', async () => {
    const probe = probeStage()
    const app = newApp()
    const silent = vi.spyOn(console, 'error').mockImplementation(() => {})
    app.use(async (c, next) => {
      await next()
      if (c.req.path === '/throws') throw new HTTPException(503)
      if (c.req.path === '/replaces') c.res = new Response('mine', { status: 429 })
    })
    app.use(fairMiddleware({ gate: gateOf(probe) }))
    app.get('*', (c) => c.body(new Blob(['a body that nobody reads']).stream()))
    const ask = await serve(app)
    expect((await ask('/throws')).status).toBe(503)
    expect((await ask('/replaces')).status).toBe(429)
    await eventually(() => expect(probe.outcomes).toEqual(['failure', 'failure']))
    expect(probe.outstanding).toBe(0)
    silent.mockRestore()
  })
})

describe('refusals', () => {
  function refusing(options: FairMiddlewareOptions): NodeApp {
    const app = newApp()
    app.use(async (c, next) => {
      c.header('x-before', '1')
      await next()
      c.header('x-after', '1')
    })
    app.use(fairMiddleware({ gate: gateOf(busy), ...options }))
    app.get('*', (c) => c.text('fine'))
    return app
  }

  it('keep the headers that outer middleware sets, before and after', async () => {
    const ask = await serve(refusing({}))
    const { status, headers } = await ask()
    expect([status, headers.get('x-before'), headers.get('x-after')]).toEqual([503, '1', '1'])
  })

  it.each<[string, NonNullable<FairMiddlewareOptions['handler']>, number]>([
    ['c.text', (c, { refusal, status }) => c.text(`${refusal.stage} says ${status}`), 503],
    ['an answer that comes later', async (c, { refusal }) => c.text(`${refusal.stage} says 503`), 503],
    ['a raw Response', () => new Response('busy says 503', { status: 509 }), 509],
    ['a redirect', () => Response.redirect('http://localhost/wait', 302), 302],
    ['what was fetched elsewhere', () => fetch('data:text/plain,busy says 503'), 200],
    ['the answer of an HTTPException', () => new HTTPException(418, { message: 'busy says 503' }).getResponse(), 418],
  ])(
    'are answered by a handler of the user’s own with %s, and Retry-After stands in it',
    async (_, handler, status) => {
      const onWarning = vi.fn()
      const ask = await serve(refusing({ handler, onWarning }))
      const response = await ask()
      expect(response.status).toBe(status)
      expect(response.headers.get('retry-after')).toMatch(/^[12]$/)
      expect(response.headers.get('x-after')).toBe('1')
      expect(await response.text()).toBe(status === 302 ? '' : 'busy says 503')
      expect(onWarning).not.toHaveBeenCalled()
    },
  )

  it('leave a Retry-After alone that the handler chose', async () => {
    const ask = await serve(refusing({ handler: () => new Response('no', { headers: { 'Retry-After': '99' } }) }))
    expect((await ask()).headers.get('retry-after')).toBe('99')
  })

  it.each<[string, NonNullable<FairMiddlewareOptions['handler']>]>([
    [
      'throws',
      () => {
        throw new Error('no words')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no words'))],
    ['answers nothing', () => undefined],
    ['answers nonsense', () => 'busy'],
  ])('are problem documents if that handler %s', async (_name, handler) => {
    const onWarning = vi.fn()
    const ask = await serve(refusing({ handler, onWarning }))
    const response = await ask()
    expect(response.status).toBe(503)
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(response.headers.get('retry-after')).toMatch(/^[12]$/)
    expect(await response.json()).toMatchObject({ 'violated-policies': ['busy'] })
    expect(onWarning).toHaveBeenCalledOnce()
  })
})

describe('options', () => {
  it.each([null, [], 'options', { flwo: () => 'a' }, { flow: 'a' }, { permitTimeoutMs: 0 }])(
    '%j are refused',
    (options) => expect(() => fairMiddleware(options as never)).toThrow(/fairMiddleware|flow|permitTimeoutMs/),
  )

  it('without any: FAIR, and shedding by memory, heap and event-loop delay', () => {
    expect(fairMiddleware().gate.snapshot().stages).toMatchObject({
      fair: { rule: 'fair-clock' },
      shed: { signals: [{ name: 'memory' }, { name: 'heap' }, { name: 'event-loop-delay' }] },
    })
  })

  it('with a gate: that gate, and no options of another', () => {
    const gate = gateOf()
    expect(fairMiddleware({ gate }).gate).toBe(gate)
    expect(() => fairMiddleware({ gate, permitTimeoutMs: 1_000 })).toThrow('permitTimeoutMs')
  })
})
