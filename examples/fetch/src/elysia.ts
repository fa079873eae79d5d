// An Elysia app: export default { fetch: handler } on Bun, Deno.serve(handler) on Deno.
import { type FairFetch, fairFetch } from '@fairlead/core/fetch'
import { Elysia } from 'elysia'

const app = new Elysia().get('/items', () => ['rope', 'cleat'])

// Bun passes its server, which knows the client's address; the handler does not use it.
export const handler: FairFetch<[server?: unknown]> = fairFetch((request) => app.fetch(request), {
  flow: (request) => request.headers.get('x-api-key') ?? undefined,
})
