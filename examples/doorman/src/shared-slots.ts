// A service whose handlers need slots that it shares with its other processes: its queue drains into its leased slots.
// Run any number of them, beside a Doorman server:
//
//     DOORMAN=http://127.0.0.1:8080 pnpm --filter @fairlead-examples/doorman start:slots

import { createGate } from '@fairlead/core'
import { DoormanClient, overHttp } from '@fairlead/core/doorman'
import { requestQueue } from '@fairlead/core/queue'
import express from 'express'

const url = process.env['DOORMAN']
if (url === undefined) throw new Error('DOORMAN must be the URL of a Doorman server')
const client = new DoormanClient({ transport: overHttp({ url }), mode: 'pessimistic' })
const slots = client.gauge('slots')
const gate = createGate({ fair: false, queue: requestQueue({ concurrency: slots, maxWaitMs: 60_000 }) })

const app = express()
app.get('/work', async (req, res) => {
  const decision = await gate.admit({ flow: `customer ${req.query['customer']}` })
  if (!decision.admitted) {
    res.status(503).end()
    return
  }
  res.on('close', () => decision.finish('success'))
  setTimeout(() => res.end('done'), Number(req.query['ms'] ?? 100))
})
app.get('/state', (_req, res) => {
  const { inFlight, waiting } = gate.snapshot()
  res.json({ inFlight, waiting, capacity: slots.capacity })
})
const listener = app.listen(Number(process.env['PORT'] ?? 3000), (error) => {
  if (error !== undefined) throw error
  console.log('listening on', listener.address())
})
