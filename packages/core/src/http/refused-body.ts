import { type After, systemAfter } from '../clock.js'
import type { NodeRequest } from './response-end.js'

/** A body of at most so many bytes is read to its end after a refusal, so that its connection can be used again. */
const WORTH_READING = 256 * 1_024
/** How long a client has to read the answer before its connection is closed. */
const LINGER_MS = 1_000

/** A request of Node whose body may still be coming. */
export interface NodeUpload extends NodeRequest {
  readonly headers: { readonly 'content-length'?: string | undefined }
}

/** What is needed of the response to it. */
export interface RefusalHead {
  readonly headersSent: boolean
  setHeader(name: string, value: string): unknown
  on(event: 'finish', listener: () => void): unknown
}

/** A socket of Node that is to be closed once all is sent. */
interface ClosingSocket {
  destroySoon(): void
  end(): unknown
  pause(): unknown
  destroy(): unknown
}

/**
 * Sees to it, before a refusal is answered, that what is still to come of a large body is not read: Node would read it
 * to its end, at full speed, to use the connection again. Bodies up to 256 KiB are worth that. For others the answer
 * says `Connection: close`, nothing more is read once it is sent, and a second later the connection is closed; at once,
 * and the client might lose the answer, because what is unread then resets the connection. Over HTTP/2 the stream is
 * reset when the answer is sent.
 */
export function refuseBody(request: NodeUpload, response: RefusalHead, after: After = systemAfter): void {
  if (request.complete || response.headersSent) return
  const { stream } = request
  if (stream !== undefined) {
    response.on('finish', () => {
      if (!stream.closed) stream.close(0)
    })
    return
  }
  if (Number(request.headers['content-length']) <= WORTH_READING) return
  response.setHeader('Connection', 'close')
  const socket = request.socket as unknown as ClosingSocket
  socket.destroySoon = () => {
    socket.end()
    socket.pause()
    after(LINGER_MS, () => socket.destroy())
  }
}
