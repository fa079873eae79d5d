import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Decision, type Gate, type Permit, type Refusal, refuse } from '@fairlead/core'
import {
  type Framework,
  type GateAnswer,
  type HttpRefusal,
  type HttpVisit,
  NodeAdmission,
  PROBLEM_JSON,
  refuseBody,
} from '@fairlead/core/http'
import { defaultShed } from '@fairlead/core/node'
import { type ExecutionContext, HttpException } from '@nestjs/common'
import { addressOf, type Exchange, exchangeOf, headersOf, onSharedResponseEnd, outerVisit } from './context.js'
import { decoratedBy } from './decorators.js'
import { FairException, transportException } from './exception.js'
import { type FairModuleOptions, requireFairOptions } from './options.js'

/** A request to a Nest handler, on its way through the gate. */
export type GuardedVisit = HttpVisit<[context: ExecutionContext]>

/** An HTTP request that a guard may have seen: its admitted visit, or null if the guard let it pass. */
type Guarded = Record<symbol, GuardedVisit | null | undefined>

/** The common part of Express's response and Fastify's reply. */
interface AdapterReply {
  header(name: string, value: string): unknown
  status(code: number): unknown
  /** Fastify's: stops Fastify from touching the response. */
  hijack?(): unknown
}

const nest: Framework<[context: ExecutionContext]> = {
  name: 'FairModule',
  address: addressOf,
  // The response of other contexts also serves other handlers: there only the handler's own error decides.
  status: (context) => (context.getType() === 'http' ? rawResponse(context).statusCode : undefined),
  shed: defaultShed,
  settings: decoratedBy,
  untrustedHeaders: headersOf,
  trust:
    "Say which proxies to trust (Express: app.set('trust proxy', 1), Fastify: trustProxy), or set the option address or " +
    'flow.',
}

const GONE: Refusal = refuse('gate', 'gone', false, 0)

/** The common part of guard and interceptor: the gate, and the form of refusals. One for each `FairModule`. */
export class FairAdmission {
  readonly #http: NodeAdmission<[context: ExecutionContext]>
  readonly #handler: FairModuleOptions['handler']
  readonly #exchange: (context: ExecutionContext) => Exchange | undefined
  readonly #closesGate: boolean
  /**
   * The property of a request that holds the guard's result. A `WeakMap` entry per request would cost more than
   * everything else here.
   */
  readonly #guarded = Symbol('guarded')

  /** Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(options: FairModuleOptions) {
    requireFairOptions(options)
    const { at: _, exchange = exchangeOf, ...http } = options
    this.#http = new NodeAdmission(nest, http)
    this.#handler = options.handler
    this.#exchange = exchange
    this.#closesGate = options.gate === undefined
  }

  get gate(): Gate {
    return this.#http.gate
  }

  /**
   * Begins a visit that is told when its response has ended or, if the response serves others too, when its client
   * left. Undefined if nothing would ever report the end: then the request has to pass.
   */
  visit(context: ExecutionContext): GuardedVisit | undefined {
    const exchange = this.#exchange(context)
    if (context.getType() !== 'http') {
      const visit = this.#http.visit([context], undefined)
      if (exchange !== undefined) onSharedResponseEnd(exchange, visit)
      return visit
    }
    if (exchange === undefined) {
      this.#http.warn('An HTTP request without a response of Node is not judged: set the option exchange.')
      return undefined
    }
    const visit = this.#http.visit([context], outerVisit(context))
    this.#http.watch(visit, exchange.request, exchange.response)
    return visit
  }

  /** Asks the gate. Undefined: no gate judges this request. */
  ask(visit: GuardedVisit): GateAnswer | Promise<GateAnswer> {
    return this.#http.ask(visit)
  }

  /**
   * The gate has admitted the request: false if the client left meanwhile. An HTTP response then reports the rest of
   * its budgets, unless it also answers other handlers.
   */
  admit(visit: GuardedVisit, permit: Permit): boolean {
    const { target } = visit
    // The guard has done this before the interceptor runs.
    if (visit.permit === undefined && target[0].getType() === 'http') this.#http.tell(permit, rawResponse(target[0]))
    return visit.admit(permit)
  }

  /** Rejects with the exception for a visit that was refused, or has ended. */
  async refuse({ target: [context] }: GuardedVisit, decision: Decision): Promise<never> {
    const refusal = this.#http.refusal(decision.admitted ? GONE : decision)
    const type = context.getType()
    const isGone = refusal.refusal.reason === 'gone'
    // Over HTTP/2 on Node 20, answering a stream that is gone throws where Fastify cannot catch it.
    if (isGone && type === 'http') context.getArgByIndex<AdapterReply>(1).hijack?.()
    const isOurs = !isGone && (type !== 'http' || (await prepare(context, refusal)))
    if (!isOurs) throw new FairException(refusal)
    const body = await this.#answer(context, refusal)
    const exception = isAnswer(body) ? new FairException(refusal, body) : new FairException(refusal)
    if (type === 'rpc' || type === 'ws') throw await transportException(type, exception)
    const isProblem = type === 'http' && !isAnswer(body) && !rawResponse(context).headersSent
    if (isProblem) setProblemType(context)
    throw exception
  }

  /** The guard's answer, for the interceptor: the admitted visit, or null if the request must pass. */
  leave(context: ExecutionContext, visit: GuardedVisit | null): void {
    context.getArgByIndex<Guarded>(0)[this.#guarded] = visit
  }

  /** The guard's answer for this request; undefined without a guard. */
  guarded(context: ExecutionContext): GuardedVisit | null | undefined {
    return context.getType() === 'http' ? context.getArgByIndex<Guarded>(0)[this.#guarded] : undefined
  }

  /** Refuses waiting and new requests, if the gate was made here. */
  close(): void {
    if (this.#closesGate) this.gate.close()
  }

  /** The result of the user's handler. An exception is an answer too, if Nest's filters know it. */
  async #answer(context: ExecutionContext, refusal: HttpRefusal): Promise<unknown> {
    try {
      return await this.#handler?.(context, refusal)
    } catch (error) {
      if (context.getType() !== 'http' || error instanceof HttpException) throw error
      this.#http.warn('handler failed: the problem document was sent instead.', error)
      return undefined
    }
  }
}

/**
 * Sets status and headers of a refusal, and returns true. Returns false if another layer, for example a time-out,
 * answered while the request waited: after that answer has ended, because Nest's filter would cut it off.
 */
async function prepare(context: ExecutionContext, { status, headers }: HttpRefusal): Promise<boolean> {
  const raw = rawResponse(context)
  if (raw.headersSent) {
    if (!raw.closed) await once(raw, 'close')
    return false
  }
  const request: IncomingMessage & { raw?: IncomingMessage } = context.getArgByIndex(0)
  refuseBody(request.raw ?? request, raw)
  const reply: AdapterReply = context.getArgByIndex(1)
  reply.status(status)
  for (const [name, value] of Object.entries(headers)) reply.header(name, value)
  return true
}

/**
 * Sets the content type of a problem document. On Express only when its head is written: Nest 11.2 treats any type
 * other than `application/json` as a mistake, changes it, and logs that for each refusal. A type that a filter sets
 * stays.
 */
function setProblemType(context: ExecutionContext): void {
  const reply: AdapterReply = context.getArgByIndex(1)
  if (reply.hijack !== undefined) {
    reply.header('Content-Type', PROBLEM_JSON)
    return
  }
  const raw = rawResponse(context)
  const { writeHead } = raw
  raw.writeHead = (...head: never[]) => {
    if (`${raw.getHeader('Content-Type')}`.startsWith('application/json')) raw.setHeader('Content-Type', PROBLEM_JSON)
    return Reflect.apply(writeHead, raw, head)
  }
}

/** The possible bodies of an exception. */
function isAnswer(body: unknown): body is string | object {
  return typeof body === 'string' || (typeof body === 'object' && body !== null)
}

function rawResponse(context: ExecutionContext): ServerResponse {
  const response: ServerResponse & { raw?: ServerResponse } = context.getArgByIndex(1)
  return response.raw ?? response
}
