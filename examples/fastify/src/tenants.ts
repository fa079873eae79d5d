// Tenants that share a small pool: pnpm --filter @fairlead-examples/fastify start:tenants
import { setTimeout as sleep } from 'node:timers/promises'
import { fairPlugin, ResourceExhaustedError } from '@fairlead/fastify'
import { fastify } from 'fastify'

/** A pool of three connections that says so when it is empty, instead of making everyone wait. */
let free = 3
async function query<T>(answer: T, signal?: AbortSignal): Promise<T> {
  if (free === 0) throw new ResourceExhaustedError('no free connection')
  free--
  try {
    await sleep(20, undefined, { signal })
    return answer
  } finally {
    free++
  }
}

const app = fastify()
await app.register(fairPlugin, {
  // Behind authentication this would be the tenant; who has no key is known by the client's address.
  flow: (request) => request.headers['x-api-key']?.toString(),
  handler: (_request, _reply, { refusal, retryAfterSeconds }) => ({
    error: `${refusal.reason}: come back in ${retryAfterSeconds} s`,
  }),
})

app.fair.gate.observe((event) => {
  if (event.type === 'refused') console.log(`refused ${event.flow}: ${event.refusal.reason}`)
})

// The permit is kept until the query is over, even if the client has left before; and the query hears of that.
app.get('/items', (request) => query(['rope', 'cleat'], request.fair?.signal))
// A report is worth ten ordinary requests.
app.get('/report', { config: { fair: { cost: 10 } } }, (request) =>
  query({ pages: 10, cost: request.fair?.permit?.cost }, request.fair?.signal),
)
app.get('/admission', async () => app.fair.gate.snapshot())
// Whoever asks whether we are alive must get an answer, and tells nothing about load.
app.get('/health', { config: { fair: false } }, async () => 'ok')
await app.listen({ port: Number(process.env['PORT'] ?? 3000) })
console.log('listening on', app.server.address())
