import { fairMiddleware } from '@fairlead/koa'
import Koa from 'koa'
import ratelimit from 'koa-ratelimit'
import { FLOW_HEADER, type Framework, lucky, NEVER_REACHED, portOf } from './framework.js'

const modes: Record<string, (app: Koa) => void> = {
  'bare Koa': () => {},
  'counts close': (app) => {
    const open = new Set<unknown>()
    app.use((ctx, next) => {
      open.add(ctx.res)
      ctx.res.once('close', () => {
        open.delete(ctx.res)
      })
      return next()
    })
  },
  'fairlead, default': (app) => app.use(fairMiddleware({ random: lucky })),
  'fairlead, flow by header': (app) => app.use(fairMiddleware({ random: lucky, flow: (ctx) => ctx.get(FLOW_HEADER) })),
  'koa-ratelimit, by address': (app) => limit(app, (ctx) => ctx.ip),
  'koa-ratelimit, by header': (app) => limit(app, (ctx) => ctx.get(FLOW_HEADER)),
}

function limit(app: Koa, id: (ctx: Koa.Context) => string): void {
  app.use(ratelimit({ driver: 'memory', db: new Map(), duration: 60_000, max: NEVER_REACHED, id }))
}

/** Koa 3. */
export const framework: Framework = {
  title: 'Koa',
  goalUs: 2,
  modes: Object.keys(modes),
  serve(mode) {
    const app = new Koa()
    modes[mode]?.(app)
    app.use((ctx) => {
      ctx.body = { hello: 'world' }
    })
    return portOf(app.listen(0, '127.0.0.1'))
  },
}
