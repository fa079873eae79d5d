import {
  constants,
  createSecureServer,
  createServer,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { CapacityError, type CapacityService, type Eventually } from '@fairlead/core/doorman'
import type { NamedReport } from '@fairlead/core/internal'
import { type MethodDefinition, status } from '@grpc/grpc-js'
import type { Credentials } from '../access.js'
import type { ReportAnswer } from '../fleet/clock-service.js'
import type { Log } from '../observe/notices.js'
import { httpsServerOptions, namesOf, type ServerTls } from '../tls.js'
import { METHODS, statusOf } from './wire.js'

/** A running gRPC server. */
export interface GrpcPort {
  readonly port: number
  /** Takes no more calls, and ends when those under way have, or after `graceMs`. */
  close(graceMs: number): Promise<void>
}

export interface GrpcSettings {
  /** The service that answers callers; looked up at each call. */
  service(from: Credentials): CapacityService
  /** Answers a report of a process that shares a clock. */
  report(from: Credentials, report: NamedReport): Eventually<ReportAnswer>
  host: string
  /** 0 is any free one. */
  port: number
  tls: ServerTls | undefined
  /** Largest message that is taken, in bytes. */
  maxRequestBytes: number
  log: Log
}

/** Calls that one connection may have under way. */
const MOST_STREAMS = 1_000
/** More connections at once are not taken. */
const MOST_CONNECTIONS = 10_000
/**
 * A call that has not ended after one to two of these is given up: its request comes too slowly. So is a connection on
 * which none was begun: it takes the place of another.
 */
const PATIENCE_MS = 15_000
/** In front of a message: whether it is compressed, and its length. */
const FRAME_BYTES = 5

const OK = { ':status': 200, 'content-type': 'application/grpc' }

/** The bytes of a request to those of an answer. */
type Answer = (from: Credentials, message: Buffer) => Eventually<Buffer>

/**
 * Serves over gRPC, as it is on HTTP/2: each call is a stream of its own with one message each way, not compressed.
 * Rejects when the port cannot be had.
 */
export async function serveGrpc(settings: GrpcSettings): Promise<GrpcPort> {
  const { service, report, host, port, tls, log } = settings
  /** Who may not ask has nothing read. */
  const capacity =
    <Q, A>(ask: (service: CapacityService, request: Q) => Eventually<A>) =>
    (from: Credentials): ((request: Q) => Eventually<A>) => {
      const answering = service(from)
      return (request) => ask(answering, request)
    }
  const answers = new Map([
    unary(METHODS.report, (from) => (request) => report(from, request)),
    unary(
      METHODS.discovery,
      capacity((service, request) => service.discovery(request)),
    ),
    unary(
      METHODS.getCapacity,
      capacity((service, request) => service.getCapacity(request)),
    ),
    unary(
      METHODS.getServerCapacity,
      capacity((service, request) => service.getServerCapacity(request)),
    ),
    unary(
      METHODS.releaseCapacity,
      capacity((service, request) => service.releaseCapacity(request)),
    ),
  ])
  const limits = { settings: { maxConcurrentStreams: MOST_STREAMS } }
  const server =
    tls === undefined
      ? createServer(limits)
      : createSecureServer({ ...limits, ...httpsServerOptions(tls, false), handshakeTimeout: 2 * PATIENCE_MS })
  server.maxConnections = MOST_CONNECTIONS
  const sessions = new Set<ServerHttp2Session>()
  server.on('session', (session) => {
    sessions.add(session)
    silent.add(session)
    session.on('close', () => {
      sessions.delete(session)
      silent.delete(session)
    })
  })
  // A connection that breaks is its client's.
  server.on('sessionError', () => {})
  const coming = new Patience<ServerHttp2Stream>((stream) => stream.close(constants.NGHTTP2_CANCEL))
  const silent = new Patience<ServerHttp2Session>((session) => session.destroy())
  server.on('stream', (stream, headers) => {
    if (stream.session !== undefined) silent.delete(stream.session as ServerHttp2Session)
    serveStream(stream, headers, answers, coming, settings)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      server.on('error', (error) => log.error({ error: String(error) }, 'the port of gRPC has an error'))
      resolve()
    })
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: (graceMs) =>
      new Promise((resolve) => {
        const timer = setTimeout(() => {
          for (const session of sessions) session.destroy()
        }, graceMs)
        server.close(() => {
          clearTimeout(timer)
          coming.stop()
          silent.stop()
          resolve()
        })
        for (const session of sessions) session.close()
      }),
  }
}

/** What is given up if it is not deleted in time, with one timer for all: one each of its own costs much. */
class Patience<Thing> {
  #young = new Set<Thing>()
  #old = new Set<Thing>()
  readonly #timer = setInterval(() => this.#sweep(), PATIENCE_MS).unref()
  readonly #giveUp: (thing: Thing) => void

  constructor(giveUp: (thing: Thing) => void) {
    this.#giveUp = giveUp
  }

  add(thing: Thing): void {
    this.#young.add(thing)
  }

  delete(thing: Thing): void {
    if (!this.#young.delete(thing)) this.#old.delete(thing)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #sweep(): void {
    const old = this.#old
    this.#old = this.#young
    this.#young = new Set()
    for (const thing of old) this.#giveUp(thing)
  }
}

function serveStream(
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  answers: ReadonlyMap<string, Answer>,
  coming: Patience<ServerHttp2Stream>,
  { maxRequestBytes }: GrpcSettings,
): void {
  stream.on('error', () => {})
  const answer = answers.get(headers[':path'] ?? '')
  if (headers[':method'] !== 'POST' || headers['content-type']?.startsWith('application/grpc') !== true) {
    stream.respond({ ':status': 415 }, { endStream: true })
    return
  }
  if (answer === undefined) {
    fail(stream, { code: status.UNIMPLEMENTED, details: 'no such method' })
    return
  }
  coming.add(stream)
  // Also when it was reset: many that come and go at once must not be kept.
  stream.on('close', () => coming.delete(stream))
  const chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= maxRequestBytes + FRAME_BYTES) chunks.push(chunk)
    else {
      chunks.length = 0
      fail(stream, { code: status.RESOURCE_EXHAUSTED, details: `a message must be at most ${maxRequestBytes} bytes` })
      stream.close()
    }
  })
  stream.on('end', () => {
    if (stream.headersSent) return
    try {
      const message = unframed(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks))
      const answered = answer(new CallCredentials(stream, headers), message)
      if (answered instanceof Promise)
        answered.then(
          (body) => succeed(stream, body),
          (error: unknown) => fail(stream, statusOf(error)),
        )
      else succeed(stream, answered)
    } catch (error) {
      fail(stream, statusOf(error))
    }
  })
}

function unary<Request, Response>(
  { path, requestDeserialize, responseSerialize }: MethodDefinition<Request | CapacityError, Response>,
  answerTo: (from: Credentials) => (request: Request) => Eventually<Response>,
): [string, Answer] {
  return [
    path,
    (from, message) => {
      const answer = answerTo(from)
      const request = requestDeserialize(message)
      if (request instanceof CapacityError) throw request
      const answered = answer(request)
      return answered instanceof Promise ? answered.then(responseSerialize) : responseSerialize(answered)
    },
  ]
}

/** The message in a frame, of which there must be one, and nothing else. */
function unframed(bytes: Buffer): Buffer {
  if (bytes.length < FRAME_BYTES || bytes.readUInt32BE(1) !== bytes.length - FRAME_BYTES)
    throw new CapacityError('invalid_argument', 'a call must have one whole message')
  if (bytes[0] !== 0) throw new CapacityError('unimplemented', 'compressed messages are not understood')
  return bytes.subarray(FRAME_BYTES)
}

function succeed(stream: ServerHttp2Stream, body: Buffer): void {
  if (stream.destroyed || stream.headersSent) return
  const frame = Buffer.allocUnsafe(FRAME_BYTES + body.length)
  frame[0] = 0
  frame.writeUInt32BE(body.length, 1)
  body.copy(frame, FRAME_BYTES)
  stream.respond(OK, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status.OK }))
  stream.end(frame)
}

function fail(stream: ServerHttp2Stream, { code, details }: { code: status; details: string }): void {
  if (stream.destroyed || stream.headersSent) return
  // What is not plain text is percent-encoded; half a character has no encoding.
  const message = details.replace(/\p{Surrogate}/gu, '\ufffd').replace(/[^ -$&-~]/gu, encodeURIComponent)
  stream.respond({ ...OK, 'grpc-status': code, 'grpc-message': message }, { endStream: true })
}

/** What a call brings along; the certificate is looked at only where names are asked for. */
class CallCredentials implements Credentials {
  readonly authorization: string | undefined
  readonly #stream: ServerHttp2Stream

  constructor(stream: ServerHttp2Stream, { authorization }: IncomingHttpHeaders) {
    this.authorization = authorization
    this.#stream = stream
  }

  get names(): readonly string[] {
    const socket = this.#stream.session?.socket
    return socket === undefined ? [] : namesOf(socket)
  }
}
