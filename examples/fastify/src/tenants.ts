// Tenants that share a pool of three connections (../../pool): pnpm --filter @fairlead-examples/fastify start:tenants
import { fairPlugin } from '@fairlead/fastify'
import { query } from '@fairlead-examples/pool'
import { fastify } from 'fastify'

const app = fastify()
await app.register(fairPlugin, {
  // Behind authentication this would be the tenant; without a key the client's address is the flow.
  flow: (request) => request.headers['x-api-key']?.toString(),
  handler: (_request, _reply, { refusal, retryAfterSeconds }) => ({
    error: `${refusal.reason}: come back in ${retryAfterSeconds} s`,
  }),
})

app.fair.gate.observe((event) => {
  if (event.type === 'refused') console.log(`refused ${event.flow}: ${event.refusal.reason}`)
})

// The permit is kept until the query has ended, even if the client has left; the signal cancels the query.
app.get('/items', (request) => query(['rope', 'cleat'], request.fair?.signal))
// A report is worth ten ordinary requests.
app.get('/report', { config: { fair: { cost: 10 } } }, (request) =>
  query({ pages: 10, cost: request.fair?.permit?.cost }, request.fair?.signal),
)
app.get('/admission', async () => app.fair.gate.snapshot())
// A liveness probe must always get an answer, and says nothing about load.
app.get('/health', { config: { fair: false } }, async () => 'ok')
await app.listen({ port: Number(process.env['PORT'] ?? 3000) })
console.log('listening on', app.server.address())
