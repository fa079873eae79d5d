// GraphQL Yoga. GraphQL answers 200 even if a resolver throws, so the resolver itself reports a shortage to the gate.
import { ResourceExhaustedError } from '@fairlead/core'
import { type FairFetch, fairFetch, fairOf } from '@fairlead/core/fetch'
import { createSchema, createYoga } from 'graphql-yoga'

const yoga = createYoga({
  logging: false,
  schema: createSchema({
    typeDefs: 'type Query { items: [String!]!, report: String! }',
    resolvers: {
      Query: {
        items: () => ['rope', 'cleat'],
        report: (_parent, _args, { request }: { request: Request }) => {
          const error = new ResourceExhaustedError('no free connection')
          fairOf(request)?.failed(error)
          throw error
        },
      },
    },
  }),
})

export const handler: FairFetch<[]> = fairFetch(async (request) => yoga.fetch(request), {
  flow: (request) => request.headers.get('x-api-key') ?? undefined,
})
