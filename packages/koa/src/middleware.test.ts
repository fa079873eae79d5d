import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { connect as connectHttp2, constants, createServer as createHttp2Server } from 'node:http2'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Ask, createGate, type Gate, refuse, type Stage, type Verdict } from '@fairlead/core'
import { escrow } from '@fairlead/core/escrow'
import { requestQueue } from '@fairlead/core/queue'
import { limitStage, listen, probeStage } from '@fairlead/testing'
import { eventually } from '@fairlead-testing/waiting'
import type Application from 'koa'
import type { Context, Next } from 'koa'
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
  /** An app that says hello behind the middleware. */
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

  it('tells a budget beside the headers of an error, which alone Koa keeps, and whatever answers it', async () => {
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

    it('is sent by Koa even if somebody outside has told it not to respond', async () => {
      const app = new Koa()
      app.use((ctx, next) => {
        ctx.respond = false
        return next()
      })
      app.use(fairMiddleware({ gate: gateOf(busy) }))
      expect((await fetch((await serve(app)).url)).status).toBe(503)
    })
  })

  describe('the outcome', () => {
    /** What the gate hears of a request that `handle` handles, and what its client sees. */
    async function of(
      handle: (ctx: Context, next: Next) => unknown,
      outside: (ctx: Context, next: Next) => unknown = (_ctx, next) => next(),
    ): Promise<{ outcome: string | undefined; reply: Response }> {
      const probe = probeStage()
      const app = new Koa()
      app.use(outside)
      app.use(fairMiddleware({ gate: gateOf(probe) }))
      app.use(handle)
      const reply = await fetch((await serve(app)).url)
      await reply.arrayBuffer()
      await eventually(() => expect(probe.outcomes).toHaveLength(1))
      return { outcome: probe.outcomes[0], reply }
    }

    // While an error passes, `ctx.status` is still 404, which would be a success.
    it.each<[string, unknown, number, string]>([
      ['an error', new Error('a bug'), 500, 'ignored'],
      ['a string', 'a bug', 500, 'ignored'],
      ['an error with a status that is none', Object.assign(new Error('a bug'), { status: 7 }), 500, 'ignored'],
      ['an error with status 404', Object.assign(new Error('not here'), { status: 404 }), 404, 'success'],
      ['an error with statusCode 503', Object.assign(new Error('full'), { statusCode: 503 }), 503, 'failure'],
    ])('of %s thrown downstream goes by the status that is sent', async (_name, error, status, outcome) => {
      const heard = await of(() => {
        throw error
      })
      expect([heard.reply.status, heard.outcome]).toEqual([status, outcome])
    })

    it('of a file that is not there goes by what this Koa says to it', async () => {
      const { reply, outcome } = await of(() => {
        throw Object.assign(new Error('no such file'), { code: 'ENOENT' })
      })
      expect(outcome).toBe(reply.status === 404 ? 'success' : 'ignored')
    })

    it('of ctx.throw(429) with headers is a failure, and the headers are sent', async () => {
      const { reply, outcome } = await of((ctx) => ctx.throw(429, 'slow down', { headers: { 'Retry-After': '7' } }))
      expect([reply.status, reply.headers.get('retry-after'), outcome]).toEqual([429, '7', 'failure'])
    })

    it.each([
      [503, 'failure'],
      [500, 'failure'],
      [200, 'failure'],
    ])('of a shortage that an error handler outside answers with %i is a %s', async (status, outcome) => {
      const heard = await of(
        (ctx) => ctx.throw(503),
        async (ctx, next) => {
          try {
            await next()
          } catch {
            ctx.status = status
          }
        },
      )
      expect([heard.reply.status, heard.outcome]).toEqual([status, outcome])
    })

    it.each([
      ['unheard of: ignored', false, 'ignored'],
      ['told to ctx.state.fair.failed: a failure', true, 'failure'],
    ])('of a shortage that an error handler inside answers with 500, %s', async (_name, tell, outcome) => {
      const heard = await of((ctx) => {
        if (tell) ctx.state['fair'].failed(Object.assign(new Error('full'), { status: 503 }))
        ctx.status = 500
      })
      expect(heard.outcome).toBe(outcome)
    })

    it('of what is written past Koa goes by the status that was written', async () => {
      const { reply, outcome } = await of((ctx) => {
        ctx.respond = false
        ctx.res.writeHead(503).end()
      })
      expect([reply.status, outcome]).toEqual([503, 'failure'])
    })
  })

  it('keeps the permit while what is written past Koa goes on, and no longer than its client stays', async () => {
    const probe = probeStage()
    const gate = gateOf(probe)
    const app = new Koa()
    let end = (): void => {}
    app.use(fairMiddleware({ gate }))
    app.use((ctx) => {
      ctx.respond = false
      ctx.res.write('half')
      end = () => ctx.res.end()
    })
    const { url } = await serve(app)
    const first = await fetch(url)
    await new Promise((resolve) => setImmediate(resolve))
    expect(gate.snapshot().inFlight).toBe(1)
    end()
    await first.text()
    await eventually(() => expect(probe.outcomes).toEqual(['success']))
    const leave = new AbortController()
    await fetch(url, { signal: leave.signal })
    leave.abort()
    await eventually(() => expect(probe.outcomes).toEqual(['success', 'ignored']))
    expect(gate.snapshot().inFlight).toBe(0)
  })

  it('keeps a permit for work that goes on after the answer, if it is held', async () => {
    const app = new Koa<FairState>()
    let done: (() => void) | undefined
    app.use(fairMiddleware({ gate: gateOf(limitStage(1)) }))
    app.use((ctx) => {
      done = ctx.state.fair?.hold()
      ctx.body = 'answered'
    })
    const { url } = await serve(app)
    expect((await fetch(url)).status).toBe(200)
    expect((await fetch(url)).status).toBe(503)
    done?.()
    expect((await fetch(url)).status).toBe(200)
    done?.()
  })

  it('does not go on with a client that left during earlier middleware', async () => {
    const [answer, handler] = [vi.fn(), vi.fn()]
    const fair = fairMiddleware({ handler: answer })
    const app = new Koa()
    let arrived = (): void => {}
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const passed = new Promise<void>((resolve) => {
      app.use(async (ctx, next) => {
        arrived()
        await once(ctx.res, 'close')
        await next()
        resolve()
      })
    })
    app.use(fair).use(handler)
    const client = connect((await serve(app)).port, '127.0.0.1')
    client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await arrival
    client.destroy()
    await passed
    expect(handler).not.toHaveBeenCalled()
    expect(answer).not.toHaveBeenCalled()
    expect(fair.gate.snapshot()).toMatchObject({ inFlight: 0, refusedBy: { 'gate:gone': 1 } })
  })

  it('leaves a response alone that somebody has begun while it waited', async () => {
    let refuseIt = (_refusal: Verdict): void => {}
    const answer = new Promise<Verdict>((resolve) => {
      refuseIt = resolve
    })
    const probe = probeStage()
    const [own, handler] = [vi.fn(), vi.fn()]
    const fair = fairMiddleware({ gate: gateOf(probe, { name: 'full', admit: () => answer }), handler: own })
    const app = new Koa()
    app.use(async (ctx, next) => {
      ctx.respond = false
      const downstream = next()
      ctx.res.writeHead(408).write('too ')
      refuseIt(refuse('full', 'overload', true, 0))
      await downstream
      ctx.res.end('late')
    })
    app.use(fair).use(handler)
    const reply = await fetch((await serve(app)).url)
    expect([reply.status, await reply.text()]).toEqual([408, 'too late'])
    expect(fair.gate.snapshot()).toMatchObject({ inFlight: 0, waiting: 0, refused: 1 })
    expect(probe.outstanding).toBe(0)
    expect(own).not.toHaveBeenCalled()
    expect(handler).not.toHaveBeenCalled()
  })

  it('gives a permit back that comes when the client has left', async () => {
    const gate = gateOf(probeStage())
    // A gate that does not heed the signal.
    const late = {
      admit: async (ask: Ask) => {
        await new Promise((resolve) => (ask.signal as () => AbortSignal)().addEventListener('abort', resolve))
        return gate.admit({ flow: ask.flow })
      },
    }
    const handler = vi.fn()
    const app = new Koa()
    app.use((ctx, next) => {
      ctx.res.end('gone')
      return next()
    })
    app.use(fairMiddleware({ gate: late as Gate })).use(handler)
    expect(await (await fetch((await serve(app)).url)).text()).toBe('gone')
    await eventually(() => expect(gate.snapshot()).toMatchObject({ admitted: 1, inFlight: 0 }))
    expect(handler).not.toHaveBeenCalled()
  })

  it('gives back what downstream gives, and throws what it throws', async () => {
    const fair = fairMiddleware({ shed: false })
    const app = new Koa()
    const seen: unknown[] = []
    app.use(async (_ctx, next) => {
      seen.push(await next().catch((error: unknown) => error))
    })
    app.use(fair)
    app.use((ctx) => {
      ctx.body = 'fine'
      if (ctx.path === '/throw') throw new RangeError('too far')
      return 'given'
    })
    const { url } = await serve(app)
    await fetch(url)
    await fetch(`${url}/throw`)
    expect(seen).toEqual(['given', new RangeError('too far')])
  })

  it('may stand on a path twice: the first judges', async () => {
    const fair = fairMiddleware({ gate: gateOf(probeStage()), onWarning: () => {} })
    const app = appWith({})
    app.middleware.unshift(fair, fair)
    expect((await fetch((await serve(app)).url)).status).toBe(200)
    await eventually(() => expect(fair.gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 1 } }))
  })

  it('keeps what is held, and tells what failed, at the gates outside too', async () => {
    const probes = [probeStage('outer'), probeStage('inner')]
    const app = new Koa<FairState>()
    let done: (() => void) | undefined
    for (const probe of probes) app.use(fairMiddleware({ gate: gateOf(probe) }))
    app.use((ctx) => {
      done = ctx.state.fair?.hold()
      ctx.state.fair?.failed(Object.assign(new Error('full'), { status: 503 }))
      ctx.status = 500
    })
    await (await fetch((await serve(app)).url)).text()
    await new Promise((resolve) => setImmediate(resolve))
    expect(probes.map(({ outstanding }) => outstanding)).toEqual([1, 1])
    done?.()
    expect(probes.map(({ outcomes }) => outcomes)).toEqual([['failure'], ['failure']])
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

    it('passes by, where somebody listens for it', async () => {
      const probe = probeStage()
      const server = createServer(appWith({ gate: gateOf(probe) }).callback())
      server.on('upgrade', (_request, socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\n\r\n'))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      expect(await ask((server.address() as { port: number }).port)).toBe('HTTP/1.1 101 Switching Protocols')
      expect(probe.passages).toHaveLength(0)
      server.close()
    })

    it('is a request like any other, where nobody does', async () => {
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
