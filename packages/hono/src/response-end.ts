import type { EndListener, HttpVisit } from '@fairlead/core/http'
import type { Context } from 'hono'
import { hostOf } from './host.js'
import type { Admission } from './runtime/runtime.js'
import { whenRead } from './when-read.js'

/** Has to hear that everything behind the middleware has settled, to find out how the response ends. */
export interface Watch {
  settled(): void
}

/**
 * Tells `listener` how the response to `c` ends. Node tells by itself; elsewhere the returned watch wants to hear
 * when the handler has settled.
 *
 * Deno says when a response is over, though not whether it was cut off in the middle. Other servers say only that a
 * client has left, if that: there a whole body counts as sent when the handler has settled, and a stream is followed.
 */
export function watchResponse(c: Context, listener: HttpVisit<[Context]>, admission: Admission): Watch | undefined {
  const host = hostOf(c)
  if (host?.incoming !== undefined && host.outgoing !== undefined && admission.watch !== undefined) {
    admission.watch(listener, host.incoming, host.outgoing)
    return undefined
  }
  const { signal } = c.req.raw
  const gone = (): void => listener.responseEnded(true)
  if (signal.aborted) gone()
  signal.addEventListener('abort', gone)
  if (host?.completed === undefined) return { settled: () => followResponse(c, listener) }
  host.completed.then(() => listener.responseEnded(false), gone)
  // Deno aborts it when any response is over.
  return { settled: () => signal.removeEventListener('abort', gone) }
}

function followResponse(c: Context, listener: EndListener): void {
  const body = c.req.method === 'HEAD' ? null : c.res.body
  if (body === null || body.locked || !isStreamed(c.res, body)) {
    listener.responseEnded(false)
    return
  }
  c.res = new Response(whenRead(body, listener), c.res)
}

/**
 * Whether a body comes bit by bit. Those made by scripts do, and are no byte streams; those made of text or bytes are
 * byte streams, except in Bun, where following them costs little; and so are those fetched from elsewhere, which are
 * followed if their length is not known, because it would get lost.
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
