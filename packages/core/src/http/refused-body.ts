import { type After, systemAfter } from '../clock.js'
import type { NodeRequest } from './response-end.js'

/** Bytes of a body that are read after a refusal, so that its connection can be used again: 1 MiB. */
const MOST_READ = 2 ** 20
/** How long a client has to read the answer before its connection is closed. */
const LINGER_MS = 1_000

/** A socket of Node that is to be closed once all is sent. */
interface ClosingSocket {
  destroySoon(): void
  end(): unknown
  pause(): unknown
  destroy(): unknown
}

/** A request of Node whose body may still be coming. */
export interface NodeUpload extends NodeRequest {
  readonly socket: NodeRequest['socket'] & ClosingSocket
  readonly headers: {
    readonly 'content-length'?: string | undefined
    readonly 'transfer-encoding'?: string | undefined
  }
}

/** What is needed of the response to it. */
export interface RefusalHead {
  readonly headersSent: boolean
  /** Sets a header field of the response. */
  setHeader(name: string, value: string): unknown
}

/**
 * Sees to it, before a refusal is answered, that what is still to come of a large body is not read: Node would read it
 * to its end, at full speed, to use the connection again. Bodies that say they have at most 1 MiB are worth that. For others the answer
 * says `Connection: close`, nothing more is read once it is sent, and a second later the connection is closed; at once,
 * and the client might lose the answer, because what is unread then resets the connection. Over HTTP/2
 * Node resets the stream when the answer is sent.
 */
export function refuseBody(request: NodeUpload, response: RefusalHead, after: After = systemAfter): void {
  if (request.stream !== undefined || request.complete || response.headersSent) return
  // Of a request that has just come nobody knows yet that it is complete, even without a body.
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && !(Number(length) > MOST_READ)) return
  response.setHeader('Connection', 'close')
  const { socket } = request
  socket.destroySoon = () => {
    socket.end()
    socket.pause()
    after(LINGER_MS, () => socket.destroy())
  }
}
