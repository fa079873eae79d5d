// Tenants that share a pool of three connections (../../pool): pnpm --filter @fairlead-examples/express start:tenants
import { fairMiddleware } from '@fairlead/express'
import { query } from '@fairlead-examples/pool'
import express from 'express'

const fair = fairMiddleware({
  // Behind authentication this would be the tenant; without a key the client's address is the flow.
  flow: (req) => req.get('x-api-key'),
  // A report is worth ten ordinary requests.
  cost: (req) => (req.path === '/report' ? 10 : 1),
  // A liveness probe must always get an answer, and says nothing about load.
  skip: (req) => req.path === '/health',
  handler: (_req, res, { refusal, retryAfterSeconds }) =>
    res.send({ error: `${refusal.reason}: come back in ${retryAfterSeconds} s` }),
})

fair.gate.observe((event) => {
  if (event.type === 'refused') console.log(`refused ${event.flow}: ${event.refusal.reason}`)
})

const app = express()
app.use(fair)
app.get('/health', (_req, res) => {
  res.send('ok')
})
// Wrapped: its permit is kept until the query has ended, even if the client has left; the signal cancels the query.
app.get(
  '/items',
  fair.wrap(async (req, res) => {
    res.json(await query(['rope', 'cleat'], req.fair?.signal))
  }),
)
app.get(
  '/report',
  fair.wrap(async (req, res) => {
    res.json(await query({ pages: 10, cost: req.fair?.permit?.cost }, req.fair?.signal))
  }),
)
app.get('/admission', (_req, res) => {
  res.json(fair.gate.snapshot())
})
const server = app.listen(Number(process.env['PORT'] ?? 3000), (error) => {
  // Express also reports here that the port is in use.
  if (error !== undefined) throw error
  console.log('listening on', server.address())
})
