import { requestQueue } from '@fairlead/core/queue'
import { fairMiddleware } from '@fairlead/express'
import express from 'express'
import { rateLimit } from 'express-rate-limit'
import { type Framework, listening, type Peer, type Watched, windowOf } from './framework.js'

const peer: Peer = { name: 'express-rate-limit', documented: { limit: 100, windowMs: 15 * 60_000 } }

export const framework: Framework = {
  title: 'Express',
  peer,
  async serve({ guard, use, capacity }) {
    const app = express()
    let gate: Watched | undefined
    const window = windowOf(guard, peer)
    if (window) app.use(rateLimit({ ...window, standardHeaders: 'draft-8', legacyHeaders: false }))
    else if (guard !== 'nothing') {
      const fair = fairMiddleware(guard === 'fairlead' ? {} : { queue: requestQueue({ concurrency: capacity }) })
      app.use(fair)
      gate = fair.gate
    }
    app.get('/', (_req, res) => {
      if (use()) res.json({ answer: 42 })
      else res.status(503).json({ error: 'used up' })
    })
    return { port: await listening(app.listen(0, '127.0.0.1')), gate }
  },
}
