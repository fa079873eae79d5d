// Two parts of one service share the ten connections of a database, each through a lease from a server in the same
// process: even when the reports want all connections, the items get theirs. pnpm --filter @fairlead-examples/doorman
// start
import { DoormanClient, type GaugeLease, inProcess } from '@fairlead/core/doorman'
import { DoormanServer } from '@fairlead/doorman/server'
import express, { type Request, type RequestHandler, type Response } from 'express'
import { Pool } from './pool.js'

const pool = new Pool(10)
const server = new DoormanServer({
  id: 'example',
  // Within one process calls are cheap: ask often.
  minimumIntervalMs: 0,
  repository: {
    resources: [
      {
        identifierGlob: '*',
        capacity: pool.size,
        algorithm: { kind: 'FAIR_SHARE', leaseLength: 10, refreshInterval: 1, parameters: [] },
      },
    ],
  },
})

/** Connections for one part of the service. */
function connections(part: string): GaugeLease {
  const client = new DoormanClient({ transport: inProcess(server), id: part, minimumRefreshMs: 100 })
  return client.gauge('connections')
}

/** Waits for a connection, and holds it until the answer has been sent. */
function withConnection(lease: GaugeLease, ms: number): RequestHandler {
  return async (_req: Request, res: Response) => {
    using _slot = await lease.take(AbortSignal.timeout(30_000))
    res.json(await pool.query(ms))
  }
}

const items = connections('items')
const reports = connections('reports')
const app = express()
app.get('/items', withConnection(items, 5))
app.get('/reports', withConnection(reports, 50))
app.get('/connections', (_req, res) => {
  const has = { items: items.capacity, reports: reports.capacity }
  res.json({ ...has, inUse: pool.inUse, most: pool.most, refused: pool.refused })
})
const listener = app.listen(Number(process.env['PORT'] ?? 3000), (error) => {
  if (error !== undefined) throw error
  console.log('listening on', listener.address())
})
