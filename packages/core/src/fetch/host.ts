import type { Gate } from '../admission/gate.js'
import { fairOf, isWorkerd, showFair } from '../http/context.js'
import type { GateAnswer } from '../http/http-admission.js'
import type { FairRequest } from '../http/http-visit.js'
import type { NodeUpload, RefusalHead } from '../http/node-admission.js'
import type { EndListener, NodeResponse } from '../http/open-response.js'
import { isLater } from '../rejection.js'

/**
 * The object that a server passes to a `fetch` handler beside the request. It differs from server to server, and some
 * pass none.
 */
export interface Host {
  // @hono/node-server. No response if the request asks for an upgrade.
  readonly incoming?: NodeUpload & { readonly socket: { readonly remoteAddress?: string } }
  readonly outgoing?: NodeResponse & RefusalHead & { readonly statusCode: number }
  /** The client's address, under `Bun.serve`. */
  requestIP?(request: Request): { readonly address: string } | null
  // Deno.serve
  readonly remoteAddr?: { readonly hostname?: string }
  readonly completed?: Promise<void>
}

/** The client's address, from the connection, or, on Cloudflare's edge, from the header that it sets itself. */
export function addressFrom(request: Request, host: Host | undefined): string | undefined {
  if (isWorkerd) return request.headers.get('cf-connecting-ip') ?? undefined
  if (host?.incoming?.socket) return host.incoming.socket.remoteAddress
  if (typeof host?.requestIP === 'function') return host.requestIP(request)?.address
  return host?.remoteAddr?.hostname
}

/** The visit to a gate that the request has already passed, found on this request or on Node's. */
export function outerOf(request: Request, host: Host | undefined): FairRequest | undefined {
  return fairOf(request) ?? fairOf(host?.incoming)
}

/** Makes a visit visible to inner gates, on this request and on Node's: see {@link outerOf}. */
export function showOnBoth(request: Request, host: Host | undefined, visit: FairRequest): void {
  showFair(request, visit)
  // The argument beside a request can be any value.
  if (host?.incoming?.socket) showFair(host.incoming, visit)
}

/** Interval at which a waiting request wakes the gate, whose timer may have died with another request. */
const WAKE_EVERY_MS = 100

/** Waits for the decision, and wakes the gate at intervals until then. */
export function awake(gate: Gate, asked: Promise<GateAnswer>): Promise<GateAnswer> {
  const timer = setInterval(() => gate.wake(), WAKE_EVERY_MS)
  return asked.finally(() => clearInterval(timer))
}

/** Servers replace the global `Response`, so `instanceof` would recognise only one of the classes. */
export function isResponse(answer: unknown): answer is Response {
  return typeof answer === 'object' && answer !== null && 'headers' in answer && 'body' in answer
}

/** Follows the response to its end. */
export interface ResponseEnd {
  /** Follows a response, once everything behind the adapter has settled; returns the response to send instead. */
  follow(response: Response | undefined, method: string): Response | undefined
}

/**
 * Tells `listener` how the response to a request ends, on servers without Node's response events.
 *
 * Deno reports the end of a response, but not whether it was cut off in the middle. Other servers report at most that a
 * client has left: there a whole body counts as sent when the handler has settled, and a stream is followed.
 */
export function watchRequest({ signal }: Request, host: Host | undefined, listener: EndListener): ResponseEnd {
  const gone = (): void => listener.responseEnded(true)
  if (signal.aborted) gone()
  signal.addEventListener('abort', gone)
  // The argument beside a request can be any value.
  if (!isLater(host?.completed)) return { follow: (response, method) => followBody(response, method, listener) }
  host.completed.then(() => listener.responseEnded(false), gone)
  return {
    follow(response) {
      // Deno aborts the signal at the end of every response.
      signal.removeEventListener('abort', gone)
      return response
    },
  }
}

function followBody(response: Response | undefined, method: string, listener: EndListener): Response | undefined {
  const body = method === 'HEAD' ? null : response?.body
  if (response && body && !body.locked && isStreamed(response, body))
    return new Response(whenRead(body, listener), response)
  listener.responseEnded(false)
  return response
}

/**
 * Whether a body is produced incrementally. Streams made by scripts are, and are no byte streams. Bodies made of text
 * or bytes are byte streams, except in Bun, where following them costs little. Fetched bodies are byte streams too;
 * they are followed only if their length is unknown, because following would lose it.
 */
function isStreamed(response: Response, body: ReadableStream<Uint8Array>): boolean {
  try {
    body.getReader({ mode: 'byob' }).releaseLock()
  } catch {
    return true
  }
  const { url, headers } = response
  return (url !== '' && !headers.has('content-length')) || headers.has('transfer-encoding')
}

/**
 * The same stream. `listener` is told when it was read to its end, or that it failed or was cancelled. Reads ahead
 * nothing.
 */
function whenRead(stream: ReadableStream<Uint8Array>, listener: EndListener): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        listener.reading?.(true)
        try {
          const { done, value } = await reader.read()
          if (!done) {
            controller.enqueue(value)
            listener.reading?.(false)
            return
          }
          listener.responseEnded(false)
          controller.close()
        } catch (error) {
          listener.responseEnded(true)
          controller.error(error)
        }
      },
      cancel(reason) {
        listener.responseEnded(true)
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}
