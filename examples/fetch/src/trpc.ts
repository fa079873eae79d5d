// A tRPC router, on any runtime of its fetch adapter. Procedures get the signal that fires when their client is gone.
import { type FairFetch, fairFetch, fairOf } from '@fairlead/core/fetch'
import { initTRPC } from '@trpc/server'
import { fetchRequestHandler } from '@trpc/server/adapters/fetch'

interface Context {
  readonly signal: AbortSignal | undefined
}

const t = initTRPC.context<Context>().create()
const router = t.router({
  items: t.procedure.query(({ ctx }) => (ctx.signal?.aborted ? [] : ['rope', 'cleat'])),
})

export const handler: FairFetch<[]> = fairFetch(
  (req) =>
    fetchRequestHandler({ endpoint: '/trpc', req, router, createContext: () => ({ signal: fairOf(req)?.signal }) }),
  {
    flow: (request) => request.headers.get('x-api-key') ?? undefined,
    // A batch costs its number of calls.
    cost: (request) => new URL(request.url).pathname.split(',').length,
  },
)
