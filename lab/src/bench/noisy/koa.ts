import { requestQueue } from '@fairlead/core/queue'
import { fairMiddleware } from '@fairlead/koa'
import Koa from 'koa'
import ratelimit from 'koa-ratelimit'
import { type Framework, listening, type Peer, type Watched, windowOf } from './framework.js'

const peer: Peer = { name: 'koa-ratelimit', documented: { limit: 100, windowMs: 60_000 } }

export const framework: Framework = {
  title: 'Koa',
  peer,
  async serve({ guard, use, capacity }) {
    const app = new Koa()
    let gate: Watched | undefined
    const window = windowOf(guard, peer)
    if (window) {
      const { limit: max, windowMs: duration } = window
      app.use(ratelimit({ driver: 'memory', db: new Map(), duration, max, id: (ctx) => ctx.ip }))
    } else if (guard !== 'nothing') {
      const fair = fairMiddleware(guard === 'fairlead' ? {} : { queue: requestQueue({ concurrency: capacity }) })
      app.use(fair)
      gate = fair.gate
    }
    app.use((ctx) => {
      if (use()) ctx.body = { answer: 42 }
      else ctx.status = 503
    })
    return { port: await listening(app.listen(0, '127.0.0.1')), gate }
  },
}
