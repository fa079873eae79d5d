import type { FairRequest } from '@fairlead/core/http'
import type { ExecutionContext } from '@nestjs/common'

/** Where contexts that are no HTTP request keep something of their own: the details of a field, a message's context. */
const CARRIER_OF: Readonly<Record<string, number>> = { graphql: 3, rpc: 1, ws: 1 }

const visits = new WeakMap<object, FairRequest>()

/** Lets `@FairPermit()` find the visit; HTTP requests show it as `fair`, too. */
export function showVisit(context: ExecutionContext, visit: FairRequest): void {
  const type = context.getType<string>()
  if (type === 'http') {
    context.getArgByIndex<{ fair?: FairRequest }>(0).fair = visit
    return
  }
  const carrier: unknown = context.getArgByIndex(CARRIER_OF[type] ?? 0)
  if (typeof carrier === 'object' && carrier !== null) visits.set(carrier, visit)
}

/** The innermost visit of the request; undefined where no gate judged it, or nothing could carry it. */
export function visitOf(context: ExecutionContext): FairRequest | undefined {
  const type = context.getType<string>()
  return type === 'http' ? outerVisit(context) : visits.get(context.getArgByIndex(CARRIER_OF[type] ?? 0))
}

/** The visit to a gate that an HTTP request has passed before, be it one of ours or one of another adapter. */
export function outerVisit(context: ExecutionContext): FairRequest | undefined {
  return context.getArgByIndex<{ fair?: FairRequest }>(0).fair
}
