import type { EndListener } from '../http/response-end.js'

/**
 * The same stream; `listener` hears when it was read to its end, or else that it broke or was cancelled. Reads nothing
 * before it is read itself.
 */
export function whenRead(stream: ReadableStream<Uint8Array>, listener: EndListener): ReadableStream<Uint8Array> {
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
