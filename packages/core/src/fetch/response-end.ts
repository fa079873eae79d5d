import type { EndListener } from '../http/open-response.js'
import { isLater } from '../rejection.js'
import type { Host } from './host.js'

/** Has to be given the answer, to find out how it ends. */
export interface ResponseEnd {
  /** Follows an answer, once everything behind the adapter has settled; gives what is to be sent in its place. */
  follow(response: Response | undefined, method: string): Response | undefined
}

/**
 * Tells `listener` how the answer to a request ends, where no response of Node's tells.
 *
 * Deno says when a response is over, though not whether it was cut off in the middle. Other servers say only that a
 * client has left, if that: there a whole body counts as sent when the handler has settled, and a stream is followed.
 */
export function watchRequest({ signal }: Request, host: Host | undefined, listener: EndListener): ResponseEnd {
  const gone = (): void => listener.responseEnded(true)
  if (signal.aborted) gone()
  signal.addEventListener('abort', gone)
  // What is given beside a request may be anything.
  if (!isLater(host?.completed)) return { follow: (response, method) => followBody(response, method, listener) }
  host.completed.then(() => listener.responseEnded(false), gone)
  return {
    follow(response) {
      // Deno aborts it when any response is over.
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

/**
 * The same stream; `listener` hears when it was read to its end, or else that it broke or was cancelled. Reads nothing
 * before it is read itself.
 */
function whenRead(stream: ReadableStream<Uint8Array>, listener: EndListener): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) {
            controller.enqueue(value)
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
