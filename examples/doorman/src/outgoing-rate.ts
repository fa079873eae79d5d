// Two services call a partner that allows twenty calls a second to both together; they share them through a Doorman
// server, with nothing but fetch. pnpm --filter @fairlead-examples/doorman start:outgoing
import type { AddressInfo } from 'node:net'
import { DoormanClient, overHttp } from '@fairlead/core/doorman'
import { startDoorman } from '@fairlead/doorman'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

/** Serves `app` on a free port; returns its URL. */
function listen(app: Hono): Promise<string> {
  return new Promise((resolve) => {
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }: AddressInfo) => {
      resolve(`http://127.0.0.1:${port}`)
    })
  })
}

// The partner: reports the number of its calls, and the time since the first.
const partner = new Hono()
let calls = 0
let firstMs = 0
partner.get('/price', (c) => {
  firstMs ||= performance.now()
  calls++
  return c.json({ price: 7 })
})
partner.get('/calls', (c) => c.json({ calls, seconds: (performance.now() - firstMs) / 1_000 }))
const partnerUrl = await listen(partner)

// In production it runs elsewhere: `doorman serve --config doorman.yaml --http-port 8080`.
const doorman = await startDoorman({
  host: '127.0.0.1',
  hostname: '127.0.0.1',
  httpPort: 0,
  minimumRefreshMs: 1_000,
  // There are no leases from an earlier run.
  fresh: true,
  config: {
    resources: [
      {
        identifierGlob: '*',
        capacity: 20,
        algorithm: { kind: 'FAIR_SHARE', leaseLength: 30, refreshInterval: 2, parameters: [] },
      },
    ],
  },
})

/** A service that needs the partner for each of its answers. */
function service(name: string): Promise<string> {
  const client = new DoormanClient({ transport: overHttp({ url: doorman.httpUrl! }), id: name })
  // Each could use all of it; without `wants` the demand is measured, which takes some seconds.
  const rate = client.rate('partner-calls', { wants: 20 })
  const app = new Hono()
  app.get('/quote', async (c) => {
    await rate.wait(c.req.raw.signal)
    const response = await fetch(`${partnerUrl}/price`)
    return c.json({ by: name, rate: rate.capacity, ...((await response.json()) as { price: number }) })
  })
  return listen(app)
}

const [shop, office] = await Promise.all([service('shop'), service('office')])
console.log(JSON.stringify({ shop, office, partner: partnerUrl }))
