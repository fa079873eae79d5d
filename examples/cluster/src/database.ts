import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A database that answers a number of requests a second, and 503 beyond that. Returns its port. */
export async function startDatabase(perSecond: number): Promise<number> {
  const most = perSecond / 2
  let stored = most
  let at = performance.now()
  const database = createServer((_req, res) => {
    const now = performance.now()
    stored = Math.min(most, stored + ((now - at) * perSecond) / 1000)
    at = now
    res.statusCode = stored >= 1 ? 200 : 503
    if (stored >= 1) stored--
    res.end()
  })
  await once(database.listen(0, '127.0.0.1'), 'listening')
  return (database.address() as AddressInfo).port
}
