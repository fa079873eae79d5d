import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, constants, type Http2ServerRequest, type ServerHttp2Stream } from 'node:http2'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { createGate, type Gate, refuse, type Stage } from '@fairlead/core'
import { fairHandler } from '@fairlead/core/node'
import { requestQueue } from '@fairlead/core/queue'
import { probeStage } from '@fairlead/core/testing'
import { eventually } from '@fairlead-testing/waiting'
import type { FastifyInstance, FastifyReply, FastifyServerOptions } from 'fastify'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { majors } from './fixtures/fastify-harness.js'
import { type FairPluginOptions, fairPlugin, ResourceExhaustedError } from './index.js'

const FULL: Stage = { name: 'full', admit: () => refuse('full', 'overload', true, 1_000) }

/** Like the queries of some libraries: no promise, and it calls `began` at each `then`. */
function query(rows: Promise<string>, began: () => void = () => {}): PromiseLike<string> {
  return {
    // biome-ignore lint/suspicious/noThenProperty: it is one
    then(kept, broken) {
      began()
      return rows.then(kept, broken)
    },
  }
}

async function* slowly(): AsyncGenerator<string> {
  yield 'one,'
  await setImmediate()
  yield 'two'
}

function gateOf(...stages: Stage[]): Gate {
  return createGate({ fair: false, stages })
}

describe.each(majors)('%s', (_name, fastify) => {
  const apps: FastifyInstance[] = []
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
  })
  async function appWith(options?: FairPluginOptions): Promise<FastifyInstance> {
    const app: FastifyInstance = fastify()
    apps.push(app)
    if (options !== undefined) await app.register(fairPlugin, options)
    return app
  }

  it('judges every route of its part of the application, and what is not found there', async () => {
    const probe = probeStage()
    const app = await appWith()
    app.get('/outside', () => 'free')
    await app.register(async (inside) => {
      await inside.register(fairPlugin, { gate: gateOf(probe) })
      inside.get('/inside', (request) => request.fair?.permit?.flow)
      await inside.register(async (deeper) => {
        deeper.get('/deeper', () => 'judged')
      })
    })
    for (const url of ['/outside', '/inside', '/deeper', '/nowhere']) await app.inject(url)
    expect(probe.passages).toHaveLength(2)
    expect((await app.inject('/inside')).body).toBe('ip:127.0.0.1')
    await eventually(() => expect(probe.outstanding).toBe(0))
  })

  it('lets one part have a gate inside another; each part knows its own', async () => {
    const [outer, inner] = [probeStage('outer'), probeStage('inner')]
    const [outerGate, innerGate] = [gateOf(outer), gateOf(inner)]
    const app = await appWith({ gate: outerGate })
    await app.register(async (part) => {
      await part.register(fairPlugin, { gate: innerGate })
      expect(part.fair.gate).toBe(innerGate)
      part.get('/', () => 'done')
    })
    expect(app.fair.gate).toBe(outerGate)
    await app.inject('/')
    await eventually(() => expect([outer.outcomes, inner.outcomes]).toEqual([['success'], ['success']]))
  })

  describe('what a route says', () => {
    it.each([
      ['cost: 7', { cost: 7 }, { cost: 7, flow: 'the plugin’s', priority: 0 }],
      ['flow', { flow: () => 'mine' }, { cost: 1, flow: 'mine', priority: 0 }],
      ['flow that gives nothing', { flow: () => undefined }, { cost: 1, flow: 'the plugin’s', priority: 0 }],
      ['priority and resource', { priority: -2, resource: 'db' }, { cost: 1, priority: -2, resource: 'db' }],
    ])('counts before the plugin: %s', async (_name, fair, expected) => {
      const probe = probeStage()
      const app = await appWith({ gate: gateOf(probe), flow: () => 'the plugin’s' })
      app.get('/', { config: { fair } }, () => 'done')
      await app.inject('/')
      expect(probe.passages).toMatchObject([expected])
    })

    it('counts on a route that was added before the plugin', async () => {
      const probe = probeStage()
      const app = await appWith()
      app.get('/', { config: { fair: { cost: 7 } } }, () => 'done')
      await app.register(fairPlugin, { gate: gateOf(probe) })
      app.get('/later', () => 'done')
      await app.inject('/')
      expect(probe.passages).toMatchObject([{ cost: 7 }])
    })

    it('counts if another plugin sets it, on one route of several', async () => {
      const probe = probeStage()
      const app = await appWith({ gate: gateOf(probe) })
      app.get('/plain', () => 'done')
      app.addHook('onRoute', (route) => {
        route.config = { ...route.config, fair: { cost: 7 } }
      })
      app.get('/', { exposeHeadRoute: false }, () => 'done')
      await app.inject('/plain')
      await app.inject('/')
      expect(probe.passages).toMatchObject([{ cost: 1 }, { cost: 7 }])
    })

    it('false: no gate sees it', async () => {
      const probe = probeStage()
      const app = await appWith({ gate: gateOf(probe) })
      app.get('/', { config: { fair: false } }, (request) => String(request.fair))
      expect((await app.inject('/')).body).toBe('undefined')
      expect(probe.passages).toEqual([])
    })

    it('that is wrong is an error when the route is added', async () => {
      const app = await appWith({ shed: false })
      expect(() => app.get('/', { config: { fair: { cost: 0 } } }, () => '')).toThrow('cost must be a number > 0')
      const misspelt = { cots: 1 } as object
      expect(() => app.get('/', { config: { fair: misspelt } }, () => '')).toThrow('config.fair has no option "cots"')
    })
  })

  it.each([
    ['onRequest', ''],
    ['preValidation', 'body'],
    ['preHandler', 'bodyuser'],
  ] as const)('hook %s: flow knows what was done before', async (hook, known) => {
    const probe = probeStage()
    const app = await appWith()
    app.decorateRequest('user', '')
    app.addHook('preValidation', (request: object, _reply, done) => {
      Object.assign(request, { user: 'user' })
      done()
    })
    await app.register(fairPlugin, {
      gate: gateOf(probe),
      hook,
      flow: (request) => `${request.body ? 'body' : ''}${Reflect.get(request, 'user')}` || 'nothing',
    })
    app.post('/', () => 'done')
    await app.inject({ method: 'POST', url: '/', payload: { some: 'thing' } })
    // The application's hook runs before the plugin's if both are preValidation.
    const expected = hook === 'preValidation' ? `${known}user` : known || 'nothing'
    expect(probe.passages.map(({ flow }) => flow)).toEqual([expected])
  })

  it('refuses as any other answer: onSend and onResponse see it, and its headers', async () => {
    const seen: unknown[] = []
    const app = await appWith({ gate: gateOf(FULL) })
    app.addHook('onSend', async (_request, reply) => {
      seen.push(reply.statusCode, reply.getHeader('retry-after'))
      reply.header('access-control-allow-origin', '*')
    })
    app.get('/', () => 'never')
    const { statusCode, headers, body } = await app.inject('/')
    expect(statusCode).toBe(503)
    expect(headers['access-control-allow-origin']).toBe('*')
    expect(headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(JSON.parse(body)).toMatchObject({ status: 503, title: 'The service is short of capacity' })
    expect(seen).toEqual([503, headers['retry-after']])
  })

  it.each<[string, NonNullable<FairPluginOptions['handler']>, string]>([
    ['returns', (_request, _reply, { refusal }) => ({ error: refusal.reason }), '{"error":"overload"}'],
    ['promises', async () => 'later', 'later'],
    ['queries', () => query(Promise.resolve('rows')), 'rows'],
    ['sends', (_request, reply: FastifyReply) => reply.send('sent'), 'sent'],
  ])('a handler of refusals that %s an answer', async (_name, handler, body) => {
    const app = await appWith({ gate: gateOf(FULL), handler })
    app.get('/', () => 'never')
    expect(await app.inject('/')).toMatchObject({ statusCode: 503, body })
  })

  it('a handler of refusals that throws: the problem document, and a warning', async () => {
    const onWarning = vi.fn()
    const handler = (): never => {
      throw new Error('mine')
    }
    const app = await appWith({ gate: gateOf(FULL), handler, onWarning })
    app.get('/', () => 'never')
    expect((await app.inject('/')).json()).toMatchObject({ status: 503 })
    expect(onWarning).toHaveBeenCalledOnce()
  })

  it.each([
    ['a handler throws', false],
    ['a hook before the handler throws', true],
  ])('a shortage that %s is a failure, even if an error handler changes the status', async (_name, early) => {
    const probe = probeStage()
    const app = await appWith({ gate: gateOf(probe) })
    app.setErrorHandler((error, _request, reply) => {
      reply.code(500)
      return early ? error : 'sorry'
    })
    const throws = async (): Promise<void> => {
      throw new ResourceExhaustedError('full')
    }
    app.get('/', early ? { preHandler: throws } : {}, throws)
    expect((await app.inject('/')).statusCode).toBe(early ? 503 : 500)
    await eventually(() => expect(probe.outcomes).toEqual(['failure']))
  })

  it('keeps a permit after reply.hijack() until the response has closed', async () => {
    const probe = probeStage()
    const app = await appWith({ gate: gateOf(probe) })
    let reply: FastifyReply | undefined
    app.get('/', (_request, given) => {
      reply = given.hijack()
      given.raw.writeHead(200)
      given.raw.write('half ')
    })
    const asked = app.inject('/')
    await eventually(() => expect(reply).toBeDefined())
    expect(probe.outstanding).toBe(1)
    reply?.raw.end('done')
    expect((await asked).body).toBe('half done')
    await eventually(() => expect(probe.outcomes).toEqual(['success']))
  })

  it('keeps a permit until a query that a handler returns has settled, and asks it once', async () => {
    const probe = probeStage()
    const app = await appWith({ gate: gateOf(probe) })
    const began = vi.fn()
    let settle = (_rows: string): void => {}
    const rows = new Promise<string>((resolve) => (settle = resolve))
    let cut = (): void => {}
    app.get('/', (_request, reply) => {
      cut = () => reply.raw.destroy()
      return query(rows, began)
    })
    const asked = app.inject('/').catch(() => {})
    await eventually(() => expect(began).toHaveBeenCalled())
    cut()
    await asked
    expect(probe.outstanding).toBe(1)
    settle('rows')
    await eventually(() => expect(probe.outcomes).toEqual(['ignored']))
    expect(began).toHaveBeenCalledOnce()
  })

  it('knows the gate of a fairHandler around it: the same judges once, another’s refusals are no failures of it', async () => {
    const [twice, outer] = [probeStage(), probeStage()]
    const gate = gateOf(twice)
    const onWarning = vi.fn()
    const ask = async (options: FairPluginOptions, around: Gate): Promise<number> => {
      const app: FastifyInstance = fastify({
        serverFactory: (handler) => createServer(fairHandler(handler, { gate: around })),
      })
      apps.push(app)
      await app.register(fairPlugin, options)
      app.get('/', () => 'done')
      return (await fetch(await app.listen({ port: 0, host: '127.0.0.1' }))).status
    }
    expect(await ask({ gate, onWarning }, gate)).toBe(200)
    expect(twice.passages).toHaveLength(1)
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('the same gate twice'), undefined)
    expect(await ask({ gate: gateOf(FULL) }, gateOf(outer))).toBe(503)
    await eventually(() => expect(outer.outcomes).toEqual(['ignored']))
  })

  it('judges routes that were there before it, too', async () => {
    const probe = probeStage()
    const app = await appWith()
    app.register(fairPlugin, { gate: gateOf(probe) })
    app.get('/', async () => 'done')
    await app.inject('/')
    await eventually(() => expect(probe.outcomes).toEqual(['success']))
  })

  it('on close refuses waiting requests, if it made the gate', async () => {
    const app = await appWith({ fair: false, shed: false, queue: requestQueue({ concurrency: 1 }) })
    const { gate } = app.fair
    let finish = (): void => {}
    app.get('/', () => new Promise((resolve) => (finish = () => resolve('done'))))
    const first = app.inject('/')
    await eventually(() => expect(gate.snapshot().inFlight).toBe(1))
    const second = app.inject('/')
    await eventually(() => expect(gate.snapshot().waiting).toBe(1))
    const closed = app.close()
    expect((await second).statusCode).toBe(503)
    finish()
    expect((await first).body).toBe('done')
    await closed
    expect(gate.snapshot()).toMatchObject({ closed: true, inFlight: 0 })
    const own = gateOf()
    await (await appWith({ gate: own })).close()
    expect(own.snapshot().closed).toBe(false)
  })

  it.each([
    ['that to a streamed HEAD', 'HEAD', async () => {}],
    ['one whose client has left', 'GET', (stream: ServerHttp2Stream) => once(stream, 'close')],
  ])(
    'over HTTP/2 ends the permit of a handler that returns a reply without an end: %s',
    async (_name, method, left) => {
      const gate = gateOf()
      const options: FastifyServerOptions = { ...{ http2: true }, forceCloseConnections: true }
      const app: FastifyInstance = fastify(options)
      apps.push(app)
      await app.register(fairPlugin, { gate })
      app.get('/', async ({ raw }, reply) => {
        reply.send(method === 'GET' ? new Readable({ read: () => {} }) : Readable.from(slowly()))
        await left((raw as IncomingMessage & Pick<Http2ServerRequest, 'stream'>).stream)
        return reply
      })
      const session = connect(await app.listen({ port: 0, host: '127.0.0.1' }))
      const stream = session.request({ ':method': method }).resume()
      await eventually(() => expect(gate.snapshot().admitted).toBe(1))
      if (method === 'GET') stream.close(constants.NGHTTP2_CANCEL)
      await eventually(() => expect(gate.snapshot().inFlight).toBe(0))
      session.destroy()
    },
  )

  it.each<[object, string]>([
    [{ flwo: () => 'a' }, 'fairPlugin has no option "flwo"; it knows address,'],
    [{ hook: 'onSend' }, 'hook must be one of'],
    [{ flow: 'x-api-key' }, 'flow must be a function, got "x-api-key"'],
    [{ gate: {} }, 'gate must be made by createGate, got an object'],
  ])('%j is refused', async (options, message) => {
    await expect(appWith(options)).rejects.toThrow(message)
    apps.pop()
  })

  it('without options: FAIR, and shedding by memory, heap and event-loop delay', async () => {
    const { stages } = (await appWith({})).fair.gate.snapshot()
    expect(stages).toMatchObject({
      fair: { rule: 'fair-clock' },
      shed: { signals: [{ name: 'memory' }, { name: 'heap' }, { name: 'event-loop-delay' }] },
    })
  })
})
