import type { Permit } from '../admission/decision.js'
import type { Refusal } from '../admission/refusal.js'
import { type After, systemAfter } from '../clock.js'
import { onRejection } from '../rejection.js'
import { showFair } from './context.js'
import { type Framework, type GateAnswer, HttpAdmission } from './http-admission.js'
import type { HttpVisit } from './http-visit.js'
import { ForwardedHeaders } from './mistakes.js'
import { type NodeRequest, type NodeResponse, PATIENCE, type Patience } from './open-response.js'
import type { HttpOptions } from './options.js'
import { type Fields, type HttpRefusal, PROBLEM_JSON } from './refusal.js'
import { onResponseEnd } from './response-end.js'

/** The part of Node's response that answering a refusal uses. */
export interface NodeAnswer extends RefusalHead {
  statusCode: number
  readonly writableEnded: boolean
  /** Answers with this body. */
  end(body: string): unknown
  /** Cuts the connection off. */
  destroy(): unknown
}

/** {@link HttpAdmission} for Node's requests and responses: it detects by itself how they end. */
export class NodeAdmission<Target extends readonly unknown[]> extends HttpAdmission<Target> {
  readonly #patience: Patience
  readonly #forwarded: ForwardedHeaders<Target>
  readonly #handler: HttpOptions<Target>['handler']

  /** Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(framework: Framework<Target>, options: HttpOptions<Target>) {
    super(framework, options)
    const { clientTimeoutMs = PATIENCE.clientTimeoutMs, slowBodyMs = PATIENCE.slowBodyMs } = options
    this.#patience = { clientTimeoutMs, slowBodyMs }
    this.#handler = options.handler
    this.#forwarded = new ForwardedHeaders(framework)
  }

  protected override namedByAddress(target: Target): void {
    super.namedByAddress(target)
    const problem = this.#forwarded.problemOf(target)
    if (problem !== undefined) this.warn(problem)
  }

  /**
   * As in the base class, but a pipelined request is judged when its turn to be answered has come, and a request over
   * HTTP/2 that has waited goes on in a turn of the event loop of its own. What lets it go on is often the `close` of
   * another stream, which Node reports from the middle of its work on their session: a handler that destroyed its own
   * stream there could abort the process.
   */
  override ask(visit: HttpVisit<Target>): GateAnswer | Promise<GateAnswer> {
    const { turn } = visit
    const answer = turn === undefined ? super.ask(visit) : this.#askAfter(turn, visit)
    return visit.isMultiplexed && answer instanceof Promise ? inOwnTurn(answer) : answer
  }

  #askAfter(turn: Promise<void>, visit: HttpVisit<Target>): Promise<GateAnswer> {
    visit.turn = undefined
    return turn.then(() => super.ask(visit))
  }

  /** Stops the reading of a refused request's large body. To be called before the refusal is answered. */
  refuseBody(request: NodeUpload, response: RefusalHead): void {
    refuseBody(request, response)
  }

  /** Lets a visit follow its response to the end. Call {@link ask} after it. */
  watch(visit: HttpVisit<Target>, request: NodeRequest, response: NodeResponse): void {
    visit.isMultiplexed = request.stream !== undefined
    visit.turn = onResponseEnd(request, response, visit, this.#patience)
  }

  /**
   * Takes the permit of an admitted request: its response reports the fields, and inner gates of any adapter find the
   * visit. False if the client left meanwhile: the handler must not run.
   */
  admit(visit: HttpVisit<Target>, permit: Permit, request: NodeRequest, response: NodeHead): boolean {
    if (!visit.admit(permit)) return false
    this.tell(permit, response)
    showFair(request, visit)
    return true
  }

  /** Adds {@link fields} to a response, if there are any, no matter which code writes its head. */
  tell(permit: Permit, response: NodeHead): void {
    if (this.fields(permit) !== undefined) onResponseHead(response, (status) => this.fields(permit, status))
  }

  /**
   * Answers a refused request: status and `Retry-After`, then the user's handler, or the problem document. The rest of
   * a large body is not read. A client that has left gets no answer.
   */
  refuse(target: Target, refused: Refusal, request: NodeUpload, response: NodeAnswer): void {
    // While the request waited, another timeout may have answered it.
    if (refused.reason === 'gone' || response.headersSent) return
    const refusal = this.refusal(refused)
    this.refuseBody(request, response)
    response.statusCode = refusal.status
    for (const name of Object.keys(refusal.headers)) response.setHeader(name, refusal.headers[name] ?? '')
    if (this.#handler === undefined) {
      sendProblem(response, refusal)
      return
    }
    const failed = (cause: unknown): void => {
      this.warn('handler failed: the problem document was sent instead.', cause)
      sendProblem(response, refusal)
    }
    try {
      onRejection(this.#handler(...target, refusal), failed)
    } catch (error) {
      failed(error)
    }
  }
}

/** The same, in a turn of the event loop of its own. */
function inOwnTurn<T>(answer: Promise<T>): Promise<T> {
  return answer.then((value) => new Promise<T>((resolve) => setImmediate(resolve, value)))
}

/** Sends the problem document. A response that has already started is destroyed, because it would hang. */
function sendProblem(response: NodeAnswer, { status, body }: HttpRefusal): void {
  if (response.headersSent) {
    if (!response.writableEnded) response.destroy()
    return
  }
  response.statusCode = status
  response.setHeader('Content-Type', PROBLEM_JSON)
  // Its text is ASCII.
  response.setHeader('Content-Length', `${body.length}`)
  response.end(body)
}

/** The part of Node's response, over HTTP/1.1 or HTTP/2, that adding fields to its head needs. */
export interface NodeHead {
  readonly headersSent: boolean
  getHeader(name: string): number | string | readonly string[] | undefined
  setHeader(name: string, value: string): unknown
  writeHead(status: number, ...rest: never[]): unknown
}

/**
 * Adds fields to a response when its head is written, by the handler or by an error handler, even one that has removed
 * all fields. `fields` is called then, with the status. A field that is already set becomes a list.
 */
export function onResponseHead(response: NodeHead, fields: (status: number) => Fields | undefined): void {
  const { writeHead } = response
  response.writeHead = (status, ...rest) => {
    const added = response.headersSent ? undefined : fields(status)
    if (added !== undefined) add(response, added, rest)
    return Reflect.apply(writeHead, response, [status, ...rest])
  }
}

/**
 * Headers passed to `writeHead` replace those set before, so the fields are added to the argument. If they were set
 * beside a list, Node would also keep only the last value of each name: one of several cookies.
 */
function add(response: NodeHead, fields: Fields, rest: unknown[]): void {
  // After the status: a message, headers, or both.
  const at = typeof rest[0] === 'string' || rest[1] != null ? 1 : 0
  const given = rest[at]
  const isList = Array.isArray(given)
  const object: Record<string, unknown> = { ...(isList ? undefined : (given as object)) }
  // Names and values in turn, also if they were given as pairs.
  const list: unknown[] = isList ? given.flat(Array.isArray(given[0]) ? 1 : 0) : Object.entries(object).flat()
  for (const [name, value] of Object.entries(fields)) {
    const place = list.findLastIndex((each, i) => i % 2 === 0 && `${each}`.toLowerCase() === name.toLowerCase())
    const before = place < 0 ? response.getHeader(name) : list[place + 1]
    const all = before === undefined ? value : `${before}, ${value}`
    if (given == null) response.setHeader(name, all)
    else if (!isList) object[place < 0 ? name : `${list[place]}`] = all
    else if (place < 0) list.push(name, all)
    else list[place + 1] = all
  }
  if (given != null) rest[at] = isList ? list : object
}

/** Longest body that is read after a refusal, so that its connection can be reused: 1 MiB. */
const MOST_READ = 2 ** 20
/** Time for a client to read the answer before its connection is closed, in milliseconds. */
const LINGER_MS = 1_000

/** A socket of Node that is to be closed once all data is sent. */
interface ClosingSocket {
  destroySoon(): void
  end(): unknown
  pause(): unknown
  resume(): unknown
  destroy(): unknown
}

/** A request of Node with a body that may not have arrived yet. */
export interface NodeUpload extends NodeRequest {
  readonly socket: NodeRequest['socket'] & ClosingSocket
  readonly headers: {
    readonly 'content-length'?: string | undefined
    readonly 'transfer-encoding'?: string | undefined
  }
}

/** The part of Node's response that {@link refuseBody} uses. */
export interface RefusalHead {
  readonly headersSent: boolean
  /** Sets a header field of the response. */
  setHeader(name: string, value: string): unknown
}

/**
 * Called before a refusal is answered: stops the reading of a large body. Node would read it to its end, at full speed,
 * to reuse the connection. A declared length of at most 1 MiB is worth that. For other bodies the answer says
 * `Connection: close`, nothing is read after it is sent, and the connection is closed a second later. Closing it at
 * once would reset it because of the unread data, and the client might lose the answer. Over HTTP/2 Node resets the
 * stream when the answer is sent.
 */
export function refuseBody(request: NodeUpload, response: RefusalHead, after: After = systemAfter): void {
  if (request.stream !== undefined || request.complete || response.headersSent) return
  // A request that has just arrived is not complete yet, even without a body.
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
  if (encoding === undefined && !(Number(length) > MOST_READ)) return
  response.setHeader('Connection', 'close')
  const { socket } = request
  socket.destroySoon = () => {
    socket.end()
    socket.pause()
    // To discard the rest of an unread body, Node resumes the socket.
    socket.resume = () => socket
    after(LINGER_MS, () => socket.destroy())
  }
}
