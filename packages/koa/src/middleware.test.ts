import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { connect as connectHttp2, constants, createServer as createHttp2Server } from 'node:http2'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGate, type Gate, refuse, type Stage } from '@fairlead/core'
import { escrow } from '@fairlead/core/escrow'
import { fairHandler } from '@fairlead/core/node'
import { requestQueue } from '@fairlead/core/queue'
import { listen, probeStage } from '@fairlead/testing'
import { eventually } from '@fairlead-testing/waiting'
import type Application from 'koa'
import { describe, expect, expectTypeOf, it, vi } from 'vitest'
import { majors } from './fixtures/koa-harness.js'
import { serve } from './fixtures/serve.js'
import { type FairMiddlewareOptions, type FairRequest, type FairState, fairMiddleware } from './index.js'

const busy: Stage = { name: 'busy', admit: () => refuse('busy', 'overload', true, 1_000) }

/** A gate with only these stages. */
function gateOf(...stages: Stage[]): Gate {
  return createGate({ fair: false, stages })
}

describe.each(majors)('%s', (_, Koa) => {
  /** An app that answers "hello" behind the middleware. */
  function appWith(options: FairMiddlewareOptions): Application {
    const app = new Koa()
    app.use(fairMiddleware(options))
    app.use((ctx) => {
      ctx.body = { hello: 'world' }
    })
    return app
  }

  it('adds no header to what it admits', async () => {
    const bare = new Koa()
    bare.use((ctx) => {
      ctx.body = { hello: 'world' }
    })
    const names = async (app: typeof bare): Promise<string[]> => {
      const reply = await fetch((await serve(app)).url)
      expect(await reply.json()).toEqual({ hello: 'world' })
      return [...reply.headers.keys()].toSorted()
    }
    expect(await names(appWith({}))).toEqual(await names(bare))
  })

  it('knows the gate of a fairHandler around it: the same judges once, another’s refusals are no failures of it', async () => {
    const [twice, outer] = [probeStage(), probeStage()]
    const gate = gateOf(twice)
    const onWarning = vi.fn()
    const ask = async (options: FairMiddlewareOptions, around: Gate): Promise<number> => {
      const handler = appWith(options).callback()
      const { port, close } = await listen(createServer(fairHandler(handler, { gate: around })))
      const { status } = await fetch(`http://127.0.0.1:${port}`)
      await close()
      return status
    }
    expect(await ask({ gate, onWarning }, gate)).toBe(200)
    expect(twice.passages).toHaveLength(1)
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('the same gate twice'), undefined)
    expect(await ask({ gate: gateOf(busy) }, gateOf(outer))).toBe(503)
    await eventually(() => expect(outer.outcomes).toEqual(['ignored']))
  })

  it('reports a budget beside the headers of an error, which Koa keeps, for any answer', async () => {
    const budget = escrow({ limit: 10, windowMs: 60_000 })
    const app = new Koa()
    app.use(fairMiddleware({ budget, clock: () => 0, rateLimit: 'always' }))
    app.use((ctx) => ctx.throw(418, 'tea', { headers: { 'x-tea': 'green' } }))
    const outside = new Koa()
    outside.use(async (ctx, next) => {
      await next().catch(() => {})
      ctx.respond = false
      ctx.res.writeHead(200).end('answered by hand')
    })
    outside.use(fairMiddleware({ budget, clock: () => 0, rateLimit: 'always' }))
    outside.use(() => Promise.reject(new Error('caught outside')))
    const thrown = await fetch((await serve(app)).url)
    const byHand = await fetch((await serve(outside)).url)
    expect([thrown.status, thrown.headers.get('x-tea'), byHand.status]).toEqual([418, 'green', 200])
    for (const { headers } of [thrown, byHand]) expect(headers.get('ratelimit')).toBe('"budget";r=9;t=60')
  })

  it('judges by the address of the connection, and by proxies only if they are trusted', async () => {
    const probe = probeStage()
    const app = appWith({ gate: gateOf(probe) })
    const { url } = await serve(app)
    const ask = (): Promise<Response> =>
      fetch(url, { headers: { 'X-Forwarded-For': '2001:db8::1, 198.51.100.9:4711' } })
    await ask()
    app.proxy = true
    await ask()
    app.maxIpsCount = 1
    await ask()
    const flows = probe.passages.map(({ flow }) => flow)
    expect(flows).toEqual(['ip:127.0.0.1', 'ip:2001:db8::/56', 'ip:198.51.100.9'])
  })

  it('gives clients of a Unix socket a flow of their own, and warns once', async () => {
    const probe = probeStage()
    const onWarning = vi.fn()
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-'))
    const socketPath = join(folder, 'socket')
    const server = createServer(appWith({ gate: gateOf(probe), onWarning }).callback()).listen(socketPath)
    await once(server, 'listening')
    for (let i = 0; i < 12; i++) {
      const request = httpRequest({ socketPath, path: '/', agent: false }).end()
      const [response] = await once(request, 'response')
      response.resume()
      await once(response, 'close')
    }
    server.close()
    rmSync(folder, { recursive: true })
    expect(probe.passages.map(({ flow }) => flow)).toEqual(new Array(12).fill('ip:unknown'))
    expect(onWarning).toHaveBeenCalledOnce()
  })

  it('tells what is downstream of its permit, and nothing where it was skipped', async () => {
    const app = new Koa<FairState>()
    app.use(fairMiddleware({ skip: (ctx) => ctx.path === '/health', cost: () => 3, shed: false }))
    app.use((ctx) => {
      ctx.body = { cost: ctx.state.fair?.permit?.cost, signal: ctx.state.fair?.signal.aborted }
    })
    const { url } = await serve(app)
    expect(await (await fetch(url)).json()).toEqual({ cost: 3, signal: false })
    expect(await (await fetch(`${url}/health`)).json()).toEqual({})
  })

  it('adds its type to the state of an app that has one, and changes no other', () => {
    const app = new Koa<{ user: string }>()
    app.use(fairMiddleware()).use((ctx) => {
      expectTypeOf(ctx.state).toEqualTypeOf<{ user: string } & FairState>()
      expectTypeOf(ctx.state.fair).toEqualTypeOf<FairRequest | undefined>()
    })
    app.use((ctx) => {
      expectTypeOf(ctx.state).toEqualTypeOf<{ user: string }>()
    })
    expect(app.middleware).toHaveLength(3)
  })

  describe('a refusal', () => {
    it('is a response like any other to the middleware outside', async () => {
      const app = new Koa()
      const seen: unknown[] = []
      app.use(async (ctx, next) => {
        await next()
        seen.push(ctx.status, ctx.type, JSON.parse(ctx.body as string).status, ctx.response.get('Retry-After') !== '')
        ctx.set('Access-Control-Allow-Origin', '*')
      })
      app.use(fairMiddleware({ gate: gateOf(busy) }))
      const reply = await fetch((await serve(app)).url)
      expect(seen).toEqual([503, 'application/problem+json', 503, true])
      expect(reply.headers.get('access-control-allow-origin')).toBe('*')
      expect(reply.headers.get('retry-after')).toMatch(/^[12]$/)
      expect(reply.headers.get('content-type')).toBe('application/problem+json')
    })

    it.each<[string, FairMiddlewareOptions['handler']]>([
      [
        'at once',
        (ctx, { refusal, status }) => {
          ctx.body = `${refusal.stage} says ${status}`
        },
      ],
      [
        'later',
        async (ctx, { refusal, status }) => {
          await new Promise((resolve) => setImmediate(resolve))
          ctx.body = `${refusal.stage} says ${status}`
        },
      ],
    ])('is answered by a handler of the user’s own, %s, with status and Retry-After set', async (_name, handler) => {
      const reply = await fetch((await serve(appWith({ gate: gateOf(busy), ...(handler && { handler }) }))).url)
      expect([reply.status, await reply.text()]).toEqual([503, 'busy says 503'])
      expect(reply.headers.get('retry-after')).toMatch(/^[12]$/)
      expect(reply.headers.get('content-type')).toMatch(/^text\/plain/)
    })

    it.each<[string, FairMiddlewareOptions['handler']]>([
      [
        'throws',
        (ctx) => {
          ctx.status = 200
          ctx.respond = false
          ctx.throw(418)
        },
      ],
      ['rejects', () => Promise.reject(new Error('no words'))],
    ])('is a problem document after all if that handler %s', async (_name, handler) => {
      const onWarning = vi.fn()
      const reply = await fetch(
        (await serve(appWith({ gate: gateOf(busy), onWarning, ...(handler && { handler }) }))).url,
      )
      expect([reply.status, reply.headers.get('content-type')]).toEqual([503, 'application/problem+json'])
      expect(await reply.json()).toMatchObject({ status: 503 })
      expect(onWarning).toHaveBeenCalledOnce()
    })

    it('is cut off if that handler fails in the middle of its answer', async () => {
      const app = appWith({
        gate: gateOf(busy),
        onWarning: () => {},
        handler: (ctx) => {
          ctx.respond = false
          ctx.res.write('half')
          throw new Error('no more words')
        },
      })
      const reply = fetch((await serve(app)).url).then((response) => response.text())
      await expect(reply).rejects.toThrow()
      const { port, close } = await listen(createHttp2Server(app.callback()))
      const session = connectHttp2(`http://127.0.0.1:${port}`)
      const stream = session
        .request()
        .on('error', () => {})
        .resume()
      await once(stream, 'close').catch(() => {})
      expect(stream.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR)
      session.destroy()
      await close()
    })

    it('is sent by Koa even if outer middleware has told it not to respond', async () => {
      const app = new Koa()
      app.use((ctx, next) => {
        ctx.respond = false
        return next()
      })
      app.use(fairMiddleware({ gate: gateOf(busy) }))
      expect((await fetch((await serve(app)).url)).status).toBe(503)
    })
  })

  describe('an HTTP upgrade', () => {
    const UPGRADE = 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'

    /** The first line of the answer to a request to upgrade. */
    async function ask(port: number): Promise<string | undefined> {
      const client = connect(port, '127.0.0.1').setEncoding('latin1')
      client.write(UPGRADE)
      const [text] = (await once(client, 'data')) as [string]
      client.destroy()
      return text.split('\r\n')[0]
    }

    it('passes by, if there is a listener', async () => {
      const probe = probeStage()
      const server = createServer(appWith({ gate: gateOf(probe) }).callback())
      server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      expect(await ask((server.address() as { port: number }).port)).toBe('HTTP/1.1 101 Switching Protocols')
      expect(probe.passages).toHaveLength(0)
      server.close()
    })

    it('is a request like any other without one', async () => {
      const probe = probeStage()
      expect(await ask((await serve(appWith({ gate: gateOf(probe) }))).port)).toBe('HTTP/1.1 200 OK')
      await eventually(() => expect(probe.outcomes).toEqual(['success']))
    })
  })
})

describe('options', () => {
  it.each<[object, string]>([
    [
      { flwo: () => 'a' },
      'fairMiddleware has no option "flwo"; it knows address, after, budget, clientTimeoutMs, clock, cost, doorman, exempt, fair,',
    ],
    [{ flow: 'x-api-key' }, 'flow must be a function, got "x-api-key"'],
    [{ handler: true }, 'handler must be a function, got true'],
    [{ gate: {} }, 'gate must be made by createGate, got an object'],
    [{ gate: createGate(), queue: requestQueue({ concurrency: 4 }) }, 'queue is an option of the gate'],
  ])('%j is refused', (options, message) => expect(() => fairMiddleware(options)).toThrow(message))

  it('none: FAIR, and shedding by memory, heap and event-loop delay', () => {
    const { stages } = fairMiddleware().gate.snapshot()
    expect(stages).toMatchObject({
      fair: { rule: 'fair-clock' },
      shed: { signals: [{ name: 'memory' }, { name: 'heap' }, { name: 'event-loop-delay' }] },
    })
  })
})
