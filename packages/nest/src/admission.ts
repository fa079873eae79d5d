import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Decision, type Gate, type Permit, type Refusal, refuse } from '@fairlead/core'
import {
  type Answer,
  type Framework,
  type HttpRefusal,
  type HttpVisit,
  NodeAdmission,
  PROBLEM_JSON,
  refuseBody,
} from '@fairlead/core/http'
import { defaultShed } from '@fairlead/core/node'
import { type ExecutionContext, HttpException } from '@nestjs/common'
import { addressOf, type Exchange, exchangeOf, headersOf, onSharedResponseEnd, outerVisit } from './context.js'
import { withDecorators } from './decorators.js'
import { FairException, transportException } from './exception.js'
import { type FairOptions, requireFairOptions } from './options.js'

/** A request to a handler of Nest, on its way through the gate. */
export type Visit = HttpVisit<[context: ExecutionContext]>

/** An HTTP request that a guard may have seen: what it has admitted, or null for what it has let pass. */
type Guarded = Record<symbol, Visit | null | undefined>

/** What Express's response and Fastify's reply have in common. */
interface Reply {
  header(name: string, value: string): unknown
  status(code: number): unknown
  /** Fastify's: from now on it leaves the response alone. */
  hijack?(): unknown
}

const nest: Framework<[context: ExecutionContext]> = {
  name: 'FairModule',
  address: addressOf,
  // What other contexts have of a response serves others, too: there only the handler's own error tells.
  status: (context) => (context.getType() === 'http' ? rawResponse(context).statusCode : undefined),
  shed: defaultShed,
  untrustedHeaders: headersOf,
  trust:
    "Say which proxies to trust (Express: app.set('trust proxy', 1), Fastify: trustProxy), or set the option address or " +
    'flow.',
}

const GONE: Refusal = refuse('gate', 'gone', false, 0)

/** What guard and interceptor share: whom to ask, and how to say no. One for each `FairModule`. */
export class FairAdmission {
  readonly #http: NodeAdmission<[context: ExecutionContext]>
  readonly #handler: FairOptions['handler']
  readonly #exchange: (context: ExecutionContext) => Exchange | undefined
  readonly #closesGate: boolean
  /** Where requests keep what the guard has left. A `WeakMap` with an entry for each costs more than all the rest. */
  readonly #guarded = Symbol('guarded')

  /** Throws a `TypeError` or `RangeError` that names the option and its value. */
  constructor(options: FairOptions) {
    requireFairOptions(options)
    const { at: _, exchange = exchangeOf, ...http } = options
    this.#http = new NodeAdmission(nest, { ...http, ...withDecorators(http) })
    this.#handler = options.handler
    this.#exchange = exchange
    this.#closesGate = options.gate === undefined
  }

  get gate(): Gate {
    return this.#http.gate
  }

  /**
   * Begins a visit that hears when its response has ended, or, where that serves others too, when its client left.
   * Undefined if nothing would ever tell when it ends: then the request has to pass.
   */
  visit(context: ExecutionContext): Visit | undefined {
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

  /** Asks the gate. Undefined: the request is none of our business. */
  ask(visit: Visit): Answer | Promise<Answer> {
    return this.#http.ask(visit)
  }

  /**
   * The gate said yes: false if the client left meanwhile. An HTTP response tells what is left of its budgets; one that
   * answers others, too, tells nothing.
   */
  admit(visit: Visit, permit: Permit): boolean {
    const { target } = visit
    // The guard has seen to it before the interceptor comes.
    if (visit.permit === undefined && target[0].getType() === 'http') this.#http.tell(permit, rawResponse(target[0]))
    return visit.admit(permit)
  }

  /** Rejects with what is to be thrown for a visit that the gate, or its own end, does not let in. */
  async refuse({ target: [context] }: Visit, decision: Decision): Promise<never> {
    const refusal = this.#http.refusal(decision.admitted ? GONE : decision)
    const type = context.getType()
    const isGone = refusal.refusal.reason === 'gone'
    // Over HTTP/2 on Node 20, answering a stream that is gone throws where Fastify has nobody to catch it.
    if (isGone && type === 'http') context.getArgByIndex<Reply>(1).hijack?.()
    const isOurs = !isGone && (type !== 'http' || (await prepare(context, refusal)))
    if (!isOurs) throw new FairException(refusal)
    const body = await this.#answer(context, refusal)
    const exception = isAnswer(body) ? new FairException(refusal, body) : new FairException(refusal)
    if (type === 'rpc' || type === 'ws') throw await transportException(type, exception)
    const isProblem = type === 'http' && !isAnswer(body) && !rawResponse(context).headersSent
    if (isProblem) setProblemType(context)
    throw exception
  }

  /** The guard's answer, for the interceptor: the visit that was admitted, or null if the request is to pass. */
  leave(context: ExecutionContext, visit: Visit | null): void {
    context.getArgByIndex<Guarded>(0)[this.#guarded] = visit
  }

  /** What the guard has left for this request; undefined where there was no guard. */
  guarded(context: ExecutionContext): Visit | null | undefined {
    return context.getType() === 'http' ? context.getArgByIndex<Guarded>(0)[this.#guarded] : undefined
  }

  /** Refuses what waits and what comes, if the gate was made here. */
  close(): void {
    if (this.#closesGate) this.gate.close()
  }

  /** What the user's handler gives for the client. Throwing is an answer, if Nest's filters know what is thrown. */
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
 * Sets status and headers of a refusal, and is true. False if somebody else, a timeout say, has answered while the
 * request waited: once that is over, because Nest's filter cuts off what is being sent.
 */
async function prepare(context: ExecutionContext, { status, headers }: HttpRefusal): Promise<boolean> {
  const raw = rawResponse(context)
  if (raw.headersSent) {
    if (!raw.closed) await once(raw, 'close')
    return false
  }
  const request: IncomingMessage & { raw?: IncomingMessage } = context.getArgByIndex(0)
  refuseBody(request.raw ?? request, raw)
  const reply: Reply = context.getArgByIndex(1)
  reply.status(status)
  for (const [name, value] of Object.entries(headers)) reply.header(name, value)
  return true
}

/**
 * Says that the answer will be a problem document. On Express only when its head is written: Nest 11.2 takes any type but
 * `application/json` for a mistake, changes it, and logs that for each refusal. What a filter makes it stays.
 */
function setProblemType(context: ExecutionContext): void {
  const reply: Reply = context.getArgByIndex(1)
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

/** What can be the body of an exception. */
function isAnswer(body: unknown): body is string | object {
  return typeof body === 'string' || (typeof body === 'object' && body !== null)
}

function rawResponse(context: ExecutionContext): ServerResponse {
  const response: ServerResponse & { raw?: ServerResponse } = context.getArgByIndex(1)
  return response.raw ?? response
}
