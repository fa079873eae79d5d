import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Hears, once, how a response ended. An object and not a function, so that callers need no closure per request. */
export interface EndListener {
  /** `aborted`: the client left, or the server cut it off; its status then means nothing. */
  responseEnded(aborted: boolean): void
}

/** Responses that have not ended, by the connection they are for. */
const open = new WeakMap<Socket, Set<Watch>>()

/** One listener's wait for one response. */
class Watch {
  readonly #listener: EndListener
  readonly #peers: Set<Watch>

  constructor(listener: EndListener, peers: Set<Watch>) {
    this.#listener = listener
    this.#peers = peers
    peers.add(this)
  }

  end(aborted: boolean): void {
    if (this.#peers.delete(this)) this.#listener.responseEnded(aborted)
  }
}

/**
 * True if nothing more will happen to this response: it has closed, or its connection has. Then `onResponseEnd`
 * calls its listener at once, and a handler should not start.
 */
export function hasResponseEnded(request: IncomingMessage, response: ServerResponse): boolean {
  return response.closed === true || request.socket?.destroyed === true
}

/**
 * Calls `listener.responseEnded` when the response has ended: sent to its end, or cut off. Exactly once, whatever
 * happens, and at once if it has ended already.
 *
 * The response's own `close` tells, except for a pipelined request that still queues behind another when the
 * connection dies: on Node 20 and 22 nothing but the socket says so. Each socket gets a single listener. `finish`,
 * and the events of the request, lie: a request closes when its body was read, `finish` may never come, or may come
 * although the client is gone. Costs about half a microsecond.
 */
export function onResponseEnd(request: IncomingMessage, response: ServerResponse, listener: EndListener): void {
  if (hasResponseEnded(request, response)) {
    listener.responseEnded(wasAborted(request, response))
    return
  }
  const watch = new Watch(listener, peersOf(request.socket))
  response.on('close', () => watch.end(wasAborted(request, response)))
}

function peersOf(socket: Socket): Set<Watch> {
  let peers = open.get(socket)
  if (peers === undefined) {
    const fresh = new Set<Watch>()
    peers = fresh
    open.set(socket, fresh)
    // What is still here by then never got its own `close`.
    socket.once('close', () => {
      for (const watch of fresh) watch.end(true)
    })
  }
  return peers
}

/**
 * Whether a response that has just closed was cut off. Each part has a case of its own: never ended; ended into a
 * connection that was reset (Node 24), or a stream reset under HTTP/2; a client that left before its request was
 * read, which a body parser answers as if it were a bad one.
 */
function wasAborted(request: IncomingMessage, response: ServerResponse): boolean {
  return !response.writableEnded || response.writableFinished === false || request.aborted
}
