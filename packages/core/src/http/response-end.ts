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

/** How often open responses are looked at. */
const SWEEP_MS = 500
/** What is read of bodies that no handler reads, to hear whether the client has left: of one connection, and in all. */
const MOST_READ_AHEAD = 4 * 2 ** 20
const MOST_READ_AHEAD_IN_ALL = 32 * 2 ** 20
/** Steps of the read-ahead in which nothing has come before it rests until the next sweep. */
const IDLE_STEPS = 3
/** Requests of one connection that may wait for their turn; more, and it is closed. */
const MOST_PIPELINED = 100
/** How long a connection of HTTP/1.1 is silent before the system asks whether its other end still exists. */
const KEEP_ALIVE_MS = 15_000

/**
 * Hears how responses end, also where Node does not.
 *
 * The response's own `close` tells, except for a pipelined request that still queues behind another when the
 * connection dies: on Node 20 and 22 nothing but the socket says so. Over HTTP/2 the stream says what its response may
 * not (the answer to a HEAD that was piped), and on Node 20 the connection what its streams may not (one that died
 * while they were written to). Each connection gets a single listener. `finish`, and the events of the request, lie: a
 * request closes when its body was read, `finish` may never come, or may come although the client is gone.
 *
 * What no event tells is found by a sweep, twice a second while responses are open:
 *
 * - Node stops reading a connection when nobody reads the body that it carries, and then never hears that the client
 *   has left. So we let it read on, up to a bound; what comes waits for the handler as it would otherwise have. Beyond
 *   the bound nothing can be known, and a connection that is silent for as long as a client may be is `unheard`.
 * - Node before 26 may forget to close a stream of HTTP/2 whose client left in the middle of a write. The stream knows.
 * - The other end may be gone without a word: the system asks it (keep-alive), over HTTP/2 we do (ping).
 * - A client may be there and keep the request waiting, for its body or by not reading the answer: see {@link Patience}.
 *   It is cut off: answered 408 where nothing was sent yet, else its connection is closed or its stream reset.
 *
 * Costs less than half a microsecond per request, and as much per open response and sweep.
 */
export class ResponseWatch {
  readonly #clock: Clock
  readonly #after: After
  readonly #peers = new WeakMap<Connection, Peer>()
  /** Those with open responses, and some that had. */
  #busy: Peer[] = []
  #isSet = false
  #readAhead = 0
  #hastenedMs = 0

  constructor(clock: Clock, after: After) {
    this.#clock = clock
    this.#after = after
  }

  /**
   * Calls `listener.responseEnded` when the response has ended: sent to its end, or cut off. Exactly once, whatever
   * happens, and at once if it has ended already: then a handler should not start. A listener serves one response.
   *
   * A pipelined request gives a promise: fulfilled when the responses before it have been sent, or its own has ended.
   * Until then nothing that it could be given would reach its client, so it should not be given anything.
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
    const ended = (): void => open.end(wasAborted(request, response))
    response.on('close', ended)
    if (session !== undefined) socket.once('close', ended)
    return stream === undefined && response.socket === null ? this.#turn(open) : undefined
  }

  /** Looks at all open responses, as if `ms` more had passed since they began: for tests of adapters. */
  hasten(ms: number): void {
    this.#hastenedMs += ms
    this.sweep()
  }

  /** Looks at all open responses. */
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
    let peer = this.#peers.get(connection)
    if (peer !== undefined) return peer
    peer = new Peer(connection)
    this.#peers.set(connection, peer)
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
      this.sweep()
      this.#isSet = false
      if (this.#busy.length > 0) this.#sweepLater()
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
      // Its event may be on its way.
      if (open.over) open.end(wasAborted(request, response))
      open.over = true
      return
    }
    // A pipelined request holds nothing; the one before it is looked at.
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

  /** The client keeps a request waiting: for its body, or because it does not read the answer. */
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

  /** Lets Node read on from a connection that it has stopped reading, until nothing comes any more. */
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
 * Bytes that were written and not sent, in the middle of a write as well: Node's own time-outs look at the same.
 * 0 where it is hidden; then a client that reads a single large chunk slowly makes no progress until it has all.
 */
function unsentOf(socket: Socket): number {
  const { _handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null }
  return _handle?.writeQueueSize ?? 0
}
