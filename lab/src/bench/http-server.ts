import type { AddressInfo } from 'node:net'
import { fairMiddleware } from '@fairlead/express'
import express, { type Express } from 'express'
import { rateLimit } from 'express-rate-limit'

/** What the bench's server may run in front of its one route. */
export const modes = {
  'bare express': (_app: Express): void => {},
  'counts close': (app: Express): void => {
    const open = new Set<unknown>()
    app.use((_req, res, next) => {
      open.add(res)
      res.once('close', () => {
        open.delete(res)
      })
      next()
    })
  },
  'fairlead, default': (app: Express): void => {
    // The default, with luck: what else this machine does makes the event loop late, and sheds are not what we measure.
    app.use(fairMiddleware({ random: () => 0.999_999 + Math.random() / 10_000_000 }))
  },
  'express-rate-limit, draft-8': (app: Express): void => {
    app.use(rateLimit({ windowMs: 60_000, limit: 1_000_000_000, standardHeaders: 'draft-8', legacyHeaders: false }))
  },
}

/** What the server tells when it is asked: CPU used so far, user and system, in microseconds. */
export interface Usage {
  cpuUs: number
}

if (process.send !== undefined) {
  const app = express()
  modes[process.argv[2] as keyof typeof modes](app)
  app.get('/', (_req, res) => {
    res.json({ hello: 'world' })
  })
  const server = app.listen(0, '127.0.0.1', () => {
    process.send?.({ port: (server.address() as AddressInfo).port })
  })
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.({ cpuUs: user + system } satisfies Usage)
  })
  process.on('disconnect', () => process.exit())
}
