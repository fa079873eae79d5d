import { type Admission, watchRequest } from '@fairlead/core/fetch'
import type { HttpVisit } from '@fairlead/core/http'
import type { Context } from 'hono'
import { hostOf } from './host.js'

/** Has to hear that everything behind the middleware has settled, to find out how the response ends. */
export interface Watch {
  settled(): void
}

/**
 * Tells `listener` how the response to `c` ends. Node tells by itself; elsewhere the returned watch wants to hear
 * when the handler has settled.
 */
export function watchResponse(
  c: Context,
  listener: HttpVisit<[Context]>,
  admission: Admission<[Context]>,
): Watch | undefined {
  const host = hostOf(c)
  if (host?.incoming !== undefined && host.outgoing !== undefined && admission.watch !== undefined) {
    admission.watch(listener, host.incoming, host.outgoing)
    return undefined
  }
  const end = watchRequest(c.req.raw, host, listener)
  return {
    settled() {
      const response = c.finalized ? c.res : undefined
      const followed = end.follow(response, c.req.method)
      if (followed !== undefined && followed !== response) c.res = followed
    },
  }
}
