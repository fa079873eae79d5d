// Tenants that share a pool of three connections (../../pool): pnpm --filter @fairlead-examples/hono start:tenants
import { fairMiddleware } from '@fairlead/hono'
import { query } from '@fairlead-examples/pool'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'

const fair = fairMiddleware({
  // Behind authentication this would be the tenant; without a key the client's address is the flow.
  flow: (c) => c.req.header('x-api-key'),
  // A report is worth ten ordinary requests.
  cost: (c) => (c.req.path === '/report' ? 10 : 1),
  // A liveness probe must always get an answer, and says nothing about load.
  skip: (c) => c.req.path === '/health',
  handler: (c, { refusal, retryAfterSeconds }) =>
    c.json({ error: `${refusal.reason}: come back in ${retryAfterSeconds} s` }),
})

fair.gate.observe((event) => {
  if (event.type === 'refused') console.log(`refused ${event.flow}: ${event.refusal.reason}`)
})

const app = new Hono()
app.use(fair)
app.get('/health', (c) => c.text('ok'))
// A permit is kept until its handler has settled, even if the client has left; the signal cancels the query.
app.get('/items', async (c) => c.json(await query(['rope', 'cleat'], c.get('fair')?.signal)))
app.get('/report', async (c) => {
  const fair = c.get('fair')
  return c.json(await query({ pages: 10, cost: fair?.permit?.cost }, fair?.signal))
})
app.get('/admission', (c) => c.json(fair.gate.snapshot()))
const port = Number(process.env['PORT'] ?? 3000)
serve({ fetch: app.fetch, port }, (address) => console.log('listening on', address))
