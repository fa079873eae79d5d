// app/items/[id]/route.ts of Next.js, on Node or at the edge. Next provides no client address: name your proxy's
// header.
import { createGate, type Gate } from '@fairlead/core'
import { type FairFetch, fairFetch } from '@fairlead/core/fetch'

/** One gate for all routes: export it from a module of its own. */
export const gate: Gate = createGate()

export const GET: FairFetch<[context: { params: Promise<{ id: string }> }]> = fairFetch(
  async (_request, { params }) => Response.json({ id: (await params).id }),
  { gate, address: (request) => request.headers.get('x-real-ip') ?? undefined },
)
