import { readFileSync } from 'node:fs'
import { manualClock } from '@fairlead/core/testing'
import type { Request, Response } from 'express'
import supertest from 'supertest'
import { beforeAll, describe, expect, it } from 'vitest'
import { majors } from './fixtures/express-harness.js'
import { type FairMiddlewareOptions, fairMiddleware, quota } from './index.js'

/**
 * The behaviours that the tests of express-rate-limit and @nestjs/throttler promise, in our own words, so that their
 * users know what to expect. The page about quotas lists the differences in the same words.
 */
const PAGE = readFileSync(new URL('../../../docs/quota.md', import.meta.url), 'utf8')

/** The version of Express under test. */
let express: (typeof majors)[number][1]

const windowMs = 60_000
const of = (limit: number, more: object = {}) => quota({ limit, windowMs, ...more })

/** An application behind a quota, and its warnings. */
class App {
  readonly clock = manualClock()
  readonly warnings: string[] = []
  readonly fair: ReturnType<typeof fairMiddleware>
  readonly #app = express()

  constructor(options: FairMiddlewareOptions, mount: (app: ReturnType<typeof express>, fair: App['fair']) => void) {
    const { clock, warnings } = this
    const onWarning = (message: string): void => void warnings.push(message)
    this.fair = fairMiddleware({
      fair: false,
      shed: false,
      rateLimit: 'always',
      random: () => 0,
      clock,
      onWarning,
      ...options,
    })
    mount(this.#app, this.fair)
    this.#app.use((req: Request, res: Response) => {
      res.status(Number(req.query['status'] ?? 200)).json({ quotas: req.fair?.permit?.quotas().length ?? 0 })
    })
  }

  static of(options: FairMiddlewareOptions): App {
    return new App(options, (app, fair) => void app.use(fair))
  }

  ask(path = '/', headers: Record<string, string> = {}): supertest.Test {
    return supertest(this.#app).get(path).set(headers)
  }

  async statuses(...paths: readonly string[]): Promise<number[]> {
    const all: number[] = []
    for (const path of paths) all.push((await this.ask(path)).status)
    return all
  }
}

const health = (req: Request): boolean => req.path === '/health'
const keyOf = (req: Request): string => req.get('x-key') ?? 'none'

/** Behaviours that are the same here, each with its proof. */
const SAME: Readonly<Record<string, () => Promise<void>>> = {
  'the first request passes': async () => {
    expect(await App.of({ quota: of(1) }).statuses('/')).toEqual([200])
  },
  'the request above the limit is refused': async () => {
    expect(await App.of({ quota: of(2) }).statuses('/', '/', '/')).toEqual([200, 200, 429])
  },
  'it is refused as often as it asks': async () => {
    expect(await App.of({ quota: of(1) }).statuses('/', '/', '/', '/')).toEqual([200, 429, 429, 429])
  },
  'after a window it passes again': async () => {
    const app = App.of({ quota: of(1) })
    expect(await app.statuses('/', '/')).toEqual([200, 429])
    app.clock.advance(windowMs)
    expect(await app.statuses('/')).toEqual([200])
  },
  'a text of the application’s own is sent': async () => {
    const app = App.of({ quota: of(0), handler: (_req, res) => void res.status(429).send('Slow down') })
    expect((await app.ask()).text).toBe('Slow down')
  },
  'so is a status of its own': async () => {
    const app = App.of({ quota: of(0), handler: (_req, res) => void res.sendStatus(420) })
    expect((await app.ask()).status).toBe(420)
  },
  'so is JSON': async () => {
    const app = App.of({ quota: of(0), handler: (_req, res) => void res.status(429).json({ code: 7 }) })
    expect((await app.ask()).body).toEqual({ code: 7 })
  },
  'the text may come later': async () => {
    const handler = async (_req: Request, res: Response): Promise<void> =>
      void res.status(429).send(await later('Later'))
    expect((await App.of({ quota: of(0), handler }).ask()).text).toBe('Later')
  },
  'what is to be skipped is neither counted nor refused': async () => {
    expect(await App.of({ quota: of(1, { skip: health }) }).statuses('/health', '/health', '/', '/')).toEqual([
      200, 200, 200, 429,
    ])
  },
  'whether to skip may be known later': async () => {
    const skip = async (req: Request): Promise<boolean> => later(health(req))
    expect(await App.of({ quota: of(0, { skip }) }).statuses('/health', '/')).toEqual([200, 429])
  },
  'failed requests are given back, if asked': async () => {
    const app = App.of({ quota: of(1, { skipFailedRequests: true }) })
    expect(await app.statuses('/?status=500', '/?status=503', '/', '/')).toEqual([500, 503, 200, 429])
  },
  'successful ones are given back, if asked': async () => {
    const app = App.of({ quota: of(1, { skipSuccessfulRequests: true }) })
    expect(await app.statuses('/', '/', '/?status=500', '/')).toEqual([200, 200, 500, 429])
  },
  'what succeeded is for the application to say': async () => {
    const outcome = (_req: Request, res: Response) => (res.statusCode < 400 ? 'success' : 'ignored')
    const app = App.of({ outcome, quota: of(1, { skipFailedRequests: true }) })
    expect(await app.statuses('/?status=404', '/', '/')).toEqual([404, 200, 429])
  },
  'the request knows what is left': async () => {
    expect((await App.of({ quota: of(3) }).ask()).body).toEqual({ quotas: 1 })
  },
  'two limiters with other limits count for themselves': async () => {
    const small = App.of({ quota: of(1) })
    const large = App.of({ quota: of(2) })
    expect([await small.statuses('/', '/'), await large.statuses('/', '/')]).toEqual([
      [200, 429],
      [200, 200],
    ])
  },
  'a limit of 0 refuses all': async () => {
    expect(await App.of({ quota: of(0) }).statuses('/', '/')).toEqual([429, 429])
  },
  'each key has a limit of its own': async () => {
    const app = App.of({ quota: of(1, { keyGenerator: keyOf }) })
    const status = async (key: string): Promise<number> => (await app.ask('/', { 'x-key': key })).status
    expect([await status('a'), await status('b'), await status('a')]).toEqual([200, 200, 429])
  },
  'the key may be known later': async () => {
    const app = App.of({ quota: of(1, { keyGenerator: async (req: Request) => later(keyOf(req)) }) })
    const status = async (key: string): Promise<number> => (await app.ask('/', { 'x-key': key })).status
    expect([await status('a'), await status('b'), await status('a')]).toEqual([200, 200, 429])
  },
  'the limit may be that of the request’s plan, also known later': async () => {
    const limit = async (req: Request): Promise<number> => later(keyOf(req) === 'gold' ? 2 : 1)
    const app = App.of({ flow: keyOf, quota: quota({ limit, windowMs }) })
    const status = async (key: string): Promise<number> => (await app.ask('/', { 'x-key': key })).status
    expect([await status('gold'), await status('gold'), await status('free'), await status('free')]).toEqual([
      200, 200, 200, 429,
    ])
  },
  'what remains is counted down in the fields': async () => {
    const app = App.of({ quota: of(3) })
    const left: unknown[] = []
    for (let i = 0; i < 4; i++) left.push(/r=(\d+)/.exec((await app.ask()).headers['ratelimit'] ?? '')?.[1])
    expect(left).toEqual(['2', '1', '0', '0'])
  },
  'a key can be reset': async () => {
    const app = App.of({ flow: keyOf, quota: of(1) })
    expect(await app.statuses('/', '/')).toEqual([200, 429])
    app.fair.gate.resetFlow('none')
    expect(await app.statuses('/')).toEqual([200])
  },
  'a proxy that nobody trusts is warned of': async () => {
    const app = App.of({ quota: of(9) })
    await app.ask('/', { 'x-forwarded-for': '203.0.113.7' })
    expect(app.warnings).toEqual([expect.stringContaining('x-forwarded-for, and no proxy is trusted')])
  },
  'a request that would be counted twice is warned of, and counted once': async () => {
    const app = new App({ quota: of(2) }, (router, fair) => void router.use(fair, fair))
    expect(await app.statuses('/', '/', '/')).toEqual([200, 200, 429])
    expect(app.warnings).toEqual([expect.stringContaining('passed the same gate twice')])
  },
  'a middleware that is made in a handler is warned of': async () => {
    const warnings: string[] = []
    const onWarning = (message: string): void => void warnings.push(message)
    const app = express().use((req, res, next) => fairMiddleware({ onWarning, quota: of(1) })(req, res, next))
    for (let i = 0; i < 12; i++) await supertest(app).get('/')
    expect(warnings).toEqual([expect.stringContaining('was called again for each of the last 10 requests')])
  },
  'a store that is away lets requests pass, if that is wanted': async () => {
    const store = { take: () => Promise.reject(new Error('away')), forget: () => {} }
    const open = App.of({ quota: of(1, { store, onError: 'admit' }) })
    const shut = App.of({ quota: of(1, { store, onError: 'refuse' }) })
    expect([await open.statuses('/', '/'), await shut.statuses('/')]).toEqual([[200, 200], [503]])
  },
  // Further behaviours of @nestjs/throttler.
  'several windows have names, and each must have room': async () => {
    const quotas = [quota({ name: 'short', limit: 1, windowMs: 1_000 }), quota({ name: 'long', limit: 2, windowMs })]
    const app = App.of({ quota: quotas })
    expect(await app.statuses('/', '/')).toEqual([200, 429])
    app.clock.advance(1_000)
    expect(await app.statuses('/')).toEqual([200])
    app.clock.advance(1_000)
    expect((await app.ask()).headers['ratelimit']).toMatch(/^"long";r=0/)
  },
  'a route has another limit, or none': async () => {
    const own = fairMiddleware({ fair: false, shed: false, quota: of(1) })
    const app = new App({ quota: of(9) }, (router, fair) => {
      router.get('/login', own, (_req, res) => void res.send('in'))
      router.use(fair)
    })
    expect(await app.statuses('/login', '/login', '/', '/')).toEqual([200, 429, 200, 200])
  },
}

/** Behaviours that differ here, each with its proof and the sentence on the page. */
const OTHER: Readonly<Record<string, readonly [told: string, shows: () => Promise<void>]>> = {
  'Retry-After is the end of the window': [
    '`Retry-After` is the time after which the next request is admitted, not the end of a window',
    async () => {
      const app = App.of({ quota: of(2) })
      await app.statuses('/', '/')
      expect((await app.ask()).headers['retry-after']).toBe('30')
      app.clock.advance(30_000)
      expect(await app.statuses('/', '/')).toEqual([200, 429])
    },
  ],
  'the handler may pass an error to next': [
    '`handler` answers by itself. It has no `next`',
    async () => {
      const seen: number[] = []
      const handler = (...all: unknown[]): void => {
        seen.push(all.length)
        ;(all[1] as Response).sendStatus(429)
      }
      await App.of({ quota: of(0), handler }).statuses('/')
      expect(seen).toEqual([3])
    },
  ],
  'a 4xx did fail': [
    '4xx count as served',
    async () => {
      const app = App.of({ quota: of(1, { skipFailedRequests: true }) })
      expect(await app.statuses('/?status=404', '/')).toEqual([404, 429])
    },
  ],
  'what is blocked stays so for a time of its own': [
    '[`overrides.block`](stages.md#overrides)',
    async () => {
      const app = App.of({ quota: of(1) })
      await app.statuses('/', '/')
      app.clock.advance(windowMs)
      expect(await app.statuses('/')).toEqual([200])
    },
  ],
}

function later<T>(value: T): Promise<T> {
  return new Promise((resolve) => setImmediate(resolve, value))
}

describe.each(majors)('%s', (_, major) => {
  beforeAll(() => {
    express = major
  })

  it.each(Object.entries(SAME))('as a limiter does: %s', (_, shows) => shows())

  it.each(Object.entries(OTHER))('otherwise, as the page says: %s', async (_, [told, shows]) => {
    expect(PAGE).toContain(told)
    await shows()
  })
})
