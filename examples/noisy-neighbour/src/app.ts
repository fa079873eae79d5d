import { fairConsole } from '@fairlead/console'
import { fairMiddleware } from '@fairlead/express'
import express, { type Express } from 'express'
import { ExhaustedError, type Resource } from './resource.js'

/** The service: one route that needs the resource. `fair` is the same service with one more line. */
export function createApp(resource: Resource, guard: 'bare' | 'fair'): Express {
  const app = express()
  const fair = guard === 'fair' ? fairMiddleware({ flow: (req) => req.get('x-client') }) : undefined

  // Before the middleware: it must answer while everything else is refused.
  app.get('/status', (_req, res) => {
    res.json({ resource: resource.snapshot(), gate: fair?.gate.snapshot() ?? null })
  })

  if (fair) {
    // Also before it: the console is needed during a shortage. Anyone who can reach this machine's loopback address may
    // see it.
    app.use('/fairlead', fairConsole(fair.gate, { auth: false }))
    app.use(fair)
  }

  app.get('/', async (_req, res) => {
    try {
      await resource.use()
      res.json({ answer: 42 })
    } catch (error) {
      if (!(error instanceof ExhaustedError)) throw error
      res.status(503).json({ error: error.message })
    }
  })

  return app
}
