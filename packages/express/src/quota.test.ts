import { manualClock } from '@fairlead/core/testing'
import type { NextFunction, Request, Response } from 'express'
import supertest from 'supertest'
import { describe, expect, it } from 'vitest'
import { majors } from './fixtures/express-harness.js'
import { type FairMiddlewareOptions, fairMiddleware, quota } from './index.js'

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

  it('is the address’s if no key is named', async () => {
    const byAddress = appWith({ quota: quota({ ...perMinute, limit: 1 }) })
    const from = (address: string): supertest.Test => ask(byAddress).set('x-forwarded-for', address)
    expect((await from('203.0.113.1')).status).toBe(200)
    expect((await from('203.0.113.1')).status).toBe(429)
    expect((await from('203.0.113.2')).status).toBe(200)
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

  it('is made once and given to several gates, which do not share what they know', async () => {
    const same = quota({ ...perMinute, limit: 1 })
    expect(await statuses(appWith({ quota: same }), '/')).toEqual([200])
    expect(await statuses(appWith({ quota: same }), '/')).toEqual([200])
  })
})
