import { addressFrom, type Host, isWorkerd } from '@fairlead/core/fetch'
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
