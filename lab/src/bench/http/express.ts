import { fairMiddleware } from '@fairlead/express'
import express, { type Express } from 'express'
import { rateLimit } from 'express-rate-limit'
import overloadProtection from 'overload-protection'
import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible'
import { FLOW_HEADER, type Framework, lucky, NEVER_REACHED, portOf } from './framework.js'

const byAddress = (req: express.Request): string => req.ip ?? ''
const byHeader = (req: express.Request): string => req.get(FLOW_HEADER) ?? ''
const DRAFT_8 = { windowMs: 60_000, limit: NEVER_REACHED, standardHeaders: 'draft-8', legacyHeaders: false } as const

const modes: Record<string, (app: Express) => void> = {
  'bare Express': () => {},
  'counts close': (app) => {
    const open = new Set<unknown>()
    app.use((_req, res, next) => {
      open.add(res)
      res.once('close', () => {
        open.delete(res)
      })
      next()
    })
  },
  'fairlead, default': (app) => app.use(fairMiddleware({ random: lucky })),
  'fairlead, flow by header': (app) => app.use(fairMiddleware({ random: lucky, flow: (req) => req.get(FLOW_HEADER) })),
  'rate-limiter-flexible, by address': (app) => consume(app, byAddress),
  'rate-limiter-flexible, by header': (app) => consume(app, byHeader),
  'rate-limiter-flexible, by address, with headers': (app) => consume(app, byAddress, tell),
  'express-rate-limit, draft-8': (app) => app.use(rateLimit({ ...DRAFT_8 })),
  'express-rate-limit, draft-8, by header': (app) => app.use(rateLimit({ ...DRAFT_8, keyGenerator: byHeader })),
  'express-rate-limit, its default headers': (app) => app.use(rateLimit({ windowMs: 60_000, limit: NEVER_REACHED })),
  'overload-protection': (app) => app.use(overloadProtection('express', { production: true })),
}

/** The middleware in the documentation; `told` receives the remaining points. */
function consume(
  app: Express,
  keyOf: (req: express.Request) => string,
  told: (res: express.Response, left: RateLimiterRes) => void = () => {},
): void {
  const limiter = new RateLimiterMemory({ points: NEVER_REACHED, duration: 60 })
  app.use((req, res, next) => {
    limiter
      .consume(keyOf(req))
      .then((left) => {
        told(res, left)
        next()
      })
      .catch(() => res.status(429).send('Too Many Requests'))
  })
}

/** The headers that its documentation suggests. */
function tell(res: express.Response, { msBeforeNext, remainingPoints }: RateLimiterRes): void {
  res.set({
    'Retry-After': `${msBeforeNext / 1000}`,
    'X-RateLimit-Limit': `${NEVER_REACHED}`,
    'X-RateLimit-Remaining': `${remainingPoints}`,
    'X-RateLimit-Reset': `${Math.ceil((Date.now() + msBeforeNext) / 1000)}`,
  })
}

/** Express 5. */
export const framework: Framework = {
  title: 'Express',
  goalUs: 3,
  about:
    'rate-limiter-flexible counts arrivals and observes no ends; the middleware in its documentation sets no headers, ' +
    'and a separate row has the four headers that it suggests. express-rate-limit sets headers in all rows. Fairlead ' +
    'counts requests in flight until the response has closed, learns from the outcome, watches memory and the event ' +
    'loop, and sets no headers on requests that it admits without a budget.',
  modes: Object.keys(modes),
  serve(mode) {
    const app = express()
    modes[mode]?.(app)
    app.get('/', (_req, res) => {
      res.json({ hello: 'world' })
    })
    return portOf(app.listen(0, '127.0.0.1'))
  },
}
