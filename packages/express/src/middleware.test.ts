import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as httpRequest, type RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Ask, createGate, type Gate, refuse, type Stage, type Verdict } from '@fairlead/core'
import { fairHandler } from '@fairlead/core/node'
import { limitStage, probeStage } from '@fairlead/core/testing'
import { eventually } from '@fairlead-testing/waiting'
import type { NextFunction, Request, RequestHandler, Response } from 'express'
import supertest from 'supertest'
import { describe, expect, it, vi } from 'vitest'
import { majors } from './fixtures/express-harness.js'
import { type FairMiddlewareOptions, fairMiddleware, ResourceExhaustedError } from './index.js'

const busy: Stage = { name: 'busy', admit: () => refuse('busy', 'overload', true, 1_000) }

/** A gate with only these stages. */
function gateOf(...stages: Stage[]): Gate {
  return createGate({ fair: false, stages })
}

function fail(): never {
  throw new ResourceExhaustedError('the pool is empty')
}

describe.each(majors)('%s', (_, express) => {
  function appWith(options: FairMiddlewareOptions): ReturnType<typeof express> {
    const app = express()
    app.use(fairMiddleware(options))
    app.get('/', (_req: Request, res: Response) => {
      res.json({ hello: 'world' })
    })
    return app
  }

  /** The app behind a `fairHandler`. */
  function inside(app: ReturnType<typeof express>, gate: Gate): RequestListener {
    return fairHandler((request, response) => app(request as never, response as never), { gate })
  }

  it('adds no header to what it admits', async () => {
    const bare = express()
    bare.get('/', (_req: Request, res: Response) => {
      res.json({ hello: 'world' })
    })
    const names = async (app: typeof bare): Promise<string[]> => {
      const { headers } = await supertest(app).get('/').expect(200, { hello: 'world' })
      return Object.keys(headers).toSorted()
    }
    expect(await names(appWith({}))).toEqual(await names(bare))
  })

  it('judges by the address of the connection, and by proxies only if they are trusted', async () => {
    const probe = probeStage()
    const app = appWith({ gate: gateOf(probe) })
    const ask = (): supertest.Test => supertest(app).get('/').set('X-Forwarded-For', '2001:db8::1, 198.51.100.9:4711')
    await ask()
    app.set('trust proxy', 1)
    await ask()
    app.set('trust proxy', true)
    await ask()
    const flows = probe.passages.map(({ flow }) => flow)
    expect(flows).toEqual(['ip:127.0.0.1', 'ip:198.51.100.9', 'ip:2001:db8::/56'])
  })

  it('judges Node’s own requests, which have no app, by the address of the connection', async () => {
    const probe = probeStage()
    const warnings: string[] = []
    const fair = fairMiddleware({
      gate: gateOf(probe),
      cost: () => 10,
      onWarning: (message) => void warnings.push(message),
    })
    const listener: RequestListener = (req, res) => fair(req as Request, res as Response, () => res.end('done'))
    await supertest(createServer(listener)).get('/').expect(200, 'done')
    expect(probe.passages).toMatchObject([{ flow: 'ip:127.0.0.1', cost: 10 }])
    expect(warnings).toEqual([])
  })

  it('survives a trust function that throws', async () => {
    const probe = probeStage()
    const app = appWith({ gate: gateOf(probe), onWarning: () => {} })
    app.set('trust proxy', () => {
      throw new Error('whom to trust?')
    })
    await supertest(app).get('/').set('X-Forwarded-For', '198.51.100.9').expect(200)
    expect(probe.passages[0]?.flow).toBe('ip:unknown')
  })

  it('gives clients of a Unix socket a flow of their own, and warns once', async () => {
    const probe = probeStage()
    const onWarning = vi.fn()
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-'))
    const socketPath = join(folder, 'socket')
    const server = createServer(appWith({ gate: gateOf(probe), onWarning })).listen(socketPath)
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

  it.each(['', 'x'.repeat(1_000_000), '__proto__', 'constructor', 'toString', '\0', '\ud800', '../../etc'])(
    'a hostile flow does no harm (%#)',
    async (flow) => {
      const fair = fairMiddleware({ flow: () => flow, shed: false })
      const app = express()
      app.use(fair)
      app.get('/', (_req: Request, res: Response) => {
        res.send('fine')
      })
      const seen: string[] = []
      fair.gate.observe((event) => event.type === 'finished' && seen.push(event.flow))
      for (let i = 0; i < 3; i++) await supertest(app).get('/').expect(200, 'fine')
      await eventually(() => expect(seen).toHaveLength(3))
      expect(seen[0]).toBe(flow === '' ? 'ip:127.0.0.1' : seen[1])
      expect(seen[0]?.length).toBeLessThanOrEqual(256)
      expect(Object.keys(Object.prototype)).toEqual([])
      expect(fair.gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 3 } })
    },
  )

  it('tells the handler of its permit, and nothing where it was skipped', async () => {
    const app = express()
    app.use(fairMiddleware({ skip: (req) => req.path === '/health', cost: () => 3, shed: false }))
    app.use((req: Request, res: Response) => {
      res.json({ cost: req.fair?.permit?.cost, signal: req.fair?.signal.aborted })
    })
    await supertest(app).get('/').expect({ cost: 3, signal: false })
    await supertest(app).get('/health').expect({})
  })

  it('lets a handler of the user’s own answer refusals, with status and Retry-After set', async () => {
    const app = appWith({
      gate: gateOf(busy),
      handler: (_req, res, { refusal, status }) => res.send(`${refusal.stage} says ${status}`),
    })
    const { headers } = await supertest(app).get('/').expect(503, 'busy says 503')
    expect(headers['retry-after']).toMatch(/^[12]$/)
    expect(headers['content-type']).toMatch(/^text\/html/)
  })

  it.each<[string, FairMiddlewareOptions['handler']]>([
    [
      'throws',
      () => {
        throw new Error('no words')
      },
    ],
    ['rejects', () => Promise.reject(new Error('no words'))],
  ])('sends the problem document if that handler %s', async (_name, handler) => {
    const onWarning = vi.fn()
    const app = appWith({ gate: gateOf(busy), onWarning, ...(handler && { handler }) })
    await supertest(app).get('/').expect(503).expect('Content-Type', 'application/problem+json')
    expect(onWarning).toHaveBeenCalledOnce()
  })

  it('cuts the answer off if that handler fails in the middle of it', async () => {
    const app = appWith({
      gate: gateOf(busy),
      onWarning: () => {},
      handler: (_req, res) => {
        res.write('half')
        throw new Error('no more words')
      },
    })
    await expect(supertest(app).get('/')).rejects.toThrow()
  })

  it('hears of a failure that an error handler hides, if it is told', async () => {
    const probe = probeStage()
    const app = express()
    app.use(fairMiddleware({ gate: gateOf(probe) }))
    app.get('/', () => {
      throw new ResourceExhaustedError('the pool is empty')
    })
    app.use((error: Error, req: Request, res: Response, _next: NextFunction) => {
      req.fair?.failed(error)
      res.status(500).send('something went wrong')
    })
    await supertest(app).get('/').expect(500)
    await eventually(() => expect(probe.outcomes).toEqual(['failure']))
  })

  it.each<[string, RequestHandler]>([
    ['throws', () => fail()],
    ['rejects', async () => fail()],
  ])('hears of a failure that an error handler hides, if the handler is wrapped and %s', async (_name, handler) => {
    const probe = probeStage()
    const fair = fairMiddleware({ gate: gateOf(probe) })
    const app = express()
    app.get('/', fair, fair.wrap(handler))
    app.use((_error: Error, _req: Request, res: Response, _next: NextFunction) => {
      res.status(500).send('something went wrong')
    })
    await supertest(app).get('/').expect(500)
    await eventually(() => expect(probe.outcomes).toEqual(['failure']))
  })

  it('passes what a wrapped handler does: next, errors, an error that is nothing', async () => {
    const fair = fairMiddleware({ shed: false })
    const app = express()
    app.use(fair)
    app.get(
      '/next',
      fair.wrap((_req, _res, next) => next()),
    )
    app.get('/next', (_req: Request, res: Response) => {
      res.send('next')
    })
    app.get(
      '/nothing',
      fair.wrap(() => Promise.reject(undefined)),
    )
    app.get(
      '/error',
      fair.wrap((_req, _res, next) => next(new Error('passed on'))),
    )
    app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
      res.status(418).send(error.message)
    })
    await supertest(app).get('/next').expect(200, 'next')
    await supertest(app).get('/nothing').expect(418, 'Rejected promise')
    await supertest(app).get('/error').expect(418, 'passed on')
    await eventually(() => expect(fair.gate.snapshot().inFlight).toBe(0))
  })

  it('runs a wrapped handler as it is where no gate judged it', async () => {
    const fair = fairMiddleware({ skip: () => true })
    const app = express()
    app.get(
      '/',
      fair,
      fair.wrap((_req, res) => void res.send('skipped')),
    )
    app.get(
      '/without',
      fair.wrap(async (_req, res) => void res.send('no gate')),
    )
    await supertest(app).get('/').expect(200, 'skipped')
    await supertest(app).get('/without').expect(200, 'no gate')
  })

  it('knows the gate of a fairHandler around it: the same judges once, another’s refusals are no failures of it', async () => {
    const [twice, outer] = [probeStage(), probeStage()]
    const gate = gateOf(twice)
    const onWarning = vi.fn()
    const app = appWith({ gate, onWarning })
    app.get('/flow', (req, res) => void res.send(req.fair?.permit?.flow))
    const same = inside(app, gate)
    await supertest(same).get('/flow').expect(200, /^ip:/)
    await supertest(same).get('/').expect(200)
    expect(twice.passages).toHaveLength(2)
    expect(onWarning).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('the same gate twice'), undefined)
    await supertest(inside(appWith({ gate: gateOf(busy) }), gateOf(outer)))
      .get('/')
      .expect(503)
    await eventually(() => expect(outer.outcomes).toEqual(['ignored']))
  })

  it('keeps the permit of a fairHandler around it while a wrapped handler works, without a gate of its own', async () => {
    const probe = probeStage()
    const app = express()
    let settle = (): void => {}
    const handler = fairMiddleware().wrap(
      (_req, res) =>
        new Promise<void>((resolve) => {
          settle = resolve
          res.send('early')
        }),
    )
    app.get('/', handler)
    await supertest(inside(app, gateOf(probe)))
      .get('/')
      .expect(200)
    expect(probe.outstanding).toBe(1)
    settle()
    await eventually(() => expect(probe.outcomes).toEqual(['success']))
  })

  it('keeps a permit for work that goes on after the answer, if it is held', async () => {
    const limit = limitStage(1)
    const fair = fairMiddleware({ gate: gateOf(limit) })
    const app = express()
    let done: (() => void) | undefined
    app.get('/', fair, (req: Request, res: Response) => {
      done = req.fair?.hold()
      res.send('answered')
    })
    await supertest(app).get('/').expect(200)
    await supertest(app).get('/').expect(503)
    done?.()
    await supertest(app).get('/').expect(200)
    done?.()
  })

  it('does not start a handler for a client that left during earlier middleware', async () => {
    const answer = vi.fn()
    const fair = fairMiddleware({ handler: answer })
    const app = express()
    let arrived = (): void => {}
    const arrival = new Promise<void>((resolve) => {
      arrived = resolve
    })
    let passed = (): void => {}
    const pass = new Promise<void>((resolve) => {
      passed = resolve
    })
    app.use((_req: Request, res: Response, next: NextFunction) => {
      arrived()
      res.on('close', () => {
        next()
        passed()
      })
    })
    const handler = vi.fn()
    app.use(fair, handler)
    const server = app.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const request = httpRequest({ port: (server.address() as { port: number }).port, agent: false }).end()
    request.on('error', () => {})
    await arrival
    request.destroy()
    await pass
    expect(handler).not.toHaveBeenCalled()
    expect(answer).not.toHaveBeenCalled()
    expect(fair.gate.snapshot()).toMatchObject({ inFlight: 0, refusedBy: { 'gate:gone': 1 } })
    server.close()
  })

  it.each(['answers', 'begins to answer'])('leaves a request alone that a timeout %s while it waits', async (way) => {
    const probe = probeStage()
    const full: Stage = { name: 'full', admit: () => answer }
    let refuseIt = (_refusal: Verdict): void => {}
    const answer = new Promise<Verdict>((resolve) => {
      refuseIt = resolve
    })
    const fair = fairMiddleware({ gate: gateOf(probe, full) })
    const app = express()
    const handler = vi.fn()
    app.use((_req: Request, res: Response, next: NextFunction) => {
      next()
      res.status(408).write('too ')
      if (way === 'answers') res.end('late')
      else {
        refuseIt(refuse('full', 'overload', true, 0))
        setImmediate(() => setImmediate(() => res.end('late')))
      }
    })
    app.use(fair, handler)
    await supertest(app).get('/').expect(408, 'too late')
    await eventually(() => expect(fair.gate.snapshot()).toMatchObject({ inFlight: 0, waiting: 0, refused: 1 }))
    expect(probe.outstanding).toBe(0)
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
    const app = express()
    app.use((_req: Request, res: Response, next: NextFunction) => {
      next()
      res.end('gone')
    })
    app.use(fairMiddleware({ gate: late as Gate }), handler)
    await supertest(app).get('/').expect(200, 'gone')
    await eventually(() => expect(gate.snapshot()).toMatchObject({ admitted: 1, inFlight: 0 }))
    expect(handler).not.toHaveBeenCalled()
  })

  it('hands on what goes wrong behind a request that waited', async () => {
    const late: Stage = { name: 'late', admit: async () => undefined }
    const fair = fairMiddleware({ gate: gateOf(late), flow: () => 'a' })
    const server = createServer((req, res) => {
      const request = Object.assign(req, { app: express() }) as never as Request
      fair(request, res as never as Response, (error) => {
        if (error === undefined) throw new Error('next itself fails')
        res.end(error.message)
      })
    })
    await supertest(server).get('/').expect(200, 'next itself fails')
  })

  it('may stand on a path twice: the first judges', async () => {
    const fair = fairMiddleware({ gate: gateOf(probeStage()), onWarning: () => {} })
    const app = express()
    app.use(fair)
    app.get('/', fair, (_req: Request, res: Response) => {
      res.send('twice')
    })
    await supertest(app).get('/').expect(200, 'twice')
    await eventually(() => expect(fair.gate.snapshot()).toMatchObject({ inFlight: 0, finished: { success: 1 } }))
  })
})
