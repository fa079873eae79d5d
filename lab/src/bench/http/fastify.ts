import { fairPlugin } from '@fairlead/fastify'
import rateLimit from '@fastify/rate-limit'
import underPressure from '@fastify/under-pressure'
import { type FastifyInstance, fastify } from 'fastify'
import { FLOW_HEADER, type Framework, lucky, NEVER_REACHED, portOf } from './framework.js'

const RATE = { max: NEVER_REACHED, timeWindow: 60_000 }
/** Sampled and compared, but never reached. */
const PRESSURE = { maxEventLoopDelay: 60_000, maxHeapUsedBytes: 2 ** 40, maxRssBytes: 2 ** 40 }

const modes: Record<string, (app: FastifyInstance) => Promise<unknown>> = {
  'bare Fastify': async () => {},
  'counts close': async (app) => {
    const open = new Set<unknown>()
    app.addHook('onRequest', (_request, { raw }, done) => {
      open.add(raw)
      raw.once('close', () => {
        open.delete(raw)
      })
      done()
    })
  },
  'fairlead, default': async (app) => app.register(fairPlugin, { random: lucky }),
  'fairlead, flow by header': async (app) =>
    app.register(fairPlugin, { random: lucky, flow: (request) => request.headers[FLOW_HEADER] as string }),
  '@fastify/rate-limit, by address': async (app) => app.register(rateLimit, RATE),
  '@fastify/rate-limit, by header': async (app) =>
    app.register(rateLimit, { ...RATE, keyGenerator: (request) => request.headers[FLOW_HEADER] as string }),
  '@fastify/under-pressure': async (app) => app.register(underPressure, PRESSURE),
  '@fastify/under-pressure and rate-limit, by address': async (app) => {
    await app.register(underPressure, PRESSURE)
    await app.register(rateLimit, RATE)
  },
}

/** Fastify 5. */
export const framework: Framework = {
  title: 'Fastify',
  goalUs: 5,
  modes: Object.keys(modes),
  async serve(mode) {
    const app = fastify()
    await modes[mode]?.(app)
    app.get('/', async () => ({ hello: 'world' }))
    const port = portOf(app.server)
    await app.listen({ port: 0, host: '127.0.0.1' })
    return port
  },
}
