import type { Gate } from '../admission/gate.js'
import { fairOf } from '../http/context.js'
import type { Answer } from '../http/http-admission.js'
import type { FairRequest } from '../http/http-visit.js'
import type { NodeUpload, RefusalHead } from '../http/node-admission.js'
import type { NodeResponse } from '../http/open-response.js'

/** What a server hands to a `fetch` handler beside the request: each one its own, and some nothing. */
export interface Host {
  // @hono/node-server. No response where the request asks for an upgrade.
  readonly incoming?: NodeUpload & { readonly socket: { readonly remoteAddress?: string } }
  readonly outgoing?: NodeResponse & RefusalHead & { readonly statusCode: number }
  /** The client's address, where `Bun.serve` calls. */
  requestIP?(request: Request): { readonly address: string } | null
  // Deno.serve
  readonly remoteAddr?: { readonly hostname?: string }
  readonly completed?: Promise<void>
}

/** What is used of the global object, on workerd. */
interface Global {
  readonly navigator?: { readonly userAgent?: string }
}

/** There what is handed over holds what the user bound, under names of his own, and nothing of the server's. */
export const isWorkerd: boolean = (globalThis as Global).navigator?.userAgent === 'Cloudflare-Workers'

/** The client's address, from the connection, or, on Cloudflare's edge, from the header that it sets itself. */
export function addressFrom(request: Request, host: Host | undefined): string | undefined {
  if (isWorkerd) return request.headers.get('cf-connecting-ip') ?? undefined
  if (host?.incoming?.socket) return host.incoming.socket.remoteAddress
  if (typeof host?.requestIP === 'function') return host.requestIP(request)?.address
  return host?.remoteAddr?.hostname
}

/** The visit to a gate that a request has passed before: as this request, or as Node's. */
export function outerOf(request: Request, host: Host | undefined): FairRequest | undefined {
  return fairOf(request) ?? fairOf(host?.incoming)
}

/** How often a request that waits looks after itself, where a timer of the gate's may have died with another. */
const WAKE_EVERY_MS = 100

/** Waits for the decision, and sees to it that the gate looks at the clock meanwhile. */
export async function awake(gate: Gate, asked: Promise<Answer>): Promise<Answer> {
  const timer = setInterval(() => gate.wake(), WAKE_EVERY_MS)
  try {
    return await asked
  } finally {
    clearInterval(timer)
  }
}

/** The options; for a gate that will be made by them, with this time-out of permits as the default. */
export function withPermitTimeout<Options extends { gate?: unknown; permitTimeoutMs?: number }>(
  options: Options,
  permitTimeoutMs: number | undefined,
): Options {
  const isOptions = typeof options === 'object' && options !== null
  if (permitTimeoutMs === undefined || !isOptions || options.gate !== undefined) return options
  return options.permitTimeoutMs === undefined ? { ...options, permitTimeoutMs } : options
}
