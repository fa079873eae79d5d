import { once } from 'node:events'
import { connect } from 'node:net'
import { type Ask, createGate, type Gate, refuse, type Stage, type Verdict } from '@fairlead/core'
import { limitStage, probeStage } from '@fairlead/testing'
import { eventually } from '@fairlead-testing/waiting'
import type { Context, Next } from 'koa'
import { describe, expect, it, vi } from 'vitest'
import { majors } from './fixtures/koa-harness.js'
import { serve } from './fixtures/serve.js'
import { type FairState, fairMiddleware } from './index.js'

/** A gate with only these stages. */
function gateOf(...stages: Stage[]): Gate {
  return createGate({ fair: false, stages })
}

describe.each(majors)('%s', (_, Koa) => {
  describe('the outcome', () => {
    /** The outcome that the gate gets for a request handled by `handle`, and the response that its client gets. */
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

    // While an error propagates, `ctx.status` is still 404, which would count as a success.
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

  it('leaves a response alone that was begun while it waited', async () => {
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
    // A gate that ignores the signal.
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
    const app = new Koa()
    app.use(fairMiddleware({}))
    app.use((ctx) => {
      ctx.body = { hello: 'world' }
    })
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
})
