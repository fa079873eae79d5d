import { type Admission, addressFrom, type Host, isWorkerd, watchRequest } from '@fairlead/core/fetch'
import type { HttpVisit } from '@fairlead/core/http'
import type { Context } from 'hono'

/** What the server handed to the app beside the request, as `c.env`, where it did: not in `app.request()`. */
export function hostOf(c: Context): Host | undefined {
  return isWorkerd ? undefined : (c.env?.server ?? c.env)
}

/** The client's address, from the connection, or, on Cloudflare's edge, from the header that it sets itself. */
export function addressOf(c: Context): string | undefined {
  return addressFrom(c.req.raw, hostOf(c))
}

/** The headers of a request that came to Node; elsewhere nothing is known of proxies. */
export function headersOf(c: Context): Readonly<Record<string, unknown>> | undefined {
  return hostOf(c)?.incoming?.headers as Readonly<Record<string, unknown>> | undefined
}

/** The status of the answer, also where there is none because something was thrown that is no `Error`: then 500. */
export function statusOf(c: Context): number {
  return hostOf(c)?.outgoing?.statusCode ?? (c.finalized ? c.res.status : 500)
}

/** Tells the runtime, where it asks to be told, to carry `work` to its end even if the client leaves. */
export function carryOn(c: Context, work: Promise<unknown>): void {
  try {
    c.executionCtx.waitUntil(work.catch(() => {}))
  } catch {
    // Not every way to call an app has such a context; reading it throws then.
  }
}

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
