// Tenants that share a pool of three connections (../../pool): pnpm --filter @fairlead-examples/koa start:tenants
import { type FairState, fairMiddleware } from '@fairlead/koa'
import { query } from '@fairlead-examples/pool'
import Koa from 'koa'

const fair = fairMiddleware({
  // Behind authentication this would be the tenant; without a key the client's address is the flow.
  flow: (ctx) => ctx.get('x-api-key'),
  // A report is worth ten ordinary requests.
  cost: (ctx) => (ctx.path === '/report' ? 10 : 1),
  // A liveness probe must always get an answer, and says nothing about load.
  skip: (ctx) => ctx.path === '/health',
  handler: (ctx, { refusal, retryAfterSeconds }) => {
    ctx.body = { error: `${refusal.reason}: come back in ${retryAfterSeconds} s` }
  },
})

fair.gate.observe((event) => {
  if (event.type === 'refused') console.log(`refused ${event.flow}: ${event.refusal.reason}`)
})

const app = new Koa<FairState>()
// Koa itself answers the thrown 503 of an overloaded handler; there is nothing to log.
app.silent = true
app.use(fair)
app.use(async (ctx) => {
  // The permit is kept until the query has ended, even if the client has left; the signal cancels the query.
  const signal = ctx.state.fair?.signal
  if (ctx.path === '/health') ctx.body = 'ok'
  else if (ctx.path === '/items') ctx.body = await query(['rope', 'cleat'], signal)
  else if (ctx.path === '/report') ctx.body = await query({ pages: 10, cost: ctx.state.fair?.permit?.cost }, signal)
  else if (ctx.path === '/admission') ctx.body = fair.gate.snapshot()
})
const server = app.listen(Number(process.env['PORT'] ?? 3000), () => console.log('listening on', server.address()))
