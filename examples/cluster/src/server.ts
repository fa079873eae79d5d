// Four workers in front of one database. SHARED=no gives each its own clock.
import cluster from 'node:cluster'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { startDatabase } from './database.js'
import { startService } from './service.js'

const WORKERS = 4

if (cluster.isPrimary) await startAll()
// A worker of node:cluster shares its clock without configuration.
else startService(Number(process.env['PORT'] ?? 3000), cluster.worker?.id)

async function startAll(): Promise<void> {
  const port = await startDatabase(Number(process.env['PER_SECOND'] ?? 100))
  const workers = Array.from({ length: WORKERS }, () => cluster.fork({ DATABASE: port }))
  // All listen on the same port, even if the system chooses it.
  const [[address]] = (await Promise.all(workers.map((worker) => once(worker, 'listening')))) as [[AddressInfo]]
  console.log('listening on', { port: address.port })
}
