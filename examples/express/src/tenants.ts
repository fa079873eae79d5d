// Tenants that share a small pool: pnpm --filter @fairlead-examples/express start:tenants
import { setTimeout as sleep } from 'node:timers/promises'
import { fairMiddleware, ResourceExhaustedError } from '@fairlead/express'
import express from 'express'

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

const fair = fairMiddleware({
  // Behind authentication this would be the tenant; who has no key is known by the client's address.
  flow: (req) => req.get('x-api-key'),
  // A report is worth ten ordinary requests.
  cost: (req) => (req.path === '/report' ? 10 : 1),
  // Whoever asks whether we are alive must get an answer, and tells nothing about load.
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
// Wrapped: its permit is kept until the query is over, even if the client has left before; and the query hears of that.
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
  // Express tells here, too, that the port is taken.
  if (error !== undefined) throw error
  console.log('listening on', server.address())
})
