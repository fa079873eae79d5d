import { systemAfter } from '../clock.js'
import type { EndListener } from '../http/open-response.js'
import { isLater } from '../rejection.js'
import type { Host } from './host.js'

/** Follows the response to its end. */
export interface ResponseEnd {
  /** Follows a response, once everything behind the adapter has settled; returns the response to send instead. */
  follow(response: Response | undefined, method: string): Response | undefined
}

/** Time for which an answer without a connection may stay unread, in milliseconds. */
const UNREAD_MS = 60_000

/**
 * {@link watchRequest} for a request that has come by no connection, as in `app.request()`: the permit ends when nobody
 * has read on from the answer for a minute.
 */
export function watchDetached(request: Request, host: Host | undefined, listener: EndListener): ResponseEnd {
  let isOver = false
  let cancel: (() => void) | undefined
  const reading = (isReading: boolean): void => {
    cancel?.()
    cancel = isReading || isOver ? undefined : systemAfter(UNREAD_MS, () => listener.unheard?.())
  }
  const end = watchRequest(request, host, {
    responseEnded(aborted) {
      isOver = true
      reading(false)
      listener.responseEnded(aborted)
    },
    reading,
  })
  return {
    follow(response, method) {
      const followed = end.follow(response, method)
      reading(false)
      return followed
    },
  }
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
  if (response === undefined || !body || body.locked || !isStreamed(response, body)) {
    listener.responseEnded(false)
    return response
  }
  return new Response(whenRead(body, listener), response)
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
