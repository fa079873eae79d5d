import type { Contest } from '../admission/stage.js'

/** The part of a connection of `node:http` or `node:http2` that this file uses. */
export interface Connection {
  readonly destroyed: boolean
  readonly bytesRead: number
  readonly bytesWritten: number
  /** Bytes written that the network has not taken yet. */
  readonly writableLength: number
  isPaused(): boolean
  once(event: 'close', listener: () => void): unknown
}

/** An HTTP/1.1 connection, on which operations are allowed that HTTP/2 forbids on its own. */
export interface Socket extends Connection {
  resume(): unknown
  setKeepAlive(enable: boolean, initialDelayMs: number): unknown
  write(text: string): unknown
  destroySoon(): void
  destroy(): unknown
}

/** The part of a stream of `node:http2` that this file uses. */
export interface Stream {
  readonly closed: boolean
  readonly destroyed: boolean
  readonly endAfterHeaders: boolean
  readonly readableLength: number
  readonly writableLength: number
  readonly bufferSize: number
  readonly session?:
    | {
        readonly destroyed: boolean
        readonly socket: Connection
        ping(callback: () => void): boolean
        destroy(): void
      }
    | undefined
  close(code: number): void
}

/** The part of an `IncomingMessage` that this file uses. */
export interface NodeRequest {
  readonly socket: Socket
  readonly aborted: boolean
  /** The body was received to its end. */
  readonly complete: boolean
  /** Only over HTTP/2, where `socket` stands for this stream, and the session's socket for the connection. */
  readonly stream?: Stream | undefined
}

/** The part of a `ServerResponse` that this file uses. */
export interface NodeResponse {
  readonly closed?: boolean
  readonly headersSent: boolean
  readonly writableEnded: boolean
  readonly writableFinished: boolean
  /** Null while an earlier response of the same connection has not been sent. */
  readonly socket?: object | null
  on(event: 'close' | 'socket', listener: () => void): unknown
  /** Tells an end that Node does not report. */
  emit(event: 'close'): boolean
}

/** Receives the end of a response. An object instead of a function, so that callers need no closure per request. */
export interface EndListener {
  /** Once. `aborted`: the client left, or the server cut it off; its status then means nothing. */
  responseEnded(aborted: boolean): void
  /** Whether others wait for the capacity that the request holds. */
  contest?(): Contest
  /**
   * The handler is done, and only the client's reading is left. The request may release the capacity that others wait
   * for.
   */
  answered?(): void
  /** The client's state is unknown, because its data is not read. */
  unheard?(): void
  /** The server has begun, or ended, to wait for more of a streamed answer. */
  reading?(isReading: boolean): void
}

/** Limits on the time for which clients may keep a request waiting, in milliseconds. */
export interface Patience {
  /** Without a byte sent of the body, or read of the answer. */
  readonly clientTimeoutMs: number
  /** For sending a body, if its flow holds more than its share and others wait. */
  readonly slowBodyMs: number
}

export const PATIENCE: Patience = { clientTimeoutMs: 30_000, slowBodyMs: 1_000 }

/** HTTP/2's error code for a stream that is no longer needed. */
const CANCEL = 8
const REQUEST_TIMEOUT = 'HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'

/** One response that has not ended. */
export class OpenResponse {
  readonly request: NodeRequest
  readonly response: NodeResponse
  /** Dropped at the end: Node may keep a connection, with all listeners, long after its client has left. */
  listener: EndListener
  readonly patience: Patience
  readonly peer: Peer
  /** Resumes a pipelined request. */
  begin: (() => void) | undefined = undefined
  /** Bytes received and sent at the last look, and the time since which that number has not changed. */
  progress = -1
  stillSinceMs = 0
  /** The time since which the client has kept the request waiting. */
  owedSinceMs: number | undefined = undefined
  /** Its `close` was heard. */
  closed = false
  /** It was over at the last look, without an event. */
  over = false
  /** The listener has received its one call of `answered` or `unheard`. */
  told = false

  constructor(request: NodeRequest, response: NodeResponse, listener: EndListener, patience: Patience, peer: Peer) {
    this.request = request
    this.response = response
    this.listener = listener
    this.patience = patience
    this.peer = peer
  }

  /** Removes the response and reports its end. Only the first call counts. */
  end(aborted: boolean): void {
    if (!this.peer.remove(this)) return
    const { listener, begin } = this
    this.listener = NOBODY
    this.begin = undefined
    listener.responseEnded(aborted)
    begin?.()
  }

  /**
   * The same where Node reports no end. Over HTTP/2 it makes up for that: a handler may wait for it, by `pipeline()` for
   * example, and would otherwise wait for ever.
   */
  lose(aborted: boolean): void {
    this.end(aborted)
    if (this.request.stream !== undefined && !this.closed) this.response.emit('close')
  }

  /** Time without progress, in milliseconds. */
  stillFor(progress: number, nowMs: number): number {
    if (progress !== this.progress) {
      this.progress = progress
      this.stillSinceMs = nowMs
    }
    return nowMs - this.stillSinceMs
  }

  tell(what: 'answered' | 'unheard'): void {
    if (this.told) return
    this.told = true
    this.listener[what]?.()
  }

  /** Cuts the client off. The end is reported first, because a destroyed response may look as if it had been sent. */
  cut(): void {
    const { socket, stream } = this.request
    const { headersSent } = this.response
    this.end(true)
    if (stream !== undefined) stream.close(CANCEL)
    else if (headersSent || socket.writableLength > 0) socket.destroy()
    else {
      socket.write(REQUEST_TIMEOUT)
      socket.destroySoon()
    }
  }
}

const NOBODY: EndListener = { responseEnded: () => {} }

/** The other end of a connection, and the responses that it waits for. */
export class Peer {
  readonly connection: Connection
  /**
   * The only open response, unless requests are pipelined or multiplexed: a set for one costs more than everything else
   * here.
   */
  #one: OpenResponse | undefined = undefined
  readonly #more = new Set<OpenResponse>()
  /** Pipelined requests that wait for their turn. */
  waiting = 0
  /** True while the peer is on the sweep's list. */
  listed = false
  /** Bytes read ahead of the handler. */
  readAhead = 0
  isReading = false
  keepsAlive = false
  /**
   * For HTTP/2: bytes received at the last look, the time since which that number has not changed, and the time of the
   * ping.
   */
  bytesRead = -1
  silentSinceMs = 0
  askedMs: number | undefined = undefined

  constructor(connection: Connection) {
    this.connection = connection
    connection.once('close', () => {
      // Responses still open by then never got a `close` of their own.
      for (const open of this.all()) open.lose(true)
    })
  }

  get isBusy(): boolean {
    return this.#one !== undefined || this.#more.size > 0
  }

  all(): readonly OpenResponse[] {
    return this.#one === undefined ? [...this.#more] : [this.#one, ...this.#more]
  }

  add(open: OpenResponse): void {
    if (this.#one === undefined) this.#one = open
    else this.#more.add(open)
  }

  /** False if the connection no longer waits for it. */
  remove(open: OpenResponse): boolean {
    if (this.#one !== open) return this.#more.delete(open)
    this.#one = undefined
    return true
  }
}

/** Whether a response can make no further progress, even without an event that says so. */
export function isOver({ socket, stream }: NodeRequest, response: NodeResponse): boolean {
  if (response.closed === true) return true
  if (stream === undefined) return socket.destroyed
  const { session } = stream
  return stream.closed || stream.destroyed || session === undefined || session.destroyed || session.socket.destroyed
}

/**
 * Whether a response that has just closed was cut off: its written data was not flushed to the end, or its request was
 * cut off. The first misses a client that left while a body parser read (which then answers it as if its request were a
 * bad one) and streams that HTTP/2 has reset; the second, clients that left after their body was read.
 */
export function wasAborted(request: NodeRequest, response: NodeResponse): boolean {
  const wasSent = isImitation(request) ? response.writableEnded : response.writableFinished
  return !wasSent || request.aborted
}

/** True for an imitation of a request, in tests without a socket: its response closes before it finishes. */
export function isImitation({ socket, stream }: NodeRequest): boolean {
  return stream === undefined && typeof socket.isPaused !== 'function'
}
