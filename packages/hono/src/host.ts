import { addressFrom, type FetchAdmission, type Host, isWorkerd, runtime } from '@fairlead/core/fetch'
import type { HttpVisit } from '@fairlead/core/http'
import type { Context } from 'hono'

/** The server's second argument to the app, as `c.env`; absent in `app.request()`. */
export function hostOf(c: Context): Host | undefined {
  return isWorkerd ? undefined : (c.env?.server ?? c.env)
}

/** The client's address, from the connection, or, on Cloudflare's edge, from the header that it sets itself. */
export function addressOf(c: Context): string | undefined {
  return addressFrom(c.req.raw, hostOf(c))
}

/** The headers of a request on Node; on other runtimes it is unknown whether there is a proxy. */
export function headersOf(c: Context): Readonly<Record<string, unknown>> | undefined {
  return hostOf(c)?.incoming?.headers as Readonly<Record<string, unknown>> | undefined
}

/** Statuses of answers for which there was a substitute, because their clients had left. */
const unread = new WeakMap<Context, number>()

/** Notes the status of an answer that gets a substitute. */
export function keepStatus(c: Context): void {
  if (c.finalized && !unread.has(c)) unread.set(c, c.res.status)
}

/**
 * The status that was sent, or that of an answer that nobody reads. 500 if there is none because a value was thrown
 * that is no `Error`.
 */
export function statusOf(c: Context): number {
  const outgoing = hostOf(c)?.outgoing
  if (outgoing?.headersSent) return outgoing.statusCode
  return unread.get(c) ?? (c.finalized ? c.res.status : 500)
}

/** On runtimes that require it, asks the runtime to finish `work` even if the client leaves. */
export function carryOn(c: Context, work: Promise<unknown>): void {
  try {
    c.executionCtx.waitUntil(work.catch(() => {}))
  } catch {
    // Some ways to call an app provide no such context; reading it then throws.
  }
}

/** Must be told when everything behind the middleware has settled, to detect how the response ends. */
export interface SettledListener {
  settled(): void
}

/**
 * Calls `listener` with the end of the response to `c`. Node reports the end itself; elsewhere the returned watch must
 * be told when the handler has settled.
 */
export function watchResponse(
  c: Context,
  listener: HttpVisit<[Context]>,
  admission: FetchAdmission<[Context]>,
): SettledListener | undefined {
  const host = hostOf(c)
  if (host?.incoming !== undefined && host.outgoing !== undefined && admission.watch !== undefined) {
    admission.watch(listener, host.incoming, host.outgoing)
    return undefined
  }
  const end = runtime.watch(c.req.raw, host, listener)
  return {
    settled() {
      const response = c.finalized ? c.res : undefined
      const followed = end.follow(response, c.req.method)
      if (followed !== undefined && followed !== response) c.res = followed
    },
  }
}
