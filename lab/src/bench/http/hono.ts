import type { Server } from 'node:http'
import { fairMiddleware } from '@fairlead/hono'
import { type HttpBindings, serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { type Context, Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { FLOW_HEADER, type Framework, lucky, NEVER_REACHED, portOf } from './framework.js'

type Env = { Bindings: HttpBindings }

const modes: Record<string, (app: Hono<Env>) => void> = {
  'bare Hono': () => {},
  'counts close': (app) => {
    const open = new Set<unknown>()
    app.use(async (c, next) => {
      const { outgoing } = c.env
      open.add(outgoing)
      outgoing.once('close', () => {
        open.delete(outgoing)
      })
      await next()
    })
  },
  'fairlead, default': (app) => {
    app.use(fairMiddleware({ random: lucky }))
  },
  'fairlead, flow by header': (app) => {
    app.use(fairMiddleware({ random: lucky, flow: (c) => c.req.header(FLOW_HEADER) }))
  },
  'hono-rate-limiter, by address': (app) => limit(app, (c) => getConnInfo(c).remote.address ?? ''),
  'hono-rate-limiter, by header': (app) => limit(app, (c) => c.req.header(FLOW_HEADER) ?? ''),
}

function limit(app: Hono<Env>, keyGenerator: (c: Context<Env>) => string): void {
  app.use(rateLimiter<Env>({ windowMs: 60_000, limit: NEVER_REACHED, keyGenerator }))
}

/** Hono 4 on Node. */
export const framework: Framework = {
  title: 'Hono on @hono/node-server',
  goalUs: 3,
  modes: Object.keys(modes),
  serve(mode) {
    const app = new Hono<Env>()
    modes[mode]?.(app)
    app.get('/', (c) => c.json({ hello: 'world' }))
    return portOf(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
  },
}
