/** What is needed of a connection of `node:http` or `node:http2`. */
interface Connection {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
}

/** What is needed of an `IncomingMessage`. */
export interface NodeRequest {
  readonly socket: Connection
  readonly aborted: boolean
  /** Only over HTTP/2, where `socket` stands for this stream, and the session's for the connection. */
  readonly stream?: { readonly session?: { readonly destroyed: boolean; readonly socket: Connection } | undefined }
}

/** What is needed of a `ServerResponse`. */
export interface NodeResponse {
  readonly closed?: boolean
  readonly writableFinished: boolean
  on(event: 'close', listener: () => void): unknown
}

/** Hears, once, how a response ended. An object and not a function, so that callers need no closure per request. */
export interface EndListener {
  /** `aborted`: the client left, or the server cut it off; its status then means nothing. */
  responseEnded(aborted: boolean): void
}

/** Who still waits for a response on one connection. */
class Waiting {
  /** Alone, unless requests are pipelined or multiplexed: a set for one costs more than all the rest here. */
  #one: EndListener | undefined = undefined
  readonly #more = new Set<EndListener>()

  add(listener: EndListener): void {
    if (this.#one === undefined) this.#one = listener
    else this.#more.add(listener)
  }

  /** False if it does not wait any more. */
  remove(listener: EndListener): boolean {
    if (this.#one !== listener) return this.#more.delete(listener)
    this.#one = undefined
    return true
  }

  /** Whoever is still here by then never got a `close` of its own. */
  connectionClosed(): void {
    const one = this.#one
    this.#one = undefined
    one?.responseEnded(true)
    for (const listener of this.#more) listener.responseEnded(true)
    this.#more.clear()
  }
}

const byConnection = new WeakMap<Connection, Waiting>()

/**
 * Calls `listener.responseEnded` when the response has ended: sent to its end, or cut off. Exactly once, whatever
 * happens, and at once if it has ended already: then a handler should not start. A listener serves one response.
 *
 * The response's own `close` tells, except for a pipelined request that still queues behind another when the
 * connection dies: on Node 20 and 22 nothing but the socket says so. Over HTTP/2 the stream says what its response may
 * not (the answer to a HEAD that was piped), and on Node 20 the connection what its streams may not (one that died
 * while they were written to). Each connection gets a single listener. `finish`, and the events of the request, lie: a
 * request closes when its body was read, `finish` may never come, or may come although the client is gone. Costs less
 * than half a microsecond.
 */
export function onResponseEnd(request: NodeRequest, response: NodeResponse, listener: EndListener): void {
  const { socket } = request
  if (response.closed === true || socket.destroyed) {
    listener.responseEnded(wasAborted(request, response))
    return
  }
  const session = request.stream?.session
  const waiting = waitingOn(session === undefined || session.destroyed ? socket : session.socket)
  waiting.add(listener)
  const ended = (): void => {
    if (waiting.remove(listener)) listener.responseEnded(wasAborted(request, response))
  }
  response.on('close', ended)
  if (session !== undefined) socket.once('close', ended)
}

function waitingOn(connection: Connection): Waiting {
  const known = byConnection.get(connection)
  if (known !== undefined) return known
  const waiting = new Waiting()
  byConnection.set(connection, waiting)
  connection.once('close', () => waiting.connectionClosed())
  return waiting
}

/**
 * Whether a response that has just closed was cut off: what was written of it was not flushed to its end, or its
 * request was cut off. The first misses a client that left while a body parser read (which then answers it as if its
 * request were a bad one) and streams that HTTP/2 has reset; the second, clients that left after their body was read.
 */
function wasAborted(request: NodeRequest, response: NodeResponse): boolean {
  return !response.writableFinished || request.aborted
}
