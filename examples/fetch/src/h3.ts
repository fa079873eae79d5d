// An h3 app, and thus a Nitro app: any object with a `fetch` can be wrapped.
import { type FairFetch, fairFetch } from '@fairlead/core/fetch'
import { H3 } from 'h3'

const app = new H3().get('/items', () => ['rope', 'cleat'])

export const handler: FairFetch<[]> = fairFetch((request) => app.fetch(request), {
  flow: (request) => request.headers.get('x-api-key') ?? undefined,
})
