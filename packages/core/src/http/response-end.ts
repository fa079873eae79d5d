import { type After, type Clock, systemAfter, systemClock } from '../clock.js'
import {
  type Connection,
  type EndListener,
  isImitation,
  isOver,
  type NodeRequest,
  type NodeResponse,
  OpenResponse,
  PATIENCE,
  type Patience,
  Peer,
  type Socket,
  type Stream,
  wasAborted,
} from './open-response.js'

/** Interval of the sweep over open responses. */
const SWEEP_MS = 500
/**
 * Limits on reading ahead of bodies that no handler reads, to detect that the client has left: per connection, and in
 * all, in bytes.
 */
const MOST_READ_AHEAD = 4 * 2 ** 20
const MOST_READ_AHEAD_IN_ALL = 32 * 2 ** 20
/** Steps of the read-ahead without new data before it rests until the next sweep. */
const IDLE_STEPS = 3
/** Requests of one connection that may wait for their turn; beyond that the connection is closed. */
const MOST_PIPELINED = 100
/** Silence on a connection of HTTP/1.1 after which TCP keep-alive probes its peer. */
const KEEP_ALIVE_MS = 15_000

/**
 * Detects how responses end, also in cases that Node does not report.
 *
 * The `close` event of the response is the source, with three exceptions. A pipelined request may still queue behind
 * another when the connection dies: on Node 20 and 22 only the socket closes. Over HTTP/2 the stream may close where
 * its response does not (a piped answer to HEAD); on Node 20 the connection may close where its streams do not (it died
 * during a write). Each connection gets a single listener. `finish` and the events of the request are not reliable: a
 * request closes when its body was read, and `finish` may never come, or come although the client has left.
 *
 * A sweep, twice a second while responses are open, finds the cases without any event:
 *
 * - Node stops reading a connection while a handler does not read the body, and then never detects that the client has
 *   left. So the sweep resumes reading, up to a bound; the data stays buffered for the handler. Beyond the bound the
 *   state of the client cannot be known: after the client timeout without progress the response is `unheard`.
 * - Node before 26 may forget to close an HTTP/2 stream if its client left in the middle of a write. The stream knows.
 * - The peer may disappear without closing the connection: TCP keep-alive detects that; over HTTP/2 a ping does.
 * - A client may keep the request waiting, for its body or by not reading the answer: see {@link Patience}. It is cut
 *   off: answered 408 if nothing was sent yet, else its connection is closed or its stream reset.
 *
 * Costs less than half a microsecond per request, and as much per open response and sweep.
 */
export class ResponseWatch {
  readonly #clock: Clock
  readonly #after: After
  /** Property under which a connection keeps its peer: a `WeakMap` costs more at each request. */
  readonly #peer = Symbol('fairlead.peer')
  /** Peers with open responses, and some that had one. */
  #busy: Peer[] = []
  #isSet = false
  #readAhead = 0
  #hastenedMs = 0

  constructor(clock: Clock, after: After) {
    this.#clock = clock
    this.#after = after
  }

  /**
   * Calls `listener.responseEnded` when the response has ended: sent to its end, or cut off. Exactly once in every
   * case, and immediately if it has ended already: then a handler should not start. A listener serves one response.
   *
   * For a pipelined request it returns a promise, fulfilled when the responses before it have been sent, or its own has
   * ended. Until then no answer could reach the client, so the request should not be admitted.
   */
  watch(
    request: NodeRequest,
    response: NodeResponse,
    listener: EndListener,
    patience: Patience = PATIENCE,
  ): Promise<void> | undefined {
    const { socket, stream } = request
    if (response.closed === true || socket.destroyed) {
      listener.responseEnded(wasAborted(request, response))
      return undefined
    }
    const session = stream?.session
    const peer = this.#peerOf(session === undefined || session.destroyed ? socket : session.socket)
    const open = new OpenResponse(request, response, listener, patience, peer)
    peer.add(open)
    if (!peer.listed) this.#list(peer)
    response.on('close', () => {
      open.closed = true
      open.end(wasAborted(request, response))
    })
    if (session !== undefined) socket.once('close', () => open.lose(wasAborted(request, response)))
    return stream === undefined && response.socket === null ? this.#turn(open) : undefined
  }

  /** Sweeps all open responses as if another `ms` had passed since they began: for tests of adapters. */
  hasten(ms: number): void {
    this.#hastenedMs += ms
    this.sweep()
  }

  /** Sweeps all open responses. */
  sweep(): void {
    const nowMs = this.#clock() + this.#hastenedMs
    this.#busy = this.#busy.filter((peer) => {
      for (const open of peer.all()) this.#look(open, nowMs)
      if (peer.isBusy) return true
      peer.listed = false
      this.#readAhead -= peer.readAhead
      peer.readAhead = 0
      return false
    })
  }

  #peerOf(connection: Connection): Peer {
    const keeper = connection as Connection & { [peer: symbol]: Peer | undefined }
    const known = keeper[this.#peer]
    if (known !== undefined) return known
    const peer = new Peer(connection)
    keeper[this.#peer] = peer
    return peer
  }

  #list(peer: Peer): void {
    peer.listed = true
    this.#busy.push(peer)
    if (!this.#isSet) this.#sweepLater()
  }

  #sweepLater(): void {
    this.#isSet = true
    this.#after(SWEEP_MS, () => {
      try {
        this.sweep()
      } finally {
        // A failure in one response must not keep the others from being checked.
        this.#isSet = false
        if (this.#busy.length > 0) this.#sweepLater()
      }
    })
  }

  /** Waits for the turn of a pipelined request. */
  #turn(open: OpenResponse): Promise<void> {
    const { peer } = open
    peer.waiting++
    return new Promise((resolve) => {
      let waits = true
      const begin = (): void => {
        if (waits) peer.waiting--
        waits = false
        resolve()
      }
      open.begin = begin
      open.response.on('socket', begin)
      if (peer.waiting > MOST_PIPELINED) open.request.socket.destroy()
    })
  }

  #look(open: OpenResponse, nowMs: number): void {
    const { request, response } = open
    const { stream } = request
    if (isOver(request, response)) {
      // The event may still arrive.
      if (open.over) open.lose(wasAborted(request, response))
      open.over = true
      return
    }
    // A pipelined request holds nothing; the one before it is checked.
    if (stream === undefined && response.socket === null) return
    if (stream === undefined) this.#lookAtSocket(open, nowMs)
    else this.#lookAtStream(open, stream, nowMs)
  }

  #lookAtSocket(open: OpenResponse, nowMs: number): void {
    const { request, response, peer, patience } = open
    const { socket } = request
    if (isImitation(request)) return
    if (!peer.keepsAlive) {
      peer.keepsAlive = true
      socket.setKeepAlive(true, KEEP_ALIVE_MS)
    }
    const stillMs = open.stillFor(socket.bytesRead + socket.bytesWritten - unsentOf(socket), nowMs)
    const isDeaf = socket.isPaused()
    if (socket.writableLength > 0) this.#keptWaiting(open, 'reader', stillMs, nowMs)
    else if (!request.complete && !isDeaf) this.#keptWaiting(open, 'body', stillMs, nowMs)
    else open.owedSinceMs = undefined
    if (!isDeaf || stillMs === 0) return
    if (this.#mayReadAhead(peer)) this.#readOn(peer, socket, IDLE_STEPS)
    else if (stillMs >= patience.clientTimeoutMs && !response.writableEnded) open.tell('unheard')
  }

  #lookAtStream(open: OpenResponse, stream: Stream, nowMs: number): void {
    const { session } = stream
    const { patience, peer, request } = open
    const { bytesRead } = peer.connection
    const isBlocked = stream.writableLength > 0
    const stillMs = open.stillFor(isBlocked ? -stream.bufferSize : bytesRead, nowMs)
    if (isBlocked) this.#keptWaiting(open, 'reader', stillMs, nowMs)
    else if (!request.complete && !stream.endAfterHeaders && stream.readableLength === 0)
      this.#keptWaiting(open, 'body', stillMs, nowMs)
    else open.owedSinceMs = undefined
    if (peer.bytesRead !== bytesRead) {
      peer.bytesRead = bytesRead
      peer.silentSinceMs = nowMs
      peer.askedMs = undefined
    }
    if (peer.askedMs !== undefined) {
      if (nowMs - peer.askedMs >= patience.clientTimeoutMs) session?.destroy()
    } else if (nowMs - peer.silentSinceMs >= KEEP_ALIVE_MS) {
      peer.askedMs = nowMs
      session?.ping(() => {})
    }
  }

  /** The client keeps a request waiting: by not sending its body, or by not reading the answer. */
  #keptWaiting(open: OpenResponse, why: 'body' | 'reader', stillMs: number, nowMs: number): void {
    const { listener, patience, response } = open
    open.owedSinceMs ??= nowMs
    const owedMs = nowMs - open.owedSinceMs
    const contest = owedMs > 0 && listener.contest !== undefined ? listener.contest() : 'none'
    const isOverShare = contest === 'over-share'
    const { clientTimeoutMs, slowBodyMs } = patience
    if (stillMs >= clientTimeoutMs) open.cut()
    else if (contest === 'none') return
    else if (why === 'body') {
      if (owedMs >= (isOverShare ? slowBodyMs : clientTimeoutMs)) open.cut()
    } else if (isOverShare && owedMs >= clientTimeoutMs) open.cut()
    else if (response.writableEnded && owedMs >= slowBodyMs) open.tell('answered')
  }

  #mayReadAhead(peer: Peer): boolean {
    return peer.readAhead < MOST_READ_AHEAD && this.#readAhead < MOST_READ_AHEAD_IN_ALL
  }

  /** Makes Node read on from a connection that it has paused, until no more data arrives. */
  #readOn(peer: Peer, socket: Socket, steps: number): void {
    if (peer.isReading) return
    peer.isReading = true
    const before = socket.bytesRead
    socket.resume()
    this.#after(1, () => {
      peer.isReading = false
      const read = socket.bytesRead - before
      peer.readAhead += read
      this.#readAhead += read
      const left = read > 0 ? IDLE_STEPS : steps - 1
      if (left > 0 && peer.listed && !socket.destroyed && this.#mayReadAhead(peer)) this.#readOn(peer, socket, left)
    })
  }
}

const watch: ResponseWatch = new ResponseWatch(systemClock, systemAfter)

/** {@link ResponseWatch.watch} of all responses of this process. */
export function onResponseEnd(
  request: NodeRequest,
  response: NodeResponse,
  listener: EndListener,
  patience?: Patience,
): Promise<void> | undefined {
  return watch.watch(request, response, listener, patience)
}

/** {@link ResponseWatch.hasten} for all responses of this process. */
export function hastenResponses(ms: number): void {
  watch.hasten(ms)
}

/**
 * Bytes written but not sent, including those in the middle of a write: Node's own time-outs use the same figure. 0 if
 * it is hidden; then a client that reads a single large chunk slowly makes no progress until it has all of it.
 */
function unsentOf(socket: Socket): number {
  const { _handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return _handle?.writeQueueSize ?? 0
}
