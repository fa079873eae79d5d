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
  /** Accepts no more calls, and ends when those in flight have, or after `graceMs`. */
  close(graceMs: number): Promise<void>
}

export interface GrpcSettings {
  /** The service that answers callers; looked up at each call. */
  service(from: Credentials): CapacityService
  /** Answers a report of a process that shares a clock. */
  report(from: Credentials, report: NamedReport): Eventually<ReportAnswer>
  host: string
  /** 0 picks a free port. */
  port: number
  tls: ServerTls | undefined
  /** Largest accepted message, in bytes. */
  maxRequestBytes: number
  log: Log
}

/** Most calls in flight on one connection. */
const MOST_STREAMS = 1_000
/** Most connections at once; further ones are refused. */
const MOST_CONNECTIONS = 10_000
/**
 * A call that has not ended after one to two of these is abandoned: its request arrives too slowly. So is a connection
 * without any call: it occupies another's place.
 */
const PATIENCE_MS = 15_000
/** The header of a message: whether it is compressed, and its length. */
const FRAME_BYTES = 5

const OK = { ':status': 200, 'content-type': 'application/grpc' }

/** Answers the bytes of a request with those of a response. */
type UnaryHandler = (from: Credentials, message: Buffer) => Eventually<Buffer>

/**
 * Serves gRPC over HTTP/2: each call is a stream of its own with one uncompressed message each way. Rejects if the port
 * is not available.
 */
export async function serveGrpc(settings: GrpcSettings): Promise<GrpcPort> {
  const { service, report, host, port, tls, log } = settings
  /** The message of a caller without access is not read. */
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
  // A broken connection is its client's error.
  server.on('sessionError', () => {})
  const coming = new Deadlines<ServerHttp2Stream>((stream) => stream.close(constants.NGHTTP2_CANCEL))
  const silent = new Deadlines<ServerHttp2Session>((session) => session.destroy())
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

/** Abandons items that are not deleted in time, with one timer for all: one timer each would cost much more. */
class Deadlines<Thing> {
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
  answers: ReadonlyMap<string, UnaryHandler>,
  coming: Deadlines<ServerHttp2Stream>,
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
  // Also after a reset: otherwise many short-lived streams would be kept.
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
): [string, UnaryHandler] {
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

/** The message in a frame; the frame must be the whole input. */
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
  // Other characters than plain text are percent-encoded; an unpaired surrogate has no encoding.
  const message = details.replace(/\p{Surrogate}/gu, '\ufffd').replace(/[^ -$&-~]/gu, encodeURIComponent)
  stream.respond({ ...OK, 'grpc-status': code, 'grpc-message': message }, { endStream: true })
}

/** A call's credentials; the certificate is read only if names are needed. */
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
