// Four workers before one database that answers so many requests a second, and 503 beyond that. SHARED=no parts their
// clocks.
import cluster from 'node:cluster'
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGate } from '@fairlead/core'
import { fairMiddleware } from '@fairlead/express'
import express from 'express'

const WORKERS = 4
const PER_SECOND = Number(process.env['PER_SECOND'] ?? 100)
const STORED = PER_SECOND / 2

if (cluster.isPrimary) await startAll()
else startWorker()

async function startAll(): Promise<void> {
  let stored = STORED
  let at = performance.now()
  const database = createServer((_req, res) => {
    const now = performance.now()
    stored = Math.min(STORED, stored + ((now - at) * PER_SECOND) / 1000)
    at = now
    res.statusCode = stored >= 1 ? 200 : 503
    if (stored >= 1) stored--
    res.end()
  })
  await once(database.listen(0, '127.0.0.1'), 'listening')
  const { port: databasePort } = database.address() as AddressInfo
  const workers = Array.from({ length: WORKERS }, () => cluster.fork({ DATABASE: databasePort }))
  // All listen on the same port, also if the system chooses it.
  const [[address]] = (await Promise.all(workers.map((worker) => once(worker, 'listening')))) as [[AddressInfo]]
  console.log('listening on', { port: address.port })
}

function startWorker(): void {
  // In a worker of node:cluster the clock is shared without being asked for.
  const gate = createGate({ fair: process.env['SHARED'] === 'no' ? { shared: false } : {} })
  const app = express()
  app.get('/sharing', (_req, res) => {
    const fair = gate.snapshot().stages['fair'] as { sharing: unknown; engaged: boolean }
    res.json({ worker: cluster.worker?.id, engaged: fair.engaged, sharing: fair.sharing })
  })
  app.use(fairMiddleware({ gate, flow: (req) => req.get('x-api-key') }))
  app.get('/', (_req, res) => {
    const query = request({ port: process.env['DATABASE'] }, (answer) => {
      answer.resume()
      res.sendStatus(answer.statusCode ?? 500)
    })
    query.on('error', () => res.sendStatus(500)).end()
  })
  app.listen(Number(process.env['PORT'] ?? 3000), '127.0.0.1')
}
