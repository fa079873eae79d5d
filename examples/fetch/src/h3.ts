// An app of h3, and so one of Nitro: whatever has a `fetch` is wrapped as it is.
import { type FairFetch, fairFetch } from '@fairlead/core/fetch'
import { H3 } from 'h3'

const app = new H3().get('/items', () => ['rope', 'cleat'])

export const handler: FairFetch<[]> = fairFetch((request) => app.fetch(request), {
  flow: (request) => request.headers.get('x-api-key') ?? undefined,
})
