import type { NodeResponse, NodeUpload, RefusalHead } from '@fairlead/core/http'
import type { Context } from 'hono'
import { getRuntimeKey } from 'hono/adapter'

/** What a server hands to an app beside the request, as `c.env`: each one its own, and none in `app.request()`. */
interface Host {
  // @hono/node-server. No response where the request asks for an upgrade.
  readonly incoming?: NodeUpload & { readonly socket: { readonly remoteAddress?: string } }
  readonly outgoing?: NodeResponse & RefusalHead & { readonly statusCode: number }
  // Bun.serve
  requestIP?(request: Request): { readonly address: string } | null
  // Deno.serve
  readonly remoteAddr?: { readonly hostname?: string }
  readonly completed?: Promise<void>
}

/** On workerd `c.env` holds what the user bound, under names of his own, and nothing of the server's. */
export const isWorkerd: boolean = getRuntimeKey() === 'workerd'

/** What the server handed over, where it did. */
export function hostOf(c: Context): Host | undefined {
  return isWorkerd ? undefined : (c.env?.server ?? c.env)
}

/** The client's address, from the connection, or, on Cloudflare's edge, from the header that it sets itself. */
export function addressOf(c: Context): string | undefined {
  if (isWorkerd) return c.req.header('cf-connecting-ip')
  const host = hostOf(c)
  if (host?.incoming !== undefined) return host.incoming.socket.remoteAddress
  if (host?.requestIP !== undefined) return host.requestIP(c.req.raw)?.address
  return host?.remoteAddr?.hostname
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
