import { manualClock } from '@fairlead/core/testing'
import type { NextFunction, Request, Response } from 'express'
import supertest from 'supertest'
import { describe, expect, it } from 'vitest'
import { majors } from './fixtures/express-harness.js'
import { type FairMiddlewareOptions, fairMiddleware, quota } from './index.js'

/** What the tests of the limiters that people come from say of a quota, in our words. */
describe.each(majors)('a quota, %s', (_, express) => {
  const clock = manualClock()
  const perMinute = { limit: 2, windowMs: 60_000 }

  function appWith(options: FairMiddlewareOptions): ReturnType<typeof express> {
    const app = express()
    app.set('trust proxy', 1)
    app.use(fairMiddleware({ fair: false, shed: false, rateLimit: 'always', random: () => 0, clock, ...options }))
    app.get('/', (req: Request, res: Response) => {
      res.status(Number(req.query['status'] ?? 200)).send('served')
    })
    app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => {
      res.status(500).send(error.message)
    })
    return app
  }

  const ask = (app: ReturnType<typeof express>, path = '/', key = 'acme'): supertest.Test =>
    supertest(app).get(path).set('x-api-key', key)
  const statuses = async (app: ReturnType<typeof express>, ...paths: readonly string[]): Promise<number[]> => {
    const all: number[] = []
    for (const path of paths) all.push((await ask(app, path)).status)
    return all
  }

  it('lets the first through, refuses above the limit, again and again, and admits after the window', async () => {
    const app = appWith({ quota: quota(perMinute) })
    expect(await statuses(app, '/', '/', '/', '/')).toEqual([200, 200, 429, 429])
    clock.advance(60_000)
    expect(await statuses(app, '/', '/', '/')).toEqual([200, 200, 429])
  })

  it('counts down in the fields of each response, and says when to come back', async () => {
    const app = appWith({ quota: quota(perMinute) })
    const first = await ask(app)
    expect(first.headers).toMatchObject({ 'ratelimit-policy': '"quota";q=2;w=60', ratelimit: '"quota";r=1;t=30' })
    expect((await ask(app)).headers['ratelimit']).toBe('"quota";r=0;t=60')
    const refused = await ask(app)
    expect(refused.headers).toMatchObject({ 'retry-after': '30', ratelimit: '"quota";r=0;t=30' })
    expect(refused.body).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'This client is over its quota',
      status: 429,
      'violated-policies': ['quota'],
    })
  })

  it('is the address’s, or the key’s that the request names, now or later', async () => {
    const byAddress = appWith({ quota: quota({ ...perMinute, limit: 1 }) })
    const from = (address: string): supertest.Test => ask(byAddress).set('x-forwarded-for', address)
    expect((await from('203.0.113.1')).status).toBe(200)
    expect((await from('203.0.113.1')).status).toBe(429)
    expect((await from('203.0.113.2')).status).toBe(200)

    const byKey = appWith({
      quota: quota({ ...perMinute, limit: 1, keyGenerator: async (req) => req.get('x-api-key') ?? 'none' }),
    })
    expect((await ask(byKey, '/', 'acme')).status).toBe(200)
    expect((await ask(byKey, '/', 'globex')).status).toBe(200)
    expect((await ask(byKey, '/', 'acme')).status).toBe(429)
  })

  it('is what the plan of the request says, now or later', async () => {
    const limit = (req: Request): number => (req.get('x-api-key') === 'gold' ? 2 : 1)
    for (const quotas of [
      quota({ ...perMinute, limit: async (req: Request) => limit(req) }),
      quota({ ...perMinute, limit }),
    ]) {
      const app = appWith({ flow: (req) => req.get('x-api-key'), quota: quotas })
      const gold = [await ask(app, '/', 'gold'), await ask(app, '/', 'gold'), await ask(app, '/', 'gold')]
      expect(gold.map(({ status }) => status)).toEqual([200, 200, 429])
      expect(await statuses(app, '/', '/')).toEqual([200, 429])
    }
  })

  it('skips what it is told to, now or later, and refuses all with a limit of 0', async () => {
    const isHealth = (req: Request): boolean => req.path === '/health'
    for (const skip of [isHealth, async (req: Request) => isHealth(req)]) {
      const app = appWith({ quota: quota({ ...perMinute, limit: 0, skip }) })
      expect(await statuses(app, '/health', '/')).toEqual([404, 429])
    }
  })

  it('does not count requests that failed, or those that succeeded, if told so', async () => {
    const one = { ...perMinute, limit: 1 }
    const failed = appWith({ quota: quota({ ...one, skipFailedRequests: true }) })
    expect(await statuses(failed, '/?status=500', '/?status=503', '/', '/')).toEqual([500, 503, 200, 429])
    const succeeded = appWith({ quota: quota({ ...one, skipSuccessfulRequests: true }) })
    expect(await statuses(succeeded, '/', '/', '/?status=500', '/')).toEqual([200, 200, 500, 429])
    const neither = appWith({ quota: quota(one) })
    expect(await statuses(neither, '/?status=500', '/')).toEqual([500, 429])
  })

  it('takes 4xx for failed where `outcome` does', async () => {
    const outcome = (_req: Request, res: Response): 'success' | 'ignored' =>
      res.statusCode < 400 ? 'success' : 'ignored'
    const app = appWith({ outcome, quota: quota({ ...perMinute, limit: 1, skipFailedRequests: true }) })
    expect(await statuses(app, '/nowhere', '/nowhere', '/', '/')).toEqual([404, 404, 200, 429])
  })

  it('may be several windows at once, which all are told of', async () => {
    const app = appWith({
      quota: [
        quota({ name: 'second', limit: 1, windowMs: 1_000 }),
        quota({ name: 'day', limit: 2, windowMs: 86_400_000 }),
      ],
    })
    expect((await ask(app)).headers['ratelimit']).toBe('"second";r=0;t=1, "day";r=1;t=43200')
    expect((await ask(app)).headers['ratelimit']).toBe('"second";r=0;t=1')
    clock.advance(1_000)
    expect((await ask(app)).status).toBe(200)
    clock.advance(1_000)
    expect((await ask(app)).headers['ratelimit']).toMatch(/^"day";r=0/)
  })

  it('answers in the words of the application', async () => {
    const app = appWith({
      quota: quota({ ...perMinute, limit: 1 }),
      handler: (_req, res, { refusal }) => res.status(418).json({ error: refusal.reason }),
    })
    await ask(app)
    const { status, body } = await ask(app)
    expect([status, body]).toEqual([418, { error: 'over-quota' }])
  })

  it('is whole again for a key that is reset', async () => {
    const fair = fairMiddleware({
      fair: false,
      shed: false,
      clock,
      flow: (req) => req.get('x-api-key'),
      quota: quota({ ...perMinute, limit: 1 }),
    })
    const app = express().use(fair)
    expect(await statuses(app, '/', '/')).toEqual([404, 429])
    fair.gate.resetFlow('acme')
    expect(await statuses(app, '/')).toEqual([404])
  })

  it('counts a request once, however often it passes, and quotas do not share what they know', async () => {
    const warnings: string[] = []
    const onWarning = (message: string): void => void warnings.push(message)
    const fair = fairMiddleware({ fair: false, shed: false, clock, quota: quota(perMinute), onWarning })
    const app = express().use(fair, fair)
    expect(await statuses(app, '/', '/', '/')).toEqual([404, 404, 429])
    expect(warnings).toEqual([expect.stringContaining('the same gate twice')])
    const same = quota({ ...perMinute, limit: 1 })
    expect(await statuses(appWith({ quota: same }), '/')).toEqual([200])
    expect(await statuses(appWith({ quota: same }), '/')).toEqual([200])
  })
})
