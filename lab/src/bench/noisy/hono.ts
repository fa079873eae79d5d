import type { Server } from 'node:http'
import { requestQueue } from '@fairlead/core/queue'
import { fairMiddleware } from '@fairlead/hono'
import { type HttpBindings, serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { type Context, Hono } from 'hono'
import { rateLimiter } from 'hono-rate-limiter'
import { type Framework, listening, type Peer, type Watched, windowOf } from './framework.js'

type Env = { Bindings: HttpBindings }

const peer: Peer = { name: 'hono-rate-limiter', documented: { limit: 100, windowMs: 15 * 60_000 } }

export const framework: Framework = {
  title: 'Hono',
  peer,
  async serve({ guard, use, capacity }) {
    const app = new Hono<Env>()
    let gate: Watched | undefined
    const window = windowOf(guard, peer)
    // It has no default key; its documentation uses the address, which here needs no proxy.
    const keyGenerator = (c: Context): string => getConnInfo(c).remote.address ?? ''
    if (window) app.use(rateLimiter<Env>({ ...window, keyGenerator }))
    else if (guard !== 'nothing') {
      const fair = fairMiddleware(guard === 'fairlead' ? {} : { queue: requestQueue({ concurrency: capacity }) })
      app.use(fair)
      gate = fair.gate
    }
    app.get('/', (c) => (use() ? c.json({ answer: 42 }) : c.json({ error: 'used up' }, 503)))
    return { port: await listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server), gate }
  },
}
