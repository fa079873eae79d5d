import { request, type Server } from 'node:http'
import { type ClockOptions, createGate, type GateOptions } from '@fairlead/core'
import { fairMiddleware } from '@fairlead/express'
import express from 'express'

/**
 * A service in front of the database at port `DATABASE`, with a gate of these options. SHARED=no: with a clock of its
 * own.
 */
export function startService(port: number, id: unknown, options: GateOptions = {}): Server {
  const isAlone = process.env['SHARED'] === 'no'
  const fair: ClockOptions = isAlone ? { shared: false } : {}
  const gate = createGate({ ...options, fair })
  const app = express()
  app.get('/sharing', (_req, res) => {
    const state = gate.snapshot().stages['fair'] as { sharing: unknown; engaged: boolean }
    res.json({ worker: id, engaged: state.engaged, sharing: state.sharing })
  })
  app.use(fairMiddleware({ gate, flow: (req) => req.get('x-api-key') }))
  app.get('/', (_req, res) => {
    const query = request({ port: process.env['DATABASE'] }, (answer) => {
      answer.resume()
      res.sendStatus(answer.statusCode ?? 500)
    })
    query.on('error', () => res.sendStatus(500)).end()
  })
  return app.listen(port, '127.0.0.1')
}
